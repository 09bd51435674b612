"""Demographic parity, a constant, and the sensitive column left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanparity.experiments.claims.shared import EXACT, ORDER, PARTS, everywhere, mean_of
from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import DATA


def both_help(rows: Any) -> Verdict:
    """RBA has less SMD than OLS, and ours less DPD, on training and test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        held = all(
            mean_of(by[name], f"{metric}_{p}") < mean_of(by["OLS"], f"{metric}_{p}")
            for name, metric in (("RBA", "smd"), ("Ours", "dpd"))
            for p in PARTS
        )
        return held, (
            f"test SMD of RBA {mean_of(by['RBA'], 'smd_test'):.4f} (OLS "
            f"{mean_of(by['OLS'], 'smd_test'):.4f}), test DPD of ours "
            f"{mean_of(by['Ours'], 'dpd_test'):.4f} (OLS {mean_of(by['OLS'], 'dpd_test'):.4f})"
        )

    return everywhere(rows, ask)


def dp_costs_more(rows: Any) -> Verdict:
    """MSE of RBA is above that of ours, on training and test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        pairs = [[mean_of(by[name], f"mse_{p}") for p in PARTS] for name in ("RBA", "Ours")]
        held = all(a > b for a, b in zip(*pairs, strict=True))
        return held, f"test MSE {pairs[0][1]:.4f}, ours {pairs[1][1]:.4f}"

    return everywhere(rows, ask)


def worse_on_test(rows: Any) -> Verdict:
    """MSE, SMD and DPD of RBA and ours are larger on the test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        kept = [
            f"{metric.upper()} of {name}"
            for name in ("RBA", "Ours")
            for metric in ("mse", "smd", "dpd")
            if mean_of(by[name], f"{metric}_test") <= mean_of(by[name], f"{metric}_train")
        ]
        return not kept, f"all but {', '.join(kept)}" if kept else "all"

    return everywhere(rows, ask)


def sometimes_fairer(rows: Any) -> Verdict:
    """In some trials RBA has the smaller SMD on the test rows."""
    wide = rows.pivot_table(index=["dataset", "trial"], columns="method", values="smd_test")
    lower = int((wide["RBA"] < wide["Ours"]).sum())
    return Verdict(lower > 0, f"In {lower} of {len(wide)} trials.")


def faster_than_rba(rows: Any) -> Verdict:
    """RBA takes about 200 times as long."""
    times = rows.groupby(["dataset", "method"]).seconds.median().unstack()
    ratio = times["RBA"] / times["Ours"]
    says = (
        f"Our RBA takes {ratio.min():.0f} to {ratio.max():.0f} times as long as ours, because its "
        "costs and oracle are computed for all thresholds at once; the same game as a loop over "
        "rows and thresholds takes more than 1000 times as long again (docs/benchmarks.md)."
    )
    return Verdict(bool(ratio.median() >= 100), says)


DEMOGRAPHIC = (
    EXACT,
    ORDER,
    Claim("Demographic parity helps mean parity, and the reverse.", both_help),
    Claim("Demographic parity costs more error.", dp_costs_more),
    Claim("On test rows everything is worse.", worse_on_test),
    Claim("RBA sometimes has the lower SMD on test rows.", sometimes_fairer),
    Claim("Ours is almost 200 times faster than RBA.", faster_than_rba),
)


def below_constant(rows: Any) -> Verdict:
    """MSE of ours is below that of a constant, on training and test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        ratios = [
            mean_of(by["Constant"], f"mse_{p}") / mean_of(by["Ours"], f"mse_{p}") for p in PARTS
        ]
        return min(ratios) > 1, f"the constant has {ratios[0]:.2f} and {ratios[1]:.2f} times ours"

    return everywhere(rows, ask)


def seventy_seven(rows: Any) -> Verdict:
    """On the synthetic data the constant has about 77 times the error of ours."""
    part = rows[rows.dataset == "synthetic"].groupby("method")[["mse_train", "mse_test"]].mean()
    ratio = part.loc["Constant"] / part.loc["Ours"]
    says = (
        f"{ratio.mse_train:.1f} times on the training rows, {ratio.mse_test:.1f} on the test rows."
    )
    return Verdict(bool(70 < ratio.mse_train < 85), says)


CONSTANT = (
    EXACT,
    ORDER,
    Claim("Ours does better than a constant in all settings.", below_constant),
)
CONSTANT_LINEAR = (
    *CONSTANT,
    Claim("On Synthetic, the constant's error is about 77 times ours.", seventy_seven),
)


def s_lowers_error(rows: Any) -> Verdict:
    """MSE with S is below that without, on training and test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        pairs = [[mean_of(by[n], f"mse_{p}") for p in PARTS] for n in ("with S", "without S")]
        held = all(a < b for a, b in zip(*pairs, strict=True))
        return held, f"test {pairs[0][1]:.4f} with, {pairs[1][1]:.4f} without"

    return everywhere(rows, ask)


def removal_may_help(rows: Any) -> Verdict:
    """Somewhere the test SMD without S is below that with it."""
    wide = rows.groupby(["dataset", "method"], sort=False).smd_test.mean().unstack()
    lower = wide[wide["without S"] < wide["with S"]].index
    names = ", ".join(DATA[name].title for name in lower)
    return Verdict(len(lower) > 0, f"Test SMD is lower without S on {names or 'no data set'}.")


WITHOUT_S = (
    EXACT,
    ORDER,
    Claim("S among the features lowers the error.", s_lowers_error),
    Claim("Removing it may help parity on the test rows.", removal_may_help),
)
