"""A constant, and the sensitive column left out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanparity.experiments.claims.shared import (
    EXACT,
    ORDER,
    everywhere,
    mean_of,
    short,
    significance,
)
from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import PARTS


def below_constant(rows: Any) -> Verdict:
    """MSE of ours is below that of a constant by more than two standard errors, on both parts."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        constant, ours = by["Constant"], by["Ours"]
        excess = [significance(constant, ours, f"mse_{part}") for part in PARTS]
        ratios = [mean_of(constant, f"mse_{p}") / mean_of(ours, f"mse_{p}") for p in PARTS]
        says = f"the constant has {ratios[0]:.2f} (train) and {ratios[1]:.2f} (test) times ours"
        return min(excess) > 2, says

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
    Claim("Ours significantly outperforms a constant in all settings.", below_constant),
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
    """In some trials the test SMD without S is below that with it."""
    wide = rows.pivot_table(index=["dataset", "trial"], columns="method", values="smd_test")
    lower = int((wide["without S"] < wide["with S"]).sum())
    means = wide.groupby("dataset").mean()
    names = [short(name) for name in means.index[means["without S"] < means["with S"]]]
    where = ", ".join(names) or "no data set"
    return Verdict(
        lower > 0, f"Lower in {lower} of {len(wide)} trials; the mean is lower on {where}."
    )


WITHOUT_S = (
    EXACT,
    ORDER,
    Claim("S among the features lowers the error.", s_lowers_error),
    Claim("Removing S from the features may help parity on the test rows.", removal_may_help),
)
