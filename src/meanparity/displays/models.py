"""Displays drawn with matplotlib: the tradeoff, and the distributions of the groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.audit.checks import format_number
from meanparity.data.groups import Groups
from meanparity.displays._pyplot import pyplot
from meanparity.estimators._report import require_tradeoff
from meanparity.metrics import mean_parity_gap
from meanparity.tradeoff.budgets import Kind
from meanparity.tradeoff.curve import PAPER_POSITIONS, Frontier, TradeoffCurve, curve_sums
from meanparity.tradeoff.tradeoff import FittedFunction, Tradeoff

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D

__all__ = ["GroupDistributionDisplay", "TradeoffDisplay"]

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the yellow, which is
# hard to see as a line on white. Line styles change when the colours run out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_STYLES: list[dict[str, Any]] = [
    {"color": colour, "linestyle": line} for line in ("-", "--", ":", "-.") for colour in COLOURS
]
_ENDS = {0.0: "parity on the training rows (u = 0)", 1.0: "unconstrained (u = 1)"}
_SUM_OF_GAPS = "Sum of absolute mean gaps"
_SIZES = {
    "gap": ("max_gap", "Largest absolute mean gap"),
    "smd": ("smd", _SUM_OF_GAPS),
    "norm": ("norm", "Root of the sum of squared mean gaps"),
}


@dataclass(frozen=True)
class _Response:
    """The scale of the response, which is that of the score unless a loss has a link function.

    Parameters
    ----------
    tradeoff : Tradeoff
        Its functions predict scores.
    loss : Loss or None
        None for squared error.
    classes : (2,) array or None
        The two classes of a classifier.
    """

    tradeoff: Tradeoff
    loss: Any
    classes: Any

    @classmethod
    def from_tradeoff(cls, tradeoff: Tradeoff) -> _Response:
        loss, classes = (getattr(tradeoff, name, None) for name in ("loss", "classes"))
        return cls(tradeoff, loss, classes)

    @property
    def _has_link(self) -> bool:
        return self.loss is not None and not self.loss.is_identity

    @property
    def gaps_are_of_scores(self) -> bool:
        """Whether the gaps of the tradeoff are on another scale than the response."""
        return self._has_link and not getattr(self.tradeoff, "on_response", False)

    @property
    def name(self) -> str:
        """What the axis calls the scale."""
        if self.classes is not None:
            if self._has_link:
                return f"Predicted probability of {self.classes[1]}"
            return "Decision function (score)"
        return "Prediction (scale of the response)" if self._has_link else "Prediction"

    def predict(self, function: FittedFunction, X: Any) -> FloatArray:
        """Predictions on the scale of the response: (n,), or (n, m) for several outputs."""
        scores = function.predict(X)
        response: FloatArray = scores if self.loss is None else self.loss.response(scores)
        return response

    def outcomes(self, y: Any) -> Any:
        """Outcomes on the scale of the response; classes become 0 and 1."""
        if self.classes is None:
            return y
        if not self._has_link:
            raise ValueError(
                "before='response' would compare classes with the decision function, which is on "
                "another scale. Pass before='free', or use loss='logistic'."
            )
        y = np.asarray(y)
        unknown = ~np.isin(y, self.classes)
        if unknown.any():
            raise ValueError(
                f"y contains {y[unknown].tolist()[0]!r}, but the classes are "
                f"{self.classes.tolist()}. Pass outcomes of these classes."
            )
        return (y == self.classes[1]).astype(float)


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
        The most accurate functions within budgets, drawn as dashed lines beside the curves. The
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
            Also draw the most accurate functions with a limit on the largest gap, on the sum of the
            gaps or on the root of the sum of their squares. For losses other than the squared error
            each of the 11 points is a minimisation.
        name, ax, **kwargs
            As in `plot`. The default name is the estimator's class.

        Returns
        -------
        TradeoffDisplay
        """
        tradeoff, position = _tradeoff(estimator)
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
                _function(estimator),
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
        if _Response.from_tradeoff(tradeoff).gaps_are_of_scores:
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
            (0.0, _ENDS[0.0], {"marker": "o", "markerfacecolor": "white"}),
            (1.0, _ENDS[1.0], {"marker": "o"}),
        ]
        if self.position is not None:  # hollow and large, because it often surrounds an end
            hollow = {"marker": "D", "markerfacecolor": "none", "markersize": 11}
            marks.append((self.position, f"this model (u = {self.position:g})", hollow))
        for key, curve in self.curves.items():
            drawn = sum(not _is_mark(line) for line in ax.lines)
            style = {**_STYLES[drawn % len(_STYLES)], "label": key or name, **kwargs}
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
            label = f"{key or name or 'model'}, most accurate within a limit"
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


