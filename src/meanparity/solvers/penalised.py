"""Least squares with a penalty on some functionals instead of a constraint.

``Σ u (y − g)² + λ‖g‖² + ζ Σ_j ⟨r_j, g⟩²`` for functions ``r_j = Σ_i C_ij κ(·, x_i)``. With
``A = K + λ diag(1/u)`` the coefficients are ``c = z − Z (I/ζ + VᵀZ)⁻¹ Vᵀz``, where ``z = A⁻¹y``,
``Z = A⁻¹ diag(1/u) C`` and ``V = KC``: one factorisation and a system as small as there are
functions.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.linalg

from meanparity._typing import FloatArray
from meanparity.exceptions import NotPositiveDefiniteError
from meanparity.kernels import BoundKernel, gram
from meanparity.linalg import SymmetricFactor, SymmetricMatrix, symmetric_basis
from meanparity.solvers.primal import solve_primal_penalised
from meanparity.solvers.spectral import pseudo_inverse
from meanparity.solvers.task import Task

_ADVICE = "Fit on fewer rows, or use linear functions."


@dataclass(frozen=True, eq=False)
class Penalty:
    """What is penalised, and how much.

    Parameters
    ----------
    C : (n, p) array
        Coefficients of the functions r, whose columns sum to zero; zero where the weight is.
    strength : float
        ζ.
    orthonormal : bool
        Whether the functions are replaced by an orthonormal basis of what they span, which makes
        the penalty ``ζ‖g − Pg‖²`` with the projection P onto the functions on which they vanish.
    """

    C: FloatArray
    strength: float
    orthonormal: bool


def solve_penalised(
    task: Task, penalty: Penalty, *, kernel: Callable[[], BoundKernel], is_linear: bool
) -> tuple[FloatArray, FloatArray, bool]:
    """The minimiser, for linear functions of few columns by these, else by one coefficient a row.

    Parameters
    ----------
    task : Task
        Rows, targets, weights and λ, the same for all outputs. Its functionals are not looked at.
    penalty : Penalty
        What is penalised besides.
    kernel : callable
        Gives the kernel, bound to the training rows, if it is needed.
    is_linear : bool
        Whether the kernel is the inner product of whole rows.

    Returns
    -------
    coef : (d, m) or (n, m) array
        Coefficients of the columns or of the rows.
    intercept : (m,) array
        The constant.
    on_columns : bool
        Which of these it is.
    """
    alpha = float(task.alpha[0])
    if is_linear and task.suits_columns:
        settings = penalty.strength, penalty.C
        theta, intercept = solve_primal_penalised(
            task, alpha, *settings, orthonormal=penalty.orthonormal
        )
        return theta, intercept, True
    return *_solve_dual(task, penalty, kernel(), alpha), False


def _solve_dual(
    task: Task, penalty: Penalty, kernel: BoundKernel, alpha: float
) -> tuple[FloatArray, FloatArray]:
    K, row_means = gram(kernel, task.X, advice=_ADVICE), None
    if task.fit_intercept:
        K, row_means = K.centre(task.shares)
    C, signs = penalty.C, np.ones(penalty.C.shape[1])
    V = K.times(C)
    if penalty.orthonormal:
        size = float(np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C), initial=0.0) ** 2)
        W, signs = symmetric_basis(C.T @ V, float(np.finfo(float).eps) * size)
        C, V = C @ W, V @ W
    root = np.ones((len(K), 1))
    if task.root is not None:
        K, root = K.scale(task.root), task.root[:, None]
    m = task.Y.shape[1]
    centre = task.shares @ task.Y if task.fit_intercept else np.zeros(m)
    rhs = np.hstack([root * (task.Y - centre), C / np.where(root > 0, root, 1.0)])
    solved = root * _factorise(K, alpha).solve(rhs)
    coef, Z = solved[:, :m], solved[:, m:]
    if penalty.strength > 0:
        # (I/ζ + VᵀZ)⁻¹, in whichever of two forms is of ordinary size
        products, seen = V.T @ Z, V.T @ coef
        if penalty.strength * np.abs(products).max(initial=0.0) > 1:
            small = np.diag(signs / penalty.strength) + products
        else:
            small, seen = np.diag(signs) + penalty.strength * products, penalty.strength * seen
        coef = coef - Z @ _solve_small(small, seen)
    intercept = centre
    if row_means is not None:
        coef = coef - np.outer(task.shares, coef.sum(axis=0))
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
