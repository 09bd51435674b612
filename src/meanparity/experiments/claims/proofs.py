"""Gradient descent, distributions, what the paper proves, and the pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from meanparity.experiments.claims.shared import (
    EXACT,
    ORDER,
    PARTS,
    ROUNDING,
    everywhere,
    mean_of,
    short,
)
from meanparity.experiments.declaration import Claim, Verdict
from meanparity.metrics import wasserstein_gap


def parity_at_every_step(rows: Any) -> Verdict:
    """SMD along Fair-GD is what rounding leaves, at every step and not only those drawn."""
    fair = rows[rows.curve == "Fair-GD"]
    worst = float((fair.smd_worst / fair.sd).max())
    return Verdict(worst <= ROUNDING, f"The largest of all steps is {worst:.0e} · sd(y).")


def same_rate(rows: Any) -> Verdict:
    """Fair-GD needs at most a quarter more steps than GD for 99 % of the way to where it ends."""
    answers, held = [], True
    for dataset, part in rows.groupby("dataset", sort=False):
        steps = {}
        for curve, line in part.groupby("curve"):
            mean = line.groupby("step").loss.mean()
            done = mean <= mean.iloc[-1] + 0.01 * (mean.iloc[0] - mean.iloc[-1])
            steps[curve] = int(mean.index[int(np.argmax(done))])
        held &= steps["Fair-GD"] <= 1.25 * steps["GD"]
        answers.append(f"{short(dataset)}: {steps['Fair-GD']:,}, GD {steps['GD']:,}")
    return Verdict(held, f"Steps for 99 % of the way: {'; '.join(answers)}.")


DESCENT = (
    Claim(
        "Every iterate of Fair-GD has parity on the training rows.", parity_at_every_step, "proved"
    ),
    Claim("Fair-GD converges as fast as GD.", same_rate),
)


def more_alike(rows: Any) -> Verdict:
    """DPD of the prediction is below that of the response, on training and test rows."""
    answers, held = [], True
    for dataset, of_dataset in rows.groupby("dataset", sort=False):
        for part, people in of_dataset.groupby("part"):
            groups = people.group.to_numpy()
            before, after = (
                wasserstein_gap(None, people[column].to_numpy(), sensitive_features=groups)
                for column in ("response", "prediction")
            )
            held &= after < before
            if part == "test":
                answers.append(f"{short(dataset)}: {before:.3g} to {after:.3g}")
    return Verdict(
        held, f"DPD on the test rows, from response to prediction: {'; '.join(answers)}."
    )


DISTRIBUTIONS = (
    Claim("Predictions are distributed alike in the groups, more than responses.", more_alike),
)


def _at_most(column: str, limit: float, words: str) -> Callable[[Any], Verdict]:
    def check(rows: Any) -> Verdict:
        worst = float(rows[column].max())
        return Verdict(worst <= limit, words.format(worst))

    return check


PROOFS = (
    Claim(
        "Mean parity holds exactly on the training rows (Theorem 1).",
        _at_most("smd", ROUNDING, "Largest train SMD: {:.0e} · sd(y)."),
        "proved",
    ),
    Claim(
        "MPD ≤ DPD (Proposition 1).",
        _at_most("order", ROUNDING, "Largest MPD − DPD along the dial: {:.0e} · sd(y)."),
        "proved",
    ),
    Claim(
        "L(g_α) = (1−α)² L(g_fair) + (1−(1−α)²) L(g*) (Proposition 4), with the penalty in L.",
        _at_most("quadratic", ROUNDING, "At 51 positions, off by {:.0e} · L(g*) at most."),
        "proved",
    ),
    Claim(
        "MPD(g_α) = α · MPD(g*) (Proposition 4).",
        _at_most("linear", ROUNDING, "At 51 positions, off by {:.0e} · sd(y) at most."),
        "proved",
    ),
    Claim(
        "L(g_fair) ≤ L(g*) + ⟨Σ̃ g*⊥, g*⊥⟩ (Proposition 5), with the penalty in L and Σ̃.",
        _at_most("bound", 1 + ROUNDING, "L(g_fair) is {:.3f} of the bound at most."),
        "proved",
    ),
    Claim(
        "L(g_fair) ≤ E(Y²).",
        _at_most("bound_zero", 1 + ROUNDING, "L(g_fair) is {:.3f} of E(Y²) at most."),
        "proved",
    ),
)


def exact_on_pool(rows: Any) -> Verdict:
    """With the test rows as pool, SMD is what rounding leaves on training and test rows."""
    both = rows[rows.method.str.endswith("test")]
    worst = max(float((both[f"smd_{p}"] / both.sd).max()) for p in PARTS)
    return Verdict(worst <= ROUNDING, f"Its largest SMD is {worst:.0e} · sd(y).")


def pool_costs(rows: Any) -> Verdict:
    """What parity on the test rows costs there in MSE: at most a tenth."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        ratios = {
            setting: mean_of(by[f"{setting}: parity on train and test"], "mse_test")
            / mean_of(by[f"{setting}: parity on train"], "mse_test")
            for setting in ("linear", "kernel")
        }
        says = ", ".join(f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in ratios.items())
        return max(ratios.values()) <= 1.1, says

    return everywhere(rows, ask)


POOL = (
    EXACT,
    ORDER,
    Claim("With a pool, parity is exact on the test rows too.", exact_on_pool, "ours"),
    Claim("That costs little test error.", pool_costs, "ours"),
)
METHODS = (EXACT, ORDER)
