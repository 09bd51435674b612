"""Appendix B of the paper as it stands, and the optimality conditions written out.

Everything is computed with 50 digits, so that a disagreement is never the oracle's rounding. The
inputs are ordinary floating-point numbers, whose last digit is noise: what is smaller than
`NOISE` times its surroundings counts as zero when a rank is decided.
"""

from __future__ import annotations

import mpmath
import numpy as np

mp = mpmath.mp.clone()
mp.dps = 50
NOISE = mp.mpf(10) ** -12


def exact(array):
    """A matrix of 50-digit numbers."""
    return mp.matrix(np.atleast_2d(np.asarray(array, dtype=float)).tolist())


def column(vector):
    return exact(np.reshape(vector, (-1, 1)))


def plain(matrix):
    """Back to floating point, (rows, columns)."""
    return np.array(matrix.tolist(), dtype=float).reshape(matrix.rows, matrix.cols)


def eigen(A):
    """Eigenvalues and eigenvectors (columns) of a symmetric matrix."""
    values, vectors = mp.eigsy((A + A.T) / 2)
    return list(values), [vectors[:, j] for j in range(A.rows)]


def norm(A):
    return mp.sqrt(sum(x * x for x in A))


def join(columns, rows):
    """A matrix from its columns."""
    out = mp.matrix(rows, len(columns))
    for j, col in enumerate(columns):
        out[:, j] = col
    return out


def centring(n):
    """H = I − 11ᵀ/n."""
    return mp.eye(n) - mp.ones(n) / n


def projection(K_XS, K_S):
    """P = I − Σ a_j a_jᵀ K_XS from the eigenproblem of K̄_S K̄_XS / n² (paper, appendix B).

    The eigenfunctions are Φ a_j with a_j = H ā_j, scaled to norm one in the function space. The
    eigenproblem is not symmetric, so it is solved through the factor F of K̄_S = F Fᵀ:
    F Fᵀ K̄_XS ā = ψ ā has ā = F v with Fᵀ K̄_XS F v = ψ v.
    """
    n = K_XS.rows
    H = centring(n)
    K_S, K = H * K_S * H, H * K_XS * H
    values, vectors = eigen(K_S)
    kept = [v * mp.sqrt(x) for x, v in zip(values, vectors, strict=True) if x > NOISE * norm(K_S)]
    F = join(kept, n)
    psi, vectors = eigen(F.T * K * F / n**2)
    P = mp.eye(n)
    for value, v in zip(psi, vectors, strict=True):
        if value > NOISE * norm(K_XS) * norm(K_S) / n**2:
            a = H * F * v
            a /= mp.sqrt((a.T * K_XS * a)[0])
            P -= a * a.T * K_XS
    return P


def paper_kernel(K, K_S, y, alpha):
    """w = P (PᵀKKP + λPᵀKP)† PᵀKY, label sec::s43 of the paper."""
    K, K_S, y = exact(K), exact(K_S), column(y)
    P = projection(K, K_S)
    inner = P.T * K * K * P + mp.mpf(alpha) * P.T * K * P
    values, vectors = eigen(inner)
    # in units of K: an eigenvalue x of K gives x² + λx. With a penalty, faint eigenvectors still
    # count at new points, by √x/λ: only rounding is left out
    size = norm(K)
    cut = (NOISE * size) ** 2 if alpha == 0 else mp.mpf(alpha) * size * mp.mpf(10) ** -16
    w = mp.zeros(K.rows, 1)
    rhs = P.T * K * y
    for value, v in zip(values, vectors, strict=True):
        if value > cut:
            w += v * ((v.T * rhs)[0] / value)
    return plain(P * w)[:, 0]


def sensitive_contrasts(codes):
    """One column for each group but the last: 1[i∈g]/n_g − 1/n."""
    codes = np.asarray(codes)
    n = len(codes)
    return np.stack([(codes == g) / np.sum(codes == g) - 1 / n for g in np.unique(codes)[:-1]], 1)


def kkt_kernel(K, y, C, alpha, *, fit_intercept=False):
    """(c, b) of the constrained problem from its optimality conditions, λ > 0.

    Stationarity of ‖y − Kc − b‖² + λcᵀKc + 2νᵀBᵀKc in c (one factor K taken out) and in b, and
    the constraint BᵀKc = 0, where B spans the functionals C that the kernel sees.
    """
    K, y, C, alpha = exact(K), column(y), exact(C), mp.mpf(alpha)
    n = K.rows
    B = []
    if C.cols:
        values, vectors = eigen(C.T * K * C)
        cut = NOISE * norm(K) * norm(C) ** 2
        B = [C * v / mp.sqrt(x) for x, v in zip(values, vectors, strict=True) if x > cut]
    border = [mp.ones(n, 1)] * fit_intercept + B
    size = n + len(border)
    system, rhs = mp.zeros(size), mp.zeros(size, 1)
    system[:n, :n] = K + alpha * mp.eye(n)
    rhs[:n, 0] = y
    for j, col in enumerate(border):
        system[:n, n + j] = col
        system[n + j, :n] = col.T if j < fit_intercept else col.T * K
    solution = mp.lu_solve(system, rhs)
    return plain(solution[:n, 0])[:, 0], float(solution[n]) if fit_intercept else 0.0


def kkt_linear(X, y, C, alpha, *, fit_intercept=False):
    """(θ, b) of the constrained linear problem, λ ≥ 0, of least norm.

    θ = N w with N an orthonormal basis of the null space of Mᵀ, M = XᵀC;
    (NᵀXᵀXN + λI) w = NᵀXᵀy.
    """
    X, y, C, alpha = exact(X), column(y), exact(C), mp.mpf(alpha)
    n, d = X.rows, X.cols
    H = centring(n) if fit_intercept else mp.eye(n)
    HX = H * X
    size = norm(HX)
    values, vectors = eigen(HX.T * C * C.T * HX) if C.cols else ([mp.mpf(0)] * d, None)
    if vectors is None:
        vectors = [mp.eye(d)[:, j] for j in range(d)]
    cut = (NOISE * size * (norm(C) if C.cols else 1)) ** 2
    N = join([v for x, v in zip(values, vectors, strict=True) if x <= cut], d)
    theta = mp.zeros(d, 1)
    if N.cols:
        values, vectors = eigen(N.T * HX.T * HX * N)
        rhs = N.T * HX.T * (H * y)
        for x, v in zip(values, vectors, strict=True):
            if x > (NOISE * size) ** 2:
                theta += N * v * ((v.T * rhs)[0] / (x + alpha))
    b = sum(y - X * theta) / n if fit_intercept else mp.mpf(0)
    return plain(theta)[:, 0], float(b)
