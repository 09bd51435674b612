"""What claims have in common, and what holds in every experiment that measures SMD and DPD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import DATA, PARTS

ROUNDING = 1e-10  # what counts as zero, in units of the standard deviation of y
PENALTIES = ("FPR-1", "FPR-3", "FKR-1", "FKR-3")
Ask = Callable[[Mapping[str, Any]], tuple[bool | None, str]]


def everywhere(rows: Any, ask: Ask) -> Verdict:
    """Ask each data set, whose rows come by method; the claim holds if it holds everywhere."""
    if rows.empty:
        return Verdict(None, "Not run.")
    answers = {
        dataset: ask(dict(list(part.groupby("method", sort=False))))
        for dataset, part in rows.groupby("dataset", sort=False)
    }
    says = "; ".join(f"{short(dataset)}: {says}" for dataset, (_, says) in answers.items())
    given = [held for held, _ in answers.values() if held is not None]
    return Verdict(all(given) if given else None, f"{says}.")


def short(dataset: Any) -> str:
    """What sentences call a data set."""
    return DATA[str(dataset)].title.removeprefix("Communities & Crime, ")


def mean_of(rows: Any, column: str) -> float:
    """The mean of a column."""
    return float(rows[column].mean())


def significance(rows: Any, others: Any, column: str) -> float:
    """Mean difference between two methods in units of its standard error over paired trials."""
    difference = rows[column].to_numpy() - others[column].to_numpy()
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return float(difference.mean() / max(error, 1e-300))


def exact_parity(rows: Any) -> Verdict:
    """SMD of ours on the training rows is what rounding leaves."""
    ours = rows[rows.estimator == "Ours"]
    worst = float((ours.smd_train / ours.sd).max())
    return Verdict(worst <= ROUNDING, f"Its largest train SMD is {worst:.0e} · sd(y).")


def exact_covariance(rows: Any) -> Verdict:
    """Norm of Cov of ours on the training rows is what rounding leaves."""
    ours = rows[rows.estimator == "Ours"]
    worst = float((ours.cov_train / ours.sd).max())
    return Verdict(worst <= ROUNDING, f"Its largest train Norm of Cov is {worst:.0e} · sd(y).")


def order(rows: Any) -> Verdict:
    """MPD is at most DPD, whatever the method."""
    excess = max(float(((rows[f"smd_{p}"] - rows[f"dpd_{p}"]) / rows.sd).max()) for p in PARTS)
    times = f"{2 * len(rows)} measurements of {rows.method.nunique()} methods"
    says = f"In {times}, the largest SMD − DPD is {excess:.0e} · sd(y)."
    return Verdict(excess <= ROUNDING, says)


EXACT = Claim("Mean parity holds exactly on the training rows (Theorem 1).", exact_parity, "proved")
ORDER = Claim("MP disparity is at most DP disparity (Proposition 1).", order, "proved")
