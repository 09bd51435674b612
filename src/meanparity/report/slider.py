"""The models that the slider of a report goes through."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.checks import format_number

STEPS = 100  # positions on the dial
_LIMITS = 20  # limits on the largest gap
_MOST_DIRECTIONS = 30  # with more of them, the slider stays on the dial


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
    def of(cls, estimator: Any) -> Slider:
        """The slider for a fitted estimator.

        With `max_gap` it goes through limits on the largest gap, and otherwise along the dial.
        """
        tradeoff, position = estimator.tradeoff_, estimator.unfairness_
        limit = getattr(estimator, "max_gap", None)
        if limit is None and position is not None:
            return cls.dial(position)
        label = _describe(limit)
        if not _has_frontier(tradeoff):
            return cls.dial(position, label)
        largest = np.abs(tradeoff.solution.gaps[:, :, 0]).max(axis=1, initial=0.0)
        limits = largest[0] + (largest[1] - largest[0]) * np.arange(_LIMITS + 1) / _LIMITS
        functions = [tradeoff.at(0.0), *map(tradeoff.for_gap, limits[1:-1]), tradeoff.at(1.0)]
        own = np.inf if isinstance(limit, Mapping) else float(limit or 0.0)
        return cls(
            "Largest gap allowed on the rows of fit",
            ("constrained", "unconstrained"),
            tuple(format_number(value, 1e-9 * largest[1]) for value in limits),
            np.array([_weights(tradeoff, function) for function in functions]),
            _weights(tradeoff, estimator._function),
            label,
            label.removeprefix("gaps of at most "),
            int(np.abs(limits - min(own, largest[1])).argmin()),
            "the models of smallest penalised error whose gaps stay within a limit",
        )

    def columns(self, estimator: Any, X: Any) -> FloatArray:
        """Predictions of the constrained and of the free model, and the further columns: (n, c)."""
        tradeoff = estimator.tradeoff_
        ends = tradeoff.predict(X, [0.0, 1.0]).T
        if len(self.model) == 2:
            return np.asarray(ends)
        if not _has_frontier(tradeoff):
            return np.column_stack([ends, estimator._function.predict(X) - ends[:, 1]])
        found = tradeoff.solution.directions
        which = found.penalty[0]
        steps = tradeoff.basis.evaluate(X, found.coef[which]) + found.intercept[which]
        return np.column_stack([ends, steps])


def _has_frontier(tradeoff: Any) -> bool:
    found = tradeoff.solution.directions
    return found is not None and 0 < found.intercept.shape[1] <= _MOST_DIRECTIONS


def _weights(tradeoff: Any, function: Any) -> FloatArray:
    r, u = tradeoff.solution.directions.intercept.shape[1], function.unfairness
    if u is not None:
        return np.concatenate([[1 - u, u], np.zeros(r)])
    return np.concatenate([[0.0, 1.0], -function.multipliers[:, 0]])


def _describe(limit: Any) -> str:
    if limit is None:
        return "partial pooling"
    if not isinstance(limit, Mapping):
        return f"gaps of at most {format_number(float(limit))}"
    limits = (
        f"{name}: {format_number(float(value)) if np.isfinite(value) else 'no limit'}"
        for name, value in limit.items()
    )
    return f"gaps of at most ({', '.join(limits)})"
