"""Kernel specifications: names, functions, scikit-learn's objects, their sums and products.

Specifications are frozen. Bound to points, such as the training rows, they evaluate blocks of the
kernel matrix; see `meanparity.kernels.bound`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics.pairwise import KERNEL_PARAMS

from meanparity._typing import Features
from meanparity.data.columns import find_column
from meanparity.kernels import bound
from meanparity.kernels.bound import BoundKernel
from meanparity.state import stored

KERNEL_NAMES = (*sorted(KERNEL_PARAMS), "precomputed")
_CHOICES = (
    f"Pass one of {', '.join(KERNEL_NAMES)}, a function of two rows, or a "
    "sklearn.gaussian_process kernel."
)


class AbstractKernel(ABC):
    """A kernel that can be bound to points, added and multiplied.

    See Also
    --------
    Kernel : The one to use.

    Examples
    --------
    >>> from meanparity.kernels import Kernel
    >>> isinstance(Kernel("rbf"), AbstractKernel)
    True
    """

    is_linear: ClassVar[bool] = False  # whether it is the inner product of whole rows
    is_precomputed: ClassVar[bool] = False  # whether rows are kernel values already

    @abstractmethod
    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The kernel on the rows of X, (n, d), whose columns may have names."""

    def settled_gamma(self, n_columns: int) -> float | None:
        """The gamma that rows of so many columns are compared with; None if there is none."""
        return None

    def __add__(self, other: Any) -> KernelSum:
        return KernelSum((self, resolve_kernel(other)))

    def __radd__(self, other: Any) -> KernelSum:
        return KernelSum((resolve_kernel(other), self))

    def __mul__(self, other: Any) -> KernelProduct:
        return KernelProduct((self, resolve_kernel(other)))

    def __rmul__(self, other: Any) -> KernelProduct:
        return KernelProduct((resolve_kernel(other), self))


