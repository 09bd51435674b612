"""Least squares with a penalty on some functionals instead of a constraint.

``Σ u (y − g)² + λ‖g‖² + ζ Σ_j ⟨r_j, g⟩²`` for functions ``r_j = Σ_i C_ij κ(·, x_i)``. With
``A = K + λ diag(1/u)`` the coefficients are ``c = z − Z (I/ζ + VᵀZ)⁻¹ Vᵀz``, where ``z = A⁻¹y``,
``Z = A⁻¹ diag(1/u) C`` and ``V = KC``: one factorisation and a system as small as there are
functions.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from meanparity._typing import FloatArray
from meanparity.kernels.bound import gram
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.symmetric import SymmetricFactor, SymmetricMatrix, symmetric_basis
from meanparity.solvers.factored import pseudo_inverse
from meanparity.solvers.features import LinearFeatures
from meanparity.solvers.orthogonal import CentredRows, orthonormal_span, require_columns_fit
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.solution import Basis

_ADVICE = "Fit on fewer rows, or use linear functions."


def solve_penalised(
    problem: ConstrainedProblem, C: FloatArray, strength: float, *, orthonormal: bool
) -> tuple[FloatArray, FloatArray, Basis]:
    """The minimiser: for linear functions of few columns by columns, otherwise by rows.

    Parameters
    ----------
    problem : ConstrainedProblem
        Rows, targets, weights and λ, the same for all outputs. Its functionals are not used.
    C : (n, p) array
        Coefficients of the functions r, whose columns sum to zero; zero where the weight is.
    strength : float
        ζ.
    orthonormal : bool
        Whether the functions are replaced by an orthonormal basis of what they span, which makes
        the penalty ``ζ‖g − Pg‖²`` with the projection P onto the functions on which they vanish.

    Returns
    -------
    coef : (d, m) or (n, m) array
        Coefficients of the columns or of the rows.
    intercept : (m,) array
        The constant.
    basis : Basis
        Evaluates the function.
    """
    alpha = float(problem.alpha[0])
    if not problem.prefers_columns:
        return *_solve_dual(problem, alpha, C, strength, orthonormal), problem.expansion
    theta, intercept, centre = _solve_primal(problem, alpha, C, strength, orthonormal)
    return theta, intercept, LinearFeatures(centre)


def _solve_primal(
    problem: ConstrainedProblem, alpha: float, C: FloatArray, strength: float, orthonormal: bool
) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Minimise ``Σ u (y − Xθ − b)² + λ‖θ‖² + ζ‖Rᵀθ‖²`` with ``R = XᵀC``, whatever the size of ζ.

    Returns θ, (d, m), the value at the centre of the rows, (m,), and that centre, (d,).
    """
    require_columns_fit(*problem.X.shape)
    rows = CentredRows.from_problem(problem)
    R, norms = rows.products(C)
    if orthonormal:
        R = orthonormal_span(R, 10 * np.finfo(float).eps * np.linalg.norm(norms))
    triangle, targets = rows.triangle()
    if not np.isfinite(triangle).all() or not np.isfinite(norms).all():
        raise ValueError("The squares of X are infinite. Scale the features.")
    left, s, right = np.linalg.svd(triangle, full_matrices=False)
    keep = s > rows.rounding(triangle)
    s, right = s[keep], right[keep]
    # with ψ = √(s² + λ) Vᵀθ all is white: minimise ‖ψ − ψ₀‖² + ζ‖Bᵀψ‖²
    root = np.sqrt(s**2 + alpha)[:, None]
    psi = s[:, None] * (left[:, keep].T @ targets) / root
    seen, sizes, _ = np.linalg.svd((right @ R) / root, full_matrices=False)
    sizes = np.where(sizes > 1e-14 * sizes.max(initial=0.0), sizes, 0.0)
    shrunk = strength * sizes**2
    psi -= seen @ ((shrunk / (1 + shrunk))[:, None] * (seen.T @ psi))
    theta = right.T @ (psi / root)
    return theta, rows.y_mean, rows.x_mean


def _solve_dual(
    problem: ConstrainedProblem, alpha: float, C: FloatArray, strength: float, orthonormal: bool
) -> tuple[FloatArray, FloatArray]:
    K, row_means = gram(problem.bound_kernel, problem.X, advice=_ADVICE), None
    if problem.fit_intercept:
        K, row_means = K.centre(problem.shares)
    V, signs = K.times(C), np.ones(C.shape[1])
    if orthonormal:
        size = float(np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C), initial=0.0) ** 2)
        W, signs = symmetric_basis(C.T @ V, float(np.finfo(float).eps) * size)
        C, V = C @ W, V @ W
    root = np.ones((len(K), 1))
    if problem.root is not None:
        K, root = K.scale(problem.root), problem.root[:, None]
    m = problem.Y.shape[1]
    centre = problem.shares @ problem.Y if problem.fit_intercept else np.zeros(m)
    rhs = np.hstack([root * (problem.Y - centre), C / np.where(root > 0, root, 1.0)])
    solved = root * _factorise(K, alpha).solve(rhs)
    coef, Z = solved[:, :m], solved[:, m:]
    if strength > 0:
        # (I/ζ + VᵀZ)⁻¹, in whichever of two forms is of ordinary size
        products, seen = V.T @ Z, V.T @ coef
        if strength * np.abs(products).max(initial=0.0) > 1:
            small = np.diag(signs / strength) + products
        else:
            small, seen = np.diag(signs) + strength * products, strength * seen
        coef = coef - Z @ _solve_small(small, seen)
    intercept = centre
    if row_means is not None:
        coef = coef - np.outer(problem.shares, coef.sum(axis=0))
        intercept = centre - row_means @ coef
    return coef, intercept


def _solve_small(small: FloatArray, rhs: FloatArray) -> FloatArray:
    """``small⁻¹ rhs``, symmetric and positive definite unless the kernel is not."""
    units = np.sqrt(np.maximum(small.diagonal(), np.finfo(float).tiny))[:, None]
    try:  # in units in which all functions are alike
        factor = scipy.linalg.cho_factor(small / units / units.T, check_finite=False)
        return np.asarray(scipy.linalg.cho_solve(factor, rhs / units, check_finite=False) / units)
    except np.linalg.LinAlgError:
        return np.asarray(np.linalg.lstsq(small, rhs, rcond=None)[0])


def _factorise(K: SymmetricMatrix, alpha: float) -> SymmetricFactor:
    """``K + λI`` by Cholesky, or by its eigenvectors if it is singular or indefinite."""
    if alpha > 0:
        try:
            return K.cholesky(alpha)
        except NotPositiveDefiniteError:
            pass
    return pseudo_inverse(K.eigen(), alpha)
