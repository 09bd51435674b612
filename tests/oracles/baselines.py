"""The baselines as their papers write them: n × n matrices, generic optimisers, loops."""

from __future__ import annotations

import itertools

import numpy as np
from scipy.optimize import minimize, root

from tests.oracles.paper import NOISE, centring, column, eigen, exact, join, mp, norm, plain

# --- penalties, with 50 digits ---------------------------------------------------------------


def pseudo_inverse(A):
    """Of a symmetric matrix, by its eigenvalues."""
    values, vectors = eigen(A)
    total = mp.zeros(A.rows)
    for value, v in zip(values, vectors, strict=True):
        if abs(value) > NOISE * norm(A):
            total += v * v.T / value
    return total


def contrasts(codes):
    """Column g is 1[i ∈ g]/n_g − 1/n."""
    groups = np.unique(codes)
    C = np.stack([(codes == g) / np.sum(codes == g) - 1 / len(codes) for g in groups], axis=1)
    return exact(C)


def mean_penalty_matrix(K, codes):
    """A = C (CᵀKC)† Cᵀ of the paper's appendix."""
    C = contrasts(codes)
    return C * pseudo_inverse(C.T * K * C) * C.T


def covariance_penalty_matrix(K_S):
    """H K_S H / n²."""
    n = K_S.rows
    return centring(n) * K_S * centring(n) / n**2


def penalised_kernel(K, K_new, A, y, alpha, penalty, intercept):
    """(K + λI + ζAK) c + b = y, with 1ᵀc = 0 if there is a b: predictions at new rows."""
    n = K.rows
    system = mp.zeros(n + 1)
    system[:n, :n] = K + alpha * mp.eye(n) + penalty * A * K
    target = mp.zeros(n + 1, 1)
    target[:n, 0] = column(y)
    if intercept:
        system[:n, n] = mp.ones(n, 1)
        system[n, :n] = mp.ones(1, n)
    else:
        system[n, n] = 1
    found = mp.lu_solve(system, target)
    return plain(exact(K_new) * found[:n, 0])[:, 0] + float(found[n])


def penalised_linear(X, X_new, A, y, penalty):
    """Least squares of least norm: (XᵀX + ζXᵀAX)† Xᵀy on the row space of X."""
    X, y = exact(X), column(y)
    values, vectors = eigen(X.T * X)
    V = join([v for x, v in zip(values, vectors, strict=True) if x > NOISE * max(values)], X.cols)
    theta = V * mp.lu_solve(V.T * (X.T * X + penalty * X.T * A * X) * V, V.T * (X.T * y))
    return plain(exact(X_new) * theta)[:, 0]


# --- bounds on R² ----------------------------------------------------------------------------


def two_stages(X, numbers, X_new, numbers_new):
    """Standardised S and U, on the training rows and on new ones."""
    mean, scale = numbers.mean(axis=0), numbers.std(axis=0)
    S, S_new = (numbers - mean) / scale, (numbers_new - mean) / scale
    design = np.column_stack([np.ones(len(S)), S])
    B = np.linalg.lstsq(design, X, rcond=None)[0]
    U, U_new = X - design @ B, X_new - np.column_stack([np.ones(len(S_new)), S_new]) @ B
    keep = U.std(axis=0) > 1e-10 * X.std(axis=0)
    return S, U[:, keep] / U.std(axis=0)[keep], S_new, U_new[:, keep] / U.std(axis=0)[keep]


def bounded_quadratic(Q_s, q_s, Q_u, q_u, P_s, P_u, bound, seed=0):
    """Minimise aᵀQ_s a − 2q_sᵀa + bᵀQ_u b − 2q_uᵀb s.t. (1−ε)aᵀP_s a ≤ εbᵀP_u b.

    By SLSQP from several starts; the best end is polished on the equations of Lagrange.
    """
    e = len(q_s)

    def objective(v):
        a, b = v[:e], v[e:]
        value = a @ Q_s @ a - 2 * q_s @ a + b @ Q_u @ b - 2 * q_u @ b
        return value, np.concatenate([2 * Q_s @ a - 2 * q_s, 2 * Q_u @ b - 2 * q_u])

    def room(v):
        a, b = v[:e], v[e:]
        return bound * b @ P_u @ b - (1 - bound) * a @ P_s @ a

    def room_gradient(v):
        a, b = v[:e], v[e:]
        return np.concatenate([-2 * (1 - bound) * P_s @ a, 2 * bound * P_u @ b])

    rng, best = np.random.default_rng(seed), None
    free = np.concatenate([np.linalg.pinv(Q_s) @ q_s, np.linalg.pinv(Q_u) @ q_u])
    for start in (free, *(free * rng.uniform(0.2, 2, len(free)) for _ in range(6))):
        found = minimize(
            objective,
            start,
            jac=True,
            method="SLSQP",
            constraints={"type": "ineq", "fun": room, "jac": room_gradient},
            options={"ftol": 1e-15, "maxiter": 2000},
        )
        if room(found.x) > -1e-9 and (best is None or found.fun < best.fun):
            best = found
    v = best.x
    if room(free) >= 0:
        return free[:e], free[e:]
    gradient, slope = objective(v)[1], room_gradient(v)
    multiplier = gradient @ slope / (slope @ slope)

    def lagrange(vm):
        return np.append(objective(vm[:-1])[1] - vm[-1] * room_gradient(vm[:-1]), room(vm[:-1]))

    polished = root(lagrange, np.append(v, multiplier), method="lm", tol=1e-15)
    assert np.abs(lagrange(polished.x)).max() < 1e-9
    assert objective(polished.x[:-1])[0] <= best.fun + 1e-7 * abs(best.fun)
    return polished.x[:e], polished.x[e:-1]


