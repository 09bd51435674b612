"""Comparing this package's model with other methods on a table."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pandas as pd

from meanparity.baselines import METHODS
from meanparity.constraints import MeanParity
from meanparity.displays import COLOURS
from meanparity.exceptions import warn
from meanparity.metrics import mean_parity_gap, wasserstein_gap
from meanparity.tables.encoding import EncodedRows, EncodedTable
from meanparity.tables.roles import Roles
from meanparity.tables.selecting import select_estimator
from meanparity.tradeoff import TradeoffCurve

_MARKERS = "s^vDPX*<>hpd8"
_OURS = "meanparity"
_PAPERS = METHODS["Ours"]  # at the settings of the other methods
_MOST_GROUPS = 20


def compare_methods(
    frame: pd.DataFrame,
    roles: Roles,
    *,
    setting: str = "linear",
    test_size: float = 0.2,
    seed: int = 0,
    progress: Callable[[str], None] = lambda message: None,
) -> tuple[pd.DataFrame, TradeoffCurve]:
    """Fit this package's model and all methods of `meanparity.baselines.METHODS` to a table.

    Penalty and kernel width of this package's model are selected on the training rows, and again
    for the model without the constraint. The other methods have the paper's settings, and so has a
    third model of this package. With control columns, gaps are measured within strata, and this
    package's models equalise means there; the other methods have no control columns. Warnings of a
    method are raised again with its name.

    Parameters
    ----------
    frame : pandas data frame
        The table. Its index numbers the rows, starting from 0.
    roles : Roles
        The role of each column. The combinations of sensitive values are the groups, so that
        numbers are not allowed.
    setting : {"linear", "kernel"}, default="linear"
        Which variants of the methods to use.
    test_size : float, default=0.2
        Share of the rows to hold out.
    seed : int, default=0
        Random seed.
    progress : callable, optional
        Receives the name of the method that is being fitted.

    Returns
    -------
    results : pandas data frame
        One row for each method: errors, gaps and seconds.
    curve : TradeoffCurve
        The tradeoff of this package's model on the held-out rows.

    See Also
    --------
    plot_comparison : A picture of its result.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.tables import Roles, compare_methods
    >>> rng = np.random.default_rng(0)
    >>> frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 80), "x": rng.normal(size=80)})
    >>> frame["y"] = frame["x"] + (frame["sex"] == "M")
    >>> results, curve = compare_methods(frame, Roles("y", ("sex",)), test_size=0.25)
    >>> results["method"].tolist()[:4]
    ['meanparity, unfairness 0', 'meanparity, unfairness 1', 'meanparity, untuned', 'Constant']
    """
    roles.check(frame, "The table")
    for column in roles.sensitive:
        if frame[column].nunique() > _MOST_GROUPS:
            raise ValueError(
                f"The column {column!r} has {frame[column].nunique()} different values, but "
                f"these methods compare at most {_MOST_GROUPS} groups. Divide it into bands."
            )
    advice = "Fill them, or leave these rows out: these methods compare known groups."
    roles.refuse_empty_cells(frame, frame[roles.target].notna(), advice)
    if roles.numeric:
        raise ValueError(
            "The other methods compare groups and not sensitive numbers, so --numeric (numeric in "
            "Python) cannot be used here. Divide the column into bands."
        )
    roles = replace(roles, categorical=roles.sensitive)
    table = EncodedTable.from_frame(frame, roles, test_size=test_size, seed=seed)
    train_rows, test_rows = table.train, table.test
    X, y, X_test, y_test = train_rows.X, train_rows.y, test_rows.X, test_rows.y
    groups, test_groups = (
        roles.combined(rows.metadata["sensitive_features"]) for rows in (train_rows, test_rows)
    )
    lines = []

    def sum_of_gaps(rows: EncodedRows, predicted: Any) -> float:
        people = {k: v for k, v in rows.metadata.items() if k != "sample_weight"}
        return float(mean_parity_gap(None, predicted, **people))

    def add_line(name: str, description: str, seconds: float, train: Any, test: Any) -> None:
        mse = float(((y_test - test) ** 2).mean())
        lines.append(
            {
                "method": name,
                "description": description,
                "test MSE": mse,
                "test R²": float(1 - mse / y_test.var()),
                "sum of gaps, training": sum_of_gaps(train_rows, train),
                "sum of gaps, test": sum_of_gaps(test_rows, test),
                "Wasserstein gap, test": wasserstein_gap(
                    None, test, sensitive_features=test_groups
                ),
                "seconds": seconds,
            }
        )

    progress(_OURS)
    constraint = MeanParity(continuous=[])
    told: set[str] = set()  # what our models have in common, such as small groups, is told once
    selected = select_estimator(table.train, setting, constraint=constraint, seed=seed)
    estimator = selected.estimator
    untuned = _PAPERS.make(setting, constraint=constraint, fit_intercept=True)
    for name, own, fit, description in (
        ("unfairness 0", estimator, selected.fit, "equal means, exactly"),
        ("unfairness 1", selected.free, selected.free.fit, "without the constraint"),
        (
            "untuned",
            untuned,
            untuned.fit,
            "equal means at the paper's settings, like the methods below",
        ),
    ):
        name = f"{_OURS}, {name}"
        progress(name)
        with _named(name, told):
            start = time.perf_counter()
            fit(X, y, **table.train.metadata)
            seconds = time.perf_counter() - start
        add_line(name, description, seconds, own.predict(X), own.predict(X_test))
    for name, method in METHODS.items():
        if setting not in method.settings or name == "Ours":
            continue
        progress(name)
        centre = float(y.mean()) if method.centred else 0.0
        with _named(name, set()):
            start = time.perf_counter()
            model = method.fit(X, y - centre, sensitive_features=groups, setting=setting)
            seconds = time.perf_counter() - start
            train = method.predict(model, X, sensitive_features=groups) + centre
            test = method.predict(model, X_test, sensitive_features=test_groups) + centre
        add_line(name, method.title, seconds, train, test)
    people = [table.test.metadata.get(f"{role}_features") for role in ("sensitive", "control")]
    curve = estimator.tradeoff_.curve(X_test, y_test, people[0], control_features=people[1])
    return pd.DataFrame(lines), curve


@contextmanager
def _named(method: str, told: set[str]) -> Iterator[None]:
    """Warnings that are not among those `told` are raised again, with the name of the method."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        yield
    for message in dict.fromkeys(str(warning.message) for warning in caught):
        if message not in told:
            warn(f"{method}: {message}")
            told.add(message)


