"""Equal means: of the predictions, or of the errors."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import ClassVar, Self

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.constraints.numbers import NumberFunctions
from meanparity.rows import Rows


@dataclass(frozen=True)
class MeanParity(Constraint):
    """The mean prediction is the same in every group.

    ``mean(g | group j) = mean(g)`` for each of the k groups (Definition 1 of the paper): k − 1
    functionals, inside each stratum if there are control features. Of a sensitive number, such as
    age, the predictions have zero covariance with it: in each group of categories if the groups
    are intersections, else over all rows.

    Parameters
    ----------
    degree : int, default=1
        Of sensitive numbers: zero covariance with all powers up to this one.
    n_knots : int, optional
        Of sensitive numbers: zero covariance with splines of this `degree` instead, with so many
        knots at quantiles of the training rows.
    knots : tuple
        Where these knots are, for each column; found in fit.

    Examples
    --------
    >>> import numpy as np
    >>> functionals = MeanParity().functionals(Rows.of(["a", "b", "b"]))
    >>> functionals.gaps(np.array([[3.0], [0.0], [0.0]])).ravel()
    array([ 2., -1.])
    """

    uses: ClassVar[tuple[str, ...]] = ("control_features", "intersectional")

    degree: int = 1
    n_knots: int | None = None
    knots: tuple[tuple[str, tuple[float, ...]], ...] = field(default=(), repr=False)

    def settled(self, rows: Rows) -> Self:
        """The same with knots at quantiles of these rows."""
        return replace(self, knots=self._functions(rows).knots)

    def functionals(self, rows: Rows) -> Functionals:
        """Contrasts of the group means; `gaps` are the group means less the mean."""
        functionals = self.contrasts(rows)
        _refuse_nothing(rows, functionals)
        return functionals

    def contrasts(self, rows: Rows) -> Functionals:
        """The same, or none where there is nothing to equalise."""
        return mean_contrasts(rows, self._functions(rows))

    def _functions(self, rows: Rows) -> NumberFunctions:
        functions = NumberFunctions(self.degree, self.n_knots, self.knots)
        return functions if self.knots else functions.settled(rows)


@dataclass(frozen=True)
class ResidualParity(MeanParity):
    """The mean error is the same in every group: ``mean(y − g | group j) = mean(y − g)``.

    The functionals of `MeanParity` with targets ``Cᵀ y``: every group is over- or underestimated
    as much as all others (with an intercept: not at all). What the groups' y differ by stays in
    the predictions. It needs y, so it cannot hold on a pool.

    Parameters
    ----------
    degree, n_knots, knots
        See `MeanParity`.

    Notes
    -----
    Where the space of functions cannot meet all conditions, such as more groups than features in
    linear regression, the fit comes as close as it can in least squares and warns.

    Examples
    --------
    >>> import numpy as np
    >>> rows = Rows.of(["a", "b", "b"], y=np.array([[3.0], [1.0], [2.0]]))
    >>> ResidualParity().functionals(rows).gaps(np.array([[2.0], [0.0], [1.0]])).ravel().round(12)
    array([0., 0.])
    """

    training_only: ClassVar[str] = "it compares errors, which are not known of a pool"

    def functionals(self, rows: Rows) -> Functionals:
        """Contrasts of the group means of y; `gaps` are mean errors less the mean error."""
        if rows.y is None:
            raise ValueError("ResidualParity compares errors, so it needs y on these rows.")
        functionals = super().functionals(rows)
        return replace(functionals, targets=functionals.apply(rows.y), implies_mean_parity=False)

    def compared(self, values: FloatArray, y: FloatArray) -> FloatArray:
        """What groups are compared by: the errors ``g − y``."""
        return values - y


def _refuse_nothing(rows: Rows, functionals: Functionals) -> None:
    if len(functionals):
        return
    control = ", ".join(rows.reading.control)
    if control:
        raise ValueError(
            f"In every stratum of {control} only one group occurs, so there is nothing to "
            "equalise. Use coarser strata, or leave control_features out."
        )
    found = "one number" if rows.groups is None else ", ".join(map(repr, rows.groups.names))
    heavy = "" if rows.weights is None else ", of those that have weight"
    raise ValueError(
        f"sensitive_features has one group only ({found or 'missing'} in all {rows.counts.sum()} "
        f"rows{heavy}), so there is nothing to equalise. Pass a column with at least two values, "
        "or fit scikit-learn's Ridge or KernelRidge instead."
    )
