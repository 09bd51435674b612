"""A display of an audit: the gap of each group with its simultaneous interval."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from meanparity.audit import Audit, audit
from meanparity.displays._pyplot import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_COLOUR, _GREY = "#0072B2", "#767676"
_HEIGHT = 0.28  # inches for each group


class AuditDisplay:
    """The gaps of an audit, ordered, with simultaneous intervals.

    A filled point is a gap whose simultaneous interval excludes zero. Groups with too few rows to
    tell have a grey point without an interval. If the audit has a largest negligible gap
    (`within`), it is drawn as a band.

    Parameters
    ----------
    audit : Audit
        What `meanparity.audit.audit` returned.

    Attributes
    ----------
    ax_, figure_ : matplotlib Axes and Figure
        Where `plot` drew.
    names_ : list of str
        The groups, from top to bottom.

    See Also
    --------
    meanparity.audit.audit : What it draws.

    Examples
    --------
    >>> from matplotlib.figure import Figure
    >>> rng = np.random.default_rng(0)
    >>> s = np.repeat(["a", "b", "c"], 50)
    >>> display = AuditDisplay.from_predictions(
    ...     rng.normal(size=150) + (s == "b"), sensitive_features=s, ax=Figure().subplots()
    ... )
    >>> display.names_[0]
    'b'
    """

    def __init__(self, audit: Audit) -> None:
        self.audit = audit

    @classmethod
    def from_predictions(
        cls, y_pred: Any, *, sensitive_features: Any, ax: Axes | None = None, **options: Any
    ) -> AuditDisplay:
        """Audit predictions and draw the result; further options are those of `audit`."""
        return cls(audit(y_pred, sensitive_features=sensitive_features, **options)).plot(ax=ax)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        *,
        sensitive_features: Any,
        ax: Axes | None = None,
        **options: Any,
    ) -> AuditDisplay:
        """Audit the predictions of a fitted estimator and draw the result."""
        return cls.from_predictions(
            estimator.predict(X), sensitive_features=sensitive_features, ax=ax, **options
        )

    def plot(self, ax: Axes | None = None) -> AuditDisplay:
        """Draw the gaps, the largest at the top.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; by default a new figure that is high enough for all groups.
        """
        found = sorted(self.audit.findings, key=lambda finding: finding.gap)
        if ax is None:
            _, ax = pyplot().subplots(figsize=(7, 1.5 + _HEIGHT * len(found)), layout="constrained")
        for place, finding in enumerate(found):
            if finding.too_few_rows:
                ax.plot(finding.gap, place, "o", color=_GREY, markerfacecolor="none")
                continue
            ax.plot([finding.low_all, finding.high_all], [place, place], color=_COLOUR)
            shown = finding.low_all > 0 or finding.high_all < 0
            fill = _COLOUR if shown else "white"
            ax.plot(finding.gap, place, "o", color=_COLOUR, markerfacecolor=fill)
        ax.axvline(0, color="black", linewidth=0.8, zorder=0)
        within = self.audit.within
        if within is not None:
            ax.axvspan(-within, within, color=_GREY, alpha=0.15, linewidth=0, zorder=-1)
            ax.set_title(f"Band: gaps of at most {within:g}", fontsize="medium")
        notes = [f.untold.removesuffix(" to tell") for f in found]
        labels = [
            f"{f.name} ({f.size:,}{note and ', '}{note})"
            for f, note in zip(found, notes, strict=True)
        ]
        ax.set_yticks(np.arange(len(found)), labels)
        ax.set_ylim(-0.7, len(found) - 0.3)
        confidence = f"{100 * self.audit.confidence:g} %"
        kind = "gap to the stratum" if self.audit.control else "gap to all rows"
        ax.set_xlabel(f"{kind.capitalize()}, simultaneous {confidence} intervals")
        self.ax_, self.figure_ = ax, ax.figure
        self.names_ = [finding.name for finding in reversed(found)]
        return self
