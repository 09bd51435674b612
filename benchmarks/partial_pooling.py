"""Exact parity and partial pooling, on people who were not seen: the table in docs/small-groups.md.

    python -m benchmarks.partial_pooling            # MEANPARITY_DATA adds Law School
    python -m benchmarks.partial_pooling --draws 10 --models linear --sizes 800 1500

In each draw, models are fitted to n rows, and all others are the population. For each rule: the
root mean square of the gaps of the groups in the population, and the price of parity, which is the
increase of the mean squared error there over the free fit; both as ratios to exact parity.
"""

from __future__ import annotations

import argparse
import os
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pandas as pd

from meanparity import MeanParity, ParityKernelRidge, ParityRidge
from meanparity.datasets import fetch_file, load_adult
from meanparity.estimators._unseen import AUTO_POOLING
from meanparity.tradeoff.tradeoff import WeightedGaps

RULES = ("dial", "auto", "1", "hindsight")
_STRENGTHS = np.logspace(-2, 1, 13)


def adult() -> tuple[Any, Any, Any]:
    """Income above 50,000 dollars; sex × race, both features as well."""
    data = load_adult()
    sex, race = data.sensitive.T
    columns = [data.data, sex == "Female", *(race == label for label in np.unique(race))]
    return _scaled(np.column_stack(columns)), data.target, data.sensitive


def law_school() -> tuple[Any, Any, Any]:
    """Undergraduate grades; race × gender."""
    table = pd.read_csv(fetch_file("lawschool.csv"), na_values=["NA", ""]).dropna()
    sensitive = table[["race", "gender"]].astype(str)
    codes = {name: table[name].astype(str) for name in ("cluster", "fulltime", "fam_inc")}
    numbers = table.drop(columns=["ugpa", "race", "gender", "zfygpa"])
    features = pd.get_dummies(numbers.assign(**codes), dtype=float)
    labels = pd.get_dummies(sensitive, dtype=float)
    return _scaled(np.column_stack([features, labels])), table["ugpa"].to_numpy(), sensitive.values


def simulated() -> tuple[Any, Any, Any]:
    """Skewed features and 24 combinations of three columns, of 0.2 to 20% each."""
    rng = np.random.default_rng(5)
    n = 40_000
    shares = ([0.6, 0.25, 0.1, 0.05], [0.7, 0.2, 0.1], [0.5, 0.5])
    columns = [rng.choice(len(p), n, p=p) for p in shares]
    effects = ([0, -0.3, 0.4, -0.5], [0, 0.3, -0.4], [0, 0.5])
    shift = sum(np.take(effect, column) for effect, column in zip(effects, columns, strict=True))
    shift = shift + rng.normal(0, 0.15, (4, 3, 2))[tuple(columns)]
    X = np.exp(0.5 * rng.standard_normal((n, 40)))
    X[:, :5] += shift[:, None] * np.array([0.8, 0.4, 0.2, 0.0, 0.1])
    y = X[:, :15] @ rng.normal(0, 0.3, 15) + 0.6 * shift + rng.standard_normal(n)
    labels = [column == value for column in columns for value in np.unique(column)]
    return _scaled(np.column_stack([X, *labels])), y, np.column_stack(columns)


def _scaled(X: Any) -> Any:
    X = np.asarray(X, dtype=float)
    large = np.abs(X).max(axis=0) > 50
    X[:, large] = np.sign(X[:, large]) * np.log1p(np.abs(X[:, large]))
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)


def models(n: int, d: int) -> dict[str, Callable[..., Any]]:
    """Constructors, by name."""
    return {
        "linear": lambda **options: ParityRidge(alpha=0.01 * n, **options),
        "RBF": lambda **options: ParityKernelRidge(
            kernel="rbf", gamma=0.5 / d, alpha=0.3, fit_intercept=True, **options
        ),
    }


