"""What claims have in common, and the claims about every experiment that measures SMD and DPD."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from typing import Any

import numpy as np

from reproduction.datasets import DATASETS, PARTS
from reproduction.declaration import Claim, Verdict

ROUNDING = 1e-10  # what counts as zero, in units of the standard deviation of y
PENALTIES = ("FPR-1", "FPR-3", "FKR-1", "FKR-3")
# The rows of one data set by method; whether the claim holds there (or None), and the numbers.
ByMethod = Mapping[str, Any]
Answer = tuple[bool | None, str]


def in_every_dataset(check: Callable[[ByMethod], Answer]) -> Callable[[Any], Verdict]:
    """Turn a check of one data set into a check of all: the claim must hold in every data set."""

    @wraps(check)
    def check_all(rows: Any) -> Verdict:
        if rows.empty:
            return Verdict(None, "Not run.")
        answers = {
            short_title(dataset): check(dict(list(part.groupby("method", sort=False))))
            for dataset, part in rows.groupby("dataset", sort=False)
        }
        explanation = "; ".join(f"{title}: {text}" for title, (_, text) in answers.items())
        known = [held for held, _ in answers.values() if held is not None]
        return Verdict(all(known) if known else None, f"{explanation}.")

    return check_all


def in_two_datasets(check: Callable[[ByMethod], Answer]) -> Callable[[Any], Verdict]:
    """Turn a check of one data set into a check of a statement about two that are not named."""

    @wraps(check)
    def check_all(rows: Any) -> Verdict:
        answers = {
            short_title(dataset): check(dict(list(part.groupby("method", sort=False))))
            for dataset, part in rows.groupby("dataset", sort=False)
        }
        held = sum(answer is True for answer, _ in answers.values())
        explanation = "; ".join(f"{title}: {text}" for title, (_, text) in answers.items())
        return Verdict(
            held >= min(2, len(answers)),
            f"The paper does not name its two data sets. It holds on {held} of {len(answers)}: "
            f"{explanation}.",
        )

    return check_all


def in_every_mode(check: Callable[[ByMethod, str], Answer]) -> Callable[[Any], Verdict]:
    """Turn a check of one data set and one mode of NRFC into a check of all.

    The claim holds if it does in every mode and data set, and fails if it does in every mode.
    Otherwise it depends on what the paper does not say.
    """

    @wraps(check)
    def check_all(rows: Any) -> Verdict:
        by_dataset = {
            short_title(dataset): dict(list(part.groupby("method", sort=False)))
            for dataset, part in rows.groupby("dataset", sort=False)
        }
        modes = [name for name in rows.method.unique() if name.startswith("NRFC")]
        verdicts, explanations = set(), []
        for mode in modes:
            answers = {title: check(by, mode) for title, by in by_dataset.items()}
            known = [held for held, _ in answers.values() if held is not None]
            if known:
                verdicts.add(all(known))
            numbers = "; ".join(f"{title}: {text}" for title, (_, text) in answers.items())
            explanations.append(f"{mode}: {numbers}")
        held = verdicts.pop() if len(verdicts) == 1 else None
        depends = "It depends on the mode of NRFC. " if verdicts else ""
        return Verdict(held, f"{depends}{'. '.join(explanations)}.")

    return check_all


def short_title(dataset: Any) -> str:
    """The name of a data set in a sentence."""
    return DATASETS[str(dataset)].title.removeprefix("Communities & Crime, ")


def mean_of(rows: Any, column: str) -> float:
    """The mean of a column."""
    return float(rows[column].mean())


def means_of(rows: Any, metric: str) -> list[float]:
    """The means of a metric on the training and on the test rows."""
    return [mean_of(rows, f"{metric}_{part}") for part in PARTS]


def significance(rows: Any, others: Any, column: str) -> float:
    """Mean difference between two methods over paired trials, in units of its standard error."""
    difference = rows[column].to_numpy() - others[column].to_numpy()
    error = difference.std(ddof=1) / np.sqrt(len(difference)) if len(difference) > 1 else 0.0
    return float(difference.mean() / max(error, 1e-300))


def exact_parity(rows: Any) -> Verdict:
    """The SMD of our method on the training rows is zero up to rounding."""
    ours = rows[rows.estimator == "Ours"]
    worst = float((ours.smd_train / ours.sd).max())
    return Verdict(worst <= ROUNDING, f"The largest SMD on training rows is {worst:.0e} · sd(y).")


def exact_covariance(rows: Any) -> Verdict:
    """The norm of the covariance of our method on the training rows is zero up to rounding."""
    ours = rows[rows.estimator == "Ours"]
    worst = float((ours.cov_train / ours.sd).max())
    return Verdict(
        worst <= ROUNDING, f"The largest Norm of Cov on training rows is {worst:.0e} · sd(y)."
    )


def order(rows: Any) -> Verdict:
    """MPD is at most DPD for every method."""
    excess = max(float(((rows[f"smd_{p}"] - rows[f"dpd_{p}"]) / rows.sd).max()) for p in PARTS)
    count = f"{2 * len(rows)} measurements of {rows.method.nunique()} methods"
    explanation = f"In {count}, the largest SMD − DPD is {excess:.0e} · sd(y)."
    return Verdict(excess <= ROUNDING, explanation)


EXACT = Claim("Mean parity holds exactly on the training rows (Theorem 1).", exact_parity, "proved")
ORDER = Claim("MP disparity is at most DP disparity (Proposition 1).", order, "proved")
