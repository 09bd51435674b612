"""How often the intervals, tests and certificates of an audit hold, in hard cases first.

``python -m benchmarks.audit_simulations --store FILE --jobs 2`` simulates every case that FILE (one
JSON object a line) does not have yet, and prints the tables of docs/audit.md from it. ``--seconds``
stops after that time, and ``--cases`` chooses a table. Groups of each case are drawn from one
distribution, and the first of them is shifted by a gap. Where shares are sampled or given, the
group of each row is drawn as well. Beside the audit stands Welch's method with Holm's correction,
with group sizes taken as fixed.

Of hundreds of cases some miss a limit by chance, and so does the least of twenty coverages. A case
that misses one is therefore simulated again, with twice as many other samples, and counts with
these; its least coverage is then that of the group that had the least before.

Columns: the share of samples in which the first group had too few rows to tell; coverage of the
interval of the first group, the least of any group, the most of any group of 30 rows or more, and
of all simultaneous intervals together; how often any gap was found (a false alarm if the gap is 0),
and how often that of the first group; how often the largest gap is larger than the bound of an
asymptotic certificate; the same for Welch and Holm.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from joblib import Parallel, delayed
from scipy import stats

from meanparity.audit import audit_calibration
from meanparity.audit.auditing import describe_findings
from meanparity.audit.certificate import asymptotic_bounds, betting_bounds
from meanparity.audit.comparisons import is_two_valued
from meanparity.audit.moments import Moments
from meanparity.audit.rows import AuditRows
from meanparity.audit.stream import half_widths
from meanparity.audit.subjects import Family, group_subject
from meanparity.data.groups import Groups

ERROR = 0.05
_FEWEST = 100  # samples in which a group has an interval, before its coverage is counted
KINDS = {
    "normal": (lambda rng, n: rng.normal(size=n), 0.0, 1.0),
    "exponential": (lambda rng, n: rng.exponential(size=n), 1.0, 1.0),
    "lognormal 1": (
        lambda rng, n: np.exp(rng.normal(size=n)),
        np.exp(0.5),
        np.sqrt((np.e - 1) * np.e),
    ),
    "lognormal 1.5": (
        lambda rng, n: np.exp(1.5 * rng.normal(size=n)),
        np.exp(1.125),
        np.sqrt((np.exp(2.25) - 1) * np.exp(2.25)),
    ),
    "Pareto 2.1": (lambda rng, n: rng.pareto(2.1, n), 1 / 1.1, np.sqrt(2.1 / 0.121)),
    "Poisson 0.5": (lambda rng, n: rng.poisson(0.5, n).astype(float), 0.5, np.sqrt(0.5)),
}
RATES = (0.02, 0.1, 0.5, 0.88, 0.97)
LOPSIDED = (5, 10, 20, 30, 50, 70, 100, 150, 200, 500)
LAYOUTS = {
    "5 / 500": (5, 500),
    "10 / 500": (10, 500),
    "30 / 500": (30, 500),
    "100 / 500": (100, 500),
    "300 / 500": (300, 500),
    "5 / 5": (5, 5),
    "10 / 10": (10, 10),
    "30 / 30": (30, 30),
    "100 / 100": (100, 100),
    "5 / 9 × 55": (5,) + 9 * (55,),
    "10 × 30": 10 * (30,),
    "10, lopsided": LOPSIDED,
    "20 / 380": (20, 380),
    "100 / 300": (100, 300),
    "10 × 5": 10 * (5,),
    "20 × 10": 20 * (10,),
    "20 × 30": 20 * (30,),
    "20, lopsided": LOPSIDED + LOPSIDED[::-1],
}


@dataclass(frozen=True)
class Case:
    """A distribution, group sizes, the gap of the first group, and how rows were sampled.

    `shares` are those of `audit`; `weights` are "" (none), "random", "groups" (each group has its
    own, as when small groups are oversampled) or "values" (they grow with normal or exponential
    values).
    """

    kind: str
    layout: str
    gap: float = 0.0
    shares: str = "fixed"
    weights: str = ""

    def __str__(self) -> str:
        shares = self.shares + (f", weights by {self.weights}" if self.weights else "")
        return (
            f"{self.kind} | {self.layout} | {self.gap:g} | {shares.replace('by random', 'random')}"
        )

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group, or its expectation."""
        return np.array(LAYOUTS[self.layout])

    @property
    def means(self) -> np.ndarray:
        """True means of the groups; a gap of 1 is one standard deviation, for rates 0.2."""
        means = np.full(len(self.sizes), self._centre)
        if self.weights == "values":
            means += 0.5
        means[0] += self.gap * self._spread
        return means

    @property
    def _centre(self) -> float:
        return float(self.kind.split()[1]) if self.is_rate else KINDS[self.kind][1]

    @property
    def _spread(self) -> float:
        if self.is_rate:
            return 0.2 if self._centre <= 0.5 else -0.2  # rates stay between 0 and 1
        return float(KINDS[self.kind][2])

    @property
    def is_rate(self) -> bool:
        """Whether values are 0 and 1."""
        return self.kind.startswith("rate")

    @property
    def is_continuous(self) -> bool:
        """Whether values are neither 0 and 1 nor counts."""
        return not self.is_rate and "Poisson" not in self.kind

    @property
    def population(self) -> np.ndarray:
        """Shares of the groups in the population."""
        masses = self.sizes * self._group_weights
        return np.asarray(masses / masses.sum())

    @property
    def _group_weights(self) -> np.ndarray:
        k = len(self.sizes)
        return np.linspace(0.3, 2.0, k) if self.weights == "groups" else np.ones(k)

    def samples(self, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Values, groups and weights of n samples."""
        rng = np.random.default_rng([seed, *str(self).encode()])
        for _ in range(n):
            sizes = self.sizes
            if self.shares != "fixed":
                sizes = rng.multinomial(sizes.sum(), sizes / sizes.sum())
            codes = np.repeat(np.arange(len(sizes)), sizes)
            if self.is_rate:
                values = (rng.random(len(codes)) < self.means[codes]).astype(float)
            else:
                values = KINDS[self.kind][0](rng, len(codes))
            weights = None
            if self.weights == "random":
                weights = rng.choice([0.5, 1.0, 2.0], len(codes))
            elif self.weights == "groups":
                weights = self._group_weights[codes]
            elif self.weights == "values":  # both raise the mean by 1/2
                weights = 1 + values if self.kind == "exponential" else np.exp(values / 2)
            if not self.is_rate and self.gap:
                values = values + (codes == 0) * self.gap * self._spread
            yield values, codes, weights

    def true_gaps(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The gaps that intervals should contain, at the shares of the population or the rows."""
        shares = self.population
        if self.shares == "fixed":
            shares = np.bincount(codes, weights, minlength=len(self.sizes))
            shares = shares / shares.sum()
        return np.asarray(self.means - shares @ self.means)


HARD = (
    Case("lognormal 1", "5 / 500"),
    Case("lognormal 1", "30 / 30", 0, "sampled"),
    Case("lognormal 1", "30 / 500", 3, "sampled"),
    Case("lognormal 1", "10 × 30"),
    Case("lognormal 1", "10, lopsided", 3, "sampled"),
    Case("lognormal 1", "20, lopsided"),
    Case("lognormal 1", "20, lopsided", 0, "sampled"),
    Case("exponential", "10 / 500", 3, "sampled"),
    Case("exponential", "30 / 30", 1, "sampled"),
    Case("exponential", "10, lopsided"),
    Case("exponential", "20 × 30"),
    Case("Poisson 0.5", "5 / 500"),
    Case("Poisson 0.5", "10 / 500"),
    Case("Poisson 0.5", "10, lopsided"),
    Case("Poisson 0.5", "20 × 30"),
    Case("rate 0.02", "5 / 5", 1, "sampled"),
    Case("rate 0.02", "5 / 500"),
    Case("rate 0.02", "10, lopsided", 1, "sampled"),
    Case("rate 0.1", "30 / 500", 1, "sampled"),
    Case("rate 0.5", "30 / 500"),
    Case("rate 0.5", "30 / 500", 1, "sampled"),
    Case("rate 0.88", "5 / 500"),
    Case("rate 0.88", "20, lopsided"),
    Case("rate 0.97", "10, lopsided", 1, "sampled"),
    Case("rate 0.97", "100 / 500"),
    Case("normal", "30 / 30"),
    Case("normal", "30 / 500", 0.5),
    Case("normal", "100 / 500", 3, "sampled"),
    Case("normal", "30 / 500", 3, "sampled", "random"),
    Case("normal", "10 × 30", 3, "sampled", "groups"),
    Case("normal", "10 × 30"),
    Case("normal", "30 / 500", 1, "sampled", "values"),
    Case("exponential", "10 × 30", 1, "sampled", "values"),
)
NUMBERS = ("Pareto 2.1", "lognormal 1.5", "lognormal 1", "exponential", "Poisson 0.5", "normal")
CERTIFIED = (
    *(
        Case(kind, layout, gap, "sampled")
        for kind in NUMBERS
        for layout in ("20 / 380", "100 / 300", "10 × 30")
        for gap in (1, -1)
    ),
    *(Case(kind, "10, lopsided", 1, "sampled") for kind in NUMBERS),
    *(
        Case(f"rate {rate}", layout, gap, "sampled")
        for rate in RATES
        for layout in ("20 / 380", "100 / 300")
        for gap in (1, -1)
        if gap == 1 or rate == 0.5  # rates stay between 0 and 1
    ),
    *(Case(f"rate {rate}", "10 × 30", 1, "sampled") for rate in RATES),
)


def simulate_certificate(case: Case, n: int, n_draws: int = 999) -> dict[str, float]:
    """How often the bound of the asymptotic kind is below the largest gap, and is infinite.

    For rates, the distribution-free kind with the range from 0 to 1 stands beside it.
    """
    failed, infinite, free, sizes = 0, 0, 0, []
    for i, (values, codes, _) in enumerate(case.samples(n, 1)):
        groups = Groups.from_columns(codes)
        if groups.n_groups < 2:
            continue
        truth = float(np.abs(case.true_gaps(codes, None)).max())
        part = AuditRows(values, groups, {}, ("group",), None, None, None)
        bounds = asymptotic_bounds(part, ERROR, np.random.RandomState(i), n_draws)
        failed += bounds.max() < truth
        infinite += np.isinf(bounds.max())
        if case.is_rate:
            moments = Moments.from_values(values, groups)
            bound = betting_bounds(part, moments, 1.0, ERROR, np.random.RandomState(i)).max()
            free += bound < truth
            sizes.append(bound)
    found = {"fails": failed / n, "too few": infinite / n}
    if sizes:
        found |= {"betting fails": free / n, "betting, median": float(np.median(sizes))}
    return found


def simulate(
    case: Case,
    n: int,
    n_draws: int = 999,
    seed: int = 0,
    among: tuple[int | None, int | None] | None = None,
) -> dict[str, Any]:
    """Rates over n samples of a case.

    `among` are the groups whose coverages are the least and the most; by default they are found,
    and named in the result.
    """
    k, rows = len(case.sizes), []
    told, covered = np.zeros(k), np.zeros(k)
    known: dict[Any, Any] = {}  # the audit of 0/1 values depends on their counts only
    for i, (values, codes, weights) in enumerate(case.samples(n, seed)):
        present = np.unique(codes)
        if len(present) < (2 if case.shares != "given" else k):
            continue
        counts = None
        if case.is_rate and not case.weights and case.shares == "fixed":
            counts = tuple(np.bincount(codes, values, minlength=k))
        if counts is None or counts not in known:
            known = known if counts else {}
            known[counts] = _audited(case, values, codes, weights, n_draws, i)
        enough, inside, row = known[counts]
        told[present] += enough
        covered[present] += enough & inside
        rows.append(row)
    means = np.mean(rows, axis=0)
    with np.errstate(invalid="ignore"):
        coverage = np.where(told >= min(_FEWEST, n / 2), covered / np.maximum(told, 1), np.nan)
    least, most = _extremes(case, coverage) if among is None else among
    return {
        "too few": 1 - told[0] / n,
        "first": coverage[0],
        "worst": np.nan if least is None else coverage[least],
        "most": np.nan if most is None else coverage[most],
        "all": means[0],
        "any": means[1],
        "found": means[2],
        "certificate": means[3],
        "Welch first": means[4],
        "Holm any": means[5],
        "Welch found": means[6],
    } | ({} if among else {"least of": least, "most of": most})


def _extremes(case: Case, coverage: np.ndarray) -> tuple[int | None, int | None]:
    """The groups with the least coverage, and with the most of those that have 30 rows or more."""
    known = np.flatnonzero(np.isfinite(coverage))
    large = known[case.sizes[known] >= 30]
    least = int(known[coverage[known].argmin()]) if len(known) else None
    return least, int(large[coverage[large].argmax()]) if len(large) else None


def simulate_twice(case: Case, n: int, n_draws: int) -> dict[str, float]:
    """Rates over n samples of a case, or over 2n others if a limit was missed with these.

    The extremes of the second run are those of the groups that had them in the first one.
    """
    found = simulate(case, n, n_draws)
    least, most = found.pop("least of"), found.pop("most of")
    if misses(case, found):
        found = simulate(case, 2 * n, n_draws, seed=1, among=(least, most))
        found["samples"] = 2 * n
    return found


def misses(case: Case, found: dict[str, float]) -> list[str]:
    """What a case does not reach of what is promised; NaN where there is nothing to count."""
    large = case.is_continuous and case.sizes.min() >= 30
    limits = {
        "first": found["first"] < 0.94,
        "worst": found["worst"] < 0.94,
        "all": found["all"] < 0.935,
        "most": case.is_continuous and found["most"] > 0.975,
        "all, most": large and found["all"] > 0.975,
        "false alarms": case.gap == 0 and found["any"] > 0.06,
        "certificate": case.shares == "sampled" and found["certificate"] > 0.05,
    }
    return [name for name, missed in limits.items() if missed]


def _audited(
    case: Case,
    values: np.ndarray,
    codes: np.ndarray,
    weights: np.ndarray | None,
    n_draws: int,
    seed: int,
) -> tuple[np.ndarray, np.ndarray, tuple[bool, ...]]:
    """Which groups have an interval, which intervals cover, and the outcomes that are counted."""
    truth, present = case.true_gaps(codes, weights), np.unique(codes)
    groups = Groups.from_columns(codes)
    part = AuditRows(values, groups, {}, ("group",), weights, None, None)
    family = Family(
        ERROR, is_two_valued(values), 0.0, 1.0, n_draws, np.random.default_rng([seed, 1])
    )
    given = case.population if case.shares == "given" else None
    subject = group_subject(part, family, given, sampled=case.shares == "sampled")
    found = describe_findings(None, part, subject, family, None, 0.8)
    inside = np.array([f.low <= t <= f.high for f, t in zip(found, truth[present], strict=True)])
    enough = np.array([not f.too_few_rows for f in found])
    together = all(f.low_all <= t <= f.high_all for f, t in zip(found, truth[present], strict=True))
    first = found[0].p_value <= ERROR if present[0] == 0 else False
    alarms = any(f.p_adjusted <= ERROR for f in found)
    bound = max(max(-f.low_all, f.high_all) for f in found)
    fails = bound < np.abs(truth[present]).max()
    row = (together, alarms, first, fails, *_welch(values, codes, weights, truth))
    return enough, inside, row


def _welch(
    values: np.ndarray, codes: np.ndarray, weights: np.ndarray | None, truth: np.ndarray
) -> tuple[bool, bool, bool]:
    """Welch's interval of the first group covers; Holm finds any gap; Welch finds the first."""
    w = np.ones(len(values)) if weights is None else weights
    present, codes = np.unique(codes, return_inverse=True)
    n, total = np.bincount(codes), np.bincount(codes, w)
    means = np.bincount(codes, w * values) / total
    squares = np.bincount(codes, (w * (values - means[codes])) ** 2) / total**2
    with np.errstate(all="ignore"):
        v = np.where(n > 1, squares * n / (n - 1), np.nan)
        v = np.where(np.isnan(v), np.nanmean(v * n) / n, v)
        shares = total / total.sum()
        gaps = means - shares @ means
        parts = (np.eye(len(n)) - shares) ** 2 * v
        se = np.sqrt(parts.sum(axis=1))
        freedom = parts.sum(axis=1) ** 2 / (parts**2 / np.maximum(n - 1, 1)).sum(axis=1)
        freedom = np.where(np.isfinite(freedom), freedom, 1.0)
        t = np.where(se > 0, np.abs(gaps) / se, np.where(np.abs(gaps) > 1e-12, np.inf, 0.0))
        p = 2 * stats.t.sf(t, freedom)
        half = stats.t.isf(ERROR / 2, freedom) * se
    holm = bool(p.min() * len(p) <= ERROR)
    return bool(abs(gaps[0] - truth[present[0]]) <= half[0]), holm, bool(p[0] <= ERROR)


STREAM_SHARES = {
    "50 %": (0.5, 0.5),
    "10 %": (0.9, 0.1),
    "3 %": (0.97, 0.03),
    "4 groups, 2 %": (0.6, 0.3, 0.08, 0.02),
}
STREAMS = tuple(
    (kind, layout)
    for kind in (
        "rate 0.02",
        "rate 0.97",
        "rate 0.1 among 0.005",
        "lognormal 1.5",
        "lognormal 1, last × 3",
        "Pareto 2.1",
        "lognormal 1",
        "Poisson 0.5",
        "exponential",
        "normal",
    )
    for layout in STREAM_SHARES
)


class StreamSums:
    """The sums of n streams with k groups, and their intervals."""

    def __init__(self, n: int, k: int) -> None:
        self.counts, self.sums, self.squares = np.zeros((3, n, k))
        self.least, self.most = np.full((2, n, 1), [[[np.inf]], [[-np.inf]]])

    def update(self, values: np.ndarray, codes: np.ndarray) -> None:
        """Add (n, rows) values and their groups."""
        for j in range(self.counts.shape[1]):
            inside = codes == j
            self.counts[:, j] += inside.sum(axis=1)
            self.sums[:, j] += (values * inside).sum(axis=1)
            self.squares[:, j] += (values**2 * inside).sum(axis=1)
        self.least = np.minimum(self.least, values.min(axis=1, keepdims=True))
        self.most = np.maximum(self.most, values.max(axis=1, keepdims=True))

    @property
    def gaps(self) -> np.ndarray:
        """Gaps so far: (n, k)."""
        means = self.sums / np.maximum(self.counts, 1)
        overall = self.sums.sum(axis=1) / self.counts.sum(axis=1)
        return np.asarray(means - overall[:, None])

    @property
    def _squares(self) -> np.ndarray:
        return np.maximum(self.squares - self.sums**2 / np.maximum(self.counts, 1), 0.0)

    def limits(self, focus: int = 1000) -> tuple[np.ndarray, np.ndarray]:
        """Limits of `AuditStream`: (n, k) each."""
        means = self.sums / np.maximum(self.counts, 1)
        extents = np.maximum(self.most - means, means - self.least) * (self.counts > 0)
        margins = half_widths(self.counts, self._squares, self.gaps, extents, ERROR, focus)
        return self.gaps - margins, self.gaps + margins

    def single_margins(self) -> np.ndarray:
        """Half widths of intervals for one look, corrected for the number of groups: (n, k)."""
        rows, n = np.maximum(self.counts, 1), self.counts.sum(axis=1, keepdims=True)
        shares, inside = rows / n, self._squares / np.maximum(rows - 1, 1)
        every = (shares * (inside + self.gaps**2)).sum(axis=1, keepdims=True)
        k = self.counts.shape[1]
        quantile = stats.norm.isf(ERROR / 2 / (k if k > 2 else 1))
        margins = quantile * np.sqrt((inside / shares - 2 * inside + every) / n)
        return np.asarray(np.where(self.counts >= 30, margins, np.inf))


def simulate_stream(kind: str, layout: str, n: int, looks: int = 24) -> dict[str, float]:
    """How often any interval of a stream fails at any look, beside audits that are repeated.

    The last column is the median width of the last group's interval at the end, beside that of a
    single look.
    """
    rng = np.random.default_rng([2, *kind.encode(), *layout.encode()])
    shares = np.array(STREAM_SHARES[layout])
    batch, k = (100 if shares.min() >= 0.1 else 300), len(shares)
    truth, rates = np.zeros(k), np.zeros(k)
    if kind.startswith("rate"):
        rates[:] = float(kind.split()[-1])
        rates[-1] = float(kind.split()[1])
        truth = rates - shares @ rates
    sums, ever, repeated = StreamSums(n, k), np.zeros(n, bool), np.zeros(n, bool)
    for _ in range(looks):
        codes = (rng.random((n, batch, 1)) > np.cumsum(shares)[:-1]).sum(axis=2)
        if kind.startswith("rate"):
            values = (rng.random((n, batch)) < rates[codes]).astype(float)
        else:
            draw, mean, _ = KINDS[kind.split(",")[0]]
            values = draw(rng, n * batch).reshape(n, batch) - mean
            values = values * np.where("×" in kind, np.where(codes == k - 1, 3.0, 1.0), 1.0)
        sums.update(values, codes)
        low, high = sums.limits()
        ever |= ((low > truth) | (high < truth)).any(axis=1)
        repeated |= (np.abs(sums.gaps - truth) > sums.single_margins()).any(axis=1)
    ratio = (high - low)[:, -1] / (2 * sums.single_margins()[:, -1])
    return {
        "ever": float(ever.mean()),
        "repeated audits": float(repeated.mean()),
        "width": float(np.median(ratio[np.isfinite(ratio)])),
    }


CALIBRATED = {  # from a generator and a number of rows to predictions, and errors of mean zero
    "normal": lambda rng, n: (rng.normal(size=n), rng.normal(size=n)),
    "exponential errors": lambda rng, n: (rng.normal(size=n), rng.exponential(size=n) - 1),
    "uneven errors": lambda rng, n: (g := rng.normal(size=n), np.abs(g) * rng.normal(size=n)),
    "lognormal predictions": lambda rng, n: (rng.lognormal(size=n), rng.normal(size=n)),
    "lognormal errors": lambda rng, n: (rng.normal(size=n), rng.lognormal(size=n) - np.exp(0.5)),
}
CALIBRATED_ROWS = (30, 100, 300)


def simulate_calibration(kind: str, rows: int, n: int) -> tuple[float, float]:
    """How often the intervals of the bias and of the slope of one group contain 0 and 1."""
    rng = np.random.default_rng([3, rows, *kind.encode()])
    inside = np.zeros(2)
    for i in range(n):
        predictions, errors = CALIBRATED[kind](rng, rows)
        found = audit_calibration(
            predictions + errors, predictions, sensitive_features=np.zeros(rows), random_state=i
        )[0]
        inside += found.bias_low <= 0 <= found.bias_high, found.slope_low <= 1 <= found.slope_high
    bias, slope = inside / n
    return float(bias), float(slope)


def cases() -> Iterator[Case]:
    """Every case of the summary; hard ones first."""
    two = ("5 / 500", "10 / 500", "30 / 500", "100 / 500", "300 / 500")
    two += ("5 / 5", "10 / 10", "30 / 30", "100 / 100")
    more = ("20, lopsided", "20 × 30", "10, lopsided", "10 × 30", "5 / 9 × 55")
    yield from HARD
    for layout in (*more, *two):
        for kind in ("lognormal 1", "exponential", "normal"):
            yield Case(kind, layout)  # a shift of a group moves its interval: fixed gaps are alike
            for gap in (0, 1, 3):
                yield Case(kind, layout, gap, "sampled")
        for kind in ("Poisson 0.5", *(f"rate {rate}" for rate in RATES)):
            for gap in (0, 1):
                yield Case(kind, layout, gap)
                yield Case(kind, layout, gap, "sampled")
    for layout in ("30 / 500", "100 / 100", "10, lopsided"):
        for kind in ("lognormal 1", "exponential", "normal"):
            yield Case(kind, layout, 3, "given")
            yield Case(kind, layout, 0, "sampled", "random")
            yield Case(kind, layout, 3, "sampled", "random")
            yield Case(kind, layout, 3, "sampled", "groups")
        for kind in ("exponential", "normal"):
            for gap in (0, 3):
                yield Case(kind, layout, gap, "sampled", "values")
        for rate in RATES:
            yield Case(f"rate {rate}", layout, 1, "given")
            yield Case(f"rate {rate}", layout, 0, "sampled", "random")
            yield Case(f"rate {rate}", layout, 1, "sampled", "groups")


def run(
    wanted: Iterable[Case],
    simulation: Callable[[Case, int, int], dict[str, float]],
    options: argparse.Namespace,
) -> dict[Case, dict[str, float]]:
    """Results of the cases, from the store as far as it has them; new ones are appended to it."""
    label = f"{simulation.__name__}, {options.repetitions}, {options.draws}"
    store, until, found = options.store, time.time() + options.seconds, {}
    if store is not None and store.exists():
        lines = (json.loads(line) for line in store.read_text("utf-8").splitlines())
        found = {line["case"]: line["found"] for line in lines if line["label"] == label}

    def work(case: Case) -> tuple[Case, dict[str, float] | None]:
        if time.time() > until:
            return case, None
        return case, simulation(case, options.repetitions, options.draws)

    missing = [case for case in wanted if str(case) not in found]
    missing.sort(key=lambda case: (case not in HARD, -len(case.sizes)))  # the short ones last
    parallel = Parallel(options.jobs, return_as="generator_unordered", batch_size=1)
    for case, result in parallel(delayed(work)(case) for case in missing):
        if result is None:
            continue
        found[str(case)] = result
        if store is not None:
            line = {"label": label, "case": str(case), "found": result}
            with store.open("a", encoding="utf-8") as file:
                file.write(json.dumps(line, ensure_ascii=False) + "\n")
    return {case: found[str(case)] for case in wanted if str(case) in found}


def print_table(results: dict[Case, dict[str, float]]) -> None:
    """One line for each case."""
    columns = [name for name in max(results.values(), key=len, default={}) if name != "samples"]
    print("| values | groups | gap | shares | " + " | ".join(columns) + " |")
    print("|---|---|--:|---|" + "--:|" * len(columns))
    for case, found in results.items():
        cells = " | ".join(_cell(found.get(name, np.nan)) for name in columns)
        print(f"| {case} | {cells} |")


def print_summary(results: dict[Case, dict[str, float]]) -> None:
    """One line for each distribution and number of groups, with the worst of its cases."""
    print(
        "| values | number of groups | cases | too few, most | first, least | worst, least "
        "| most | all, least | all, most | false alarms, most | certificate fails, most |"
    )
    print("|---|--:|--:|" + "--:|" * 8)
    parts: dict[tuple[str, int], list[tuple[Case, dict[str, float]]]] = {}
    for case, found in results.items():
        parts.setdefault((case.kind, len(case.sizes)), []).append((case, found))
    for (kind, k), lines in sorted(parts.items()):

        def column(
            name: str, keep: Callable[[Case], bool] = lambda case: True, lines: Any = lines
        ) -> list[float]:
            return [found[name] for case, found in lines if keep(case)] or [np.nan]

        large = column("all", lambda case: case.is_continuous and case.sizes.min() >= 30)
        cells = (
            max(column("too few")),
            -_most([-value for value in column("first")]),
            -_most([-value for value in column("worst")]),
            _most(column("most", lambda case: case.is_continuous)),
            min(column("all")),
            _most(large),
            max(column("any", lambda case: case.gap == 0)),
            max(column("certificate", lambda case: case.shares == "sampled")),
        )
        print(f"| {kind} | {k} | {len(lines)} | " + " | ".join(map(_cell, cells)) + " |")


def print_misses(results: dict[Case, dict[str, float]]) -> None:
    """How many cases were simulated again, and what they miss with the new samples."""
    again = {case: found for case, found in results.items() if "samples" in found}
    print(f"\n{len(again)} of {len(results)} cases were simulated again.")
    missed = {case: misses(case, found) for case, found in again.items()}
    for case in (case for case in again if missed[case]):
        print(f"{case}: {', '.join(missed[case])}")
    print_table({case: again[case] for case in again if missed[case]})


def _most(values: list[float]) -> float:
    finite = [value for value in values if np.isfinite(value)]
    return max(finite, default=np.nan)


def _cell(value: float) -> str:
    return f"{value:.3f}" if np.isfinite(value) else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--cases",
        choices=("hard", "all", "certificates", "calibration", "streams"),
        default="all",
    )
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=4999, help="4,999 are those of an audit")
    parser.add_argument("--kinds", default="", help="only distributions that contain this text")
    parser.add_argument("--store", type=Path, help="file of finished cases, to go on with")
    parser.add_argument("--seconds", type=float, default=np.inf, help="start no case after that")
    parser.add_argument("--jobs", type=int, default=1, help="cases at a time")
    options = parser.parse_args()
    if options.cases == "streams":
        print("| values | last group | ever fails | repeated audits fail | width |")
        print("|---|---|--:|--:|--:|")
        for kind, layout in STREAMS:
            found = simulate_stream(kind, layout, options.repetitions)
            line = " | ".join(map(_cell, found.values()))
            print(f"| {kind} | {layout} | {line} |", flush=True)
        return
    if options.cases == "calibration":
        columns = [f"{name}, {rows}" for name in ("bias", "slope") for rows in CALIBRATED_ROWS]
        print("| group | " + " | ".join(columns) + " |\n|---|" + "--:|" * len(columns))
        for kind in CALIBRATED:
            shares = [simulate_calibration(kind, m, options.repetitions) for m in CALIBRATED_ROWS]
            cells = [_cell(share) for column in zip(*shares, strict=True) for share in column]
            print(f"| {kind} | " + " | ".join(cells) + " |", flush=True)
        return
    wanted = {"hard": HARD, "all": tuple(cases()), "certificates": CERTIFIED}[options.cases]
    wanted = tuple(case for case in dict.fromkeys(wanted) if options.kinds in case.kind)
    certify = options.cases == "certificates"
    results = run(wanted, simulate_certificate if certify else simulate_twice, options)
    if not certify:
        print_table({case: found for case, found in results.items() if case in HARD})
    if options.cases == "all":
        print_summary(results)
        print_misses(results)
    if certify:
        print_table(results)


if __name__ == "__main__":
    main()
