"""How far gaps between people who were not seen can be from those on the rows of fit.

Five fits, each without a fifth of the rows of every cell, predict the rows that they left out. How
much these predictions vary inside a cell says how well its mean is known: a few rows, or a large
spread, leave a large standard error. Two settings turn standard errors into limits of gaps:

* `pooling` of the constraint closes each gap only as far as the rows can tell it from chance;
* `confidence` of an estimator makes `max_gap` smaller by the margin that the rows leave, so that it
  holds for people who were not seen.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.data.fit_input import FitInput
from meanparity.data.groups import Cells
from meanparity.data.rows import Rows
from meanparity.solvers.problem import ConstrainedProblem, Solution, Solver
from meanparity.state import stored
from meanparity.tradeoff.budgets import FurtherGaps
from meanparity.tradeoff.tradeoff import Tradeoff

AUTO_POOLING = 0.2  # what "auto" stands for; see docs/small-groups.md
_FOLDS = 5
_PRIOR = 2.0  # rows that the spread in all cells counts for in each


@stored("GapLimits")
@dataclass(frozen=True, eq=False, repr=False)
class GapLimits:
    """The limit of each gap in a fit with `pooling` or `confidence`.

    Parameters
    ----------
    labels : tuple of str
        What each of the r gaps is about.
    limits : (r, m) array
        The largest size that each gap may have on the rows of fit.
    standard_errors : (r, m) array
        How far the gap of people who were not seen is typically from the gap on these rows.
    reason : str
        How the limits follow from the standard errors.
    """

    labels: tuple[str, ...]
    limits: FloatArray
    standard_errors: FloatArray
    reason: str

    def __repr__(self) -> str:
        return f"GapLimits({len(self.labels)} gaps)"

    def __str__(self) -> str:
        lines = [self.reason]
        columns = zip(self.labels, self.limits, self.standard_errors, strict=True)
        for label, limits, errors in columns:
            limit, error = (", ".join(f"{v:.4g}" for v in values) for values in (limits, errors))
            lines.append(f"  {label}: at most {limit} (standard error {error})")
        return "\n".join(lines)

    def to_frame(self) -> Any:
        """A pandas data frame with one row for each gap (and output)."""
        try:
            import pandas as pd
        except ImportError as error:
            raise ImportError("pandas is missing: pip install pandas") from error
        r, m = self.limits.shape
        table = {
            "gap": np.repeat(np.array(self.labels, dtype=object), m),
            "limit": self.limits.ravel(),
            "standard_error": self.standard_errors.ravel(),
        }
        return pd.DataFrame(table | ({"output": np.tile(np.arange(m), r)} if m > 1 else {}))


@dataclass(frozen=True, eq=False)
class UnseenGaps:
    """Standard errors of gaps.

    Parameters
    ----------
    standard_errors : (r, m) array
        Of each gap.
    freedom : (r, m) array
        Degrees of freedom of the standard errors.
    share : (r,) array
        What random shares of the groups add to the variance, for gaps of size one.
    """

    standard_errors: FloatArray
    freedom: FloatArray
    share: FloatArray

    def quantile(self, confidence: float) -> FloatArray:
        """Standard errors that no gap is off by more than with this confidence: (r, m)."""
        both = (1 - confidence) / (2 * len(self.share))  # all gaps, on both sides
        return np.asarray(stats.t.ppf(1 - both, self.freedom))

    def margins(self, confidence: float, limits: FloatArray) -> FloatArray:
        """Margins, (r, m), within which all gaps are with this confidence.

        The shares of groups in a sample are random, too, which matters as far as there are gaps:
        `limits`, (r,), are the largest ones.
        """
        allowed = np.where(np.isfinite(limits), limits, 0.0)
        shares = (allowed**2 * self.share)[:, None]
        return np.asarray(self.quantile(confidence) * np.sqrt(self.standard_errors**2 + shares))

    def least_promise(self, confidence: float) -> float:
        """The smallest limit that is not smaller than its margin, for all gaps."""
        quantile = self.quantile(confidence)
        left = 1 - quantile**2 * self.share[:, None]
        least = quantile * self.standard_errors / np.sqrt(np.maximum(left, 1e-300))
        return float(np.where(left > 0, least, np.inf).max())


@dataclass(frozen=True, eq=False)
class Unseen:
    """How much predictions for rows that were left out vary in each cell.

    Parameters
    ----------
    rows : tuple of Rows
        The training rows, and the pool if there is one.
    squares : tuple of (2, k, m) arrays
        For each of them, sums of squared distances from the mean of the fit in each cell, of the
        constrained and of the free function.
    """

    rows: tuple[Rows, ...]
    squares: tuple[FloatArray, ...]

    @classmethod
    def held_out(
        cls, constraint: Constraint, data: FitInput, problem: ConstrainedProblem, solver: Solver
    ) -> Unseen:
        """From five fits, each without a fifth of the rows."""
        if problem.kernel.is_precomputed:
            raise ValueError(
                "pooling and confidence predict rows that are left out of the fit, which "
                "kernel='precomputed' does not allow. Pass the features and the kernel."
            )
        rows = (data.rows,) if data.pool is None else (data.rows, data.pool.rows)
        squares = [np.zeros((2, len(part.cells), problem.Y.shape[1])) for part in rows]
        folds, points = [_deal(part) for part in rows], (problem.X, problem.pool_X)
        for fold in range(_FOLDS):
            keep = [of_rows != fold for of_rows in folds]
            solution = solver.solve(_without_fold(constraint, data, problem, keep))
            for i, part in enumerate(rows):
                squares[i] += _squares(
                    constraint, problem, solution, part, points[i], keep[i], i == 1
                )
        return cls(rows, tuple(squares))

    def gaps(self, *parts: Functionals, any_function: bool = False) -> UnseenGaps:
        """Standard errors of the gaps on the training rows, and then on the pool.

        They are those of the constrained function; with `any_function`, those of whichever of both
        ends varies more, which are on the safe side for what is between them.
        """
        ends = slice(None) if any_function else slice(1)
        every = zip(parts, self.rows, self.squares, strict=False)
        found = [_standard_errors(f, rows, squares[ends]) for f, rows, squares in every if len(f)]
        return UnseenGaps(*(np.concatenate(column) for column in zip(*found, strict=True)))


def limits_of_fit(
    max_gap: Any,
    confidence: float | None,
    constraint: Constraint,
    parts: tuple[Functionals, Functionals],
    tradeoff: Tradeoff,
    unseen: Unseen,
) -> GapLimits:
    """The limits of all gaps: `max_gap` with a confidence, or otherwise those of `pooling`."""
    labels = (*tradeoff.labels[0], *tradeoff.labels[1])
    if confidence is not None:
        limits, gaps = tradeoff.limits(max_gap), unseen.gaps(*parts, any_function=True)
        return promised_limits(limits, float(confidence), labels, gaps)
    free = tradeoff.solution.gaps[1]
    return pooled_limits(_strength(constraint), labels, free, unseen.gaps(*parts))


def pooled_limits(
    strength: float, labels: tuple[str, ...], gaps: FloatArray, unseen: UnseenGaps
) -> GapLimits:
    """Limits up to which gaps, (r, m) in the free fit, cannot be told from chance.

    With the standard error s of a gap and the typical size τ of true gaps, the part of an observed
    gap that is chance has a typical size of ``s² / √(s² + τ²)``. The limit is `strength` times it.
    """
    variance = unseen.standard_errors**2
    typical = np.maximum((gaps**2 - variance).mean(axis=0), 0.0)  # τ², by the method of moments
    limits = strength * variance / np.sqrt(np.maximum(variance + typical, 1e-300))
    shown = ", ".join(f"{value:.3g}" for value in np.sqrt(typical))
    reason = (
        f"Each gap may stay as large as {strength:g} of the part of it that is typically chance: "
        "s² / √(s² + τ²), with its standard error s on people not seen and the typical size of "
        f"true gaps, τ = {shown}."
    )
    return GapLimits(labels, limits, unseen.standard_errors, reason)


def promised_limits(
    limits: FloatArray, confidence: float, labels: tuple[str, ...], unseen: UnseenGaps
) -> GapLimits:
    """Limits on the rows of fit, so that `limits`, (r,), hold for people who were not seen.

    Raises
    ------
    ValueError
        If the margins are larger than the limits.
    """
    margins = unseen.margins(confidence, limits)
    left = limits[:, None] - margins
    if (left < 0).any():
        worst = int(np.unravel_index(left.argmin(), left.shape)[0])
        raise ValueError(
            f"max_gap={limits[worst]:g} cannot be promised for people who were not seen: with "
            f"{100 * confidence:g}% confidence, the mean of {labels[worst]!r} is known up to "
            f"{margins[worst].max():.3g}. Allow gaps of at least "
            f"{unseen.least_promise(confidence):.3g}, merge small groups, pass more rows or a "
            "larger pool, or a lower confidence."
        )
    reason = (
        f"With {100 * confidence:g}% confidence, no gap between people not seen is larger than "
        "max_gap; on the rows of fit each stays below it by the margin of its standard error."
    )
    return GapLimits(labels, left, unseen.standard_errors, reason)


def limits_of_columns(
    constraint: Constraint, data: FitInput, solution: Solution, unseen: Unseen
) -> FurtherGaps | None:
    """For combinations of columns: limits for the groups of each column alone.

    Small combinations leave gaps open. Those of each column, which has more rows, are closed as far
    as its own rows can tell them from chance. None if groups are not combinations.
    """
    schema, found = data.rows.schema, solution.directions
    if len(schema.categories) < 2 or not schema.intersectional or schema.continuous:
        return None
    if constraint.parity_on == "pool" or found is None or found.cell_means is None:
        return None
    apart = replace(data.rows, schema=replace(schema, intersectional=False))
    functionals, mass = mean_contrasts(apart), apart.mass[:, None]
    free = functionals.gaps_of_sums(mass * solution.free.cell_means)
    steps = np.stack([functionals.gaps_of_sums(mass * part) for part in found.cell_means])
    pooled = pooled_limits(
        _strength(constraint), functionals.labels, free, unseen.gaps(functionals)
    )
    return FurtherGaps(free, steps[found.penalty], pooled.limits)


def _strength(constraint: Constraint) -> float:
    return AUTO_POOLING if constraint.pooling == "auto" else float(constraint.pooling)


def _deal(rows: Rows) -> NDArray[np.intp]:
    """Deal the rows of each cell to folds, as evenly as possible: (n,)."""
    order = np.random.default_rng(0).permutation(len(rows.codes))
    by_cell = order[np.argsort(rows.codes[order], kind="stable")]
    fold = np.empty(len(order), dtype=np.intp)
    fold[by_cell] = np.arange(len(order)) % _FOLDS
    return fold


def _without_fold(
    constraint: Constraint,
    data: FitInput,
    problem: ConstrainedProblem,
    keep: list[NDArray[np.bool_]],
) -> ConstrainedProblem:
    """The problem without the rows of a fold."""
    try:
        here = _functionals(constraint, data.rows, keep[0], problem.functionals)
        left = replace(
            problem,
            X=problem.X[keep[0]],
            Y=problem.Y[keep[0]],
            functionals=here[0],
            cells=here[1],
            weights=None if problem.weights is None else problem.weights[keep[0]],
            earlier=None,
        )
        if data.pool is None:
            return left
        there = _functionals(constraint, data.pool.rows, keep[1], problem.pool)
    except ValueError as error:
        raise ValueError(
            f"pooling and confidence leave a fifth of the rows out at a time, and then: {error}"
        ) from error
    assert problem.pool_X is not None
    return replace(left, pool_X=problem.pool_X[keep[1]], pool=there[0], pool_cells=there[1])


def _functionals(
    constraint: Constraint, rows: Rows, keep: NDArray[np.bool_], whole: Functionals
) -> tuple[Functionals, Cells]:
    """The functionals on the rows that are kept, which keep their cells."""
    some = rows.subset(keep)
    found = constraint.functionals(some) if len(whole) else Functionals.none(len(some.codes))
    return found, Cells(rows.codes[keep], len(rows.cells), some.weights)


def _squares(
    constraint: Constraint,
    problem: ConstrainedProblem,
    solution: Solution,
    rows: Rows,
    points: Any,
    keep: NDArray[np.bool_],
    on_pool: bool,
) -> FloatArray:
    """Squared distances of left-out predictions from the means of the fit: (2, k, m).

    They are summed over the rows of each cell, for the constrained and for the free function. A
    mean of n rows is itself off by 1/n of a variance, which is taken off.
    """
    k, codes = len(rows.cells), rows.codes
    known = np.bincount(codes[keep], minlength=k)
    sums, errors = [], constraint.compares_errors
    for fit in (solution.fair, solution.free):
        values = solution.basis.evaluate(points[~keep], fit.coef) + fit.intercept
        means = fit.pool_cell_means if on_pool else fit.cell_means
        if problem.on_response:
            values = problem.loss.response(values)
        if errors:
            values = values - problem.Y[~keep]
            means = means - Cells(codes[keep], k).means(problem.Y[keep])
        centre = np.where(known[:, None] > 0, means, (known @ means) / max(known.sum(), 1))
        squares = (values - centre[codes[~keep]]) ** 2
        squares *= (known / (known + 1.0))[codes[~keep], None] + (known == 0)[codes[~keep], None]
        sums.append(Cells(codes[~keep], k, None).sums(squares))
    return np.stack(sums)


def _standard_errors(
    functionals: Functionals, rows: Rows, squares: FloatArray
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Standard errors of the gaps, (r, m), their degrees of freedom, and the shares, (r,).

    The spread in a small cell is hardly known, so each counts as if it had two more rows with the
    typical spread of all cells. The largest spread of all functions counts.
    """
    counts = rows.counts.astype(float)
    here = np.maximum(counts, 1.0)
    variances = squares / here[:, None]
    least = 1e-12 * max(float(variances.max(initial=0.0)), 1e-300)
    shares = np.sqrt(counts) / np.sqrt(counts).sum()
    typical = np.exp(np.einsum("k,akm->am", shares, np.log(np.maximum(variances, least))))
    pooled = (squares + _PRIOR * typical[:, None]) / (counts + _PRIOR)[:, None]
    variance = pooled.max(axis=0)
    weights = np.ones(len(rows.codes)) if rows.weights is None else rows.weights
    mass = np.bincount(rows.codes, weights**2, minlength=len(counts))
    table = functionals.table
    table = table.toarray() if hasattr(table, "toarray") else table
    weight = np.asarray(functionals.units @ table.T) ** 2 * mass  # squared, summed over a cell
    parts = weight[:, :, None] * variance
    total = parts.sum(axis=1)
    freedom = total**2 / np.maximum(
        (parts**2 / (counts + _PRIOR - 1.0)[:, None]).sum(axis=1), 1e-300
    )
    # a group with a share p of n rows has 1/(np) − 1/n; (m_j − m_rest) p (1 − p) / n is the
    # variance that its random share adds, and its gap and that of the rest bound the difference
    odds = weights.sum() * weight.sum(axis=1)
    share = np.minimum(odds, 1 / np.maximum(odds, 1e-300)) / weights.sum()
    return np.sqrt(total), np.maximum(freedom, 1.0), share
