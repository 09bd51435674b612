"""Demographic parity, and the distributions of predictions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from meanparity.experiments.claims.shared import (
    EXACT,
    ORDER,
    ROUNDING,
    everywhere,
    mean_of,
    short,
    significance,
)
from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import PARTS
from meanparity.metrics import wasserstein_gap


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
    """MSE of RBA is above that of ours by more than two standard errors, on both parts."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        excess = [significance(by["RBA"], by["Ours"], f"mse_{part}") for part in PARTS]
        test = [mean_of(by[name], "mse_test") for name in ("RBA", "Ours")]
        return min(excess) > 2, f"test MSE {test[0]:.4f}, ours {test[1]:.4f} (t = {excess[1]:.1f})"

    return everywhere(rows, ask)


def worse_on_test(rows: Any) -> Verdict:
    """MSE, SMD and DPD of all methods are larger on the test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        kept = [
            f"{metric.upper()} of {name}"
            for name in by
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
        f"RBA takes {ratio.min():.0f} to {ratio.max():.0f} times as long as ours. (Here it handles "
        "all thresholds at once, unlike its authors' loop.)"
    )
    return Verdict(bool(ratio.median() >= 100), says)


DEMOGRAPHIC = (
    EXACT,
    ORDER,
    Claim("Demographic parity helps mean parity, and the reverse.", both_help),
    Claim("Demographic parity costs significantly more error.", dp_costs_more),
    Claim("MSE, SMD and DPD of all methods are higher on test rows.", worse_on_test),
    Claim("RBA sometimes has the lower SMD on test rows.", sometimes_fairer),
    Claim("Ours is almost 200 times faster than RBA.", faster_than_rba),
)


def more_alike(rows: Any) -> Verdict:
    """DPD of our predictions is below that of the responses and that of OLS, on both parts."""
    answers, held = [], True
    for dataset, of_dataset in rows.groupby("dataset", sort=False):
        for part, people in of_dataset.groupby("part"):
            by = dict(list(people.groupby("method")))
            response, ols, ours = (
                wasserstein_gap(
                    None,
                    by[name][column].to_numpy(),
                    sensitive_features=by[name].group.to_numpy(),
                )
                for name, column in (
                    ("Ours", "response"),
                    ("OLS", "prediction"),
                    ("Ours", "prediction"),
                )
            )
            held &= ours < min(response, ols)
            if part == "test":
                answers.append(f"{short(dataset)}: {response:.3g}, {ols:.3g}, {ours:.3g}")
    says = f"DPD on the test rows of responses, OLS and ours: {'; '.join(answers)}."
    return Verdict(bool(held), says)


def exact_means(rows: Any) -> Verdict:
    """Mean predictions of the groups on the training rows differ by what rounding leaves."""
    train = rows[(rows.part == "train") & (rows.estimator == "Ours")]
    means = train.groupby(["dataset", "group"]).prediction.mean().unstack("dataset")
    worst = float(((means.max() - means.min()) / train.groupby("dataset").response.std()).max())
    return Verdict(worst <= ROUNDING, f"Means of groups differ by {worst:.0e} · sd(y) at most.")


DISTRIBUTIONS = (
    Claim(EXACT.text, exact_means, "proved"),
    Claim("Our predictions are distributed alike in the groups.", more_alike),
)
