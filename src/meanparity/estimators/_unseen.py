"""How far gaps between people who were not seen can be from those on the rows of fit.

Five fits, each without a fifth of the rows of every cell, predict the rows that they left out. How
much these predictions vary inside a cell says how well its mean is known: a few rows, or a large
spread, leave a large standard error. How far they are from what fits with the same rows predict
says how far a gap reopens, because a flexible function can close gaps on its own rows alone: its
drift. Two settings turn these into limits of gaps:

* `pooling` of the constraint closes gaps only as far as the rows can tell them from chance;
* `confidence` of an estimator makes `max_gap` smaller by the drift and by the margin that the rows
  leave, so that it holds for people who were not seen.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse, stats

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.constraints.functionals import Functionals
from meanparity.data.fit_input import FitInput
from meanparity.data.groups import Cells
from meanparity.data.rows import Rows
from meanparity.exceptions import import_pandas
from meanparity.solvers.problem import ConstrainedProblem, Solver
from meanparity.solvers.solution import Solution
from meanparity.state import stored
from meanparity.tradeoff.budgets import WeightedGaps
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.tradeoff import Tradeoff

if TYPE_CHECKING:
    import pandas as pd

AUTO_POOLING = 0.3  # what "auto" stands for; see docs/small-groups.md
_FOLDS = 5
_PRIOR = 2.0  # rows that the spread in all cells counts for in each

Parts = tuple[Functionals, Functionals]  # conditions on the training rows, and on the pool


@stored("GapLimits", any_number=("limits", "standard_errors"))
@dataclass(frozen=True, eq=False, repr=False)
class GapLimits:
    """The most that each gap can be in a fit with `pooling` or `confidence`.

    Parameters
    ----------
    labels : tuple of str
        What each of the r gaps is about. With `pooling` and combinations of columns, the gaps of
        each column alone are at the end.
    limits : (r, m) array
        The largest size that each gap can have on the rows of fit. With `pooling`, the gaps also
        have a limit together, which is met before all are as large as that.
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

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with one row for each gap (and output)."""
        r, m = self.limits.shape
        table = {
            "gap": np.repeat(np.array(self.labels, dtype=object), m),
            "limit": self.limits.ravel(),
            "standard_error": self.standard_errors.ravel(),
        }
        outputs = {"output": np.tile(np.arange(m), r)} if m > 1 else {}
        frame: pd.DataFrame = import_pandas().DataFrame(table | outputs)
        return frame


@dataclass(frozen=True, eq=False)
class UnseenGaps:
    """How far gaps of people who were not seen are from those on the rows of fit.

    Parameters
    ----------
    drift : (r, m) array
        What the rows of fit themselves take off each gap, or add to it: a bias.
    standard_errors : (r, m) array
        Of each gap: chance.
    freedom : (r, m) array
        Degrees of freedom of the standard errors.
    share : (r,) array
        What random shares of the groups add to the variance, for gaps of size one.
    """

    drift: FloatArray
    standard_errors: FloatArray
    freedom: FloatArray
    share: FloatArray

    def quantile(self, confidence: float) -> FloatArray:
        """Standard errors that no gap is off by more than with this confidence: (r, m)."""
        both = (1 - confidence) / (2 * len(self.share))  # all gaps, on both sides
        return np.asarray(stats.t.ppf(1 - both, self.freedom))

    def margins(self, confidence: float, limits: FloatArray) -> FloatArray:
        """Margins, (r, m), within which all gaps are with this confidence: ``d + t √(s² + L² v)``.

        The drift d does not become smaller with the quantile t: it is there in every sample. The
        shares of groups in a sample are random, too, with a variance v for gaps of size one:
        `limits` L, (r,), are the largest gaps.
        """
        allowed = np.where(np.isfinite(limits), limits, 0.0)
        shares = (allowed**2 * self.share)[:, None]
        chance = np.sqrt(self.standard_errors**2 + shares)
        return np.asarray(self.drift + self.quantile(confidence) * chance)

    def least_promise(self, confidence: float) -> float:
        """The smallest limit that is not smaller than its margin, for all gaps.

        It is the larger root L of ``(L − d)² = t² (s² + L² v)``; without one, there is no limit.
        """
        quantile, drift = self.quantile(confidence), self.drift
        left = 1 - quantile**2 * self.share[:, None]
        chance = np.maximum(left, 0.0) * (quantile * self.standard_errors) ** 2
        root = np.sqrt((1 - left) * drift**2 + chance)
        least = np.full(left.shape, np.inf)
        return float(np.divide(drift + root, left, out=least, where=left > 0).max())


@dataclass(frozen=True, eq=False)
class Unseen:
    """How predictions for rows that were left out vary, and differ from those of fits with them.

    Parameters
    ----------
    rows : tuple of Rows
        The training rows, and the pool if there is one.
    squares : tuple of (2, k, m) arrays
        For each of them, sums of squared distances from the mean of the fit in each cell, of the
        constrained and of the free function.
    moves : tuple of (2, n, m) arrays
        For each of their rows, the prediction of the fit without it minus the mean prediction of
        the four fits with it, of both functions.
    """

    rows: tuple[Rows, ...]
    squares: tuple[FloatArray, ...]
    moves: tuple[FloatArray, ...]

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
        m, points = problem.Y.shape[1], (problem.X, problem.pool_X)
        squares = [np.zeros((2, len(part.cells), m)) for part in rows]
        moves = [np.zeros((2, len(part.codes), m)) for part in rows]
        folds = [_deal(part) for part in rows]
        for fold in range(_FOLDS):
            keep = [of_rows != fold for of_rows in folds]
            solution = solver.solve(_without_fold(constraint, data, problem, keep))
            for i, part in enumerate(rows):
                values = _values(problem, solution, points[i])
                moves[i] += np.where(keep[i][:, None], -1 / (_FOLDS - 1), 1.0) * values
                squares[i] += _squares(constraint, problem, solution, part, values, keep[i], i == 1)
        return cls(rows, tuple(squares), tuple(moves))

    def gaps(self, *parts: Functionals, any_function: bool = False) -> UnseenGaps:
        """How far the gaps on the training rows, and then on the pool, are off.

        It is about the constrained function; with `any_function`, about whichever of both ends
        varies or drifts more, which is on the safe side for what is between them.
        """
        ends = slice(None) if any_function else slice(1)
        every = zip(parts, self.rows, self.squares, self.moves, strict=False)
        with np.errstate(over="ignore", invalid="ignore"):
            found = [
                (_drift(f, moves[ends]), *_standard_errors(f, rows, squares[ends]))
                for f, rows, squares, moves in every
                if len(f)
            ]
        columns = [np.concatenate(column) for column in zip(*found, strict=True)]
        if any(np.isnan(column).any() for column in columns):
            raise ValueError(
                "The standard errors of gaps overflow: powers of the numbers in y are too large or "
                "too small for floating point. Scale the target."
            )
        return UnseenGaps(*columns)

    def gaps_on(self, part: int, functionals: Functionals) -> FloatArray:
        """Standard errors of other gaps of the constrained function on a part of the rows."""
        return _standard_errors(functionals, self.rows[part], self.squares[part][:1])[0]


def promised_function(
    max_gap: Any, confidence: float, parts: Parts, tradeoff: Tradeoff, unseen: Unseen
) -> tuple[GapLimits, FittedFunction]:
    """The limits for which `max_gap` holds with a confidence, and the function within them."""
    labels = _labels(tradeoff)
    limits, gaps = tradeoff.limits(max_gap), unseen.gaps(*parts, any_function=True)
    found = promised_limits(limits, float(confidence), labels, gaps)
    return found, tradeoff.within_limits(found.limits)


def pooled_function(
    constraint: Constraint, parts: Parts, tradeoff: Tradeoff, unseen: Unseen
) -> tuple[GapLimits, FittedFunction]:
    r"""The function that `pooling` asks for, and how far it lets each gap stay open.

    With the standard error s of a gap and the typical size τ of true gaps, the part of an observed
    gap that is chance has a typical size of ``q = s² / √(s² + τ²)``. The gaps of the function are
    those of smallest objective with ``Σ gap²/s ≤ c² Σ q²/s``, where c is the strength. The sums are
    over all gaps, and for combinations of columns also over those of each column alone, which are
    weighted means of the former. A gap that is hardly known thus counts less than one that is well
    known.
    """
    strength = AUTO_POOLING if constraint.pooling == "auto" else float(constraint.pooling)
    free = tradeoff.solution.gaps[1]
    sums, gaps, labels = np.eye(len(free)), unseen.gaps(*parts), _labels(tradeoff)
    errors, typical = gaps.standard_errors, [_typical(free, gaps.standard_errors)]
    sizes = np.broadcast_to(typical[0], errors.shape)
    for names, of_columns, standard_errors in _gaps_of_columns(parts, unseen):
        typical.append(_typical(of_columns @ free, standard_errors))
        sums, errors = np.vstack([sums, of_columns]), np.vstack([errors, standard_errors])
        sizes = np.vstack([sizes, np.broadcast_to(typical[-1], standard_errors.shape)])
        labels = (*labels, *names)
    least = np.maximum(1e-9 * errors.max(axis=0), 1e-150)
    errors = np.maximum(errors, least)
    chance = errors**2 / np.sqrt(errors**2 + sizes**2)
    allowed = strength * np.sqrt(np.sum(chance**2 / errors, axis=0))
    weights = sums / np.sqrt(errors.T[:, :, None])
    shown = ", ".join(f"{value:.3g}" for value in typical[0])
    reason = (
        f"Gaps may stay open up to {strength:g} times what is typically chance in them, "
        "s² / √(s² + τ²), where s is the standard error of a gap on people not seen and τ the "
        f"typical size of true gaps, {shown}. Each counts by its square over its standard error, "
        "and the limit is for all together. Alone, none can be larger than:"
    )
    limits = GapLimits(labels, allowed * np.sqrt(errors), errors, reason)
    return limits, tradeoff.within_weighted(WeightedGaps(weights, allowed))


def _labels(tradeoff: Tradeoff) -> tuple[str, ...]:
    here, there = tradeoff.labels
    return (*here, *(f"{label} (pool)" for label in there))


def _typical(gaps: FloatArray, errors: FloatArray) -> FloatArray:
    """The typical size of true gaps, τ, by the method of moments: (m,)."""
    excess = (gaps**2 - errors**2).mean(axis=0)
    return np.asarray(np.sqrt(np.maximum(excess, 0.0)))


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
            f"{100 * confidence:g}% confidence, the gap of {labels[worst]!r} there is known up to "
            f"{margins[worst].max():.3g}. Allow gaps of at least "
            f"{_rounded_up(unseen.least_promise(confidence))}, merge small groups, pass more rows, "
            "a larger pool, a lower confidence, or a larger alpha."
        )
    reason = (
        f"With {100 * confidence:g}% confidence, no gap between people not seen is larger than "
        "max_gap; on the rows of fit each stays below it by as much as it reopens on other people, "
        "and by the margin of its standard error."
    )
    return GapLimits(labels, left, unseen.standard_errors, reason)


def _rounded_up(number: float) -> str:
    """Three digits of a positive number, which are not less than it."""
    if not 0 < number < np.inf:
        return f"{number:g}"
    unit = 10.0 ** (np.floor(np.log10(number)) - 2)
    return f"{np.ceil(number / unit) * unit:.4g}"


def _gaps_of_columns(
    parts: Parts, unseen: Unseen
) -> Iterator[tuple[list[str], FloatArray, FloatArray]]:
    """For combinations of columns: the gaps of each column alone, on each part of the rows.

    Their labels, their weights as sums of all R gaps, (e, R), and their standard errors, (e, m).
    """
    start, whole = 0, sum(len(part.labels) for part in parts)
    for i, (part, rows) in enumerate(zip(parts, unseen.rows, strict=False)):
        schema, mine = rows.schema, slice(start, start + len(part.labels))
        start = mine.stop
        combined = len(schema.categories) > 1 and schema.intersectional and not schema.continuous
        if not len(part) or not combined:
            continue
        apart = replace(rows, schema=replace(schema, intersectional=False))
        columns = mean_contrasts(apart)
        cellwise = part.on_cells(rows.codes, len(rows.cells), rows.weights)
        if cellwise is None:
            continue
        of_cells, wanted = (_weights_in_gaps(f).T for f in (cellwise, columns))
        found = np.linalg.lstsq(of_cells, wanted, rcond=1e-10)[0]
        off = np.abs(of_cells @ found - wanted).max(axis=0)
        known = off <= 1e-8 * np.abs(wanted).max(axis=0)  # not if values of a column are missing
        sums = np.zeros((int(known.sum()), whole))
        sums[:, mine] = found.T[known]
        names = [f"{name} (pool)" if i else name for name in columns.labels]
        errors = unseen.gaps_on(i, columns)[known]
        yield [name for name, keep in zip(names, known, strict=True) if keep], sums, errors


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


def _values(problem: ConstrainedProblem, solution: Solution, points: Any) -> FloatArray:
    """Predictions of the constrained and of the free function for n rows: (2, n, m)."""
    ends = solution.fair, solution.free
    found = solution.basis.evaluate(points, np.hstack([fit.coef for fit in ends]))
    values = found.reshape(len(found), 2, -1).swapaxes(0, 1)
    values = values + np.stack([fit.intercept for fit in ends])[:, None]
    return problem.loss.response(values) if problem.on_response else values


def _squares(
    constraint: Constraint,
    problem: ConstrainedProblem,
    solution: Solution,
    rows: Rows,
    predicted: FloatArray,
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
    for fit, values in zip((solution.fair, solution.free), predicted[:, ~keep], strict=True):
        means = fit.pool_cell_means if on_pool else fit.cell_means
        if errors:
            values = values - problem.Y[~keep]
            means = means - Cells(codes[keep], k).means(problem.Y[keep])
        centre = np.where(known[:, None] > 0, means, (known @ means) / max(known.sum(), 1))
        squares = (values - centre[codes[~keep]]) ** 2
        squares *= (known / (known + 1.0))[codes[~keep], None] + (known == 0)[codes[~keep], None]
        sums.append(Cells(codes[~keep], k, None).sums(squares))
    return np.stack(sums)


def _drift(functionals: Functionals, moves: FloatArray) -> FloatArray:
    """How far each gap drifts from the rows of a fit to other people, at most: (r, m).

    It is the gap of predictions by the fits without a row, minus that by the fits with it. With
    the weight w_i of row i in a gap and the function g₋ₖ of the fit without fold k, it is
    ``Σ_i w_i (g₋ₖ₍ᵢ₎(x_i) − Σ_{k ≠ k(i)} g₋ₖ(x_i) / 4)``. A function that does not depend on the
    rows does not drift at all, so this does not count chance that the standard error counts. The
    chance in the drift of one that does is covered by it (docs/small-groups.md has figures, also
    of how close the drift of these fits is to that of the fit to all rows). The largest of all
    functions, (e, n, m), counts.
    """
    of_gaps = [np.abs(functionals.units @ functionals.apply(of_rows)) for of_rows in moves]
    return np.asarray(np.max(of_gaps, axis=0))


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
    table_rows, own = functionals.table.shape[0], functionals.weights
    mass = sparse.coo_array(  # of each row of the functionals' table in each cell
        (np.ones(len(rows.codes)) if own is None else own**2, (functionals.codes, rows.codes)),
        shape=(table_rows, len(counts)),
    ).tocsr()
    weight = _weights_in_gaps(functionals) ** 2 @ mass  # squared, summed over a cell
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


def _weights_in_gaps(functionals: Functionals) -> FloatArray:
    """The weight in each gap of a row that uses a row of the functionals' table: (R, k)."""
    table = functionals.table
    table = table.toarray() if hasattr(table, "toarray") else table
    return np.asarray(functionals.units @ table.T)
