"""Claims about gradient descent, and what the paper proves."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from reproduction.claims.shared import ROUNDING, short_title
from reproduction.declaration import Claim, Verdict


def parity_at_every_step(rows: Any) -> Verdict:
    """SMD is zero up to rounding at every step of Fair-GD, including those not drawn."""
    fair = rows[rows.curve == "Fair-GD"]
    worst = float((fair.smd_worst / fair.sd).max())
    return Verdict(worst <= ROUNDING, f"The largest SMD of all steps is {worst:.0e} · sd(y).")


def same_rate(rows: Any) -> Verdict:
    """For 99 % of its decrease in loss, Fair-GD needs at most a quarter more steps than GD."""
    answers, held = [], True
    for dataset, part in rows.groupby("dataset", sort=False):
        steps = {}
        for curve, line in part.groupby("curve"):
            mean = line.groupby("step").loss.mean()
            done = mean <= mean.iloc[-1] + 0.01 * (mean.iloc[0] - mean.iloc[-1])
            steps[curve] = int(mean.index[int(np.argmax(done))])
        held &= steps["Fair-GD"] <= 1.25 * steps["GD"]
        answers.append(f"{short_title(dataset)}: {steps['Fair-GD']:,}, GD {steps['GD']:,}")
    return Verdict(held, f"Steps for 99 % of the decrease in loss: {'; '.join(answers)}.")


DESCENT = (
    Claim("Fair-GD enforces parity on the training rows at every step.", parity_at_every_step),
    Claim("Fair-GD converges as fast as GD.", same_rate),
)


def _at_most(column: str, limit: float, sentence: str) -> Callable[[Any], Verdict]:
    def check(rows: Any) -> Verdict:
        worst = float(rows[column].max())
        return Verdict(worst <= limit, sentence.format(worst))

    return check


PROOFS = (
    Claim(
        "Mean parity holds exactly on the training rows (Theorem 1).",
        _at_most("smd", ROUNDING, "The largest SMD on training rows is {:.0e} · sd(y)."),
        "proved",
    ),
    Claim(
        "MPD ≤ DPD (Proposition 1).",
        _at_most("order", ROUNDING, "The largest MPD − DPD at 51 positions is {:.0e} · sd(y)."),
        "proved",
    ),
    Claim(
        "L(g_α) = (1−α)² L(g_fair) + (1−(1−α)²) L(g*) (Proposition 4), with the penalty in L.",
        _at_most(
            "quadratic", ROUNDING, "The largest difference at 51 positions is {:.0e} · L(g*)."
        ),
        "proved",
    ),
    Claim(
        "MPD(g_α) = α · MPD(g*) (Proposition 4).",
        _at_most("linear", ROUNDING, "The largest difference at 51 positions is {:.0e} · sd(y)."),
        "proved",
    ),
    Claim(
        "L(g_fair) ≤ L(g*) + ⟨Σ̃ g*⊥, g*⊥⟩ (Proposition 5), with the penalty in L and Σ̃.",
        _at_most("bound", 1 + ROUNDING, "L(g_fair) is at most {:.3f} times the bound."),
        "proved",
    ),
    Claim(
        "L(g_fair) ≤ E(Y²).",
        _at_most("bound_zero", 1 + ROUNDING, "L(g_fair) is at most {:.3f} times E(Y²)."),
        "proved",
    ),
)
