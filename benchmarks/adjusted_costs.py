"""Error and gap of corrected regressors: the table in docs/scikit-learn.md.

``python -m benchmarks.adjusted_costs`` prints it. The regressor is fitted to half of the rows of a
bundled data set, a quarter of the rows is available to fit the correction, and all results are
those on the last quarter.
"""

from __future__ import annotations

import functools

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.frozen import FrozenEstimator

from meanparity import ParityAdjusted
from meanparity.datasets import load_adult, load_communities_crime
from meanparity.metrics import mean_parity_gap

SPLITS = 10
REGRESSORS = {
    "random forest": RandomForestRegressor(50, min_samples_leaf=2, random_state=0),
    "gradient boosting": HistGradientBoostingRegressor(random_state=0),
}
WAYS = {
    "none": "the regressor itself",
    "train": "g(X), fitted to equally many of the regressor's training rows",
    "others": "g(X), fitted to other rows",
    "scored": "g(X), fitted to the people who are scored",
    "groups": "a shift of each group, fitted to other rows",
}


def tables():
    """Name, features, target and one sensitive column with two groups of each data set."""
    crime, adult = load_communities_crime(), load_adult()
    sex = np.asarray(adult.sensitive)[:, 0]
    subset = np.random.default_rng(0).permutation(len(adult.target))[:8000]
    yield "Communities & Crime", crime.data, crime.target, np.asarray(crime.sensitive)
    yield (
        "Adult (sex)",
        adult.data[subset],
        adult.target[subset],
        sex[subset],
    )


@functools.cache
def costs() -> pd.DataFrame:
    """MSE in units of the variance of y, and gap in units of its standard deviation."""
    found = []
    for dataset, X, y, s in tables():
        for name, regressor in REGRESSORS.items():
            for seed in range(SPLITS):
                order = np.random.default_rng(seed).permutation(len(y))
                train, others, scored = np.split(order, [len(y) // 2, 3 * len(y) // 4])
                frozen = FrozenEstimator(regressor.fit(X[train], y[train]))
                predicted = {"none": frozen.predict(X[scored])}
                own = train[: len(others)]
                for way, rows in (("train", own), ("others", others), ("scored", scored)):
                    model = ParityAdjusted(frozen).fit(X[rows], sensitive_features=s[rows])
                    predicted[way] = model.predict(X[scored])
                shifted = ParityAdjusted(frozen, correction="groups")
                shifted.fit(X[others], sensitive_features=s[others])
                predicted["groups"] = shifted.predict(X[scored], sensitive_features=s[scored])
                for way, values in predicted.items():
                    gap = mean_parity_gap(None, values, sensitive_features=s[scored])
                    mse = np.mean((y[scored] - values) ** 2) / y.var()
                    found.append((dataset, name, way, mse, gap / y.std()))
    table = pd.DataFrame(found, columns=["data", "regressor", "way", "mse", "gap"])
    return table.groupby(["data", "regressor", "way"], sort=False).mean()


def markdown() -> str:
    """The table as the document shows it."""
    numbers = costs()
    heads = [(data, name) for data, *_ in tables() for name in REGRESSORS]
    lines = [
        "| correction | " + " | ".join(f"{data}, {name}" for data, name in heads) + " |",
        "| --- |" + " --- |" * len(heads),
    ]
    for way, words in WAYS.items():
        cells = []
        for head in heads:
            row = numbers.loc[(*head, way)]
            gap = "0" if row.gap < 1e-10 else f"{row.gap:.3f}"
            cells.append(f"{row.mse:.3f}, gap {gap}")
        lines.append(f"| {words} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


if __name__ == "__main__":
    print(markdown())
