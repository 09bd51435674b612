"""A report about a fitted estimator."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray, FloatOrArray
from meanparity.exceptions import import_pandas
from meanparity.tradeoff.tradeoff import Tradeoff

_MOST_GROUPS = 10  # named in a summary

if TYPE_CHECKING:
    import pandas as pd

    from meanparity.estimators._unseen import GapLimits
    from meanparity.report import Report, Slider
    from meanparity.solvers.solution import SolverInfo
    from meanparity.tradeoff.budgets import Kind


def require_tradeoff(estimator: Any) -> Tradeoff:
    """The `tradeoff_` of a fitted estimator, which those from minimal files do not have."""
    if not hasattr(estimator, "tradeoff_"):
        raise ValueError(
            "The model comes from a minimal file, which has one position of the dial. Use the "
            "model that was fitted, or one from a file that is not minimal."
        )
    tradeoff: Tradeoff = estimator.tradeoff_
    return tradeoff


@dataclass(frozen=True, eq=False, repr=False)
class Summary:
    """What was fitted, to be printed.

    Parameters
    ----------
    estimator, description : str
        Name of the estimator, and what is equal.
    facts : tuple of (str, str)
        Names and values of what describes the fit.
    grouped_by : str
        What the groups are groups of.
    counts : dict
        The number of training rows of each group.
    means : dict
        The mean prediction of each group, a float or a list for several outputs.
    notes : tuple of str
        Sentences about gaps.
    gaps : tuple of (str, float, float)
        Instead of groups, for a correction of other predictions: each gap before and after.
    compared : str
        What the means are means of, and that they are means.
    """

    estimator: str
    description: str
    facts: tuple[tuple[str, str], ...]
    grouped_by: str
    counts: dict[Hashable, int]
    means: dict[Hashable, Any]
    notes: tuple[str, ...]
    gaps: tuple[tuple[str, float, float], ...] = ()
    compared: str = "mean prediction"

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with one row for each group of the training rows, or each gap."""
        if self.gaps:
            return import_pandas().DataFrame(list(self.gaps), columns=["gap", "before", "after"])
        outputs = [np.atleast_1d(mean) for mean in self.means.values()]
        several = len(outputs) > 0 and len(outputs[0]) > 1
        names = [f"mean_{i}" for i in range(len(outputs[0]))] if several else ["mean"]
        columns = dict(zip(names, np.array(outputs).T, strict=True)) if outputs else {}
        groups = [_plain(key) for key in self.means]
        rows = [self.counts[key] for key in self.means]
        return import_pandas().DataFrame({"group": groups, "rows": rows, **columns})

    def __str__(self) -> str:
        keys = list(self.means)
        rows = [(_plain(key), f"{self.counts[key]:,}", _number(self.means[key])) for key in keys]
        names = (self.grouped_by, "rows", self.compared)
        if self.gaps:
            rows = [(name, _number(before), _number(after)) for name, before, after in self.gaps]
            names = ("gap", "before", "after")
        hidden = len(rows) - _MOST_GROUPS
        if hidden > 0:
            rows = [*rows[:_MOST_GROUPS], (f"and {hidden:,} more", "", "")]
        head = [names, *rows] if rows else []
        widths = [max((len(row[i]) for row in head), default=0) for i in range(3)]
        widths = [widths[0] + 4, widths[1] + 4, widths[2] + 4]
        name = max(len(fact) for fact, _ in self.facts)
        value = max(len(value) for _, value in self.facts)
        width = max(42, sum(widths), name + value + 4)
        widths[1] += width - sum(widths)
        line = "-" * width
        lines = [self.estimator, *([self.description] if self.description else []), line]
        lines += [f"{fact}{value.rjust(width - len(fact))}" for fact, value in self.facts]
        lines.append(line)
        for first, second, third in head:
            lines.append(
                f"{first.ljust(widths[0])}{second.rjust(widths[1])}{third.rjust(widths[2])}".rstrip()
            )
        lines += [line] if head else []
        return "\n".join([*lines, *self.notes])

    __repr__ = __str__


def _plain(key: Hashable) -> str:
    return ", ".join(map(str, key)) if isinstance(key, tuple) else str(key)


def _number(value: Any) -> str:
    return ", ".join(f"{float(one):.4g}" for one in np.atleast_1d(value))


def _has_no_scale(estimator: Any) -> bool:
    """Whether scores are not comparable with outcomes, as those of the hinge loss."""
    return hasattr(estimator, "classes_") and not estimator._loss.has_response


