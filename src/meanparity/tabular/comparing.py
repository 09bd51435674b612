"""Our estimators beside the methods of the registry, on a table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

from meanparity.baselines import METHODS
from meanparity.displays import COLOURS
from meanparity.metrics import mean_parity_gap, wasserstein_gap
from meanparity.path import TradeoffCurve
from meanparity.tabular.preparing import Prepared

_MARKS = "s^vDPX*<>hpd8"


def compare(
    prepared: Prepared,
    estimator: Any,
    *,
    setting: str,
    tell: Callable[[str], None] = lambda words: None,
) -> tuple[Any, TradeoffCurve]:
    """Fit every method to the training rows: a data frame with a line for each, and our dial.

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
    given = prepared.people["test"]
    curve = estimator.tradeoff_.curve(prepared.X[test], y[test], given["sensitive_features"])
    return pd.DataFrame(lines), curve


def draw(table: Any, curve: TradeoffCurve, path: Any, target: str) -> None:
    """Error against gap on held-out rows: our dial as a line, a mark for each other method."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve.smd, curve.mse, "k-", linewidth=2, label="meanparity, dial 0 to 1")
    axes.plot(curve.smd[:1], curve.mse[:1], "ko", markersize=9, label="meanparity, dial 0")
    others = table[~table["method"].str.startswith("meanparity")].to_dict("records")
    for i, line in enumerate(others):
        style: dict[str, Any] = {"marker": _MARKS[i % len(_MARKS)]}
        style["color"] = COLOURS[i % (len(COLOURS) - 1)]
        axes.plot(
            [line["SMD, test"]],
            [line["test MSE"]],
            label=line["method"],
            linestyle="none",
            markersize=8,
            fillstyle="none",
            markeredgewidth=2,
            **style,
        )
    axes.set(xlabel="Sum of absolute mean gaps (SMD), held-out rows", ylabel="Mean squared error")
    axes.set_title(f"Predictions of {target}".replace("$", r"\$"), loc="left", size="medium")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=120, format="png")
