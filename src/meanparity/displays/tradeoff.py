"""A display of the tradeoff between error and gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from meanparity.displays._pyplot import pyplot
from meanparity.displays._shared import (
    ENDS,
    STYLES,
    Response,
    fitted_function,
    fitted_tradeoff,
)
from meanparity.tradeoff.budgets import Kind
from meanparity.tradeoff.curve import PAPER_POSITIONS, Frontier, TradeoffCurve, curve_sums

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

_SUM_OF_GAPS = "Sum of absolute mean gaps"
_SIZES = {
    "gap": ("max_gap", "Largest absolute mean gap"),
    "smd": ("smd", _SUM_OF_GAPS),
    "norm": ("norm", "Root of the sum of squared mean gaps"),
}


class TradeoffDisplay:
    """Mean squared error against gaps, from the constrained to the unconstrained model.

    The curve shows ``g_u = (1 − u)·g_fair + u·g_free`` for u from 0 to 1 on the given rows. The
    horizontal axis is the sum of the absolute gaps, ``Σ_j |mean_j(g_u) − mean(g_u)|`` over the
    groups j, and the vertical axis is the mean squared error. For several outputs, the error is
    their average and the gap their maximum. Parity holds on the training rows; on other rows the
    curve does not start at a gap of 0.

    Parameters
    ----------
    curves : TradeoffCurve or mapping of str to TradeoffCurve
        One curve, or several by name, such as ``{"train": ..., "held out": ...}``.
    position : float, optional
        The model's own u, which is marked on the curves that have a point there.
    frontiers : Frontier or mapping of str to Frontier, optional
        The functions that budgets lead to, drawn as dashed lines beside the curves. The
        horizontal axis is then what their budget limits: the largest gap, the sum of the gaps, or
        the root of the sum of their squares.
    model : TradeoffCurve, optional
        The one point of a model that is not on the dial; see `Tradeoff.measure`.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where `plot` drew the curves.
    lines_ : list of matplotlib Line2D
        The line of each curve.

    See Also
    --------
    GroupDistributionDisplay : The distributions of both ends.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(400, random_state=0)
    >>> model = ParityRidge(unfairness=0.3).fit(X[:200], y[:200], sensitive_features=s[:200])
    >>> ax = Figure().subplots()
    >>> for name, rows in (("train", slice(200)), ("held out", slice(200, None))):
    ...     display = TradeoffDisplay.from_estimator(
    ...         model, X[rows], y[rows], sensitive_features=s[rows], name=name, ax=ax
    ...     )
    >>> [text.get_text() for text in ax.get_legend().get_texts()]
    ['train', 'held out', 'parity on the training rows (u = 0)', 'unconstrained (u = 1)',
     'this model (u = 0.3)']
    """

    def __init__(
        self,
        curves: TradeoffCurve | Mapping[str, TradeoffCurve],
        *,
        position: float | None = None,
        frontiers: Frontier | Mapping[str, Frontier] | None = None,
        model: TradeoffCurve | None = None,
    ) -> None:
        self.model = model
        self.curves = {"": curves} if isinstance(curves, TradeoffCurve) else dict(curves)
        self.position = position
        if isinstance(frontiers, Frontier):
            frontiers = {"": frontiers}
        self.frontiers = dict(frontiers or {})
        budgets = {frontier.budget for frontier in self.frontiers.values()}
        if len(budgets) > 1:
            raise ValueError(
                f"The frontiers have the budgets {sorted(budgets)}. Draw one kind at a time."
            )
        self.budget = budgets.pop() if budgets else "smd"

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        unfairness: Any = None,
        budget: Kind | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TradeoffDisplay:
        """Draw the tradeoff of a fitted estimator on any rows, and mark the estimator's own u.

        Parameters
        ----------
        estimator : fitted estimator with `tradeoff_`, such as ParityRidge
        X, y, sensitive_features, control_features, sample_weight
            Rows, such as held-out ones. The sensitive columns are not needed if the estimator has
            `sensitive_columns`, which name columns of X.
        unfairness : array-like of shape (p,), optional
            Values of u, by default 0, 1/50, ..., 1. The estimator's own u is added.
        budget : {"gap", "smd", "norm"}, optional
            Also draw the functions of smallest objective with a limit on the largest gap, on the
            sum of the gaps or on the root of the sum of their squares; for gaps of responses these
            are stationary points. For losses other than the squared error
            each of the 11 points is a minimisation.
        name, ax, **kwargs
            As in `plot`. The default name is the estimator's class.

        Returns
        -------
        TradeoffDisplay
        """
        tradeoff, position = fitted_tradeoff(estimator)
        grid = PAPER_POSITIONS if unfairness is None else unfairness
        grid = grid if position is None else np.union1d(grid, position)
        curve = tradeoff.curve(
            X,
            y,
            sensitive_features,
            grid,
            control_features=control_features,
            sample_weight=sample_weight,
        )
        model = None
        if position is None:
            model = tradeoff.measure(
                fitted_function(estimator),
                X,
                y,
                sensitive_features,
                control_features=control_features,
                sample_weight=sample_weight,
            )
        frontier = None
        if budget is not None:
            frontier = tradeoff.frontier(
                X,
                y,
                sensitive_features,
                budget,
                control_features=control_features,
                sample_weight=sample_weight,
            )
        name = type(estimator).__name__ if name is None else name
        if Response.from_tradeoff(tradeoff).gaps_are_of_scores:
            kwargs = {"xlabel": f"{_SIZES[budget or 'smd'][1]} of the scores", **kwargs}
        return cls(curve, position=position, frontiers=frontier, model=model).plot(
            ax, name=name, **kwargs
        )

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_fair: Any,
        y_free: Any,
        *,
        sensitive_features: Any,
        unfairness: Any = None,
        **kwargs: Any,
    ) -> TradeoffDisplay:
        """Draw the tradeoff between a constrained and an unconstrained prediction.

        Parameters
        ----------
        y_true, y_fair, y_free : array-like of shape (n,) or (n, m)
            Outcomes, constrained predictions (u = 0) and unconstrained predictions (u = 1).
        sensitive_features, unfairness
            As in `from_estimator`.
        **kwargs
            Parameters of `plot`.

        Returns
        -------
        TradeoffDisplay
        """
        curve = curve_sums(y_true, y_fair, y_free, sensitive_features).curve(unfairness)
        return cls(curve).plot(**kwargs)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        xlabel: str | None = None,
        **kwargs: Any,
    ) -> TradeoffDisplay:
        """Draw the curves, in addition to those already on the axes.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Axes to draw on; a new figure by default.
        name : str, optional
            Name in the legend of a curve that was given without a name.
        xlabel : str, optional
            Label of the horizontal axis, by default what it shows.
        **kwargs
            Parameters of ``ax.plot``, such as ``color``.

        Returns
        -------
        TradeoffDisplay
        """
        if ax is None:
            ax = pyplot().subplots(layout="constrained")[1]
        self.ax_, self.figure_ = ax, ax.figure
        self.lines_: list[Line2D] = []
        marks: list[tuple[float, str, dict[str, Any]]] = [
            (0.0, ENDS[0.0], {"marker": "o", "markerfacecolor": "white"}),
            (1.0, ENDS[1.0], {"marker": "o"}),
        ]
        if self.position is not None:  # hollow and large, because it often surrounds an end
            hollow = {"marker": "D", "markerfacecolor": "none", "markersize": 11}
            marks.append((self.position, f"this model (u = {self.position:g})", hollow))
        for key, curve in self.curves.items():
            drawn = sum(not _is_mark(line) for line in ax.lines)
            style = {**STYLES[drawn % len(STYLES)], "label": key or name, **kwargs}
            sizes = getattr(curve, _SIZES[self.budget][0])
            self.lines_ += ax.plot(sizes, curve.mse, **style)
            for u, label, mark in marks:
                for i in np.flatnonzero(np.isclose(curve.unfairness, u, rtol=0, atol=1e-12)):
                    mark = {**mark, "linestyle": "none", "color": self.lines_[-1].get_color()}
                    ax.plot(sizes[i], curve.mse[i], **mark)
                    # once in the legend, in grey: a mark means the same on every curve
                    if label not in ax.get_legend_handles_labels()[1]:
                        ax.plot([], [], **{**mark, "color": "0.35", "label": label})
        attribute, words = _SIZES[self.budget]
        for (key, frontier), line in zip(self.frontiers.items(), self.lines_, strict=False):
            label = f"{key or name or 'model'}, within limits"
            style = {"color": line.get_color(), "linestyle": "--", "label": label}
            self.lines_ += ax.plot(getattr(frontier, attribute), frontier.mse, **style)
        if self.model is not None:
            hollow = {"marker": "D", "markerfacecolor": "none", "markersize": 11}
            mark = {**hollow, "linestyle": "none", "color": self.lines_[0].get_color()}
            ax.plot(getattr(self.model, attribute), self.model.mse, label="this model", **mark)
        handles = ax.get_legend_handles_labels()[0]
        ax.legend(handles=sorted(handles, key=_is_mark))
        ax.set(xlabel=words if xlabel is None else xlabel, ylabel="Mean squared error")
        return self


def _is_mark(artist: Any) -> bool:
    return hasattr(artist, "get_linestyle") and artist.get_linestyle() == "None"
