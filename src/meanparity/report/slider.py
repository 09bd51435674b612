"""The models that the slider of a report goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.checks import format_number
from meanparity.tradeoff.budgets import Kind, check_kind, size_of
from meanparity.tradeoff.functions import FittedFunction

STEPS = 100  # positions on the dial
_LIMITS = 20  # steps between limits, of the squared error
_FITTED_LIMITS = 8  # the same where each limit is a minimisation, or has many directions
_MOST_DIRECTIONS = 30  # each is a column of predictions

_HERE = " on the rows of fit"
_NAMES = {
    "gap": "Largest gap allowed",
    "smd": "Largest sum of gaps allowed",
    "norm": "Largest root of the sum of squared gaps allowed",
}
_SIZES = {
    "gap": "the largest of its gaps is",
    "smd": "its gaps add up to",
    "norm": "the root of the sum of its squared gaps is",
}
_WITHIN = {
    "gap": "whose gaps stay within a limit",
    "smd": "whose gaps add up to no more than a limit",
    "norm": "for which the root of the sum of squared gaps stays within a limit",
}


@dataclass(frozen=True, eq=False)
class Slider:
    """Models as sums of columns of predictions: the constrained, the free, and further ones.

    Parameters
    ----------
    name : str
        What the slider sets.
    ends : (str, str)
        What its ends are called.
    labels : tuple of str
        What its s + 1 positions are called.
    weights : (s + 1, c) array
        Share of each column in the model at each position. The shares of the first two, which are
        the constrained and the free model, add up to 1.
    model : (c,) array
        The same for the model of the report.
    model_label, model_value : str
        How the model of the report is described, such as "unfairness 0.2", and the value alone.
    start : int
        The position nearest to the model of the report.
    about : str
        What the positions are.
    where_it_stands : str
        A sentence on how large the gaps of the model of the report are, if it has a place among
        limits.
    budget : {"gap", "smd", "norm"}
        The size of the gaps that belongs to the positions.
    functions : tuple of FittedFunction
        The functions whose predictions are the further columns, minus those of the free model. If
        there are none, the further columns are the directions of the tradeoff.

    See Also
    --------
    make_report : Fills it.
    """

    name: str
    ends: tuple[str, str]
    labels: tuple[str, ...]
    weights: FloatArray
    model: FloatArray
    model_label: str
    model_value: str
    start: int
    about: str
    where_it_stands: str = ""
    budget: Kind = "gap"
    functions: tuple[FittedFunction, ...] = ()

    @property
    def single(self) -> bool:
        """Whether there is one set of predictions, and nothing to compare it with."""
        return len(self.weights) == 1

    @property
    def continuous(self) -> bool:
        """Whether there are models between both ends."""
        return len(self.weights) > 2

    @classmethod
    def none(cls) -> Slider:
        """One set of predictions: there is nothing to choose."""
        weights = np.array([[1.0, 0.0]])
        return cls("", ("", ""), ("",), weights, weights[0], "", "", 0, "")

    @classmethod
    def pair(cls, model: FloatArray | None = None, label: str = "") -> Slider:
        """Two models, with nothing between them; by default the page is about the first.

        Other models, c columns, are ``model``.
        """
        own = np.array([1.0, 0.0]) if model is None else model
        weights = np.eye(2, len(own))
        return cls(
            "Model",
            ("with the constraint", "without it"),
            ("with the constraint", "without the constraint"),
            weights,
            own,
            label,
            label or "with the constraint",
            0,
            "the model with the constraint and the one without it",
        )

    @classmethod
    def dial(cls, position: float | None, label: str = "") -> Slider:
        """Between the constrained (0) and the free model (1).

        If the model of the report has no position, a third column is what it adds to the free
        model.
        """
        u = np.arange(STEPS + 1) / STEPS
        c = 3 if position is None else 2
        weights = np.zeros((len(u), c))
        weights[:, 0], weights[:, 1] = 1 - u, u
        model, value = np.array([0.0, 1.0, 1.0]), "not on the dial"
        if position is not None:
            model, value = np.array([1 - position, position]), f"{position:.3g}"
        return cls(
            "Unfairness",
            ("0 · constrained", "unconstrained · 1"),
            tuple(f"{value:g}" for value in u),
            weights,
            model,
            label or f"unfairness {value}",
            value,
            round((position or 0.0) * STEPS),
            "the models between the constrained one (0) and the unconstrained one (1)",
        )

    @classmethod
    def of(cls, estimator: Any, budget: Kind | None = None) -> Slider:
        """The slider for a fitted estimator.

        With a budget it goes along the most accurate models within limits. Without one, it does so
        for the largest gap if the estimator has `max_gap`, and otherwise goes along the dial.
        """
        tradeoff, position = estimator.tradeoff_, estimator.unfairness_
        limit = getattr(estimator, "max_gap", None)
        on_dial = limit is None and position is not None
        label = f"unfairness {position:.3g}" if on_dial else _describe(limit)
        if budget is None:
            if on_dial:
                return cls.dial(position)
            if not _has_frontier(tradeoff):
                return cls.dial(position, label)
        return cls._along_frontier(
            estimator, check_kind("gap" if budget is None else budget), label
        )

    @classmethod
    def _along_frontier(cls, estimator: Any, kind: Kind, label: str) -> Slider:
        """The most accurate models within limits."""
        tradeoff, own = estimator.tradeoff_, estimator._function
        if _has_frontier(tradeoff):
            limits, functions = tradeoff.along_frontier(kind, _LIMITS)
            weights = np.array([_weights(tradeoff, function) for function in functions])
            model, further = _weights(tradeoff, own), ()
        else:
            limits, functions = tradeoff.along_frontier(kind, _FITTED_LIMITS)
            is_end = own.unfairness in (0.0, 1.0)
            further = functions[1:-1] if is_end else (*functions[1:-1], own)
            places = np.arange(1, _FITTED_LIMITS)
            weights = np.zeros((len(limits), 2 + len(further)))
            weights[0, 0] = weights[1:, 1] = weights[places, 1 + places] = 1.0
            if is_end:
                model = weights[-int(own.unfairness)]
            else:
                model = np.zeros(len(weights[0]))
                model[[1, -1]] = 1.0
        limited = getattr(estimator, "max_gap", None) is not None
        size, zero = _own_size(estimator, kind), 1e-9 * limits[-1]
        shown = format_number(size, zero)
        return cls(
            f"{_NAMES[kind]} {_on_rows(estimator, kind)}",
            ("constrained", "unconstrained"),
            tuple(format_number(value, zero) for value in limits),
            weights,
            model,
            label,
            shown if kind == "gap" and limited else f"{shown} ({label.removesuffix(_HERE)})",
            int(np.abs(limits - size).argmin()),
            _about(tradeoff, kind),
            _where_it_stands(estimator, kind, shown),
            kind,
            further,
        )

    def columns(self, estimator: Any, X: Any, response: Any = None) -> FloatArray:
        """Predictions of the constrained and of the free model, and the further columns: (n, c).

        With a function `response`, what it makes of the predictions.
        """
        tradeoff = estimator.tradeoff_
        values = tradeoff.predict(X, [0.0, 1.0]).T
        if self.functions:
            coef = np.hstack([function.coef for function in self.functions])
            constants = np.concatenate([function.intercept for function in self.functions])
            values = np.hstack([values, tradeoff.basis.evaluate(X, coef) + constants])
        if response is not None:
            values = response(values)
        if values.shape[1] == len(self.model):
            values[:, 2:] -= values[:, 1:2]
            return np.asarray(values)
        if not _has_frontier(tradeoff):
            return np.column_stack([values, estimator._function.predict(X) - values[:, 1]])
        found = tradeoff.solution.directions
        which = found.penalty[0]
        steps = tradeoff.basis.evaluate(X, found.coef[which]) + found.intercept[which]
        return np.column_stack([values, steps])


def _has_frontier(tradeoff: Any) -> bool:
    found = tradeoff.solution.directions
    return found is not None and 0 < found.intercept.shape[1] <= _MOST_DIRECTIONS


def _weights(tradeoff: Any, function: Any) -> FloatArray:
    r, u = tradeoff.solution.directions.intercept.shape[1], function.unfairness
    if u is not None:
        return np.concatenate([[1 - u, u], np.zeros(r)])
    return np.concatenate([[0.0, 1.0], -function.multipliers[:, 0]])


def _own_size(estimator: Any, kind: Kind) -> float:
    """The size of the gaps of the model of the report where the constraint holds."""
    both = [list(gaps.values()) for gaps in (estimator.gaps_, estimator.pool_gaps_)]
    parts = np.repeat([0, 1], [len(gaps) for gaps in both])
    return size_of(kind, np.array([*both[0], *both[1]], dtype=float), parts)


def _on_rows(estimator: Any, kind: Kind) -> str:
    """The rows that a limit is about."""
    if not estimator.pool_gaps_:
        return "on the rows of fit"
    if kind == "norm":
        return "on the rows of fit and the pool together"
    return f"on the rows of fit {'and' if kind == 'smd' else 'or'} on the pool"


def _where_it_stands(estimator: Any, kind: Kind, size: str) -> str:
    rows, what = _on_rows(estimator, kind).capitalize(), _SIZES[kind]
    if kind == "smd" and estimator.pool_gaps_:
        rows, what = rows.replace("fit and", "fit, and"), f"{what} no more than"
    return f"{rows}, {what} {size}."


def _about(tradeoff: Any, kind: Kind) -> str:
    if getattr(tradeoff, "on_response", False):
        return (
            f"models {_WITHIN[kind]}, chosen so that no small change within the limit lowers the "
            "penalised loss"
        )
    objective = "loss" if hasattr(tradeoff, "loss") else "error"
    return f"the models of smallest penalised {objective} {_WITHIN[kind]}"


def _describe(limit: Any) -> str:
    if limit is None:
        return "partial pooling"
    if not isinstance(limit, Mapping):
        return f"gaps of at most {format_number(float(limit))}{_HERE}"
    limits = (
        f"{name}: {format_number(float(value)) if np.isfinite(value) else 'no limit'}"
        for name, value in limit.items()
    )
    return f"gaps of at most ({', '.join(limits)}){_HERE}"
