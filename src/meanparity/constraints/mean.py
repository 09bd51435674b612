"""Equal means of the predictions or of the errors."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import ClassVar, Literal, Self

import numpy as np

from meanparity._typing import Columns, MissingValues, ParityOn, Scale, WeightScope
from meanparity.constraints.base import Constraint, as_sentence, join_words
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.numbers import NumberFunctions
from meanparity.data.rows import Rows
from meanparity.state import stored


@stored("MeanParity")
@dataclass(eq=False, repr=False, kw_only=True)
class MeanParity(Constraint):
    """The mean prediction is the same in every group.

    ``mean(g | group j) = mean(g)`` for each of the k groups (Definition 1 of the paper): k − 1
    functionals, inside each stratum if there are control features. For a sensitive number such as
    age, the predictions have zero covariance with it: within each group of categories if the
    groups are intersections, otherwise over all rows.

    Parameters
    ----------
    intersectional : bool, default=True
        Whether every combination of sensitive categories that occurs is a group. With False, each
        column is compared separately.
    continuous : "auto" or list of names or positions, default="auto"
        Sensitive columns that are numbers rather than categories. "auto" selects numeric columns
        with more than 20 distinct values, with a warning; [] makes every value a group.
    degree : int, default=1
        For sensitive numbers: zero covariance with all powers up to this degree.
    n_knots : int, optional
        For sensitive numbers: zero covariance with splines of this `degree` instead, with this
        number of knots at quantiles of the training rows.
    missing : {"error", "group", "ignore"}, default="error"
        How missing sensitive and control values are treated: as an error, as a group of their own,
        or as rows that count in the loss but not in the comparisons that need the value.
    scale : {"score", "response"}, default="score"
        What has the same mean: the score, or the response of a loss with a link function (the
        probability, the expected count). They are the same for losses without a link.
    parity_on : {"both", "train", "pool"}, default="both"
        Where the constraint holds: on the training rows, on the pool that is passed to `fit`, or
        on both; without a pool, "both" means the training rows.
    weight_scope : {"both", "loss", "constraint"}, default="both"
        Whether `sample_weight` counts in the loss, in the means of the constraint, or in both.
    min_group_size : int, default=10
        Groups with fewer rows cause a warning with their sizes and standard errors.
    pooling : None, "auto" or float, default=None
        None closes every gap on the rows of fit, however few rows a group has. "auto" lets gaps
        stay open up to 0.3 times what is typically chance in them, which is s² / √(s² + τ²) for a
        gap with standard error s, where τ is the typical size of true gaps. All gaps have this
        limit together: ``Σ gap²/s`` is at most the same sum over 0.3 times the sizes of chance. A
        gap of a small group, whose s is large, thus counts less. A number stands in place of 0.3.
        The standard errors, and the most that each gap can be, are in the fitted attribute
        `gap_limits_`.

    See Also
    --------
    ResidualParity : Equal mean errors.
    CovarianceParity : The paper's notion by covariances.

    Examples
    --------
    >>> import numpy as np
    >>> functionals = MeanParity().functionals(Rows.from_columns(["a", "b", "b"]))
    >>> functionals.gaps(np.array([[3.0], [0.0], [0.0]])).ravel()
    array([ 2., -1.])
    """

    name: ClassVar[str] = "mean_parity"
    uses_control: ClassVar[bool] = True
    compared_value: ClassVar[str] = "prediction"  # what `describe` says is equal on average

    intersectional: bool = True
    continuous: Columns = "auto"
    degree: int = 1
    n_knots: int | None = None
    missing: MissingValues = "error"
    scale: Scale = "score"
    parity_on: ParityOn = "both"
    weight_scope: WeightScope = "both"
    min_group_size: int = 10
    pooling: float | Literal["auto"] | None = None

    @property
    def needs_rows(self) -> str:  # type: ignore[override]
        """Why sums over cells are not enough: splines have knots at quantiles of the rows."""
        return "" if self.n_knots is None else "the knots of splines lie at quantiles of the rows"

    def settle(self, rows: Rows) -> Self:
        """The constraint with the knots of splines at quantiles of these rows."""
        if self.n_knots is None:
            return self
        settled = copy.copy(self)
        settled.knots_ = NumberFunctions(self.degree, self.n_knots).settle(rows).knots
        return settled

    def describe(self, rows: Rows) -> str:
        """Say which means are equal, and which covariances are zero.

        Examples
        --------
        >>> columns = {"sex": ["F", "M", "F"], "age": [31, 45, 28]}
        >>> rows = Rows.from_columns(columns, continuous=["age"])
        >>> print(MeanParity().describe(rows))
        The mean prediction is the same in every group of sex, and within each of these groups
        predictions have zero covariance with age.
        """
        schema, statements = rows.schema, []
        weighted = "" if rows.weights is None else "weighted "
        columns, intersections = schema.categories, schema.intersectional
        if columns:
            groups = f"group of {columns[0]}"
            if len(columns) > 1 and intersections:
                groups = f"combination of {join_words(columns)}"
            elif len(columns) > 1:
                each = join_words([f"of {column}" for column in columns])
                groups = f"group {each}, each column compared separately"
            mean = f"the {weighted}mean {self.compared_value}"
            statements.append(f"{mean} is the same in every {groups}")
        if schema.continuous:
            within = "within each of these groups " if columns and intersections else ""
            statements.append(
                f"{within}{self.compared_value}s have zero {weighted}covariance with "
                f"{self._describe_functions(schema.continuous)}"
            )
        return as_sentence(rows, ", and ".join(statements))

    def _describe_functions(self, numbers: tuple[str, ...]) -> str:
        if self.n_knots is not None:
            splines = f"all splines of degree {self.degree} with {self.n_knots} knots"
            return f"{splines} in {join_words(numbers)}"
        if self.degree > 1:
            return f"the powers up to {self.degree} of {join_words(numbers)}"
        return join_words(numbers)

    def functionals(self, rows: Rows) -> Functionals:
        """Contrasts of the group means; `gaps` are the differences from the overall mean."""
        functionals = self._contrasts(rows)
        if not functionals.count:
            _refuse_single_group(rows)
        return functionals

    def between_groups(self, rows: Rows, functionals: Functionals | None = None) -> Functionals:
        """The same functionals, or none where there is nothing to equalise."""
        return self._contrasts(rows) if functionals is None else functionals

    def _contrasts(self, rows: Rows) -> Functionals:
        if not rows.schema.continuous and self.degree == 1 and self.n_knots is None:
            return mean_contrasts(rows)
        functions = NumberFunctions(self.degree, self.n_knots, getattr(self, "knots_", ()))
        return mean_contrasts(rows, functions.settle(rows))


@stored("ResidualParity")
@dataclass(eq=False, repr=False, kw_only=True)
class ResidualParity(MeanParity):
    """The mean error is the same in every group: ``mean(y − g | group j) = mean(y − g)``.

    The functionals of `MeanParity` with the targets ``Cᵀ y``: every group is over- or
    underestimated by the same amount (with an intercept, by nothing). Differences between the
    groups' outcomes stay in the predictions. It needs y, so it cannot hold on a pool.

    Parameters
    ----------
    intersectional, continuous, degree, n_knots, missing, scale, parity_on, weight_scope, \
