"""Audits that may be looked at again and again while predictions arrive."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.audit.checks import check_probability, format_interval, format_number
from meanparity.audit.rows import single_column
from meanparity.data.groups import Groups
from meanparity.data.refusals import refuse_other_order

_FEWEST_ROWS = 30  # of a group and of all others, before its interval is finite


@dataclass(frozen=True)
class StreamFinding:
    """The gap of one group so far.

    Parameters
    ----------
    group : hashable
        The group.
    size : int
        Number of its rows so far.
    mean, gap : float
        Mean of its values, and its difference from the overall mean; NaN without rows.
    low, high : float
        Interval of the gap; infinite while there are too few rows to tell.

    See Also
    --------
    AuditStream : Makes them.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.audit import AuditStream
    >>> values, s = np.random.default_rng(0).random(100), np.arange(100) % 2
    >>> found = AuditStream([0, 1]).update(values, s).findings()
    >>> [finding.size for finding in found]
    [50, 50]
    """

    group: Hashable
    size: int
    mean: float
    gap: float
    low: float
    high: float


class AuditStream:
    r"""Gaps between groups in a stream of predictions, with intervals that may always be looked at.

    An audit that is repeated every month at 95 % finds a gap that is not there sooner or later. The
    intervals of a stream hold at all times together: with the stated confidence, no interval of any
    group ever excludes its gap, however often one looks and whenever one decides to stop. They are
    asymptotic confidence sequences: for n rows with an estimated standard deviation σ of the
    influence of one row, ``1[i∈j](f_i − m_j)/p_j − (f_i − m)``,

    ``gap ± σ/√n · sqrt((1 + 1/(nρ²)) · (log(1 + nρ²) − 2 log(α/k)))``

    for k groups and an error probability α, where ρ makes the intervals narrowest at `focus` rows.
    A single look at n rows would have an interval of about two thirds of the width. A group of few
    rows may not have shown its rare or large values yet. Its variance is therefore computed with
    two more rows, as far from its mean as the most distant value of the stream; for many rows that
    is negligible. While all values of the stream are equal, nothing is told.

    Parameters
    ----------
    groups : iterable
        All groups that can occur.
    confidence : float, default=0.95
        Confidence that all intervals hold at all times.
    focus : int, default=1000
        Number of rows at which intervals are narrowest. It may not depend on the rows.

    See Also
    --------
    audit : One look at a fixed number of rows.

    References
    ----------
    Waudby-Smith, I., Arbour, D., Sinha, R., Kennedy, E. H. and Ramdas, A. (2024). Time-uniform
    central limit theory and asymptotic confidence sequences. Annals of Statistics 52.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> stream = AuditStream(["a", "b"])
    >>> for month in range(12):
    ...     s = rng.choice(["a", "b"], 200)
    ...     stream = stream.update(rng.normal(size=200) + (s == "b"), s)
    >>> stream.n_rows
    2400
    >>> [bool(f.low < 0.5 * (1 if f.group == "b" else -1) < f.high) for f in stream.findings()]
    [True, True]
    """

    def __init__(
        self, groups: Iterable[Hashable], *, confidence: float = 0.95, focus: int = 1000
    ) -> None:
        self.groups = tuple(dict.fromkeys(groups))
        self.confidence = check_probability(confidence, "confidence")
        self.focus = focus
        if len(self.groups) < 2:
            raise ValueError(f"groups={list(self.groups)}. Pass at least two groups.")
        if isinstance(focus, bool) or not isinstance(focus, int) or focus < 1:
            raise ValueError(f"focus={focus!r} is not a number of rows. Pass 1 or more.")
        k = len(self.groups)
        self._counts, self._means, self._squares = np.zeros(k), np.zeros(k), np.zeros(k)
        self._low, self._high = np.inf, -np.inf

    @property
    def n_rows(self) -> int:
        """Number of rows so far."""
        return int(self._counts.sum())

    def update(self, y_pred: Any, sensitive_features: Any) -> AuditStream:
        """Add rows: (n,) values and their groups. The stream is changed, and returned."""
        refuse_other_order(y_pred=y_pred, sensitive_features=sensitive_features)
        values = single_column(y_pred, "y_pred")
        found = Groups.from_columns(sensitive_features, n_rows=len(values))
        unknown = [key for key in found.keys if key not in self.groups]
        if unknown:
            raise ValueError(
                f"sensitive_features has the group {unknown[0]!r}, which is not among the groups "
                f"of the stream, {list(self.groups)}. Name all groups when it is made."
            )
        place = np.array([self.groups.index(key) for key in found.keys])
        counts, means = found.counts.astype(float), found.means(values)
        squares = found.sums((values - means[found.codes]) ** 2)
        before, total = self._counts[place], self._counts[place] + counts
        step = means - self._means[place]
        self._squares[place] += squares + step**2 * before * counts / total
        self._means[place] += step * counts / total
        self._counts[place] = total
        self._low = min(self._low, float(values.min()))
        self._high = max(self._high, float(values.max()))
        return self

    def findings(self) -> tuple[StreamFinding, ...]:
        """The gaps so far, in the order of the groups."""
        n, counts = self._counts.sum(), self._counts
        if not n:
            nothing = (0, np.nan, np.nan, -np.inf, np.inf)
            return tuple(StreamFinding(group, *nothing) for group in self.groups)
        means = np.where(counts > 0, self._means, np.nan)
        gaps = means - float(counts @ self._means) / n
        extents = np.maximum(self._high - self._means, self._means - self._low)
        extents = np.where((counts > 0) & (self._high > self._low), extents, 0.0)
        margins = half_widths(
            counts, self._squares, np.nan_to_num(gaps), extents, 1 - self.confidence, self.focus
        )
        return tuple(
            StreamFinding(
                group,
                int(counts[j]),
                float(means[j]),
                float(gaps[j]),
                float(gaps[j] - margins[j]) if counts[j] else -np.inf,
                float(gaps[j] + margins[j]) if counts[j] else np.inf,
            )
            for j, group in enumerate(self.groups)
        )

    def __str__(self) -> str:
        lines = [f"{self.n_rows:,} rows so far. Intervals hold at all times together"]
        lines[0] += f" with {100 * self.confidence:g} % confidence, for many rows."
        for finding in self.findings():
            interval = "too few rows to tell"
            if np.isfinite(finding.high):
                interval = " to ".join(format_interval(finding.low, finding.high))
            gap = format_number(finding.gap) if finding.size else "unknown"
            lines.append(f"{finding.group} ({finding.size:,} rows): gap {gap}, {interval}")
        return "\n".join(lines)


def half_widths(
    counts: FloatArray,
    squares: FloatArray,
    gaps: FloatArray,
    extents: FloatArray,
    error: float,
    focus: int,
) -> FloatArray:
    """Half widths of the intervals of k groups, of one stream or of many: (..., k).

    Parameters
    ----------
    counts, squares, gaps : (..., k) arrays
        Number of rows of each group, sum of their squared distances from its mean, and its gap.
    extents : (..., k) array
        Distance between the mean of each group and the most distant value of the stream; 0 for
        groups without rows.
    error : float
        Probability that any interval ever fails.
    focus : int
        Number of rows at which intervals are narrowest.
    """
    n = counts.sum(axis=-1, keepdims=True)
    rows = np.maximum(counts, 1.0)
    shares = rows / n
    inside = squares / np.maximum(counts - 1, 1) + 2 * extents**2 / rows
    every = (shares * (inside + gaps**2)).sum(axis=-1, keepdims=True)
    variances = inside / shares - 2 * inside + every
    error = error / counts.shape[-1]
    # the best ρ² at `focus` rows, from the references (their appendix on tuning)
    scale = (-2 * np.log(error) + np.log(1 - 2 * np.log(error))) / focus
    width = (1 + 1 / (n * scale)) * (np.log1p(n * scale) - 2 * np.log(error)) / n
    few = np.minimum(counts, n - counts) < _FEWEST_ROWS
    equal = (extents <= 0).all(axis=-1, keepdims=True)
    return np.asarray(np.where(few | equal, np.inf, np.sqrt(np.maximum(variances, 0.0) * width)))
