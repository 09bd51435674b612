"""Promises by `confidence=0.95` on people who were not seen: the table in docs/small-groups.md.

    python -m benchmarks.promises
    python -m benchmarks.promises --populations 20 --cases Adult --models RBF

In each population, the smallest limit that can be promised there, and 2% more, is compared with the
largest gap among people who are not in the fit. The second table has other uses of a promise: see
`USES`.
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from benchmarks.partial_pooling import _scaled
from meanparity import (
    MeanParity,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
    ResidualParity,
)
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


@dataclass
class Use:
    """How a promise is asked for: the rows of fit (the first n), and what goes with them."""

    table: Table
    n: int
    constraint: Any = field(default_factory=lambda: MeanParity(min_group_size=0))
    fit: dict[str, Any] = field(default_factory=dict)
    settings: dict[str, Any] = field(default_factory=dict)

    @property
    def rows(self) -> dict[str, Any]:
        """The arguments of `fit`."""
        X, y, s = (part[: self.n] for part in self.table)
        return {"X": X, "y": y, "sensitive_features": s, **self.fit}

    def largest_gap(self, model: Any) -> float:
        """The largest gap among people who are not in the fit."""
        X, y, s = (part[self.n :] for part in self.table)
        f = model.predict(X) - (y if isinstance(self.constraint, ResidualParity) else 0.0)
        return float(max(abs(f[s == g].mean() - f.mean()) for g in np.unique(s)))


def residuals(rng: np.random.Generator, table: Table, n: int, options: dict[str, Any]) -> Use:
    """The promise is about mean errors, which are compared instead of mean predictions."""
    return Use(table, n, ResidualParity(min_group_size=0))


def sampling_weights(
    rng: np.random.Generator, table: Table, n: int, options: dict[str, Any]
) -> Use:
    """People with a large first feature are up to four times as likely to be asked."""
    X, y, s = table
    chance = 1 + 3 / (1 + np.exp(-X[:, 0]))
    asked = rng.choice(len(y) // 2, n, p=chance[: len(y) // 2] / chance[: len(y) // 2].sum())
    order = np.concatenate([asked, np.arange(len(y) // 2, len(y))])
    return Use((X[order], y[order], s[order]), n, fit={"sample_weight": 1 / chance[asked]})


def small_pool(rng: np.random.Generator, table: Table, n: int, options: dict[str, Any]) -> Use:
    """The promise is about the people of which a pool of half as many is a sample."""
    X, y, s = table
    pool = X[n : n + n // 2], s[n : n + n // 2]
    left = np.r_[:n, n + n // 2 : len(y)]
    constraint = MeanParity(min_group_size=0, parity_on="pool")
    return Use((X[left], y[left], s[left]), n, constraint, fit={"pool": pool})


def chosen_penalty(rng: np.random.Generator, table: Table, n: int, options: dict[str, Any]) -> Use:
    """The penalty is that which cross-validation on the same rows chooses."""
    use = Use(table, n)
    kind = ParityKernelRidgeCV if "kernel" in options else ParityRidgeCV
    free = {name: value for name, value in options.items() if name not in ("alpha", "gamma")}
    free |= {"gammas": [options["gamma"]]} if "gamma" in options else {}
    model = kind(alphas=np.logspace(-2, 3, 11), constraint=use.constraint, **free)
    return Use(table, n, settings={"alpha": model.fit(**use.rows).alpha_})


USES: dict[str, Callable[[np.random.Generator, Table, int, dict[str, Any]], Use]] = {
    "residual parity": residuals,
    "sampling weights": sampling_weights,
    "a pool of n / 2": small_pool,
    "penalty chosen on the rows": chosen_penalty,
}


def promise(options: dict[str, Any], use: Use) -> tuple[float, float] | None:
    """The limit, and the largest gap among people not in the fit; None if a group is missing."""
    groups = np.unique(use.table[2])
    parts = [use.rows["sensitive_features"]]
    parts += [use.fit["pool"][1]] if "pool" in use.fit else []
    if any(len(np.unique(part)) < len(groups) for part in parts):
        return None
    kind = ParityKernelRidge if "kernel" in options else ParityRidge
    model = kind(**options, confidence=0.95, constraint=use.constraint).set_params(**use.settings)
    try:
        model.set_params(max_gap=1e-9).fit(**use.rows)
    except ValueError as error:
        least = 1.02 * float(str(error).split("at least ")[1].split(",")[0])
    model.set_params(max_gap=least).fit(**use.rows)
    return least, use.largest_gap(model)


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


def uses() -> Iterator[tuple[str, Callable[..., Table], bool, str, list[dict[str, Any]], int]]:
    """The cases of the second table: linear models, and kernels that drift."""
    for name, draw, skewed, model, settings, n in cases():
        few = name.startswith("2 to 10") and (model, n) in (
            ("linear", 800),
            ("RBF, gamma 0.02", 400),
        )
        other = (name[:8], model) in (("2 groups", "RBF, gamma 0.5"), ("Adult, w", "linear"))
        if (few and skewed) or other:
            yield name, draw, skewed, model, settings, n


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--populations", type=int, help="100; linear models 500; Adult 200 and 40")
    parser.add_argument("--cases", default="", help="only those whose names contain this")
    parser.add_argument("--models", default="", help="only those whose names contain this")
    parser.add_argument("--uses", default="", help="only those of the second table with this name")
    parser.add_argument("--table", type=int, choices=(1, 2), help="only this table")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.table != 2:
        _table("population", cases(), {"": lambda rng, table, n, _: Use(table, n)}, options)
    if options.table != 1:
        chosen = {name: use for name, use in USES.items() if options.uses in name}
        _table("use, population", uses(), chosen, options)


def _table(first: str, lines: Any, ways: dict[str, Any], options: argparse.Namespace) -> None:
    print(f"| {first} | model | n | promises | failed | largest gap / promise | promise, sd of y |")
    print("|---|---|--:|--:|--:|--:|--:|")
    for name, draw, skewed, model, settings, n in lines:
        if options.cases not in name or options.models not in model:
            continue
        many, few = (200, 40) if "Adult" in name else (500, 100)
        usual = many if model == "linear" else few
        for way, use in ways.items():
            found, sizes = [], []
            for seed in range(options.populations or usual):
                rng, chosen = np.random.default_rng(seed), settings[seed % len(settings)]
                table = draw(rng, n + 10_000, skewed)
                one = promise(chosen, use(rng, table, n, chosen))
                if one is not None:
                    found.append(one[1] / one[0])
                    sizes.append(one[0] / table[1].std())
            share, ratios = np.array(found), f"{np.mean(found):.2f}, at most {np.max(found):.2f}"
            title = f"{way}: {name}" if way else name
            cells = (title, model, f"{n:,}", len(found), f"{np.mean(share > 1):.1%}", ratios)
            print("|", " | ".join(map(str, cells)), f"| {np.mean(sizes):.2f} |", flush=True)


if __name__ == "__main__":
    main()