class Reporting:
    """Estimators with a dial, which can report about their predictions."""

    tradeoff_: Tradeoff
    unfairness_: float | None
    gaps_: dict[str, FloatOrArray]
    pool_gaps_: dict[str, FloatOrArray]
    group_counts_: dict[Hashable, int]
    group_means_: dict[Hashable, FloatOrArray]
    coef_: FloatArray
    intercept_: FloatOrArray
    n_features_in_: int
    feature_names_in_: NDArray[Any]
    n_conditions_: int
    solver_: str
    solver_info_: SolverInfo
    parity_residual_: float
    implies_mean_parity_: bool
    continuous_: tuple[str, ...]
    pool_group_means_: dict[Hashable, FloatOrArray] | None
    unconstrained_strata_: dict[str, int]
    gap_limits_: GapLimits

    def summary(self) -> Summary:
        """What was fitted: constraint, penalty, R², groups, and gaps on the training rows.

        It prints itself, and `to_frame` has the groups as a data frame. Gaps on the training rows
        say nothing about other rows; `report`, and `meanparity.audit.audit` of predictions, are
        about those.

        Examples
        --------
        >>> from meanparity import ParityRidge
        >>> from meanparity.datasets import make_synthetic
        >>> X, y, s = make_synthetic(300, random_state=0)
        >>> print(ParityRidge().fit(X, y, sensitive_features=s).summary())
        ParityRidge
        The mean prediction is the same in every group of sensitive.
        ------------------------------------------
        columns                                  5
        conditions                               1
        penalty (alpha)                          1
        solver                              primal
        R² on the training rows             0.9947
        R² without the constraint           0.9987
        ------------------------------------------
        sensitive          rows    mean prediction
        -0.1                152            -0.1796
        0.1                 148            -0.1796
        ------------------------------------------
        Largest gap on the training rows: zero, up to rounding.
        """
        check_is_fitted(self)
        tradeoff = require_tradeoff(self)
        comparison, u = tradeoff.comparison, self.unfairness_
        alpha = getattr(self, "alpha_", getattr(self, "alpha", None))
        facts = [
            ("columns", f"{self.n_features_in_:,}"),
            ("conditions", f"{self.n_conditions_:,}"),
            ("penalty (alpha)" if hasattr(self, "alpha") else "penalty (chosen)", _number(alpha)),
            ("solver", self.solver_),
        ]
        if u is not None and u > 0:
            facts.append(("share of the free gaps that is left", f"{u:.4g}"))
        loss = getattr(self, "_loss", None)
        if tradeoff.single_output and not _has_no_scale(self):
            ends = tradeoff.training_curve([0.0 if u is None else u, 1.0]).r2
            of = ""
            if loss is not None and not loss.is_identity:  # errors are those of responses
                of = " of probabilities" if hasattr(self, "classes_") else " of means"
            if u is not None:
                facts.append((f"R²{of} on the training rows", f"{ends[0]:.4g}"))
            facts.append((f"R²{of} without the constraint", f"{ends[1]:.4g}"))
        notes = []
        for where, gaps in (("training rows", self.gaps_), ("pool", self.pool_gaps_)):
            sizes = {name: float(np.abs(gap).max()) for name, gap in (gaps or {}).items()}
            if sizes:
                largest = max(sizes, key=sizes.__getitem__)
                zero = sizes[largest] <= 10 * self.parity_residual_
                text = f"{sizes[largest]:.4g} ({largest})"
                text = "zero, up to rounding" if zero and u == 0 else text
                notes.append(f"Largest gap on the {where}: {text}.")
        description, compared = comparison.description, "mean prediction"
        if loss is not None and not loss.is_identity and not getattr(tradeoff, "on_response", True):
            description = description.replace("prediction", "score")
            compared = "mean score"
        return Summary(
            type(self).__name__,
            description,
            tuple(facts),
            ", ".join(comparison.schema.categories) or "group",
            dict(self.group_counts_),
            dict(self.group_means_),
            tuple(notes),
            compared=compared,
        )

    def report(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        name: str = "rows",
        target: str = "y",
        constrained: bool | None = None,
        min_cell: int = 1,
        budget: Kind | None = None,
    ) -> Report:
        """A report on the predictions for these rows: answers, groups, and a slider.

        Notebooks display it; `save` writes it to a file that needs no network.

        Parameters
        ----------
        X : array-like of shape (n, d)
            Rows, such as held-out ones.
        y : array-like of shape (n,), optional
            Their outcomes, if these are known; the classes, for a classifier.
        sensitive_features, control_features, sample_weight
            As in `fit`.
        name, target : str
            Names of the rows and of the outcome.
        constrained : bool, optional
            Whether these are the rows of fit, or its pool: their gaps are zero by construction up
            to rounding, and have no intervals. With None, the page does not say whether they are,
            and has intervals as for other rows.
        min_cell : int, default=1
            The smallest number of people about whom the report says anything: smaller groups are
            merged, and bars and shares of fewer people are left out.
        budget : {"gap", "smd", "norm"}, optional
            What the slider limits: the most accurate models within limits of the largest gap, of
            the sum of gaps, or of the root of the sum of their squares, on the rows of fit. By
            default it limits the largest gap if the model has `max_gap` and a squared error, and
            goes along the dial otherwise. With other losses there are nine positions, which
            together take as long as several fits, and need the rows of fit: a model from a file
            does not have these.
        """
        from meanparity.report.models import AT_SAME_PENALTY, report_of_model

        check_is_fitted(self)
        tradeoff = require_tradeoff(self)
        if not tradeoff.single_output:
            raise ValueError("A report is about one output. Fit a model for each.")
        if sensitive_features is None:
            sensitive_features = tradeoff.basis.sensitive_features(X)
        layout = tradeoff.basis.layout
        return report_of_model(
            *self._reported(X, budget),
            comparison=tradeoff.comparison,
            X=X,
            features=layout.select(X),
            y=self._coded_outcomes(y),
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            name=name,
            target=target,
            constrained=constrained,
            min_cell=min_cell,
            without=AT_SAME_PENALTY,
        )

    def _reported(
        self, X: Any, budget: Kind | None
    ) -> tuple[Slider, FloatArray, FloatArray | None]:
        """The models of a report, their predictions, and what is compared in their place."""
        from meanparity.report import Slider

        slider = Slider.of(self, budget)
        return slider, slider.columns(self, X), None

    def _coded_outcomes(self, y: Any) -> Any:
        """Outcomes as numbers that predictions can be compared with."""
        return y