min_group_size, pooling
        See `MeanParity`.

    See Also
    --------
    MeanParity : Equal mean predictions.

    Notes
    -----
    Where no function of the space meets all conditions, as in linear regression with more groups
    than features, the fit is the closest in least squares, and a warning says so.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.from_columns(["a", "b", "b"], y=np.array([[3.0], [1.0], [2.0]]))
    >>> ResidualParity().functionals(rows).gaps(np.array([[2.0], [0.0], [1.0]])).ravel().round(12)
    array([0., 0.])
    """

    name: ClassVar[str] = "residual_parity"
    training_only: ClassVar[str] = "it compares errors, which are not known for a pool"
    compares_errors: ClassVar[bool] = True
    uses_control: ClassVar[bool] = True
    compared_value: ClassVar[str] = "prediction error"

    def functionals(self, rows: Rows) -> Functionals:
        """Contrasts of the group means of y; `gaps` are differences from the overall mean error."""
        if rows.y is None:
            raise ValueError("ResidualParity compares errors, so it needs y on these rows.")
        functionals = super().functionals(rows)
        return replace(functionals, targets=functionals.apply(rows.y), implies_mean_parity=False)

    describe = MeanParity.describe
    between_groups = MeanParity.between_groups
    needs_rows = MeanParity.needs_rows


def _refuse_single_group(rows: Rows) -> None:
    control = ", ".join(rows.schema.control)
    if control:
        raise ValueError(
            f"In every stratum of {control} only one group occurs, so there is nothing to "
            "equalise. Use coarser strata, or leave control_features out."
        )
    groups, heavy = rows.cell_groups, rows.mass > 0
    found, without = "one number", ""
    if groups is not None:
        left = np.unique(groups.codes[heavy & (groups.codes >= 0)])
        found = ", ".join(repr(groups.names[i]) for i in left) or "missing"
        light = [groups.names[i] for i in range(groups.n_groups) if i not in left]
        if light:
            without = f" All rows of {join_words([repr(name) for name in light])} have weight 0."
    raise ValueError(
        f"sensitive_features has one group only ({found} in all {rows.counts[heavy].sum()} "
        f"rows{'' if heavy.all() else ' that have weight'}), so there is nothing to equalise."
        f"{without} Pass a column with at least two values, or fit scikit-learn's Ridge or "
        "KernelRidge instead."
    )