class GroupDistributionDisplay:
    """Distributions of two predictions in each group.

    The upper axes show `y_before` and the lower axes `y_after`. Each group has a histogram of area
    1, a Gaussian kernel density estimate from its smallest to its largest value, and a vertical
    line at its mean, dashed so that equal means show all their colours. A group that is no wider
    than one bar has no density, and its bar may be cut off. The title gives the sum of the
    absolute differences between the group means and the overall mean. Groups with equal means may
    differ in everything else.

    Parameters
    ----------
    y_before, y_after : array-like of shape (n,)
        Two values for each row, on the same scale.
    sensitive_features : array-like of shape (n,) or (n, r), data frame, or Groups
        Sensitive columns of the rows. Rows in no group are not drawn.

    Attributes
    ----------
    axes_, figure_ : two matplotlib Axes, and their Figure
        Where `plot` drew the distributions.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> display = GroupDistributionDisplay(
    ...     [1.0, 2.0, 6.0, 7.0], [4.0, 5.0, 3.0, 6.0], sensitive_features=["a", "a", "b", "b"]
    ... ).plot(Figure().subplots(2))
    >>> [ax.get_title("right") for ax in display.axes_]
    ['sum of mean gaps = 5', 'sum of mean gaps = 0']
    """

    def __init__(self, y_before: Any, y_after: Any, *, sensitive_features: Any) -> None:
        self.y_before, self.y_after = _column(y_before, "y_before"), _column(y_after, "y_after")
        check_consistent_length(self.y_before, self.y_after)
        if isinstance(sensitive_features, Groups):
            self.groups = sensitive_features
            check_consistent_length(self.y_after, self.groups.codes)
        else:
            self.groups = Groups.from_columns(sensitive_features, n_rows=len(self.y_after))

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        before: Literal["free", "response"] = "free",
        **kwargs: Any,
    ) -> GroupDistributionDisplay:
        """Draw the predictions of a fitted estimator below the unconstrained ones.

        Both are on the scale of the response: what `predict` returns for regressors with any loss,
        and the probability of the second class for classifiers. A classifier without probabilities
        (hinge loss) is drawn on the scale of its decision function.

        Parameters
        ----------
        estimator : fitted estimator of one output with `tradeoff_`, such as ParityRidge
        X, y, sensitive_features
            Rows, such as held-out ones. y is needed only for ``before="response"``. The sensitive
            columns are not needed if the estimator has `sensitive_columns`, which name columns of
            X.
        before : {"free", "response"}, default="free"
            What the upper axes show: the unconstrained prediction or, as in the paper's figure,
            the outcome y.
        **kwargs
            Parameters of `plot`.

        Returns
        -------
        GroupDistributionDisplay
        """
        tradeoff, u = _tradeoff(estimator)
        scale = _Response.from_tradeoff(tradeoff)
        if sensitive_features is None:
            sensitive_features = tradeoff.basis.sensitive_features(X)
        if before == "free":
            above, y_before = "unconstrained prediction", scale.predict(tradeoff.at(1.0), X)
            xlabel = scale.name
        elif before == "response" and y is not None:
            above, y_before = "outcome y", scale.outcomes(y)
            xlabel = f"Outcome or {scale.name[0].lower()}{scale.name[1:]}"
        else:
            raise ValueError(
                f"before={before!r} is not known, or y is missing. Pass before='free', or "
                "before='response' and y."
            )
        below = "prediction" if u is None else f"prediction, {_ENDS.get(u, f'u = {u:g}')}"
        y_after = scale.predict(_function(estimator), X)
        titles = f"Before: {above}", f"After: {below}"
        kwargs = {"titles": titles, "xlabel": xlabel, **kwargs}
        groups = tradeoff.comparison.schema.read_groups(sensitive_features)
        if groups is None:
            raise ValueError(
                f"The sensitive columns {', '.join(tradeoff.comparison.schema.sensitive)} are "
                "numbers, which have no groups. Bin them, for instance with pandas.cut, and pass "
                "the bins to from_predictions."
            )
        return cls(y_before, y_after, sensitive_features=groups).plot(**kwargs)

    @classmethod
    def from_predictions(
        cls, y_before: Any, y_after: Any, *, sensitive_features: Any, **kwargs: Any
    ) -> GroupDistributionDisplay:
        """Draw two predictions, or an outcome and its prediction.

        Parameters
        ----------
        y_before, y_after, sensitive_features
            As in `GroupDistributionDisplay`.
        **kwargs
            Parameters of `plot`.

        Returns
        -------
        GroupDistributionDisplay
        """
        return cls(y_before, y_after, sensitive_features=sensitive_features).plot(**kwargs)

    def plot(
        self,
        axes: Any = None,
        *,
        bins: int | str = 30,
        titles: Sequence[str] = ("Before", "After"),
        xlabel: str = "Outcome or prediction",
    ) -> GroupDistributionDisplay:
        """Draw the distributions.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            Upper and lower axes; a new figure by default. With more than four groups the legend is
            placed beside the axes, for which a figure with ``layout="constrained"`` makes room.
        bins : int or str, default=30
            Number of bars from the smallest to the largest of all values, or a rule of
            `numpy.histogram_bin_edges`. All groups have the same bars, before and after.
        titles : two str
            Titles of the upper and lower axes.
        xlabel : str
            Label of the horizontal axis.

        Returns
        -------
        GroupDistributionDisplay
        """
        many = self.groups.n_groups > 4
        if axes is None:
            options = {"sharex": True, "layout": "constrained", "figsize": (9 if many else 7, 5)}
            axes = pyplot().subplots(2, **options)[1]
        axes = np.ravel(axes)
        if len(axes) != 2:
            raise ValueError(
                f"axes contains {len(axes)} axes. Pass two, such as plt.subplots(2)[1]."
            )
        self.axes_, self.figure_ = axes, axes[0].figure
        edges = _bin_edges(np.concatenate([self.y_before, self.y_after]), bins)
        span, top = edges[-1] - edges[0], 0.0
        for ax, values, title in zip(axes, (self.y_before, self.y_after), titles, strict=True):
            top = max(top, _draw_groups(ax, values, self.groups, edges))
            inside, codes = values[self.groups.codes >= 0], self.groups.codes
            gap = mean_parity_gap(None, inside, sensitive_features=codes[codes >= 0]) / span
            ax.set_title(title, loc="left", size="medium")
            gap = format_number(round(gap, 9) * span)
            ax.set_title(f"sum of mean gaps = {gap}", loc="right", size="medium")
        limits = (edges[0] - 0.02 * span, edges[-1] + 0.02 * span), (0, 1.05 * top)
        for ax, label in zip(axes, ("", xlabel), strict=True):
            ax.set(xlim=limits[0], ylim=limits[1], xlabel=label, ylabel="Density")
        where = {"loc": "outside right upper", "ncols": 1 + self.groups.n_groups // 25}
        legend = self.figure_.legend if many else axes[0].legend
        handles = axes[0].get_legend_handles_labels()[0]
        legend(handles=handles, title=", ".join(self.groups.columns), **(where if many else {}))
        return self


def _is_mark(artist: Any) -> bool:
    return hasattr(artist, "get_linestyle") and artist.get_linestyle() == "None"


def _draw_groups(ax: Axes, values: FloatArray, groups: Groups, edges: FloatArray) -> float:
    """Draw bars, mean and density of each group, and return the height that they need."""
    from scipy.stats import gaussian_kde

    k, widths, top = groups.n_groups, np.diff(edges), 0.0
    enough_rows = min(10, groups.counts.max())  # a group of three rows must not set the scale
    for group, mean in enumerate(groups.means(values)):
        style, member = _STYLES[group % len(_STYLES)], values[groups.codes == group]
        colour, name = style["color"], ", ".join(map(str, groups.labels[group]))
        # matplotlib hides labels that start with _ and typesets what is between dollar signs
        label = f" {name} (n = {len(member)})".replace("$", r"\$")
        bars = np.histogram(member, edges)[0] / (len(member) * widths)
        ax.stairs(bars, edges, fill=True, color=colour, alpha=max(0.05, 0.6 / k))
        # a thin line, and thick dashes that leave room for those of the other groups
        ax.axvline(mean, zorder=1.5, linewidth=1.2, label=label, **style)
        ax.axvline(mean, linewidth=2.5, color=colour, linestyle=(-3 * group, (3, 3 * k - 3)))
        if np.ptp(member) > widths.max():
            grid = np.linspace(member.min(), member.max(), 200)
            density = gaussian_kde(member)(grid)
            ax.plot(grid, density, **style)
            if len(member) >= enough_rows:
                top = max(top, bars.max(), density.max())
    return top or float(1 / widths.min())


def _tradeoff(estimator: Any) -> tuple[Tradeoff, float | None]:
    check_is_fitted(estimator)
    if not hasattr(estimator, "tradeoff_") and not hasattr(estimator, "unfairness_"):
        raise TypeError(
            f"{type(estimator).__name__} has no tradeoff_. Pass an estimator of meanparity. For a "
            "pipeline, pass pipeline[-1] and the rows pipeline[:-1].transform(X); for a search, "
            "pass its best_estimator_."
        )
    return require_tradeoff(estimator), estimator.unfairness_


def _function(estimator: Any) -> FittedFunction:
    function: FittedFunction = estimator._function
    return function


def _column(values: Any, name: str) -> FloatArray:
    column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if column.ndim == 2 and column.shape[1] > 1:
        raise ValueError(
            f"{name} has {column.shape[1]} outputs, but the display shows one. Choose a column, as "
            "in from_predictions(y_before[:, 0], y_after[:, 0], sensitive_features=...)."
        )
    return np.reshape(column, -1)


def _bin_edges(values: FloatArray, bins: int | str) -> FloatArray:
    low, high = values.min(), values.max()
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size:  # differences due to rounding cannot be divided into bars
        low, high = low - (0.05 * size or 0.5), high + (0.05 * size or 0.5)
    return np.histogram_bin_edges(values, bins, range=(low, high))
