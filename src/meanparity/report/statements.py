"""What a report says, as small values, and the one place that puts them into words.

A statement holds the numbers that its sentence names, the rows and the groups that they are about,
and their units. Tests compare the sentences with the tables of the page, and with numbers that are
computed from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

from meanparity.audit.checks import format_number

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
    """A set of rows: what it is called, its size, and how many rows have a known group."""

    name: str
    n: int
    n_known: int
    constrained: bool

    def __str__(self) -> str:
        """Such as "the 800 training rows"."""
        if self.n_known < self.n:
            return f"the {self.n_known:,} of {self.n:,} {self.name} whose group is known"
        return f"the {self.n:,} {_singular(self.name, self.n)}"


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
            text += f" Only one group occurs in {join(self.left_out)}, where nothing is compared."
        if self.separately:
            text += " Each column is compared separately, so combinations may still differ."
        return text


@dataclass(frozen=True)
class OnRows:
    """The rows that the report is about."""

    rows: tuple[RowSet, ...]

    def __str__(self) -> str:
        parts = []
        for rows in self.rows:
            imposed = "" if rows.constrained else "not "
            parts.append(
                f"{rows.n:,} {_singular(rows.name, rows.n)}, on which the constraint was "
                f"{imposed}imposed"
            )
        return f"{join(parts, '; ')}."


@dataclass(frozen=True)
class JustRows:
    """The rows of a report about predictions that come from elsewhere."""

    rows: tuple[RowSet, ...]

    def __str__(self) -> str:
        return join([f"{r.n:,} {_singular(r.name, r.n)}" for r in self.rows]) + "."


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
    too_few : bool
        Whether the group of `now` has too few rows to tell its gap from chance.
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
    too_few: bool = False

    @property
    def is_zero(self) -> bool:
        """Whether no gap is left but rounding error."""
        return abs(self.now.value) <= self.zero

    def __str__(self) -> str:
        text = f"On {self.rows}, {self._nothing_left() if self.is_zero else self._largest()}."
        if self.too_few and not self.is_zero:
            text += f" {self.now.name} has too few rows to tell this gap from chance."
        if self.free is None:
            return text
        if abs(self.free.value) <= self.zero:
            return f"{text} Without the constraint there would be none either."
        noun = "gap" if self.kind is Kind.mean else self.kind.replace("condition", "deviation")
        which = noun if self.considered == 1 else f"largest {noun}"
        text += f" Without the constraint, the {which} would be {self._shown(self.free)}."
        if abs(self.now.value) > max(abs(self.free.value), self.zero):
            text += f" Here the {which} is larger with the constraint than without it."
        return text

    def _shown(self, gap: Named) -> str:
        if self.kind is Kind.mean:
            side = "above" if gap.value > 0 else "below"
            return f"{format_number(abs(gap.value))} ({gap.name}, {side} {self.reference})"
        return f"{format_number(gap.value)} ({gap.name})"

    def _nothing_left(self) -> str:
        if self.kind is Kind.mean:
            which = "both groups" if self.considered == 2 else f"all {self.considered} groups"
            if "stratum" in self.reference:
                which = f"within each stratum, {which if self.considered != 2 else 'the 2 groups'}"
            return f"{which} have the same mean {self.quantity}, up to rounding error"
        if self.kind is Kind.covariance:
            what = f"covariance of the {self.quantity}s with {join(self.numbers)}"
            if self.considered == 1:
                return f"the {what} is zero, up to rounding error"
            what = what.replace("covariance", "covariances", 1)
            return f"all {self.considered} {what} are zero, up to rounding error"
        if self.considered == 1:
            return "the condition of the constraint is met, up to rounding error"
        return f"all {self.considered} conditions of the constraint are met, up to rounding error"

    def _largest(self) -> str:
        shown = self._shown(self.now)
        if self.kind is Kind.mean:
            what = f"gaps of the mean {self.quantity}"
            return f"the largest of {self.considered} {what} is {shown}"
        if self.kind is Kind.covariance:
            among = "the" if self.considered == 1 else f"the largest of {self.considered}"
            noun = "covariance" if self.considered == 1 else "covariances"
            return f"{among} {noun} of the {self.quantity}s with {join(self.numbers)} is {shown}"
        return f"the largest deviation from {count(self.considered, 'condition')} is {shown}"


@dataclass(frozen=True)
class Evidence:
    """Which gaps of rows that were not used in the fit cannot be explained by chance.

    Parameters
    ----------
    rows : RowSet
        The rows.
    assessed, significant, too_few : int
        Numbers of groups with enough rows, of those whose gap is significant, and of the others.
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

    def __str__(self) -> str:
        if self.largest is None:
            which = "Both groups" if self.too_few == 2 else f"All {self.too_few} groups"
            return (
                f"{which} have too few of {self.rows} to tell how large gaps are "
                "among other people."
            )
        level, together = 1 - self.confidence, " simultaneous" if self.assessed > 1 else ""
        text = (
            f"Among other people like those of {self.rows}, the gap of {self.largest.name} is "
            f"likely between {format_number(self.low)} and {format_number(self.high)} "
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
        if self.too_few:
            text += f" {count(self.too_few, 'other group').capitalize()} "
            text += f"{'has' if self.too_few == 1 else 'have'} too few rows to tell."
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
    """

    rows: RowSet
    target: str
    now: float
    free: float | None
    constant: float

    def __str__(self) -> str:
        whole = RowSet(self.rows.name, self.rows.n, self.rows.n, self.rows.constrained)
        text = (
            f"On {whole}, predictions of {self.target} are off by {format_number(self.now)} (root "
            "mean squared error)"
        )
        if self.free is not None and self.free > 1e-6 * self.constant:
            change = self.now / self.free - 1
            if abs(change) < 5e-4:
                text += ", the same as without the constraint (to within 0.05%)"
            else:
                direction = "more" if change > 0 else "less"
                text += (
                    f", {format_share(abs(change))} {direction} than without the constraint "
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
    """

    features: tuple[str, ...] = ()
    encoded: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    shifted: tuple[str, ...] = ()
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
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
    """

    rows: RowSet
    number: str
    quantity: str
    bands: int
    now: Named
    free: Named | None
    much: bool

    def __str__(self) -> str:
        text = (
            f"No covariance does not mean no gaps: in {count(self.bands, 'band')} of {self.number} "
            f"in {self.rows}, the largest gap between the mean {self.quantity} and the overall "
            f"mean is {_sided(self.now)}"
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
    | JustRows
    | LargestGap
    | Evidence
    | Price
    | OutOfRange
    | GroupUse
    | LeftInBands
)


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
