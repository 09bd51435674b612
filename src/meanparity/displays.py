"""Pictures, with matplotlib: the tradeoff, and the distributions of the groups."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.groups import Groups
from meanparity.metrics import mean_parity_gap
from meanparity.path import Tradeoff, TradeoffCurve, check_unfairness, curve_sums

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure, SubFigure
    from matplotlib.lines import Line2D
    from matplotlib.patches import StepPatch

__all__ = ["GroupDistributionDisplay", "TradeoffDisplay"]

# Okabe and Ito's colours, told apart by colour-blind people too; without the yellow, which is lost
# as a line on white. The line style changes when the colours run out.
_COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
_LINE_STYLES = ("-", "--", ":", "-.")
_PARITY, _FREE = "parity on the training rows (u = 0)", "unconstrained (u = 1)"


class TradeoffDisplay:
    """Error against gap, from parity to the unconstrained fit.

    The horizontal axis is the SMD, ``Σ_j |mean_j(g_u) − mean(g_u)|`` over the groups j, the
    vertical one the mean squared error, of ``g_u = (1 − u)·g_fair + u·g_free`` for u from 0 to 1,
    on stated rows. With several outputs, the error is averaged over them and the gap is the
    largest. Parity holds on the training rows: on others the curve does not start at gap 0.

    Parameters
    ----------
    curves : TradeoffCurve or mapping of str to TradeoffCurve
        One curve, or several by name, such as ``{"train": ..., "held out": ...}``.
    position : float, optional
        The model's own position u, which gets a mark. The curves must have been computed there.

    Attributes
    ----------
    curves : dict
        The curves by name; the name is None for a curve without.
    lines_ : list of Line2D
        The line of each curve.
    markers_ : list of Line2D
        The marks: for each curve u = 0 and u = 1, where it gets there, and `position`.
    ax_, figure_
        Where it was drawn.

    See Also
    --------
    meanparity.path.Tradeoff.curve : The numbers.

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

    ax_: Axes
    figure_: Figure | SubFigure
    lines_: list[Line2D]
    markers_: list[Line2D]

    def __init__(
        self,
        curves: TradeoffCurve | Mapping[str, TradeoffCurve],
        *,
        position: float | None = None,
    ) -> None:
        self.curves: dict[str | None, TradeoffCurve]
        self.curves = {None: curves} if isinstance(curves, TradeoffCurve) else {**curves}
        self.position = None if position is None else check_unfairness(position)
        for name, curve in self.curves.items():
            if self.position is not None and _index(curve, self.position) is None:
                of_name = "" if name is None else f" {name!r}"
                raise ValueError(
                    f"position={position} is not among the {len(curve.unfairness)} positions of "
                    f"the curve{of_name}. Compute the curve there too: pass unfairness=[...] with "
                    f"{position} among its values."
                )

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        sensitive_features: Any,
        unfairness: Any = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TradeoffDisplay:
        """Draw the tradeoff of a fitted estimator on any rows; its own position gets a mark.

        Parameters
        ----------
        estimator : ParityRidge, ParityKernelRidge or other estimator with `tradeoff_`
            A fitted one.
        X : array-like of shape (n, d)
            Rows, such as held-out ones.
        y : array-like of shape (n,) or (n, m)
            Their targets.
        sensitive_features : array-like of shape (n,) or (n, r), or data frame
            Their sensitive columns.
        unfairness : array-like of shape (p,), optional
            Positions; 0, 1/50, ..., 1 by default. The estimator's own is added.
        name : str, optional
            Name of the curve in the legend.
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        **kwargs
            For ``ax.plot``, such as ``color``.
        """
        _pyplot()
        position = check_unfairness(estimator.unfairness)
        curve = _tradeoff(estimator).curve(
            X, y, sensitive_features, _with_position(unfairness, position)
        )
        return cls(curve, position=position).plot(ax, name=name, **kwargs)

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        y_fair: Any,
        y_free: Any,
        *,
        sensitive_features: Any,
        unfairness: Any = None,
        position: float | None = None,
        name: str | None = None,
        ax: Axes | None = None,
        **kwargs: Any,
    ) -> TradeoffDisplay:
        """Draw the tradeoff between two predictions, which determine all between them.

        Parameters
        ----------
        y_true : array-like of shape (n,) or (n, m)
            Targets.
        y_fair, y_free : array-like of shape (n,) or (n, m)
            Predictions of the function at parity (u = 0) and of the unconstrained one (u = 1).
        sensitive_features, unfairness, name, ax, **kwargs
            See `from_estimator`.
        position : float, optional
            A position to mark.
        """
        _pyplot()
        positions = _with_position(unfairness, position)
        curve = curve_sums(y_true, y_fair, y_free, sensitive_features).curve(positions)
        return cls(curve, position=position).plot(ax, name=name, **kwargs)

    def plot(
        self, ax: Axes | None = None, *, name: str | None = None, **kwargs: Any
    ) -> TradeoffDisplay:
        """Draw the curves, next to what is on the axes already.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        name : str, optional
            Name of the only curve in the legend.
        **kwargs
            For ``ax.plot``, such as ``color``.
        """
        if name is not None and len(self.curves) != 1:
            raise ValueError(
                f"name={name!r} was given for {len(self.curves)} curves. Name them where they are "
                "put together: TradeoffDisplay({'train': ..., 'held out': ...})."
            )
        if ax is None:
            _, ax = _pyplot().subplots(layout="constrained")
        self.ax_, self.figure_, self.lines_, self.markers_ = ax, ax.figure, [], []
        marks: list[tuple[float, str, dict[str, Any]]] = [
            (0.0, _PARITY, {"marker": "o", "markerfacecolor": "white"}),
            (1.0, _FREE, {"marker": "o"}),
        ]
        if self.position is not None:  # a ring, since it often is around one of the ends
            ring = {"marker": "D", "markersize": 12, "markerfacecolor": "none"}
            marks.append((self.position, f"this model (u = {self.position:g})", ring))

        for key, curve in self.curves.items():
            drawn = sum(line.get_linestyle() != "None" for line in ax.lines)
            label = key if name is None else name
            style = {**_style(drawn), "label": label, **kwargs}
            self.lines_ += ax.plot(curve.smd, curve.mse, **style)
            colour = self.lines_[-1].get_color()
            for u, _, shape in marks:
                index = _index(curve, u)
                if index is not None:
                    point = curve.smd[[index]], curve.mse[[index]]
                    self.markers_ += ax.plot(*point, color=colour, linestyle="none", **shape)

        _, labels = ax.get_legend_handles_labels()
        for _, label, shape in marks:  # in grey: a mark means the same on every curve
            if label not in labels:
                shape = {**shape, "markersize": 7}
                ax.plot([], [], color="0.35", linestyle="none", label=label, **shape)
        ax.set(xlabel="Sum of mean gaps between groups (SMD)", ylabel="Mean squared error")
        handles, _ = ax.get_legend_handles_labels()
        ax.legend(handles=sorted(handles, key=lambda line: line.get_linestyle() == "None"))
        return self