def plot_comparison(results: Any, curve: TradeoffCurve, path: Any, target: str) -> None:
    """Save a PNG image of the error against the gap of each method on the held-out rows.

    Parameters
    ----------
    results, curve
        As returned by `compare_methods`.
    path : str, path or binary file
        Where to write the image.
    target : str
        Name of the outcome.

    See Also
    --------
    compare_methods : What it draws.

    Examples
    --------
    >>> import io
    >>> from meanparity.tradeoff import TradeoffCurve
    >>> import numpy as np
    >>> u = np.array([0.0, 1.0])
    >>> curve = TradeoffCurve(u, mse=1 - 0.5 * u, r2=0.5 * u, smd=u, max_gap=u, norm=u)
    >>> results = pd.DataFrame({"method": ["OLS"], "sum of gaps, test": [0.9], "test MSE": [0.6]})
    >>> image = io.BytesIO()
    >>> plot_comparison(results, curve, image, "pay")
    >>> image.getvalue()[1:4]
    b'PNG'
    """
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        message = "The picture needs matplotlib. Run: pip install 'meanparity[plot]'"
        raise ImportError(message) from error
    figure = Figure(figsize=(9, 5), layout="constrained")
    axes = figure.subplots()
    axes.plot(curve.smd, curve.mse, "k-", linewidth=2, label=f"{_OURS}, unfairness 0 to 1")
    axes.plot(curve.smd[:1], curve.mse[:1], "ko", markersize=9, label=f"{_OURS}, unfairness 0")
    others = results[~results["method"].str.startswith(_OURS)].to_dict("records")
    for i, line in enumerate(others):
        axes.plot(
            [line["sum of gaps, test"]],
            [line["test MSE"]],
            label=line["method"],
            linestyle="none",
            marker=_MARKERS[i % len(_MARKERS)],
            color=COLOURS[i % (len(COLOURS) - 1)],
            markersize=8,
            fillstyle="none",
            markeredgewidth=2,
        )
    axes.set(
        xlabel="Sum of absolute mean gaps on the held-out rows",
        ylabel="Mean squared error on the held-out rows",
    )
    axes.set_title(f"Predictions of {target}".replace("$", r"\$"), loc="left", size="medium")
    axes.grid(alpha=0.3)
    axes.spines[["top", "right"]].set_visible(False)
    figure.legend(loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=120, format="png")
