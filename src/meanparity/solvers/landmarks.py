"""Which rows stand for all in a Nyström approximation."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import solve_triangular
from sklearn.cluster import kmeans_plusplus
from sklearn.utils import check_random_state

from meanparity._typing import Features, FloatArray, IntArray
from meanparity.kernels import BoundKernel

LANDMARKS = ("rpcholesky", "kmeans++", "uniform")
_MOST = 2**24  # kernel values of candidates with landmarks that are held (128 MiB)


def choose_landmarks(
    X: Features,
    n_components: int,
    how: str,
    bind: Callable[[Features], BoundKernel],
    random_state: int | np.random.RandomState | None,
) -> IntArray:
    """Positions of landmarks among rows, (m,), each once.

    Of very many rows a uniform sample are candidates.

    Parameters
    ----------
    X : (n, d) array or sparse matrix
        Rows.
    n_components : int
        How many; fewer if there are fewer rows, or if fewer say everything.
    how : {"rpcholesky", "kmeans++", "uniform"}
        Randomly pivoted Cholesky (a row is drawn with probability in proportion to what the
        landmarks so far do not say of it), k-means++, or uniformly.
    bind : callable
        Gives the kernel, bound to rows.
    random_state : int, RandomState or None
        Where chance comes from.
    """
    rng, n = check_random_state(random_state), X.shape[0]
    m = min(n_components, n)
    if how == "uniform" or m == n:
        return np.sort(rng.permutation(n)[:m])
    candidates = np.arange(n)
    most = max(_MOST // m, 4 * m)
    if n > most:
        candidates = np.sort(rng.permutation(n)[:most])
        X = X[candidates]
    if how == "kmeans++":
        chosen = kmeans_plusplus(X, m, random_state=rng)[1]
    else:
        chosen = pivots(bind(X), X, m, rng)[0]
        if not len(chosen):
            raise ValueError("The kernel is zero or negative on all rows. Choose another kernel.")
    return np.unique(candidates[chosen])


def pivots(
    kernel: BoundKernel, X: Features, m: int, rng: np.random.RandomState
) -> tuple[IntArray, FloatArray]:
    """A randomly pivoted Cholesky factorisation ``F Fᵀ`` of the kernel matrix of rows.

    Pivots are proposed several at a time by what was left before, and accepted with the probability
    that what is left now is of it: the same distribution as one at a time.

    Parameters
    ----------
    kernel : BoundKernel
        Bound to the n rows, and maybe others after them.
    X : (n, d) array or sparse matrix
        The rows.
    m : int
        Rank, or less if less says everything.
    rng : RandomState
        Where chance comes from.

    Returns
    -------
    pivots, F : (r,) array of int, (n, r) array
    """
    n = X.shape[0]
    left = np.maximum(kernel.diagonal(X).astype(float), 0.0)  # an indefinite kernel may be below
    cut = 1e-14 * left.sum()
    F = np.zeros((len(left), m))
    chosen: list[int] = []
    while len(chosen) < m and left.sum() > cut:
        i = len(chosen)
        proposed = rng.choice(len(left), max(m // 10, 8), p=left / left.sum())
        rows = kernel.block(X[proposed], slice(0, n)) - F[proposed, :i] @ F[:, :i].T
        accepted, inner = _accept(rows[:, proposed], left[proposed], m - i, rng)
        pivots = proposed[accepted]
        j = i + len(pivots)
        F[:, i:j] = solve_triangular(inner, rows[accepted], lower=True).T
        left -= (F[:, i:j] ** 2).sum(axis=1)
        np.maximum(left, 0.0, out=left)
        left[pivots] = 0.0
        left[proposed[left[proposed] < 1e-10 * rows[np.arange(len(rows)), proposed]]] = 0.0
        chosen += pivots.tolist()
    return np.array(chosen, dtype=np.intp), F[:, : len(chosen)]


def _accept(
    H: FloatArray, proposed: FloatArray, most: int, rng: np.random.RandomState
) -> tuple[list[int], FloatArray]:
    """Which of b proposals are accepted, at least the first, and the Cholesky factor of theirs.

    H, (b, b), is what is left of the kernel on them, and `proposed`, (b,), its diagonal.
    """
    accepted: list[int] = []
    L = np.zeros((len(H), 0))
    for j, before in enumerate(proposed):
        now = before - L[j] @ L[j]
        if len(accepted) == most or (accepted and rng.uniform() * before >= now):
            continue
        column = (H[:, j] - L @ L[j]) / np.sqrt(max(now, 1e-300))
        accepted.append(j)
        L = np.column_stack([L, column])
    return accepted, L[accepted]
