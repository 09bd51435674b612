"""How often the intervals, tests and certificates of an audit hold, in hard cases first.

``python -m benchmarks.audit_simulations`` prints the tables of docs/audit.md; with ``--quick`` a
few of their lines. Groups of each case are drawn from one distribution, and the first of them is
shifted by a gap. Where shares are sampled, the group of each row is drawn as well. Beside the audit
stands Welch's method with Holm's correction, with group sizes taken as fixed.

Columns: the share of repetitions in which the first group had too few rows to tell; coverage of the
interval of the first and of the worst group, and of all simultaneous intervals together; how often
any gap was found (a false alarm if the gap is 0), and how often that of the first group; the same
for Welch and Holm.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from scipy import stats

from meanparity.audit.auditing import describe_findings
from meanparity.audit.certificate import asymptotic_bounds, betting_bounds
from meanparity.audit.comparisons import is_two_valued
from meanparity.audit.moments import Moments
from meanparity.audit.rows import AuditRows
from meanparity.audit.subjects import Family, group_subject
from meanparity.data.groups import Groups

ERROR = 0.05
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
    "20 × 30": 20 * (30,),
    "20, lopsided": LOPSIDED + LOPSIDED[::-1],
}


@dataclass(frozen=True)
class Case:
    """A distribution, group sizes, the gap of the first group, and how rows were sampled."""

    kind: str
    layout: str
    gap: float = 0.0
    sampled: bool = False
    weighted: bool = False

    @property
    def sizes(self) -> np.ndarray:
        """Number of rows of each group, or its expectation."""
        return np.array(LAYOUTS[self.layout])

    @property
    def means(self) -> np.ndarray:
        """True means of the groups; a gap of 1 is one standard deviation, for rates 0.2."""
        means = np.full(len(self.sizes), self._centre)
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

    def samples(self, n: int, seed: int) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Values, groups and weights of n samples."""
        rng = np.random.default_rng([seed, *self.kind.encode(), *self.layout.encode()])
        shares = self.sizes / self.sizes.sum()
        for _ in range(n):
            sizes = self.sizes
            if self.sampled:
                sizes = rng.multinomial(self.sizes.sum(), shares)
            codes = np.repeat(np.arange(len(sizes)), sizes)
            if self.is_rate:
                values = (rng.random(len(codes)) < self.means[codes]).astype(float)
            else:
                values = KINDS[self.kind][0](rng, len(codes))
                values = values + (self.means - self._centre)[codes]
            weights = rng.choice([0.5, 1.0, 2.0], len(codes)) if self.weighted else None
            yield values, codes, weights

    def true_gaps(self, codes: np.ndarray, weights: np.ndarray | None) -> np.ndarray:
        """The gaps that intervals should contain, at the shares of the population or the rows."""
        shares = self.sizes / self.sizes.sum()
        if not self.sampled:
            shares = np.bincount(codes, weights, minlength=len(self.sizes))
            shares = shares / shares.sum()
        return self.means - shares @ self.means