@stored("Kernel")
@dataclass(frozen=True)
class Kernel(AbstractKernel):
    """One kernel, on all columns or some.

    Parameters
    ----------
    kernel : str, callable or sklearn.gaussian_process kernel
        A name that scikit-learn's ``pairwise_kernels`` knows, a function of two rows that returns
        a number, a kernel object, or "precomputed".
    gamma, degree, coef0 : float, float, float
        Parameters of the named kernels; ``gamma=None`` is the kernel's own default.
    params : mapping, optional
        Keyword arguments of a callable kernel.
    columns : sequence of int or str, optional
        Positions or names of the columns it looks at; all of them by default.

    See Also
    --------
    KernelSum : What ``+`` makes.
    KernelProduct : What ``*`` makes.

    Examples
    --------
    The paper's ``κ_XS = κ_X + κ_S``, with the sensitive attribute in the last column:

    >>> kernel = Kernel("rbf", gamma=0.1, columns=[0, 1]) + Kernel("linear", columns=[2])
    >>> X = np.array([[0.0, 0.0, 2.0], [0.0, 0.0, 3.0]])
    >>> kernel.bind(X).block(X)
    array([[ 5.,  7.],
           [ 7., 10.]])
    """

    kernel: str | Callable[..., Any] = "linear"
    gamma: float | None = None
    degree: float = 3
    coef0: float = 1
    params: Mapping[str, Any] = field(default_factory=dict, hash=False)
    columns: tuple[int | str, ...] | None = None
    is_linear: bool = field(init=False, repr=False, compare=False)  # type: ignore[misc]
    is_precomputed: bool = field(init=False, repr=False, compare=False)  # type: ignore[misc]

    def __post_init__(self) -> None:
        is_name = isinstance(self.kernel, str)
        if is_name and self.kernel not in KERNEL_NAMES:
            raise ValueError(f"kernel={self.kernel!r} is not known. {_CHOICES}")
        if not is_name and not callable(self.kernel):
            raise TypeError(f"kernel={self.kernel!r} is neither a name nor callable. {_CHOICES}")
        is_linear = is_name and self.kernel == "linear" and self.columns is None
        object.__setattr__(self, "is_linear", is_linear)
        object.__setattr__(self, "is_precomputed", is_name and self.kernel == "precomputed")
        if self.columns is not None:
            columns = tuple(np.atleast_1d(np.array(self.columns, dtype=object)))
            object.__setattr__(self, "columns", columns)
            if not self.columns or self.is_precomputed:
                raise ValueError(
                    f"columns={columns!r} with kernel={self.kernel!r} leaves no columns to look "
                    "at. Name at least one, of a kernel that looks at features."
                )
        for name, least in (("gamma", 0.0), ("degree", 0.0), ("coef0", -np.finfo(float).max)):
            value: Any = getattr(self, name)
            if name == "gamma" and value is None:
                continue
            if not isinstance(value, Real) or not least <= float(value) < np.inf:
                raise ValueError(
                    f"{name}={value!r} is not a finite number"
                    + (" of 0 or more. Pass one." if least == 0 else ". Pass one.")
                )

    def settled_gamma(self, n_columns: int) -> float | None:
        """The gamma of a named kernel, by default 1 / the number of columns that it looks at."""
        if callable(self.kernel) or "gamma" not in KERNEL_PARAMS.get(self.kernel, ()):
            return None
        if self.gamma is not None:
            return float(self.gamma)
        looked_at = n_columns if self.columns is None else len(self.columns)
        return 1.0 if self.kernel == "chi2" else 1.0 / looked_at

    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The kernel on the rows of X, (n, d)."""
        if self.columns is not None:
            positions = _positions(self.columns, X.shape[1], names)
            whole = replace(self, columns=None).bind(X[:, positions])
            return bound.ColumnsKernel(whole, positions)
        if self.is_precomputed:
            bound.check_gram(X)
            return bound.PrecomputedKernel()
        gamma = 1.0 / X.shape[1] if self.gamma is None else self.gamma
        if self.kernel == "linear":
            return bound.linear(X)
        if self.kernel == "rbf":
            return bound.rbf(X, gamma)
        if self.kernel in ("poly", "polynomial"):
            return bound.polynomial(X, gamma, self.coef0, self.degree)
        if self.kernel == "sigmoid":
            return bound.sigmoid(X, gamma, self.coef0)
        pairwise = bound.PairwiseKernel(self.kernel, self._sklearn_params(), X)
        if callable(self.kernel):
            bound.check_function(pairwise.block(X[:8], slice(0, 8)), self.kernel)
        return pairwise

    def _sklearn_params(self) -> dict[str, Any]:
        if callable(self.kernel):
            return dict(self.params)
        takes = KERNEL_PARAMS[self.kernel]
        named = {"gamma": self.gamma, "degree": self.degree, "coef0": self.coef0}
        return {name: value for name, value in named.items() if name in takes and value is not None}


@dataclass(frozen=True)
class _Combination(AbstractKernel):
    """Kernels whose values are combined entry by entry."""

    combine: ClassVar[np.ufunc]

    parts: tuple[AbstractKernel, ...]

    def bind(self, X: Features, names: Sequence[str] | None = None) -> BoundKernel:
        """The combination on the rows of X."""
        return bound.CombinedKernel(tuple(part.bind(X, names) for part in self.parts), self.combine)


@stored("KernelSum")
@dataclass(frozen=True)
class KernelSum(_Combination):
    """The sum of kernels.

    Parameters
    ----------
    parts : tuple of AbstractKernel
        The kernels that are added.

    See Also
    --------
    Kernel : Its parts.

    Examples
    --------
    >>> from meanparity.kernels import Kernel
    >>> (Kernel("rbf", columns=[0]) + Kernel("linear", columns=[1])).parts[1].columns
    (1,)
    """

    combine: ClassVar[np.ufunc] = np.add


@stored("KernelProduct")
@dataclass(frozen=True)
class KernelProduct(_Combination):
    """The product of kernels.

    Parameters
    ----------
    parts : tuple of AbstractKernel
        The kernels that are multiplied.

    See Also
    --------
    Kernel : Its factors.

    Examples
    --------
    >>> from meanparity.kernels import Kernel
    >>> type(Kernel("rbf", columns=[0]) * Kernel("linear", columns=[1])).__name__
    'KernelProduct'
    """

    combine: ClassVar[np.ufunc] = np.multiply


def resolve_kernel(
    kernel: Any,
    *,
    gamma: float | None = None,
    degree: float = 3,
    coef0: float = 1,
    params: Mapping[str, Any] | None = None,
) -> AbstractKernel:
    """A kernel specification from a name, a function, an object of scikit-learn, or itself."""
    if isinstance(kernel, AbstractKernel):
        return kernel
    return Kernel(kernel, gamma=gamma, degree=degree, coef0=coef0, params=params or {})


def _positions(
    columns: Sequence[int | str], n_columns: int, names: Sequence[str] | None
) -> list[int]:
    """Positions of columns given by position or name."""
    positions = []
    for column in columns:
        position = find_column(column, n_columns, names)
        if position is None:
            have = f"columns {list(names)}" if names else f"{n_columns} columns without names"
            raise ValueError(
                f"A kernel looks at column {column!r}, but X has {have}. "
                "Pass positions, or fit on a data frame that has the named columns."
            )
        positions.append(position)
    return positions
