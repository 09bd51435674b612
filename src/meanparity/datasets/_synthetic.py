"""The paper's synthetic data: a linear model with binary sensitive columns."""

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state


def make_synthetic(
    n_samples: int = 2000,
    n_features: int = 5,
    *,
    n_sensitive: int = 1,
    nonlinear: bool = False,
    noise: float = 0.1,
    sensitive_scale: float = 0.1,
    random_state: int | np.random.RandomState | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.float64]]:
    """Draw the paper's synthetic regression problem.

    ``y = X w + noise · ε``, or ``y = sin(X w) + noise · ε`` if `nonlinear`, where w, X and ε are
    standard normal, except for the last `n_sensitive` columns of X. Of these only the signs are
    kept, as ``±sensitive_scale``; they are the sensitive attributes.

    Parameters
    ----------
    n_samples : int, default=2000
        Number of rows n, at least 1.
    n_features : int, default=5
        Number of columns d of X, including the sensitive ones, at least 1.
    n_sensitive : int, default=1
        Number of sensitive columns, from 1 to d. The paper uses 1.
    nonlinear : bool, default=False
        Whether to apply the sine to X w.
    noise : float, default=0.1
        Standard deviation of the noise, at least 0.
    sensitive_scale : float, default=0.1
        Absolute value of the sensitive columns, above 0. In the linear model the expected y of the
        two groups differ by ``2 · sensitive_scale · |w_d|``; 10 is the paper's extreme case.
    random_state : int, RandomState or None, default=None
        Random seed. w is drawn first, then X, then ε, so 1 gives the same numbers as
        ``np.random.seed(1)``, which are the paper's.

    Returns
    -------
    X : float64 array of shape (n, d)
        Features. The sensitive columns are the last ones.
    y : float64 array of shape (n,)
        Target.
    s : float64 array of shape (n,), or (n, n_sensitive) if `n_sensitive` is above 1
        Copy of the sensitive columns.

    See Also
    --------
    load_communities_crime : A real table.

    Examples
    --------
    >>> import numpy as np
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(random_state=1)
    >>> X.shape, y.shape, s.shape
    ((2000, 5), (2000,), (2000,))
    >>> np.unique(s)
    array([-0.1,  0.1])
    """
    _check_count("n_samples", n_samples)
    _check_count("n_features", n_features)
    _check_count("n_sensitive", n_sensitive)
    if n_sensitive > n_features:
        raise ValueError(
            f"n_sensitive={n_sensitive} exceeds n_features={n_features}, but the sensitive columns "
            "are among the features. Increase n_features or decrease n_sensitive."
        )
    _check_size("noise", noise, zero_allowed=True)
    _check_size("sensitive_scale", sensitive_scale, zero_allowed=False)

    random = check_random_state(random_state)
    w = random.standard_normal(n_features)
    X = random.standard_normal((n_samples, n_features))
    X[:, -n_sensitive:] = np.copysign(sensitive_scale, X[:, -n_sensitive:])
    signal = X @ w
    y = (np.sin(signal) if nonlinear else signal) + noise * random.standard_normal(n_samples)
    s = X[:, -1] if n_sensitive == 1 else X[:, -n_sensitive:]
    return X, y, s.copy()


def _check_count(name: str, value: object) -> None:
    if not isinstance(value, int | np.integer) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name}={value!r} is not a positive integer. Pass at least 1.")


def _check_size(name: str, value: object, *, zero_allowed: bool) -> None:
    in_range = isinstance(value, int | float | np.integer | np.floating) and 0 <= value < np.inf
    if not in_range or (value == 0 and not zero_allowed):
        bound = "0 or more" if zero_allowed else "above 0"
        raise ValueError(f"{name}={value!r} is not allowed. Pass a finite number {bound}.")