HARD = (
    Case("lognormal 1", "5 / 500"),
    Case("lognormal 1", "30 / 500", 3, True),
    Case("lognormal 1", "10 × 30"),
    Case("lognormal 1", "10, lopsided", 3, True),
    Case("lognormal 1", "20, lopsided"),
    Case("exponential", "10 / 500", 3, True),
    Case("exponential", "30 / 30", 1, True),
    Case("exponential", "20 × 30"),
    Case("Poisson 0.5", "5 / 500"),
    Case("Poisson 0.5", "10 / 500"),
    Case("Poisson 0.5", "10, lopsided"),
    Case("rate 0.02", "5 / 500"),
    Case("rate 0.02", "10, lopsided", 1, True),
    Case("rate 0.1", "30 / 500", 1, True),
    Case("rate 0.5", "30 / 500"),
    Case("rate 0.5", "30 / 500", 1, True),
    Case("rate 0.88", "5 / 500"),
    Case("rate 0.88", "20, lopsided"),
    Case("rate 0.97", "10, lopsided", 1, True),
    Case("rate 0.97", "100 / 500"),
    Case("normal", "30 / 30"),
    Case("normal", "30 / 500", 0.5),
    Case("normal", "100 / 500", 3, True),
    Case("normal", "30 / 500", 3, True, True),
    Case("normal", "10 × 30"),
)
CERTIFIED = tuple(
    Case(kind, layout, gap, True)
    for kind in ("Pareto 2.1", "lognormal 1.5", "lognormal 1", "rate 0.02", "rate 0.5")
    for layout in ("20 / 380", "100 / 300")
    for gap in (1, -1)
    if not (kind == "rate 0.02" and gap < 0)
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


def simulate(case: Case, n: int, n_draws: int = 999, seed: int = 0) -> dict[str, float]:
    """Rates over n samples of a case."""
    k, rows = len(case.sizes), []
    told, covered = np.zeros(k), np.zeros(k)
    for i, (values, codes, weights) in enumerate(case.samples(n, seed)):
        truth = case.true_gaps(codes, weights)
        present = np.unique(codes)
        if len(present) < 2:
            continue
        groups = Groups.from_columns(codes)
        part = AuditRows(values, groups, {}, ("group",), weights, None, None)
        two_valued = is_two_valued(values)
        family = Family(ERROR, two_valued, 0.0, 1.0, n_draws, np.random.default_rng(i))
        subject = group_subject(part, family, None, sampled=case.sampled)
        found = describe_findings(None, part, subject, family, None, 0.8)
        inside = [f.low <= t <= f.high for f, t in zip(found, truth[present], strict=True)]
        enough = np.array([not f.too_few_rows for f in found])
        told[present] += enough
        covered[present] += enough & inside
        together = [
            f.low_all <= t <= f.high_all for f, t in zip(found, truth[present], strict=True)
        ]
        first = found[0].p_value <= ERROR if present[0] == 0 else False
        alarms = any(f.p_adjusted <= ERROR for f in found)
        rows.append((all(together), alarms, first, *_welch(values, codes, weights, truth)))
    means = np.mean(rows, axis=0)
    with np.errstate(invalid="ignore"):
        coverage = np.where(told >= 50, covered / np.maximum(told, 1), np.nan)
    return {
        "too few": 1 - told[0] / n,
        "first": coverage[0],
        "worst": np.nanmin(coverage) if np.isfinite(coverage).any() else np.nan,
        "most": np.nanmax(coverage[case.sizes >= 30], initial=np.nan)
        if (case.sizes >= 30).any()
        else np.nan,
        "all": means[0],
        "any": means[1],
        "found": means[2],
        "Welch first": means[3],
        "Holm any": means[4],
        "Welch found": means[5],
    }


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


def cases(*, quick: bool) -> Iterator[Case]:
    """The lines of the table; hard ones first."""
    if quick:
        yield from HARD
        return
    for rate in RATES:
        for layout in LAYOUTS:
            yield Case(f"rate {rate}", layout)
            yield Case(f"rate {rate}", layout, 1, True)
    for kind in ("lognormal 1", "exponential", "Poisson 0.5", "normal"):
        for layout in LAYOUTS:
            yield Case(kind, layout)
            yield Case(kind, layout, 1, True)
            yield Case(kind, layout, 3, True)
        for layout in ("30 / 500", "100 / 100", "10, lopsided"):
            yield Case(kind, layout, 0, True, True)
            yield Case(kind, layout, 3, True, True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a few lines only")
    parser.add_argument("--repetitions", type=int, default=2000)
    parser.add_argument("--draws", type=int, default=999)
    parser.add_argument("--kinds", default="", help="only distributions that contain this text")
    parser.add_argument("--certificates", action="store_true", help="how often certificates fail")
    options = parser.parse_args()
    if options.certificates:
        print("| values | groups | gap | fails | too few | betting fails | betting, median |")
        print("|---|---|--:|--:|--:|--:|--:|")
        for case in CERTIFIED:
            found = simulate_certificate(case, options.repetitions, options.draws)
            cells = " | ".join(f"{value:.3f}" for value in found.values())
            print(f"| {case.kind} | {case.layout} | {case.gap:g} | {cells} |", flush=True)
        return
    header = ("too few", "first", "worst", "most", "all", "any", "found")
    print("| values | groups | gap | shares | " + " | ".join(header), end=" | ")
    print("Welch first | Holm any | Welch found |")
    print("|---|---|--:|---|" + 10 * "--:|")
    for case in cases(quick=options.quick):
        if options.kinds not in case.kind:
            continue
        found = simulate(case, options.repetitions, options.draws)
        shares = ("sampled" if case.sampled else "fixed") + (", weights" if case.weighted else "")
        cells = " | ".join(f"{value:.3f}" for value in found.values())
        print(f"| {case.kind} | {case.layout} | {case.gap:g} | {shares} | {cells} |", flush=True)


if __name__ == "__main__":
    main()
