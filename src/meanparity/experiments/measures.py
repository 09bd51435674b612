"""What is measured in one trial: an entry and a split to rows of numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity._typing import FloatArray
from meanparity.baselines import METHODS
from meanparity.estimators import ParityKernelRegressor, ParityKernelRidgeCV
from meanparity.experiments.declaration import Entry, Row
from meanparity.experiments.problems import PARTS, Trial
from meanparity.metrics import covariance_norm, mean_parity_gap, wasserstein_gap
from meanparity.path import PAPER_POSITIONS, FittedFunction

_SENSITIVE_KERNEL = {
    "linear": {"kernel": "linear"},
    "kernel": {"kernel": "rbf", "gamma": 0.1},
}


def scores(entry: Entry, trial: Trial) -> list[Row]:
    """MSE, SMD, DPD and Norm of Cov on both parts, and the seconds of the fit."""
    trial = _prepared(entry, trial)
    model, seconds = _timed(lambda: _fit(entry, trial))
    return [{"seconds": seconds, **_both_parts(entry, model, trial)}]


def sweep(entry: Entry, trial: Trial) -> list[Row]:
    """MSE and SMD at every position of the method's dial, and the seconds of all its fits."""
    trial = _prepared(entry, trial)
    sd = float(trial.part("train")[1].std())
    start = time.perf_counter()
    if entry.method == "Ours":  # one fit has all positions
        tradeoff = _fit(entry, trial).tradeoff_
        functions = [partial(_evaluate, tradeoff.at(position)) for position in entry.positions]
    else:
        dial = str(METHODS[entry.method].dial)
        models = [_fit(entry, trial, **{dial: position}) for position in entry.positions]
        functions = [partial(_predict, entry, model) for model in models]
    seconds = time.perf_counter() - start
    rows: list[Row] = []
    for position, function in zip(entry.positions, functions, strict=True):
        row = {"position": position, "seconds": seconds, "sd": sd}
        for part in PARTS:
            X, y, s = trial.part(part)
            predicted = function(X, s)
            row[f"mse_{part}"] = float(np.mean((y - predicted) ** 2))
            row[f"smd_{part}"] = mean_parity_gap(None, predicted, sensitive_features=s)
        rows.append(row)
    return rows


def descent(entry: Entry, trial: Trial) -> list[Row]:
    """Loss and SMD on the training rows along the steps of both descents, free and constrained."""
    trial = trial.centred()
    X, y, s = trial.part("train")
    model = ParityKernelRegressor(optimizer="adam", **entry.parameters)
    model.fit(X, y, sensitive_features=s)
    rows: list[Row] = []
    for name, run in (("GD", "free"), ("Fair-GD", "constrained")):
        history = model.history_[run]
        last = len(history["gap"]) - 1
        worst = float(np.max(history["gap"]))
        steps = np.unique(np.round(np.linspace(0, last, 301)).astype(int))
        rows += [
            {
                "curve": name,
                "step": int(step),
                "loss": float(history["objective"][step]) / len(y),
                "smd": float(history["gap"][step]),
                "smd_worst": worst,
                "sd": float(y.std()),
            }
            for step in steps
        ]
    return rows


def predictions(entry: Entry, trial: Trial) -> list[Row]:
    """Every person: part, group, response and prediction."""
    trial = _prepared(entry, trial)
    model = _fit(entry, trial)
    rows: list[Row] = []
    for part in PARTS:
        X, y, s = trial.part(part)
        predicted = _predict(entry, model, X, s)
        people = zip(s.tolist(), y.tolist(), predicted.tolist(), strict=True)
        rows += [
            {"part": part, "group": group, "response": response, "prediction": prediction}
            for group, response, prediction in people
        ]
    return rows


