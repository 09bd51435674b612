"""The dual problem: functions ``Σ c_i κ(·, x_i) + b``, given a factorised ``A = K + λI``.

With K the Gram matrix and C the functionals, the constrained coefficients are
``c = A⁻¹(y − Bν)``: one factorisation and q + 1 right-hand sides give the free solution, the
constrained one and with them everything between. Here B spans the functionals' representers,
orthonormal in the space of functions (the paper's eigenfunctions θ), so ``BᵀKB = I`` and
``c ↦ c − B(BᵀKc)`` is the paper's projection onto the functions that meet the constraint.

An unpenalised intercept is the same problem with the centred kernel and centred y.
"""

from __future__ import annotations

import numpy as np

from meanparity._typing import FloatArray
from meanparity.constraints import Functionals
from meanparity.linalg import SymmetricFactor, SymmetricMatrix, require_memory, symmetric_basis
from meanparity.solvers.solution import Fit, Pieces


def solve_dual(
    K: SymmetricMatrix,
    factor: SymmetricFactor,
    Y: FloatArray,
    functionals: Functionals,
    alpha: float,
    row_means: FloatArray | None,
) -> Pieces:
    """The constrained and the free minimiser of ``‖y − g‖² + λ‖g‖²``.

    Parameters
    ----------
    K : SymmetricMatrix
        Gram matrix, (n, n), centred when there is an intercept.
    factor : SymmetricFactor
        Factorisation of ``K + λI``, or a pseudo-inverse.
    Y : (n, m) array
        Targets.
    functionals : Functionals
        The q functionals ``Cᵀ g = t``.
    alpha : float
        λ.
    row_means : (n,) array or None
        Mean of each row of the Gram matrix before it was centred; None without an intercept.

    Returns
    -------
    fair, free, multipliers
    """
    m = Y.shape[1]
    centre = np.zeros(m) if row_means is None else Y.mean(axis=0)
    require_memory(
        6 * 8 * len(K) * len(functionals),
        what=f"A constraint of {len(functionals):,} conditions on {len(K):,} rows",
        advice="Use fewer groups.",
    )

    # B with BᵀKB = I: the functionals that the space can see at all (of an indefinite kernel,
    # BᵀKB has entries −1 as well)
    C = functionals.dense()
    KC = K.times(C)
    E = functionals.apply(KC)
    largest = np.max(np.sqrt(np.abs(K.diagonal)) @ np.abs(C)) ** 2  # what can cancel to nothing
    W, signs = symmetric_basis(E, np.finfo(float).eps * largest)
    B, KB, target = C @ W, KC @ W, (W.T @ functionals.targets)[:, None]

    Z = factor.solve(np.hstack([Y - centre, B]))
    free, Z_B = Z[:, :m], Z[:, m:]
    reduced = np.linalg.lstsq(KB.T @ Z_B, KB.T @ free - target, rcond=None)[0]
    fair = free - Z_B @ reduced
    for _ in range(2):  # the second time takes away what rounding left of the first
        fair -= (B * signs) @ (KB.T @ fair - target)
    multipliers = W @ reduced

    coef = np.hstack([fair, free])
    intercept = np.tile(centre, 2)
    if row_means is not None:
        coef -= coef.mean(axis=0)  # 1ᵀc = 0 holds already up to rounding
        intercept -= row_means @ coef
    values = K.times(coef)
    penalty = alpha * np.einsum("ij,ij->j", coef, values)
    fits = []
    for part in (slice(0, m), slice(m, 2 * m)):
        fitted = values[:, part] + centre
        objective = np.sum((Y - fitted) ** 2, axis=0) + penalty[part]
        fits.append(Fit(coef[:, part], intercept[part], fitted, objective))
    return fits[0], fits[1], multipliers
