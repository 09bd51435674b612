"""Any loss under linear or response constraints, by SciPy's generic solver."""

from __future__ import annotations

import numpy as np
from scipy.optimize import LinearConstraint, NonlinearConstraint, minimize


def constrained_minimum(F, y, u, loss, alpha, C, targets, *, intercept, on_response=False):
    """min Σuℓ(y, Fθ + b) + α‖θ‖² s.t. Cᵀ(Fθ + b) = t, or Cᵀμ(Fθ + b) = t: objective and scores.

    F are features with ``FFᵀ`` the kernel matrix; C, (N, q), and the rows of F beyond those of y
    are about a pool.
    """
    n, p = len(y), F.shape[1]
    Z = np.column_stack([F, np.ones(len(F))]) if intercept else F

    def objective(v):
        scores = Z[:n] @ v
        value = u @ loss.value(y, scores) + alpha * v[:p] @ v[:p]
        slope = Z[:n].T @ (u * loss.gradient(y, scores))
        slope[:p] += 2 * alpha * v[:p]
        return value, slope

    def hessian(v):
        H = Z[:n].T @ ((u * loss.curvature(y, Z[:n] @ v))[:, None] * Z[:n])
        H[np.arange(p), np.arange(p)] += 2 * alpha
        return H

    if not C.shape[1]:
        constraints = []
    elif on_response:
        constraints = [
            NonlinearConstraint(
                lambda v: C.T @ loss.response(Z @ v),
                targets,
                targets,
                jac=lambda v: C.T @ (loss.slope(Z @ v)[:, None] * Z),
            )
        ]
    else:
        constraints = [LinearConstraint(C.T @ Z, targets, targets)]
    start = np.zeros(Z.shape[1])
    if intercept:
        start[-1] = loss.start(y, u)
    found = minimize(
        objective,
        start,
        jac=True,
        hess=hessian,
        method="trust-constr",
        constraints=constraints,
        options={"maxiter": 3000, "gtol": 1e-9, "xtol": 1e-12},
    )
    return found.fun, Z @ found.x


def group_contrasts(groups, weights=None):
    """Columns ``u_i 1[i ∈ g]/U_g − u_i/U`` of all groups but one."""
    u = np.ones(len(groups)) if weights is None else weights
    columns = [
        u * (groups == g) / u[groups == g].sum() - u / u.sum() for g in np.unique(groups)[1:]
    ]
    return np.stack(columns, axis=1)


def kernel_features(K):
    """F with ``FFᵀ = K``, from eigenvectors."""
    values, vectors = np.linalg.eigh(K)
    keep = values > 1e-12 * values.max()
    return vectors[:, keep] * np.sqrt(values[keep])
