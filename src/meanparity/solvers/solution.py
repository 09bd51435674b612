"""What a solver returns: functions, the directions between them, and how they were found."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

from meanparity._typing import FloatArray, IntArray
from meanparity.state import stored


class Basis(Protocol):
    """Evaluates functions from their coefficients.

    A basis with one coefficient for each of some points has them as `points`. A basis of linear
    functions may also have a method ``as_columns(coef)``: θ, (d, m), and an origin, (d,), of the
    same functions ``(x − origin)ᵀθ``; None if they are not linear.
    """

    def evaluate(self, X: Any, coef: FloatArray) -> FloatArray:
        """Values at the rows of X of the functions with coefficients coef, (p, m): (n, m)."""
        ...


def no_columns(coef: FloatArray) -> None:
    """`as_columns` of a basis that does not have it."""


@stored("Fit")
@dataclass(frozen=True, eq=False, repr=False)
class Fit:
    """One function of the space, for each of m outputs.

    Parameters
    ----------
    coef : (p, m) array
        Coefficients: one for each training row, and each row of the pool (kernel expansion), or
        one for each feature.
    intercept : (m,) array
        The constant.
    objective : (m,) array
        ``Σ u ℓ(y, g) + λ‖g‖²`` (the intercept is not penalised).
    cell_means, pool_cell_means : (k, m) arrays
        Means in the cells of the training rows and of the pool.
    fitted, pool : (n, m) and (p, m) arrays, or None
        Values on the training rows and on the pool, computed as predictions are; None where the
        solver keeps sums over rows only.

    See Also
    --------
    Solution : Holds two of them.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> free = model.tradeoff_.solution.free
    >>> free.coef.shape
    (5, 1)
    """

    coef: FloatArray
    intercept: FloatArray
    objective: FloatArray
    cell_means: FloatArray
    pool_cell_means: FloatArray
    fitted: FloatArray | None = None
    pool: FloatArray | None = None


@stored("Directions")
@dataclass(frozen=True, eq=False, repr=False)
class Directions:
    """The ways in which the free solution can give way to the constraint.

    Every solution of a constrained problem with other targets is ``g_free − Σ_k ν_k h_k`` for
    r functions h; its excess objective over the free one is ``νᵀ M ν`` and its gaps are
    ``gaps_free − N ν``. Full parity is ν = `multipliers`, the dial ν = (1 − u)·`multipliers`.

    Parameters
    ----------
    coef, intercept : (a, p, r) and (a, r) arrays
        The functions h, for each of a distinct penalties.
    gram : (a, r, r) array
        M, symmetric and positive semidefinite.
    gaps : (a, R, r) array
        N, the gaps of each h in the units of y.
    multipliers : (r, m) array
        ν of the constrained solution of each output.
    penalty : (m,) array of int
        Which of the a penalties each output has.
    cell_means, pool_cell_means : (a, k, r) arrays or None
        Means of each h in the cells of the training rows and of the pool; None where they were not
        computed.
    errors : (m, 1 + r, 1 + r) array or None
        Mean products, on the training rows, of the errors ``y − g_free`` and of the values of h.

    See Also
    --------
    Solution : Holds them.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> model.tradeoff_.solution.directions.multipliers.shape
    (1, 1)
    """

    coef: FloatArray
    intercept: FloatArray
    gram: FloatArray
    gaps: FloatArray
    multipliers: FloatArray
    penalty: IntArray
    cell_means: FloatArray | None = None
    errors: FloatArray | None = None
    pool_cell_means: FloatArray | None = None


@stored("SolverInfo", any_number=("seconds", "residual", "system_residual"))
@dataclass(frozen=True)
class SolverInfo:
    """Which solver ran, why, and what it took.

    Parameters
    ----------
    solver : str
        Its name.
    reason : str
        Why it was chosen.
    seconds : float
        Wall-clock time.
    matrix_bytes : int
        Size of the largest matrix that it stored.
    residual : float
        Largest gap that the constrained solution leaves where it should leave none.
    precision : str
        Precision of the factor that led to the solution; the solution itself has that of float64.
    steps : int
        Steps of conjugate gradients after that factorisation.
    system_residual : float or None
        ``‖b − A z‖ / ‖b‖`` of the linear systems, the largest of all; None if it was not computed.
    device : str
        Where the n × n matrix was.

    See Also
    --------
    Solution : Holds it.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> model.solver_info_.solver
    'primal'
    """

    solver: str
    reason: str
    seconds: float
    matrix_bytes: int
    residual: float
    precision: str = "float64"
    steps: int = 0
    system_residual: float | None = None
    device: str = "cpu"


@stored("Run", any_number=("loss", "gap"))
@dataclass(frozen=True, eq=False)
class Run:
    """The course of an iterative minimisation.

    Parameters
    ----------
    c, b : (p,) array, float
        Coefficients and constant at the end.
    n_iter : int
        Number of steps.
    converged : bool
        Whether the tolerance was reached.
    loss, gap : (n_iter + 1,) arrays
        Objective, and the sum of gaps, before the first step and after each.
    """

    c: FloatArray
    b: float
    n_iter: int
    converged: bool
    loss: FloatArray
    gap: FloatArray


# squares of y may overflow where predictions do not
@stored("Solution", any_number=("errors", "variance", "norms"))
@dataclass(frozen=True, eq=False, repr=False)
class Solution:
    """The constrained and the free minimiser.

    Parameters
    ----------
    fair : Fit
        Minimiser among the functions for which every functional meets its target.
    free : Fit
        Minimiser without a constraint.
    basis : Basis
        Evaluates both from their coefficients.
    gaps : (2, R, m) array
        Gaps of the constrained and of the free minimiser, on the training rows and on the pool.
    errors : (2, 2, m) array
        Mean products of the errors of both minimisers.
    variance : (m,) array
        Variance of the targets.
    info : SolverInfo
        How it was computed.
    directions : Directions or None
        What other budgets need; None for losses other than the squared error, and without a
        penalty where the constraint reaches beyond the training rows.
    runs : (Run, Run) or None
        How iterative solvers found both.
    norms : (2, 2) array or None
        Inner products of both functions, where they are computed.
    rounding : float
        How far the gaps of predictions can be from `gaps` because of rounding.

    See Also
    --------
    Solver : Returns it.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> solution = model.tradeoff_.solution
    >>> bool(solution.fair.objective[0] >= solution.free.objective[0])
    True
    """

    fair: Fit
    free: Fit
    basis: Basis
    gaps: FloatArray
    errors: FloatArray
    variance: FloatArray
    info: SolverInfo
    directions: Directions | None = None
    runs: tuple[Run, Run] | None = None
    norms: FloatArray | None = None
    rounding: float = 0.0
