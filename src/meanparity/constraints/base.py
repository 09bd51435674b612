"""What a constraint is: linear conditions on the predictions for stated rows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from numbers import Integral, Real
from typing import Any, ClassVar

from sklearn.base import BaseEstimator

from meanparity._documentation import Documented
from meanparity._typing import FloatArray
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.data.rows import Rows

_ABOUT_FUNCTIONALS = {
    "describe",
    "between_groups",
    "needs_rows",
    "compares_errors",
    "uses_control",
    "reads_values",
}

_CHOICES = {
    "weight_scope": ("both", "loss", "constraint"),
    "parity_on": ("both", "train", "pool"),
    "scale": ("score", "response"),
}


class Constraint(Documented, BaseEstimator, ABC):  # type: ignore[misc]
    """A notion of parity: applied to rows, it gives linear functionals of the predictions.

    A constraint of your own is a subclass with the one method `functionals`;
    `Functionals.from_weights` makes functionals from the weight of each row in each condition.
    Its constructor parameters follow scikit-learn's conventions (a dataclass does), so that the
    constraint can be cloned and searched. The attributes below say what it supports.

    Attributes
    ----------
    name : str
        The shortcut under which estimators know it, if it has one.
    training_only : str
        Why it cannot hold on a pool; empty if it can.
    needs_rows : str
        Why its functionals cannot be computed from sums over cells, that is, over rows of equal
        sensitive and control values; empty if they can. Sums are what files, Dask, `partial_fit`
        and leave-one-out are computed from.
    compares_errors : bool
        Whether the groups are compared by their errors rather than by their predictions: the
        targets are ``Cᵀ y``, plus numbers that do not depend on y.
    uses_control : bool
        Whether it takes control features into account; otherwise they are refused.
    reads_values : bool
        Whether it uses sensitive numbers as they are, so that it does not matter which columns
        are continuous.
    intersectional, continuous, missing, scale, parity_on, weight_scope, min_group_size, pooling
        Defaults of the parameters that `MeanParity` describes, for constraints without them.

    See Also
    --------
    LinearParity : Given weights, without a class.
    Functionals : What `functionals` returns.

    Examples
    --------
    >>> class First(Constraint):
    ...     needs_rows = ""
    ...     def functionals(self, rows):
    ...         member = rows.groups.codes == 0
    ...         weights = member / member.sum() - 1 / rows.n_rows
    ...         return Functionals.from_weights(weights[:, None], [0.0], ["first group"])
    >>> from meanparity import ParityRidge
    >>> from meanparity.constraints import Functionals
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> list(ParityRidge(constraint=First()).fit(X, y, sensitive_features=s).gaps_)
    ['first group']
    """

    name: ClassVar[str] = ""
    training_only: ClassVar[str] = ""
    needs_rows: ClassVar[str] = (
        "its functionals may depend on individual rows. If they depend on sensitive and control "
        "values and weights alone, say so in its class: needs_rows = ''"
    )
    compares_errors: ClassVar[bool] = False
    uses_control: ClassVar[bool] = False
    reads_values: ClassVar[bool] = False

    intersectional: Any = True
    continuous: Any = "auto"
    missing: Any = "error"
    scale: Any = "score"
    parity_on: Any = "both"
    weight_scope: Any = "both"
    min_group_size: Any = 10
    pooling: Any = None

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        # a subclass with conditions of its own must not inherit what its parent says of its own
        if "functionals" in vars(cls):
            for name in _ABOUT_FUNCTIONALS - set(vars(cls)):
                setattr(cls, name, vars(Constraint)[name])

    @abstractmethod
    def functionals(self, rows: Rows) -> Functionals:
        """The linear functionals that have to meet their targets on these rows."""

    def describe(self, rows: Rows) -> str:
        """Say in one sentence what is equal on these rows; reports and messages quote it.

        Override it together with `functionals`. A subclass that does not gets a sentence that only
        names the class.
        """
        return f"The predictions satisfy the linear conditions of {type(self).__name__}."

    def settle(self, rows: Rows) -> Constraint:
        """The constraint with all that it takes from the training rows, such as quantiles."""
        return self

    def implies_mean_parity(self, rows: Rows) -> bool:
        """Whether meeting this constraint gives every group of these rows the same mean."""
        return self.functionals(rows).implies_mean_parity

    def between_groups(self, rows: Rows, functionals: Functionals | None = None) -> Functionals:
        """What compares groups on any rows: by default their means with the overall mean.

        Curves, reports and cross-validation show the gaps of these functionals, of what is
        `compared`. There may be none. `functionals` are those of the constraint on these rows, if
        they are known; a constraint that itself compares groups returns them.
        """
        return mean_contrasts(rows)

    def compared(self, values: FloatArray, y: FloatArray) -> FloatArray:
        """The values by which groups are compared, (n, m): predictions, or their errors."""
        return values - y if self.compares_errors else values


def resolve_constraint(constraint: Any) -> Constraint:
    """A constraint from its name or from itself; settings that are not known are refused.

    Examples
    --------
    >>> resolve_constraint("mean_parity")
    MeanParity()
    """
    if not isinstance(constraint, Constraint):
        from meanparity.constraints import CovarianceParity, MeanParity, ResidualParity

        kinds: Any = (MeanParity, CovarianceParity, ResidualParity)
        named = {kind.name: kind for kind in kinds}
        if not isinstance(constraint, str) or constraint not in named:
            raise ValueError(
                f"constraint={constraint!r} is not known. Pass one of "
                f"{', '.join(map(repr, named))}, or an object (not a class) such as MeanParity() "
                "or CovarianceParity(kernel='rbf')."
            )
        constraint = named[constraint]()
    found: Constraint = constraint
    for name, choices in _CHOICES.items():
        value = getattr(found, name)
        if value not in choices:
            raise ValueError(f"{name}={value!r} is not known. Pass one of {', '.join(choices)}.")
    size = found.min_group_size
    if isinstance(size, bool) or not isinstance(size, Integral) or size < 0:
        raise ValueError(f"min_group_size={size!r} is not an integer of 0 or more.")
    pooling = found.pooling
    if pooling is not None and not (isinstance(pooling, str) and pooling == "auto"):
        number = isinstance(pooling, Real) and not isinstance(pooling, bool)
        if not number or not 0 < pooling < float("inf"):
            raise ValueError(f"pooling={pooling!r}. Pass None, 'auto' or a positive number.")
    return found


def join_words(words: Sequence[str]) -> str:
    """Words as a list in a sentence.

    Examples
    --------
    >>> join_words(["sex"]), join_words(["sex", "race", "age"])
    ('sex', 'sex, race and age')
    """
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def all_of(n: int, noun: str) -> str:
    """All things of a kind, by their number.

    Examples
    --------
    >>> all_of(1, "condition"), all_of(2, "condition"), all_of(3, "condition")
    ('the condition', 'both conditions', 'all 3 conditions')
    """
    if n == 1:
        return f"the {noun}"
    return f"both {noun}s" if n == 2 else f"all {n:,} {noun}s"


def as_sentence(rows: Rows, statement: str) -> str:
    """A statement as a sentence that names the strata and says what happens to missing values."""
    control = rows.schema.control
    if control:
        statement = f"within each stratum of {join_words(control)}, {statement}"
    if (rows.cells < 0).any():
        statement += {
            "group": " (missing values form a group of their own)",
            "ignore": " (rows with a missing value are left out of the comparisons that need it)",
        }.get(rows.schema.missing, "")
    return f"{statement[0].upper()}{statement[1:]}."
