"""What is measured in one trial: functions from an entry and a split to rows of numbers."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity._typing import FloatArray
from meanparity.estimators import ParityKernelRidgeCV
from meanparity.metrics import covariance_norm, mean_parity_gap, wasserstein_gap
from meanparity.tradeoff.curve import PAPER_POSITIONS
from reproduction.adam import descend, group_contrasts
from reproduction.datasets import PARTS, Trial
from reproduction.declaration import Entry, Row

_SENSITIVE_KERNEL = {
    "linear": {"kernel": "linear"},
    "kernel": {"kernel": "rbf", "gamma": 0.1},
}


def scores(entry: Entry, trial: Trial) -> list[Row]:
    """MSE, SMD, DPD and norm of the covariance on both parts, and the seconds of one fit."""
    trial = _prepare(entry, trial)
    model, seconds = _fit_timed(lambda: _fit(entry, trial))
    row: Row = {"seconds": seconds, "sd": float(trial.part("train")[1].std())}
    for part in PARTS:
        X, y, s = trial.part(part)
        values, weights = entry.resolved.mixture(model, X, sensitive_features=s)
        if entry.as_mean:
            values, weights = values @ weights[:, None], np.ones(1)
        numbers = _score_mixture(y, s, values, weights, _SENSITIVE_KERNEL[entry.setting])
        row |= {f"{name}_{part}": value for name, value in numbers.items()}
    return [row]


def sweep(entry: Entry, trial: Trial) -> list[Row]:
    """MSE and SMD at every position of the tradeoff parameter, and the seconds of all fits."""
    trial = _prepare(entry, trial)
    sd = float(trial.part("train")[1].std())
    start = time.perf_counter()
    if entry.method == "Ours":  # one fit gives all positions
        tradeoff = _fit(entry, trial).tradeoff_
        models = [tradeoff.at(position) for position in entry.positions]
    else:
        dial = str(entry.resolved.dial)
        models = [_fit(entry, trial, **{dial: position}) for position in entry.positions]
    seconds = time.perf_counter() - start
    rows: list[Row] = []
    for position, model in zip(entry.positions, models, strict=True):
        row = {"position": position, "seconds": seconds, "sd": sd}
        for part in PARTS:
            X, y, s = trial.part(part)
            predicted = _predict(entry, model, X, s)
            row[f"mse_{part}"] = float(np.mean((y - predicted) ** 2))
            row[f"smd_{part}"] = float(mean_parity_gap(None, predicted, sensitive_features=s))
        rows.append(row)
    return rows


def descent(entry: Entry, trial: Trial) -> list[Row]:
    """Mean loss and SMD on the training rows at 301 steps of GD and of Fair-GD.

    The parameters of the entry are those of `reproduction.adam.descend`.
    """
    X, y, s = trial.centred().part("train")
    rows: list[Row] = []
    for name, fair in (("GD", False), ("Fair-GD", True)):
        history = descend(X, y, s, fair=fair, **entry.parameters)
        worst, sd = float(history.gap.max()), float(y.std())
        steps = np.unique(np.round(np.linspace(0, len(history.gap) - 1, 301)).astype(int))
        rows += [
            {
                "curve": name,
                "step": int(step),
                "loss": float(history.loss[step]),
                "smd": float(history.gap[step]),
                "smd_worst": worst,
                "sd": sd,
            }
            for step in steps
        ]
    return rows


def predictions(entry: Entry, trial: Trial) -> list[Row]:
    """Part, group, response and prediction of every row of the data set."""
    trial = _prepare(entry, trial)
    model = _fit(entry, trial)
    rows: list[Row] = []
    for part in PARTS:
        X, y, s = trial.part(part)
        predicted = _predict(entry, model, X, s)
        rows += [
            {"part": part, "group": group, "response": response, "prediction": prediction}
            for group, response, prediction in zip(
                s.tolist(), y.tolist(), predicted.tolist(), strict=True
            )
        ]
    return rows


def proofs(entry: Entry, trial: Trial) -> list[Row]:
    r"""How far our fit is from what the paper proves, all on the training rows.

    * ``smd``: SMD of the fit under parity, in units of sd(y).
    * ``order``: the largest MPD − DPD along the tradeoff, in units of sd(y), which must not be
      positive (Proposition 1).
    * ``quadratic``: the largest difference between the penalised loss ``L(g_u)``, computed from
      predictions, and ``(1−u)² L(g_fair) + (1−(1−u)²) L(g*)``, in units of ``L(g*)``
      (Proposition 4). It is zero only if g* is optimal.
    * ``linear``: the largest difference between ``MPD(g_u)`` and ``u · MPD(g*)``, in units of sd(y)
      (Proposition 4).
    * ``bound``: ``L(g_fair)`` divided by its bound ``L(g*) + ⟨Σ̃ g*⊥, g*⊥⟩`` (Proposition 5), where
      g*⊥ is the component of g* orthogonal to the functions with equal means.
    * ``bound_zero``: ``L(g_fair)`` divided by ``L(0) = E(Y²)``.
    """
    trial = _prepare(entry, trial)
    model = _fit(entry, trial)
    X, y, s = trial.part("train")
    n, sd, alpha = len(y), float(y.std()), float(model.alpha)
    losses, gaps, order = [], [], -np.inf
    for u in PAPER_POSITIONS:
        function = model.tradeoff_.at(u)
        values = function.predict(X)
        # the squared norm is θᵀθ for coefficients of columns, cᵀKc = cᵀg(X) for those of rows
        coef = function.coef[:, 0]
        norm = float(coef @ (coef if entry.setting == "linear" else values))
        losses.append((float(np.sum((y - values) ** 2)) + alpha * norm) / n)
        gaps.append(float(mean_parity_gap(None, values, sensitive_features=s)))
        order = max(order, gaps[-1] - float(wasserstein_gap(None, values, sensitive_features=s)))
    u, loss, gap = PAPER_POSITIONS, np.array(losses), np.array(gaps)
    expected = (1 - u) ** 2 * loss[0] + (1 - (1 - u) ** 2) * loss[-1]

    C = group_contrasts(s)
    kernel = {} if entry.setting == "linear" else {"gamma": model.gamma}
    V = pairwise_kernels(X, metric=model.kernel, **kernel) @ C
    free_gaps = C.T @ model.tradeoff_.at(1.0).predict(X)
    weights = np.linalg.pinv(C.T @ V, rcond=1e-10, hermitian=True) @ free_gaps
    # ⟨Σ̃ g*⊥, g*⊥⟩ for g*⊥ = Σ_j weights_j v_j, where v_j represents the gap of group j
    orthogonal = (float(np.sum((V @ weights) ** 2)) + alpha * float(free_gaps @ weights)) / n
    return [
        {
            "smd": gaps[0] / sd,
            "order": order / sd,
            "quadratic": float(np.abs(loss - expected).max() / loss[-1]),
            "linear": float(np.abs(gap - u * gap[-1]).max() / sd),
            "bound": float(loss[0] / (loss[-1] + orthogonal)),
            "bound_zero": float(loss[0] / np.mean(y**2)),
        }
    ]


def _prepare(entry: Entry, trial: Trial) -> Trial:
    trial = trial.centred() if entry.resolved.centred else trial
    if "Fourier" in entry.features:
        return trial.fourier()
    return trial if entry.features == "all" else trial.without_sensitive()


def _fit(entry: Entry, trial: Trial, **parameters: Any) -> Any:
    method = entry.resolved
    X, y, s = trial.part("train")
    parameters = {**entry.parameters, **parameters}
    if (
        entry.features == "Fourier"
    ):  # NRFC standardises: what its penalty is on features as they are
        parameters["alpha"] /= float(X.var(axis=0).mean())
    if entry.gammas:
        search = ParityKernelRidgeCV(kernel="rbf", gammas=entry.gammas, **parameters)
        return search.fit(X, y, sensitive_features=s)
    if entry.pool:
        X_pool, _, s_pool = trial.part("test")
        model = method.make(entry.setting, **parameters)
        return model.fit(X, y, sensitive_features=s, pool=(X_pool, s_pool))
    return method.fit(X, y, sensitive_features=s, setting=entry.setting, **parameters)


def _predict(entry: Entry, model: Any, X: FloatArray, s: FloatArray) -> FloatArray:
    return entry.resolved.predict(model, X, sensitive_features=s)


def _fit_timed(fit: Callable[[], Any]) -> tuple[Any, float]:
    """A fitted model and its seconds; fast fits are repeated, and the shortest time counts."""
    best, total = np.inf, 0.0
    while total < 0.05:
        start = time.perf_counter()
        model = fit()
        seconds = time.perf_counter() - start
        best, total = min(best, seconds), total + seconds
    return model, float(best)


def _score_mixture(
    y: FloatArray, s: FloatArray, values: FloatArray, weights: FloatArray, kernel: Any
) -> dict[str, float]:
    """Scores of a predictor that predicts a random column of values, (n, h).

    The probabilities of the columns are the weights, (h,).
    """
    n, h = values.shape
    repeated: dict[str, Any] = {
        "sensitive_features": np.repeat(s, h, axis=0),
        "sample_weight": np.tile(weights, n),
    }
    return {
        "mse": float(np.mean((y[:, None] - values) ** 2, axis=0) @ weights),
        "smd": float(mean_parity_gap(None, values.ravel(), **repeated)),
        "dpd": float(wasserstein_gap(None, values.ravel(), **repeated)),
        "cov": float(covariance_norm(None, values.ravel(), **repeated, **kernel)),
    }