def bounded_linear(X, numbers, y, X_new, numbers_new, alpha, bound):
    """Komiyama et al.: predictions at new rows."""
    S, U, S_new, U_new = two_stages(X, numbers, X_new, numbers_new)
    n, centred = len(y), y - y.mean()
    V_s, V_u = S.T @ S / n, U.T @ U / n
    a, b = bounded_quadratic(
        V_s + alpha / n * np.eye(len(V_s)),
        S.T @ centred / n,
        V_u + alpha / n * np.eye(len(V_u)),
        U.T @ centred / n,
        V_s,
        V_u,
        bound,
    )
    return y.mean() + S_new @ a + U_new @ b


def bounded_kernels(X, numbers, y, X_new, numbers_new, alpha, bound, gamma):
    """Komiyama et al. with RBF kernels of S and U and no products of the two."""
    S, U, S_new, U_new = two_stages(X, numbers, X_new, numbers_new)
    n, centred, coefs, blocks = len(y), y - y.mean(), [], []

    def rbf(A, B):
        return np.exp(-gamma * ((A[:, None] - B[None]) ** 2).sum(axis=2))

    for Z, Z_new in ((S, S_new), (U, U_new)):
        values, vectors = np.linalg.eigh(rbf(Z, Z))
        keep = values > 1e-12 * values.max()
        F = vectors[:, keep] * np.sqrt(values[keep])  # coordinates in which the norm is one
        blocks.append(rbf(Z_new, Z) @ (vectors[:, keep] / np.sqrt(values[keep])))
        coefs.append((F.T @ F + alpha * np.eye(F.shape[1]), F.T @ centred))
    (Q_s, q_s), (Q_u, q_u) = coefs
    scale = 1 / n
    a, b = bounded_quadratic(
        scale * Q_s, scale * q_s, scale * Q_u, scale * q_u, scale * Q_s, scale * Q_u, bound
    )
    return y.mean() + blocks[0] @ a + blocks[1] @ b


def fair_ridge(X, numbers, y, X_new, numbers_new, alpha, bound):
    """Scutari et al.: bisection for the penalty of the sensitive coefficients."""
    S, U, S_new, U_new = two_stages(X, numbers, X_new, numbers_new)
    Z, centred, e = np.column_stack([S, U]), y - y.mean(), S.shape[1]

    def fit(penalty):
        penalties = np.repeat([penalty, alpha], [e, U.shape[1]])
        coef = np.linalg.solve(Z.T @ Z + np.diag(penalties), Z.T @ centred)
        return coef, np.var(S @ coef[:e]) / np.var(Z @ coef)

    low, high = -40.0, 60.0  # powers of e
    if fit(0.0)[1] <= bound:
        coef = fit(0.0)[0]
    elif bound == 0:
        coef = np.append(np.zeros(e), fit(1e30)[0][e:])
    else:
        for _ in range(200):
            middle = (low + high) / 2
            low, high = (middle, high) if fit(np.exp(middle))[1] > bound else (low, middle)
        coef = fit(np.exp(high))[0]
    return y.mean() + np.column_stack([S_new, U_new]) @ coef


# --- the barycentre, one row at a time ----------------------------------------------------------


def mid_rank(value, values):
    """Share of values below and half of those equal, straight lines between the values."""
    n, same = len(values), 1e-12 * (max(values) - min(values)) + 1e-14 * max(map(abs, values))

    def at(v):
        return (sum(u < v - same for u in values) + sum(abs(u - v) <= same for u in values) / 2) / n

    if value <= min(values):
        return at(min(values))
    if value >= max(values):
        return at(max(values))
    below, above = max(u for u in values if u <= value), min(u for u in values if u >= value)
    if below == above:
        return at(below)
    return at(below) + (value - below) / (above - below) * (at(above) - at(below))


def quantile(rank, values):
    """The inverse of `mid_rank`."""
    points = sorted({mid_rank(v, values): v for v in values}.items())
    if rank <= points[0][0]:
        return points[0][1]
    for (r0, v0), (r1, v1) in itertools.pairwise(points):
        if r0 <= rank <= r1:
            return v0 + (rank - r0) / (r1 - r0) * (v1 - v0)
    return points[-1][1]


def barycentre(fitted, codes, values, groups):
    """Each value of a group moved to the barycentre of the fitted values of all groups."""
    samples = {g: fitted[codes == g].tolist() for g in np.unique(codes).tolist()}
    moved = []
    for value, group in zip(values.tolist(), groups.tolist(), strict=True):
        rank = mid_rank(value, samples[group])
        moved.append(
            sum(len(part) / len(fitted) * quantile(rank, part) for part in samples.values())
        )
    return np.array(moved)


__all__ = [
    "barycentre",
    "bounded_kernels",
    "bounded_linear",
    "covariance_penalty_matrix",
    "fair_ridge",
    "mean_penalty_matrix",
    "penalised_kernel",
    "penalised_linear",
]