def draw(make: Callable[..., Any], X: Any, y: Any, s: Any, n: int, seed: int) -> dict[str, Any]:
    """Gaps and price of each rule in one draw: (rms gap, mean squared error)."""
    order = np.random.default_rng(seed).permutation(len(y))
    here, there = order[:n], order[n:]
    codes = np.unique(["|".join(map(str, row)) for row in s], return_inverse=True)[1]
    present = np.intersect1d(codes[here], codes[there])
    model = make(constraint=MeanParity(min_group_size=0, pooling="auto"))
    tradeoff = model.fit(X[here], y[here], sensitive_features=s[here]).tradeoff_
    directions, free = tradeoff.solution.directions, tradeoff.solution.free
    coef = np.hstack([free.coef, directions.coef[0]])
    values = [tradeoff.basis.evaluate(X[rows], coef) for rows in np.array_split(there, 10)]
    values = np.vstack(values) + np.append(free.intercept, directions.intercept[0])

    def measured(function: Any) -> tuple[float, float]:
        u, steps = function.unfairness, function.multipliers
        steps = (1 - u) * directions.multipliers if steps is None else steps
        predicted = values[:, 0] - values[:, 1:] @ steps[:, 0]
        means = [predicted[codes[there] == g].mean() for g in present]
        gaps = np.array(means) - predicted.mean()
        return float(np.sqrt(np.mean(gaps**2))), float(np.mean((y[there] - predicted) ** 2))

    found = {
        name: measured(tradeoff.at(u)) for name, u in (("free", 1), ("exact", 0), ("dial", 0.1))
    }
    found["auto"] = measured(model._function)
    errors = model.gap_limits_.standard_errors[:, 0]
    groups, counts = np.unique(s[here].astype(str), axis=0, return_counts=True)
    alone = [column == value for column in groups.T for value in np.unique(column)]
    shares = [mine * counts / counts[mine].sum() for mine in alone]
    weights = (np.vstack([np.eye(len(groups)), *shares]) / np.sqrt(errors)[:, None])[None]
    one = model.gap_limits_.limits[0] / np.sqrt(errors[0]) / AUTO_POOLING
    found["1"] = measured(tradeoff.within_weighted(WeightedGaps(weights, one)))
    ways = (tradeoff.within_weighted(WeightedGaps(weights, k * one)) for k in _STRENGTHS)
    found["hindsight"] = min(map(measured, ways))
    return found


def rows(draws: int, kinds: list[str], sizes: list[int]) -> Iterator[str]:
    """The lines of the table."""
    tables = {"Adult, sex × race": adult, "simulated, 24 groups": simulated}
    if os.environ.get("MEANPARITY_DATA"):
        tables["Law School, race × gender"] = law_school
    for name, load in tables.items():
        X, y, s = load()
        for n in sizes:
            for kind in kinds:
                make = models(n, X.shape[1])[kind]
                found = [draw(make, X, y, s, n, 1000 + seed) for seed in range(draws)]
                free, exact = (np.array([f[rule] for f in found]) for rule in ("free", "exact"))
                cells = [f"{exact[:, 0].mean():.4f}", f"{(exact - free)[:, 1].mean():.4f}"]
                for rule in RULES:
                    values = np.array([f[rule] for f in found])
                    gap = values[:, 0].mean() / exact[:, 0].mean()
                    price = (values - free)[:, 1].mean() / (exact - free)[:, 1].mean()
                    cells.append(f"{gap:.2f}, {price:.2f}")
                yield f"| {name} | {kind} | {n:,} | {' | '.join(cells)} |"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--models", nargs="+", default=["linear", "RBF"])
    parser.add_argument("--sizes", nargs="+", type=int, default=[800, 1500, 4000])
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    columns = ("table", "model", "n", "exact: rms gap", "exact: price", "dial at 0.1", *RULES[1:])
    print(f"| {' | '.join(columns)} |")
    print(f"|---|---|{'--:|' * (len(columns) - 2)}")
    for row in rows(options.draws, options.models, options.sizes):
        print(row, flush=True)


if __name__ == "__main__":
    main()
