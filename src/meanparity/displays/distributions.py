"""A display of the distributions of predictions in each group."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_array, check_consistent_length

from meanparity._typing import FloatArray
from meanparity.audit.checks import format_number
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order
from meanparity.displays._pyplot import pyplot
from meanparity.displays._shared import (
    ENDS,
    STYLES,
    Response,
    fitted_function,
    fitted_tradeoff,
)
from meanparity.metrics import mean_parity_gap

if TYPE_CHECKING:
    from matplotlib.axes import Axes


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

    See Also
    --------
    TradeoffDisplay : Errors and gaps instead of distributions.

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
        refuse_other_order(
            y_before=y_before, y_after=y_after, sensitive_features=sensitive_features
        )
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
        refuse_other_order(X=X, y=y, sensitive_features=sensitive_features)
        tradeoff, u = fitted_tradeoff(estimator)
        scale = Response.from_tradeoff(tradeoff)
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
        below = "prediction" if u is None else f"prediction, {ENDS.get(u, f'u = {u:g}')}"
        y_after = scale.predict(fitted_function(estimator), X)
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


def _draw_groups(ax: Axes, values: FloatArray, groups: Groups, edges: FloatArray) -> float:
    """Draw bars, mean and density of each group, and return the height that they need."""
    from scipy.stats import gaussian_kde

    k, widths, top = groups.n_groups, np.diff(edges), 0.0
    enough_rows = min(10, groups.counts.max())  # a group of three rows must not set the scale
    for group, mean in enumerate(groups.means(values)):
        style, member = STYLES[group % len(STYLES)], values[groups.codes == group]
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
