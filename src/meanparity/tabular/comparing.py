"""Our estimators beside the methods of the registry, on a table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from meanparity.baselines import METHODS
from meanparity.metrics import mean_parity_gap, wasserstein_gap
from meanparity.tabular.preparing import Prepared


def compare(
    prepared: Prepared,
    estimator: Any,
    *,
    setting: str,
    tell: Callable[[str], None] = lambda words: None,
) -> Any:
    """Fit every method to the training rows: a pandas data frame with one line for each.

    Parameters
    ----------
    prepared : Prepared
        Training and held-out rows, as numbers.
    estimator : estimator
        Ours, not fitted.
    setting : {"linear", "kernel"}
        Which variants of the methods; their penalties are those of the paper.
    tell : callable, optional
        Gets the name of the method that runs.
    """
    import pandas as pd

    train, test = prepared.train, prepared.test
    y = prepared.y
    middle = float(y[train].mean())
    s = {key: prepared.keys[rows] for key, rows in (("train", train), ("test", test))}
    lines = []

    def line(name: str, title: str, seconds: float, predicted: dict[str, Any]) -> None:
        errors = (y[test] - predicted["test"]) ** 2
        gaps = {key: mean_parity_gap(None, predicted[key], sensitive_features=s[key]) for key in s}
        distance = wasserstein_gap(None, predicted["test"], sensitive_features=s["test"])
        lines.append(
            {
                "method": name,
                "what it does": title,
                "test MSE": float(errors.mean()),
                "test R²": float(1 - errors.mean() / y[test].var()),
                "SMD, training": float(gaps["train"]),
                "SMD, test": float(gaps["test"]),
                "Wasserstein, test": float(distance),
                "seconds": seconds,
            }
        )

    tell("meanparity")
    start = time.perf_counter()
    estimator.fit(prepared.X[train], y[train], **prepared.people["train"])
    seconds = time.perf_counter() - start
    for u, title in ((0.0, "equal means, exactly"), (1.0, "the same without the constraint")):
        function = estimator.tradeoff_.at(u)
        found = {"train": function.predict(prepared.X[train])}
        found["test"] = function.predict(prepared.X[test])
        line(f"meanparity, dial {u:g}", title, seconds, found)
    for name, method in METHODS.items():
        if setting not in method.settings or name == "Ours":
            continue
        tell(name)
        start = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            off = middle if method.centred else 0.0
            model = method.fit(
                prepared.X[train], y[train] - off, sensitive_features=s["train"], setting=setting
            )
            seconds = time.perf_counter() - start
            rows = (("train", train), ("test", test))
            found = {
                key: method.predict(model, prepared.X[at], sensitive_features=s[key]) + off
                for key, at in rows
            }
        line(name, method.title, seconds, found)
    return pd.DataFrame(lines)


def draw(table: Any, path: Any, target: str) -> None:
    """Error against gap on held-out rows, a mark for each method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 5), layout="constrained")
    axes = figure.subplots()
    ours = table["method"].str.startswith("meanparity").to_numpy()
    for some, style in ((~ours, {"color": "#888888"}), (ours, {"color": "#D55E00", "s": 70})):
        axes.scatter(table["SMD, test"][some], table["test MSE"][some], zorder=3, **style)
    order = np.argsort(table["test MSE"].to_numpy())
    for rank, i in enumerate(order):
        axes.annotate(
            table["method"].iloc[i],
            (table["SMD, test"].iloc[i], table["test MSE"].iloc[i]),
            xytext=(7, 6 if rank % 2 else -10),
            textcoords="offset points",
            fontsize=8,
            parse_math=False,
        )
    axes.set(xlabel="Sum of absolute mean gaps (SMD), held-out rows", ylabel="Mean squared error")
    axes.set_title(f"Predictions of {target}".replace("$", r"\$"), loc="left", size="medium")
    axes.margins(0.15)
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.savefig(path, dpi=120, format="png")
