"""What a report says, as small values, and the one place that puts them into words.

A statement holds the numbers that its sentence names, the rows and the groups that they are about,
and their units. Tests compare the sentences with the tables of the page, and with numbers that are
computed from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from meanparity.audit.checks import format_interval, format_number
from meanparity.constraints.base import all_of

_FEW_GROUPS = 6  # up to this many are listed with their sizes


class Kind(StrEnum):
    """What a gap is a gap of."""

    mean = "mean"  # the mean of a group minus the mean of all
    covariance = "covariance"  # with a function of a sensitive number
    condition = "condition"  # any other condition of a constraint


@dataclass(frozen=True)
class Named:
    """A gap, and the group, number or condition that it is about."""

    name: str
    value: float


@dataclass(frozen=True)
class RowSet:
    """A set of rows: what it is called, its size, and how many rows are in a group.

    Without a group are rows whose group is not known, and those in strata of fewer than `least`
    people. `constrained` says whether the constraint was imposed on them; None if that is not
    known.
    """

    name: str
    n: int
    n_known: int
    constrained: bool | None
    least: int = 1

    def __str__(self) -> str:
        """Such as "the 800 training rows"."""
        if self.n_known < self.n and self.least > 1:
            return (
                f"the {self.n_known:,} of {self.n:,} {self.name} in groups of at least "
                f"{self.least:,} people"
            )
        if self.n_known < self.n:
            return f"the {self.n_known:,} of {self.n:,} {self.name} whose group is known"
        return f"the {self.all_rows}"

    @property
    def all_rows(self) -> str:
        """Such as "800 training rows", those without a group included."""
        return f"{self.n:,} {_singular(self.name, self.n)}"


@dataclass(frozen=True)
class Compared:
    """Who is compared: the groups of some rows, the largest first, and sensitive numbers.

    `left_out` has the strata with one group only.
    """

    columns: tuple[str, ...]
    groups: tuple[tuple[str, int], ...]
    numbers: tuple[str, ...]
    control: tuple[str, ...]
    separately: bool
    rows: RowSet
    left_out: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = []
        if self.groups:
            k = len(self.groups)
            what = "combination" if len(self.columns) > 1 and not self.control else "group"
            listed = [f"{name} ({count_rows(n)})" for name, n in self.groups]
            head = f"{count(k, what)} of {join((*self.control, *self.columns))}"
            if k <= _FEW_GROUPS:
                parts.append(f"{head} in {self.rows}: {join(listed, '; ')}")
            else:
                parts.append(
                    f"{head} in {self.rows}, from {listed[0]}, the largest, to {listed[-1]}"
                )
        if self.numbers:
            where = "" if parts else f" in {self.rows}"
            what = "a number" if len(self.numbers) == 1 else "numbers"
            parts.append(f"People of different {join(self.numbers)}, as {what}{where}")
        text = ". ".join(parts) + "."
        if self.control:
            text += f" Groups are compared with others of the same {join(self.control)}."
        if self.left_out:
            text += f" There are no groups to compare in {join(self.left_out)}."
        if self.separately:
            text += " Each column is compared separately, so combinations may still differ."
        return text


@dataclass(frozen=True)
class OnRows:
    """The rows that the report is about."""

    rows: tuple[RowSet, ...]

    def __str__(self) -> str:
        how = {True: ", on which the constraint was imposed", None: ""}
        how[False] = ", on which the constraint was not imposed"
        if any(rows.constrained for rows in self.rows):
            how[False] = ", on which it was not"
        parts = [f"{rows.all_rows}{how[rows.constrained]}" for rows in self.rows]
        return f"{join(parts, '; ')}."


@dataclass(frozen=True)
class LikeRowsOfFit:
    """Rows of which nobody said whether they are the rows of fit, and which look like these.

    Their gaps are zero at the constrained end, up to rounding, though predictions differ.
    """

    rows: RowSet

    def __str__(self) -> str:
        return (
            f"The constrained model has no gaps on {self.rows}, up to rounding error: these look "
            "like the rows of the fit, whose gaps say nothing about other people. If they are, "
            "pass constrained=True."
        )


@dataclass(frozen=True)
class SamePrediction:
    """Everybody gets the same prediction, in all rows or in each stratum.

    Parameters
    ----------
    rows : tuple of RowSet
        The rows.
    value : float
        The prediction, if it is the same in all strata.
    control : tuple of str
        The control columns, if it is not.
    """

    rows: tuple[RowSet, ...]
    value: float
    control: tuple[str, ...] = ()

    def __str__(self) -> str:
        where = join([str(rows) for rows in self.rows])
        if self.control:
            return (
                f"On {where}, everybody of the same {join(self.control)} gets the same prediction: "
                "in each stratum the model is a constant."
            )
        return (
            f"On {where}, everybody gets the same prediction, {format_number(self.value)}: the "
            "model is a constant."
        )


@dataclass(frozen=True)
class LargestGap:
    """The largest gap of one kind on some rows, with the constraint and without it.

    Parameters
    ----------
    rows : RowSet
        The rows.
    kind : Kind
        What the gaps are gaps of.
    quantity : str
        What is compared, such as "prediction".
    reference : str
        What a group's mean is compared with.
    considered : int
        Number of gaps among which these are the largest.
    numbers : tuple of str
        The sensitive numbers, if the kind is a covariance.
    now : Named
        The largest gap of the model.
    free : Named or None
        The largest gap without the constraint, which may be of another group; None if there is no
        model without it.
    zero : float
        Gaps of this size are rounding error.
    untold : str
        Why the gap of the group of `now` cannot be told from chance, such as "too few rows"; empty
        if it can, or if nothing is said about chance.
    same_penalty : bool
        Whether to say that the model without the constraint has the penalty of the model, because
        the cost is measured against another one.
    """

    rows: RowSet
    kind: Kind
    quantity: str
    reference: str
    considered: int
    numbers: tuple[str, ...]
    now: Named
    free: Named | None
    zero: float
    untold: str = ""
    same_penalty: bool = False

    @property
    def is_zero(self) -> bool:
        """Whether no gap is left but rounding error."""
        return abs(self.now.value) <= self.zero

    def __str__(self) -> str:
        text = f"On {self.rows}, {self._nothing_left() if self.is_zero else self._largest()}."
        if self.untold and not self.is_zero:
            text += f" {self.now.name} has {self.untold} to tell this gap from chance."
        if self.free is None:
            return text
        without = "Without the constraint" + " at the same penalty" * self.same_penalty
        if abs(self.free.value) <= self.zero:
            return f"{text} {without} there would be none either."
        which = {Kind.mean: "gap", Kind.covariance: "difference", Kind.condition: "deviation"}
        noun = which[self.kind] if self.considered == 1 else f"largest {which[self.kind]}"
        text += f" {without}, {self._without(noun, self.free)}."
        if abs(self.now.value) > max(abs(self.free.value), self.zero):
            text += f" Here the {noun} is larger with the constraint than without it."
        return text

    def _shown(self, gap: Named) -> str:
        if self.kind is Kind.mean:
            side = "above" if gap.value > 0 else "below"
            return f"{format_number(abs(gap.value))} ({gap.name}, {side} {self.reference})"
        return f"{format_number(gap.value)} ({gap.name})"

    def _slope(self, gap: Named) -> str:
        """How much higher or lower the predictions are for one standard deviation."""
        return (
            f"{_higher(gap)} where {gap.name} is one standard deviation higher, along the straight "
            "line that fits best"
        )

    def _without(self, noun: str, gap: Named) -> str:
        if self.kind is not Kind.covariance:
            return f"the {noun} would be {self._shown(gap)}"
        if self.is_zero:
            return f"the {self.quantity}s would be {self._slope(gap)}"
        if self.considered == 1:
            return f"they would be {_higher(gap)}"
        return f"the largest would be {_higher(gap)} ({gap.name})"

    def _nothing_left(self) -> str:
        if self.kind is Kind.mean:
            which = all_of(self.considered, "group")
            if "stratum" in self.reference:
                which = f"within each stratum, {which if self.considered != 2 else 'the 2 groups'}"
            verb = "has" if self.considered == 1 else "have"
            return f"{which} {verb} the same mean {self.quantity}, up to rounding error"
        if self.kind is Kind.covariance:
            which = all_of(self.considered, "covariance")
            verb = "is" if self.considered == 1 else "are"
            what = f"of the {self.quantity}s with {join(self.numbers)}"
            return f"{which} {what} {verb} zero, up to rounding error"
        which, verb = all_of(self.considered, "condition"), "is" if self.considered == 1 else "are"
        return f"{which} of the constraint {verb} met, up to rounding error"

    def _largest(self) -> str:
        """The largest gap, with its unit.

        A covariance is that with a number, or a function of it, scaled to unit variance: the slope
        of the straight line that fits best, per standard deviation.
        """
        several = self.considered > 1
        if self.kind is Kind.mean:
            among = f"the largest of {self.considered} gaps" if several else "the gap"
            return f"{among} of the mean {self.quantity} is {self._shown(self.now)}"
        if self.kind is Kind.covariance:
            among = f" (the largest of {self.considered} such differences)" if several else ""
            return f"the {self.quantity}s are {self._slope(self.now)}{among}"
        among = f"the largest deviation from {self.considered} conditions"
        among = among if several else "the deviation from the condition"
        return f"{among} is {self._shown(self.now)}"


@dataclass(frozen=True)
class Evidence:
    """Which gaps of rows that were not used in the fit cannot be explained by chance.

    Parameters
    ----------
    rows : RowSet
        The rows.
    assessed, significant, too_few, flat : int
        Numbers of groups with an interval, of those whose gap is significant, of those with too few
        rows, and of those without spread.
    largest : Named or None
        The largest gap of the groups with enough rows.
    low, high : float
        Its simultaneous confidence interval.
    confidence : float
        The level.
    """

    rows: RowSet
    assessed: int
    significant: int
    too_few: int
    largest: Named | None
    low: float
    high: float
    confidence: float
    flat: int = 0

    def __str__(self) -> str:
        if self.largest is None:
            which = all_of(self.too_few + self.flat, "group")
            few = f"too few of {self.rows}"
            if self.flat:
                few = f"{'no spread' if not self.too_few else 'too few rows or no spread'} in "
                few += str(self.rows)
            return (
                f"{which[0].upper()}{which[1:]} have {few} to tell how large gaps are among other "
                "people."
            )
        level, together = 1 - self.confidence, " simultaneous" if self.assessed > 1 else ""
        low, high = format_interval(self.low, self.high)
        text = (
            f"Among other people like those of {self.rows}, the gap of {self.largest.name} is "
            f"likely between {low} and {high} "
            f"({100 * self.confidence:.0f}%{together} confidence interval). "
        )
        found = f"The gaps of {self.significant:,} of {count(self.assessed, 'group')} are"
        if self.significant == 1:
            found = f"The gap of 1 of {count(self.assessed, 'group')} is"
        elif not self.significant:
            found = f"No gap among {count(self.assessed, 'group')} is"
        text += (
            f"{found} larger than chance would explain ({100 * level:.0f}% level, adjusted for "
            "their number)."
        )
        for n, why in ((self.too_few, "too few rows"), (self.flat, "no spread")):
            if n:
                text += f" {count(n, 'other group').capitalize()} "
                text += f"{'has' if n == 1 else 'have'} {why} to tell."
        return text


@dataclass(frozen=True)
class Price:
    """The error with the constraint, without it, and of a constant.

    Parameters
    ----------
    rows : RowSet
        The rows.
    target : str
        Name of the outcome, in whose units the errors are.
    now, free : float, float or None
        Root mean squared errors; `free` is None if there is no model without the constraint.
    constant : float
        That of the mean outcome of these rows.
    without : str
        What the model of `free` is called.
    """

    rows: RowSet
    target: str
    now: float
    free: float | None
    constant: float
    without: str = "without the constraint"

    def __str__(self) -> str:
        whole = RowSet(self.rows.name, self.rows.n, self.rows.n, self.rows.constrained)
        text = (
            f"On {whole}, predictions of {self.target} are off by {format_number(self.now)} (root "
            "mean squared error)"
        )
        if self.free is not None and self.free > 1e-6 * self.constant:
            change = self.now / self.free - 1
            if abs(change) < 5e-4:
                text += f", the same as {self.without} (to within 0.05%)"
            else:
                direction = "more" if change > 0 else "less"
                text += (
                    f", {format_share(abs(change))} {direction} than {self.without} "
                    f"({format_number(self.free)})"
                )
        text += "."
        if self.now >= self.constant > 0:
            text += (
                f" Predicting the mean {self.target} for everybody would be off by "
                f"{format_number(self.constant)}, which is no worse."
            )
        return text


@dataclass(frozen=True)
class OutOfRange:
    """Predictions outside the range of the outcomes."""

    rows: RowSet
    target: str
    n: int
    low: float
    high: float
    furthest: float

    def __str__(self) -> str:
        verb = "lies" if self.n == 1 else "lie"
        return (
            f"{count(self.n, 'prediction')} for {self.rows.n:,} {self.rows.name} {verb} outside "
            f"the range of {self.target} there, {format_number(self.low)} to "
            f"{format_number(self.high)}; the furthest is {format_number(self.furthest)}."
        )


@dataclass(frozen=True)
class GroupUse:
    """Whether the sensitive columns themselves are used to predict.

    Parameters
    ----------
    features : tuple of str
        Sensitive columns that are among the features, by name.
    encoded : tuple of str
        Those that a feature tells, because it has one value in each of their groups.
    left_out : tuple of str
        Those that are not among the features.
    shifted : tuple of str
        Those by which predictions are shifted afterwards.
    unknown : tuple of str
        Those of which this is not known.
    same : SamePrediction or None
        If everybody gets the same prediction, whatever the columns.
    """

    features: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()
    same: SamePrediction | None = None

    def __str__(self) -> str:
        if self.same is not None:
            return self._not_used(self.same)
        parts = []
        if self.shifted:
            parts.append(
                f"Yes: every prediction is shifted by an amount that depends on "
                f"{join(self.shifted)}, which has to be known to predict. Two people who differ in "
                f"{_alone(self.shifted)} can get different predictions."
            )
        features = tuple(name for name in self.features if name not in self.shifted)
        if features:
            parts.append(
                f"Yes: {join(features)} {_is(features)} among the columns from which the "
                f"model predicts. Two people who differ in {_alone(features)} can get "
                "different predictions."
            )
        if self.encoded:
            parts.append(
                f"Yes, in effect: a column from which the model predicts has one value in each "
                f"group of {join(self.encoded)}, so predictions can depend on the group itself."
            )
        if self.left_out:
            no = "No" if not parts else "But not all"
            parts.append(
                f"{no}: {join(self.left_out)} {_is(self.left_out)} not among the columns from "
                f"which the model predicts. Two people who differ in {_alone(self.left_out)} get "
                "the same prediction. Other columns may still tell groups apart."
            )
        if self.unknown:
            parts.append(
                f"That is not known to this report. Ask who made the predictions whether "
                f"{join(self.unknown)} {_is(self.unknown)} used."
            )
        return " ".join(parts)

    def _not_used(self, same: SamePrediction) -> str:
        """What is said of a constant, which uses no column, or the control columns alone."""
        columns = (self.features, self.encoded, self.left_out, self.shifted, self.unknown)
        names = [name for part in columns for name in part if name not in same.control]
        names = list(dict.fromkeys(names))
        alike = f" of the same {join(same.control)}" if same.control else ""
        return (
            f"Not on these rows: two people{alike} get the same prediction, even if they differ in "
            f"{join(names)}."
        )


@dataclass(frozen=True)
class LeftInBands:
    """How far the means of bands of a sensitive number are apart.

    Parameters
    ----------
    rows : RowSet
        The rows.
    number, quantity : str
        The sensitive number, and what is compared.
    bands : int
        Number of bands.
    now, free : Named, Named or None
        The largest difference between the mean of a band and that of all, with the constraint and
        without it.
    much : bool
        Whether a large part is left.
    uncorrelated : bool
        Whether the covariances with the number are zero.
    """

    rows: RowSet
    number: str
    quantity: str
    bands: int
    now: Named
    free: Named | None
    much: bool
    uncorrelated: bool = True

    def __str__(self) -> str:
        start = "No covariance does not mean no gaps: in" if self.uncorrelated else "In"
        text = (
            f"{start} {count(self.bands, 'band')} of {self.number} in {self.rows}, the largest gap "
            f"between the mean {self.quantity} and the overall mean is {_sided(self.now)}"
        )
        if self.free is not None:
            text += f"; without the constraint it would be {_sided(self.free)}"
        text += "."
        if self.much:
            text += (
                " A constraint of a higher degree (--degree on the command line, degree=3 in "
                "Python) can close more of it."
            )
        return text


Statement = (
    Compared
    | OnRows
    | LikeRowsOfFit
    | SamePrediction
    | LargestGap
    | Evidence
    | Price
    | OutOfRange
    | GroupUse
    | LeftInBands
)


def _higher(gap: Named) -> str:
    return f"{format_number(abs(gap.value))} {'higher' if gap.value > 0 else 'lower'}"


def _sided(gap: Named) -> str:
    if not gap.value:
        return "0"
    side = "above" if gap.value > 0 else "below"
    return f"{format_number(abs(gap.value))} ({gap.name}, {side})"


def join(words: Sequence[str], separator: str = ", ") -> str:
    """Words as a list in a sentence.

    Examples
    --------
    >>> join(["F", "M"]), join(["F (9 rows)", "M (8 rows)", "X (1 row)"], "; ")
    ('F and M', 'F (9 rows); M (8 rows); X (1 row)')
    """
    if separator != ", ":
        return separator.join(words)
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)


def count(n: int, noun: str) -> str:
    """A number of things.

    Examples
    --------
    >>> count(1, "group"), count(2000, "group")
    ('1 group', '2,000 groups')
    """
    return f"{n:,} {noun}{'' if n == 1 else 's'}"


def count_rows(n: int) -> str:
    """A number of rows."""
    return count(n, "row")


def format_share(value: float) -> str:
    """Format a share as a percentage.

    Examples
    --------
    >>> [format_share(value) for value in (0.5, 0.123456, 0.0123, 0.0004, 0.0)]
    ['50%', '12%', '1.2%', 'under 0.1%', '0%']
    """
    if value == 0 or value >= 0.1:
        return f"{100 * value:,.0f}%"
    return f"{100 * value:.1f}%" if value >= 0.001 else "under 0.1%"


def _alone(names: Sequence[str]) -> str:
    return f"{names[0]} alone" if len(names) == 1 else f"nothing but {join(names)}"


def _is(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _singular(name: str, n: int) -> str:
    """One of the "training rows" is a "training row"; other names are left as they are."""
    return name[:-1] if n == 1 and name.endswith("rows") else name