class GroupDistributionDisplay:
    """Distributions of the groups, before and after.

    The upper axes show `y_before` and the lower ones `y_after`: for each group a histogram of
    area 1, a Gaussian kernel density estimate and, as a vertical line, the mean. The lines of the
    groups are drawn one below the other, so that equal means make one line of many colours. Mean
    parity moves means together, nothing more: the distributions may still differ.

    Parameters
    ----------
    y_before, y_after : array-like of shape (n,)
        Two values for each row.
    groups : Groups
        Who is in which group.
    titles : pair of str, default=("Before", "After")
        What is drawn.

    Attributes
    ----------
    y_before, y_after, groups, titles
        As given.
    histograms_, means_ : two lists, before and after, of k StepPatch and k Line2D
        What was drawn for each group.
    densities_ : two lists, before and after, of k Line2D or None
        None for a group within a single bar, such as one of equal values or of one row.
    axes_, figure_
        Where it was drawn; `axes_` has two entries.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(300, sensitive_scale=1.0, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> display = GroupDistributionDisplay.from_estimator(
    ...     model, X, sensitive_features=s, axes=Figure().subplots(2, sharex=True)
    ... )
    >>> for ax in display.axes_:
    ...     print(ax.get_title("left"), "-", ax.get_title("right"))
    Before: unconstrained prediction - SMD = 3.76
    After: prediction, parity on the training rows (u = 0) - SMD ≈ 0
    """

    axes_: tuple[Axes, Axes]
    figure_: Figure | SubFigure
    histograms_: tuple[list[StepPatch], list[StepPatch]]
    densities_: tuple[list[Line2D | None], list[Line2D | None]]
    means_: tuple[list[Line2D], list[Line2D]]

    def __init__(
        self,
        y_before: Any,
        y_after: Any,
        groups: Groups,
        *,
        titles: tuple[str, str] = ("Before", "After"),
    ) -> None:
        self.y_before = _column(y_before, "y_before", groups.n_rows)
        self.y_after = _column(y_after, "y_after", groups.n_rows)
        self.groups = groups
        self.titles = titles

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any,
        before: Literal["free", "response"] = "free",
        axes: Any = None,
        bins: int | str = 30,
    ) -> GroupDistributionDisplay:
        """Draw the predictions of a fitted estimator below those of the unconstrained fit.

        Parameters
        ----------
        estimator : ParityRidge, ParityKernelRidge or other estimator with `tradeoff_`
            A fitted one, for a single output.
        X : array-like of shape (n, d)
            Rows, such as held-out ones.
        y : array-like of shape (n,), optional
            Their targets, looked at only for ``before="response"``.
        sensitive_features : array-like of shape (n,) or (n, r), or data frame
            Their sensitive columns.
        before : {"free", "response"}, default="free"
            What is above: the unconstrained prediction or, as in the paper's figure, the response
            y. Parity alone makes the first differ from what is below; the second also has noise.
        axes, bins
            See `plot`.
        """
        _pyplot()
        if before == "free":
            y_before = _tradeoff(estimator).at(1.0).predict(X)
        elif before != "response":
            raise ValueError(f"before={before!r} is unknown. Pass 'free' or 'response'.")
        elif y is None:
            raise ValueError("before='response' draws y, but y is None. Pass y, or before='free'.")
        else:
            y_before = y
        top = "unconstrained prediction" if before == "free" else "response y"
        where = {0.0: _PARITY, 1.0: _FREE}.get(estimator.unfairness, f"u = {estimator.unfairness}")
        return cls.from_predictions(
            y_before,
            estimator.predict(X),
            sensitive_features=sensitive_features,
            titles=(f"Before: {top}", f"After: prediction, {where}"),
            axes=axes,
            bins=bins,
        )

    @classmethod
    def from_predictions(
        cls,
        y_before: Any,
        y_after: Any,
        *,
        sensitive_features: Any,
        titles: tuple[str, str] = ("Before", "After"),
        axes: Any = None,
        bins: int | str = 30,
    ) -> GroupDistributionDisplay:
        """Draw two predictions, or a response and its prediction.

        Parameters
        ----------
        y_before, y_after : array-like of shape (n,)
            Two values for each row.
        sensitive_features : array-like of shape (n,) or (n, r), or data frame
            Sensitive columns of the rows.
        titles : pair of str, default=("Before", "After")
            What is drawn.
        axes, bins
            See `plot`.
        """
        _pyplot()
        groups = Groups.from_columns(sensitive_features)
        return cls(y_before, y_after, groups, titles=titles).plot(axes, bins=bins)

    def plot(self, axes: Any = None, *, bins: int | str = 30) -> GroupDistributionDisplay:
        """Draw the distributions.

        Parameters
        ----------
        axes : two matplotlib Axes, optional
            Upper and lower axes; a new figure by default.
        bins : int or str, default=30
            Bars between the smallest and the largest value of all, or a rule of
            `numpy.histogram_bin_edges`. Both axes and all groups have the same bars.
        """
        k = self.groups.n_groups
        if axes is None:
            size = (7.0, 5.5) if k <= _LEGEND_INSIDE else (10.0, 5.5)
            _, axes = _pyplot().subplots(
                2, sharex=True, sharey=True, figsize=size, layout="constrained"
            )
        axes = np.ravel(axes)
        if len(axes) != 2:
            raise ValueError(
                f"axes has {len(axes)} entries. Pass two, such as plt.subplots(2, sharex=True)[1]."
            )
        from matplotlib.lines import Line2D

        self.axes_, self.figure_ = (axes[0], axes[1]), axes[0].figure
        self.histograms_, self.densities_, self.means_ = ([], []), ([], []), ([], [])
        edges = _bin_edges(np.concatenate([self.y_before, self.y_after]), bins)
        for row, (ax, values) in enumerate(zip(axes, (self.y_before, self.y_after), strict=True)):
            for group, mean in enumerate(self.groups.means(values)):
                style, member = _style(group), values[self.groups.codes == group]
                counts, _ = np.histogram(member, edges)
                bars = ax.stairs(
                    counts / (len(member) * np.diff(edges)),
                    edges,
                    fill=True,
                    color=style["color"],
                    alpha=max(0.05, 0.6 / k),
                )
                self.histograms_[row].append(bars)
                self.densities_[row].append(_draw_density(ax, member, edges, style))
                # one below the other, in the order of the legend
                line = ax.axvline(mean, 1 - (group + 1) / k, 1 - group / k, linewidth=2, **style)
                self.means_[row].append(line)
            gap = mean_parity_gap(None, values, sensitive_features=self.groups.codes)
            seen = gap > 1e-9 * (edges[-1] - edges[0])
            ax.set_title(self.titles[row], loc="left", fontsize="medium")
            ax.set_title(f"SMD = {gap:.3g}" if seen else "SMD ≈ 0", loc="right", fontsize="medium")
            ax.set(ylabel="Density")
        axes[1].set(xlabel="Response or prediction")
        handles = [
            Line2D([], [], label=f"{name} (n = {count})", **_style(group))
            for group, (name, count) in enumerate(
                zip(self.groups.names, self.groups.counts, strict=True)
            )
        ]
        outside: dict[str, Any] = {"loc": "upper left", "bbox_to_anchor": (1.01, 1.0)}
        axes[0].legend(
            handles=handles,
            title=", ".join(self.groups.columns),
            ncols=1 + (k - 1) // 20,
            **({} if k <= _LEGEND_INSIDE else outside),
        )
        return self


