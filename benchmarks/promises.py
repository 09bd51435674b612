"""Promises by `confidence=0.95` on people who were not seen: the table in docs/small-groups.md.

    python -m benchmarks.promises
    python -m benchmarks.promises --populations 20 --cases Adult --models RBF

In each population, the smallest limit that can be promised there, and 2% more, is compared with the
largest gap among people who are not in the fit.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from benchmarks.partial_pooling import _scaled
from meanparity import MeanParity, ParityKernelRidge, ParityRidge
from meanparity.datasets import load_adult

Table = tuple[Any, Any, Any]  # features, targets and groups


def small_groups(rng: np.random.Generator, n: int, skewed: bool) -> Table:
    """2 to 10 groups, of which the smallest has 3% of the people, and 14 features."""
    k = int(rng.integers(2, 11))
    shares = np.maximum(np.append(0.03, rng.dirichlet(np.full(k - 1, 5.0)) * 0.97), 0.03)
    s = rng.choice(k, n, p=shares / shares.sum())
    X = rng.standard_normal((n, 14))
    if skewed:
        X = (np.exp(X) - np.exp(0.5)) / 2.16
    X[:, :8] += rng.normal(0, 0.5, (k, 8))[s]
    return X, X @ rng.normal(0, 0.4, 14) + rng.standard_normal(n), s


def two_groups(rng: np.random.Generator, n: int, _: bool) -> Table:
    """Two groups of one size and five features, of which a kernel sees most."""
    s = rng.integers(0, 2, n)
    X = rng.standard_normal((n, 5))
    X[:, :2] += rng.normal(0, 0.5, (2, 2))[s]
    return X, X @ rng.normal(0, 0.4, 5) + rng.standard_normal(n), s


def adult() -> Callable[..., Table]:
    """Draws of rows from Adult: women and men."""
    data = load_adult()
    X, y, sex = _scaled(data.data), data.target.astype(float), data.sensitive[:, 0]

    def draw(rng: np.random.Generator, n: int, _: bool) -> Table:
        rows = rng.permutation(len(y))[:n]
        return X[rows], y[rows], sex[rows]

    return draw


def promise(options: dict[str, Any], table: Table, n: int) -> tuple[float, float] | None:
    """The limit, and the largest gap among people after the first n; None if a group is missing."""
    X, y, s = table
    groups = np.unique(s)
    if len(np.unique(s[:n])) < len(groups):
        return None
    kind = ParityKernelRidge if "kernel" in options else ParityRidge
    model = kind(**options, confidence=0.95, constraint=MeanParity(min_group_size=0))
    try:
        model.set_params(max_gap=1e-9).fit(X[:n], y[:n], sensitive_features=s[:n])
    except ValueError as error:
        least = 1.02 * float(str(error).split("at least ")[1].split(",")[0])
    model.set_params(max_gap=least).fit(X[:n], y[:n], sensitive_features=s[:n])
    f, there = model.predict(X[n:]), s[n:]
    return least, max(abs(f[there == g].mean() - f.mean()) for g in groups)


def cases() -> Iterator[tuple[str, Callable[..., Table], bool, str, list[dict[str, Any]], int]]:
    """Name, draws, whether features are skewed, model, its settings, and training rows."""

    def rbf(gamma: float, *alphas: float) -> list[dict[str, Any]]:
        fixed = {"kernel": "rbf", "gamma": gamma, "fit_intercept": True}
        return [fixed | {"alpha": alpha} for alpha in alphas]

    for skewed, shape in ((False, "normal"), (True, "skewed")):
        name = f"2 to 10 groups, smallest 3%, {shape}"
        for n in (300, 800):
            yield name, small_groups, skewed, "linear", [{"alpha": 1.0}], n
        for gamma in (0.02, 0.1, 0.5):
            settings = rbf(gamma, 0.1, 1.0)
            yield name, small_groups, skewed, f"RBF, gamma {gamma:g}", settings, 400
    for gamma in (0.1, 0.5, 2.0):
        settings = rbf(gamma, 0.01, 0.1, 1.0)
        yield "2 groups of one size", two_groups, False, f"RBF, gamma {gamma:g}", settings, 300
    of_adult = adult()
    yield "Adult, women and men", of_adult, False, "linear", [{"alpha": 1.0}], 1000
    for gamma in (0.02, 0.1):
        yield (
            "Adult, women and men",
            of_adult,
            False,
            f"RBF, gamma {gamma:g}",
            rbf(gamma, 0.1, 1.0),
            1000,
        )


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, help="100; linear models 500; Adult 200 and 40")
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--models", default="", help="only those whose names contain this")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        "| population | model | n | promises | failed | largest gap / promise | promise, sd of y |"
    )
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, draw, skewed, model, settings, n in cases():
        if options.cases not in name or options.models not in model:
            continue
        many, few = (200, 40) if "Adult" in name else (500, 100)
        usual = many if model == "linear" else few
        found, sizes = [], []
        for seed in range(options.populations or usual):
            rng = np.random.default_rng(seed)
            table = draw(rng, n + 10_000, skewed)
            one = promise(settings[seed % len(settings)], table, n)
            if one is not None:
                found.append(one[1] / one[0])
                sizes.append(one[0] / table[1].std())
        share, ratios = np.array(found), f"{np.mean(found):.2f}, at most {np.max(found):.2f}"
        cells = (name, model, f"{n:,}", len(found), f"{np.mean(share > 1):.1%}", ratios)
        print("|", " | ".join(map(str, cells)), f"| {np.mean(sizes):.2f} |", flush=True)


if __name__ == "__main__":
    main()