def proofs(entry: Entry, trial: Trial) -> list[Row]:
    r"""How far our fit is from what the paper proves, all on the training rows.

    * ``smd``: SMD of the fit under parity, in units of sd(y).
    * ``order``: the largest MPD − DPD along the dial (Proposition 1), which must not be positive.
    * ``quadratic``: the largest distance of the penalised loss ``L(g_u)``, from predictions, to
      ``(1−u)² L(g_fair) + (1−(1−u)²) L(g*)`` in units of ``L(g*)`` (Proposition 4); zero only if
      g* is optimal.
    * ``linear``: the largest distance of ``MPD(g_u)`` to ``u · MPD(g*)``, in units of sd(y).
    * ``bound``: ``L(g_fair)`` in units of its bound ``L(g*) + ⟨Σ̃ g*⊥, g*⊥⟩`` (Proposition 5),
      where g*⊥ is the part of g* orthogonal to the functions of equal means.
    * ``bound_zero``: ``L(g_fair)`` in units of ``L(0) = E(Y²)``.
    """
    trial = _prepared(entry, trial)
    model = _fit(entry, trial)
    X, y, s = trial.part("train")
    n, sd, alpha = len(y), float(y.std()), float(model.alpha)
    losses, gaps, order = [], [], -np.inf
    for u in PAPER_POSITIONS:
        function = model.tradeoff_.at(u)
        values = function.predict(X)
        coef = function.coef[:, 0]  # of columns, or of rows: c·g(X) = cᵀKc is the squared norm
        norm = float(coef @ (coef if entry.setting == "linear" else values))
        losses.append((float(np.sum((y - values) ** 2)) + alpha * norm) / n)
        gaps.append(mean_parity_gap(None, values, sensitive_features=s))
        order = max(order, gaps[-1] - wasserstein_gap(None, values, sensitive_features=s))
    u, loss, gap = PAPER_POSITIONS, np.array(losses), np.array(gaps)
    expected = (1 - u) ** 2 * loss[0] + (1 - (1 - u) ** 2) * loss[-1]

    groups = np.unique(s.reshape(n, -1), axis=0, return_inverse=True)[1].ravel()
    members = groups[:, None] == np.arange(groups.max() + 1)
    C = members / members.sum(axis=0) - 1 / n
    kernel = {} if entry.setting == "linear" else {"gamma": model.gamma}
    V = pairwise_kernels(X, metric=model.kernel, **kernel) @ C
    free_gaps = C.T @ model.tradeoff_.at(1.0).predict(X)
    weights = np.linalg.pinv(C.T @ V, rcond=1e-10, hermitian=True) @ free_gaps
    apart = (float(np.sum((V @ weights) ** 2)) + alpha * float(free_gaps @ weights)) / n
    return [
        {
            "smd": gaps[0] / sd,
            "order": order / sd,
            "quadratic": float(np.abs(loss - expected).max() / loss[-1]),
            "linear": float(np.abs(gap - u * gap[-1]).max() / sd),
            "bound": float(loss[0] / (loss[-1] + apart)),
            "bound_zero": float(loss[0] / np.mean(y**2)),
        }
    ]


def _prepared(entry: Entry, trial: Trial) -> Trial:
    trial = trial.centred() if METHODS[entry.method].centred else trial
    return trial if entry.features == "all" else trial.without_s()


def _fit(entry: Entry, trial: Trial, **parameters: Any) -> Any:
    method = METHODS[entry.method]
    X, y, s = trial.part("train")
    parameters = {**entry.parameters, **parameters}
    if entry.gammas:
        search = ParityKernelRidgeCV(kernel="rbf", gammas=entry.gammas, **parameters)
        return search.fit(X, y, sensitive_features=s)
    if entry.pool:
        X_pool, _, s_pool = trial.part("test")
        model = method.make(entry.setting, parity_on="both", **parameters)
        return model.fit(X, y, sensitive_features=s, pool=(X_pool, s_pool))
    return method.fit(X, y, sensitive_features=s, setting=entry.setting, **parameters)


def _predict(entry: Entry, model: Any, X: FloatArray, s: FloatArray) -> FloatArray:
    return METHODS[entry.method].predict(model, X, sensitive_features=s)


def _evaluate(function: FittedFunction, X: FloatArray, s: FloatArray) -> FloatArray:
    return function.predict(X)


def _timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """A fitted model and the seconds that took: quick fits are repeated, and the best counts."""
    best, spent = np.inf, 0.0
    while spent < 0.05:
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
        best, spent = min(best, seconds), spent + seconds
    return model, float(best)


def _both_parts(entry: Entry, model: Any, trial: Trial) -> Row:
    row: Row = {"sd": float(trial.y[trial.parts["train"]].std())}
    for part in PARTS:
        X, y, s = trial.part(part)
        values, weights = METHODS[entry.method].mixture(model, X, sensitive_features=s)
        if entry.as_mean:
            values, weights = values @ weights[:, None], np.ones(1)
        numbers = _measure(y, s, values, weights, _SENSITIVE_KERNEL[entry.setting])
        row |= {f"{name}_{part}": value for name, value in numbers.items()}
    return row


def _measure(
    y: FloatArray, s: FloatArray, values: FloatArray, weights: FloatArray, kernel: Any
) -> dict[str, float]:
    """Of a predictor that predicts one of the columns of values, (n, h), at random."""
    n, h = values.shape
    people: dict[str, Any] = {
        "sensitive_features": np.repeat(s, h, axis=0),
        "sample_weight": np.tile(weights, n),
    }
    return {
        "mse": float(np.mean((y[:, None] - values) ** 2, axis=0) @ weights),
        "smd": mean_parity_gap(None, values.ravel(), **people),
        "dpd": wasserstein_gap(None, values.ravel(), **people),
        "cov": covariance_norm(None, values.ravel(), **people, **kernel),
    }