_LEGEND_INSIDE = 4  # groups whose legend does not hide the bars


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError(
            "Displays are drawn by matplotlib, which is not installed. "
            "Install it: pip install meanparity[plot]"
        ) from error
    return plt


def _tradeoff(estimator: Any) -> Tradeoff:
    check_is_fitted(estimator)
    if not hasattr(estimator, "tradeoff_"):
        raise TypeError(
            f"{type(estimator).__name__} has no tradeoff_. Pass a fitted estimator of meanparity; "
            "out of a pipeline, pipeline[-1] with the rows pipeline[:-1].transform(X)."
        )
    tradeoff: Tradeoff = estimator.tradeoff_
    return tradeoff


def _with_position(unfairness: Any, position: float | None) -> FloatArray:
    """Positions of a curve that has a point at `position`."""
    grid = np.linspace(0, 1, 51) if unfairness is None else np.ravel(unfairness)
    return grid if position is None else np.union1d(grid, position)


def _index(curve: TradeoffCurve, u: float) -> int | None:
    """Where the curve has position u, None if nowhere."""
    distance = np.abs(curve.unfairness - u)
    return int(distance.argmin()) if distance.min() < 1e-9 else None


def _style(i: int) -> dict[str, Any]:
    """Colour and line style of the i-th line."""
    style = _LINE_STYLES[i // len(_COLOURS) % len(_LINE_STYLES)]
    return {"color": _COLOURS[i % len(_COLOURS)], "linestyle": style}


def _column(values: Any, name: str, n_rows: int) -> FloatArray:
    column = check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
    if column.ndim == 2 and column.shape[1] > 1:
        raise ValueError(
            f"{name} has {column.shape[1]} outputs, but the distribution of one is drawn. Choose "
            "a column: from_predictions(y_before[:, 0], y_after[:, 0], sensitive_features=...)."
        )
    if len(column) != n_rows:
        raise ValueError(
            f"{name} has {len(column)} rows, but sensitive_features has {n_rows}. "
            "Pass one value for each row."
        )
    return column.reshape(n_rows)


def _bin_edges(values: FloatArray, bins: int | str) -> FloatArray:
    low, high = float(values.min()), float(values.max())
    size = max(abs(low), abs(high))
    if high - low <= 1e-9 * size or size == 0:  # rounding alone cannot be cut into bars
        margin = 0.05 * size or 0.5
        low, high = low - margin, high + margin
    edges: FloatArray = np.histogram_bin_edges(values, bins, range=(low, high))
    return edges


def _draw_density(
    ax: Axes, values: FloatArray, edges: FloatArray, style: dict[str, Any]
) -> Line2D | None:
    """The density between the smallest and the largest value, unless one bar holds them all."""
    from scipy.stats import gaussian_kde

    low, high = float(values.min()), float(values.max())
    if high - low <= np.diff(edges).min():
        return None
    grid = np.linspace(low, high, 200)
    return ax.plot(grid, gaussian_kde(values)(grid), **style)[0]
