"""Landmark rows of a Nyström approximation."""

from __future__ import annotations

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.utils import check_random_state

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.kernels.bound import BoundKernel
from meanparity.kernels.spec import AbstractKernel
from meanparity.linalg.memory import require_memory
from meanparity.linalg.symmetric import require_finite

LANDMARKS = ("rpcholesky", "uniform")
_MOST = 2**22  # kernel values between candidates and landmarks in memory (32 MiB)
_TRIALS = 3  # proposals for each pivot
_ROUNDING = 1e-12  # share of the largest kernel value below which a residual is rounding
_SMALL = 1e-2  # share of its residual below which a proposal waits for a later block


def choose_landmarks(
    X: Features,
    n_components: int,
    how: str,
    kernel: AbstractKernel,
    names: tuple[str, ...] | None,
    random_state: int | np.random.RandomState | None,
) -> IntArray:
    """The positions of distinct landmark rows, (m,).

    If there are very many rows, the candidates are a uniform sample.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Rows.
    n_components : int
        Number of landmarks; fewer if there are fewer rows, or if fewer span the kernel matrix.
    how : {"rpcholesky", "uniform"}
        Randomly pivoted Cholesky draws rows with probability proportional to their residual
        diagonal, and keeps the best of three. Or rows are drawn uniformly.
    kernel : AbstractKernel
        The kernel.
    names : tuple of str or None
        Names of the columns.
    random_state : int, RandomState or None
        Random seed.
    """
    rng, n = check_random_state(random_state), X.shape[0]
    m = min(n_components, n)
    if how == "uniform" or m == n:
        return np.sort(rng.permutation(n)[:m])
    candidates = np.arange(n)
    most = max(_MOST // m, 8 * m)
    if n > most:
        candidates = np.sort(rng.permutation(n)[:most])
        X = X[candidates]
    require_memory(
        16 * len(candidates) * m, what=f"Choosing {m:,} landmarks", advice="Choose fewer."
    )
    chosen = pivots(kernel.bind(X, names), X, m, rng)[0]
    if not len(chosen):
        raise ValueError("The kernel is zero or negative on all rows. Choose another kernel.")
    return np.unique(candidates[chosen])


def pivots(
    kernel: BoundKernel, X: Features, m: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """A randomly pivoted Cholesky factorisation ``F Fᵀ`` of the kernel matrix of rows.

    Rows are proposed in blocks, three for each pivot, with probability proportional to their
    residual diagonal. Of the proposals, the one that reduces the trace of the residual most becomes
    the next pivot.

    Parameters
    ----------
    kernel : BoundKernel
        Kernel that is bound to the n rows, possibly followed by others.
    X : (n, d) array or sparse matrix
        The rows.
    m : int
        Largest rank; the rank is lower if that is exact.
    rng : RandomState
        Random seed.

    Returns
    -------
    pivots, F : (r,) array of int, (n, r) array
    """
    n = X.shape[0]
    with np.errstate(over="ignore", invalid="ignore"):
        left = kernel.diagonal(X).astype(float)
    require_finite(left)
    left = np.maximum(left, 0.0)  # the diagonal of an indefinite kernel may be negative
    least = _ROUNDING * left.max(initial=0.0)
    F = np.zeros((m, n))
    chosen: list[int] = []
    while len(chosen) < m and left.any():
        i = len(chosen)
        take = min(max(m // 20, 1), m - i)
        proposed = np.unique(rng.choice(n, _TRIALS * take, p=left / left.sum()))
        rows = kernel.block(X[proposed], slice(0, n)) - F[:i, proposed].T @ F[:i]
        require_finite(rows)
        rest = rows[:, proposed]
        best, inner = _best(rest, rows @ rows.T, take, least)
        j = i + len(best)
        F[i:j] = solve_triangular(inner, rows[best], lower=True)
        left -= (F[i:j] ** 2).sum(axis=0)
        np.maximum(left, 0.0, out=left)
        left[proposed[best]] = 0.0
        left[left <= least] = 0.0
        left[proposed[np.diag(rest) <= least]] = 0.0
        chosen += proposed[best].tolist()
    return np.array(chosen, dtype=np.intp), F[: len(chosen)].T


def _best(
    rest: FloatArray, products: FloatArray, take: int, least: float
) -> tuple[IntArray, FloatArray]:
    """Up to `take` of b proposals, each the one that reduces the trace of the residual most.

    Pivot j reduces the trace of the residual R by ``Σᵢ R²ⱼᵢ / Rⱼⱼ``. `rest`, (b, b), is R on the
    proposals, and `products`, (b, b), is R Rᵀ of their rows. No pivot is `least` or smaller.

    Returns
    -------
    best, inner : (r,) and (r, r) arrays
        Positions, and the Cholesky factor of R on them.
    """
    H, G = rest.copy(), products.copy()
    enough = np.maximum(_SMALL * np.diag(rest), least)
    best: list[int] = []
    columns: list[FloatArray] = []
    while len(best) < take:
        known = np.diag(H) > enough
        known[best] = False
        if not known.any():
            break
        gain = np.where(known, np.diag(G), -np.inf) / np.where(known, np.diag(H), 1.0)
        j = int(np.argmax(gain))
        best.append(j)
        columns.append(H[:, j] / np.sqrt(H[j, j]))
        share = H[:, j] / H[j, j]
        G = G - np.outer(share, G[j]) - np.outer(G[j], share) + G[j, j] * np.outer(share, share)
        H = H - np.outer(share, H[j])
    inner = np.array([column[best] for column in columns]).reshape(len(best), len(best)).T
    return np.array(best, dtype=np.intp), np.tril(inner)
