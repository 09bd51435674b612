"""Kernels on a device: the same values as `meanparity.kernels.bound`, computed there.

Kernels that a device does not know (functions, objects of scikit-learn, sparse rows, precomputed
values) are evaluated on the CPU, block by block, and uploaded.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.preprocessing import normalize

from meanparity._typing import Features, FloatArray
from meanparity.kernels import bound
from meanparity.kernels.bound import ALL, BoundKernel, Out
from meanparity.linalg.device import Device, Tensor, download
from meanparity.linalg.symmetric import row_blocks

_DIAGONAL_ROWS = 256  # rows of the blocks whose diagonals are taken


class DeviceValues(ABC):
    """Kernel values on a device: blocks of rows, which were prepared once, with the points."""

    device: Device

    @abstractmethod
    def prepare(self, X: Features) -> Any:
        """What `block` needs of the rows X, (n, d)."""

    @abstractmethod
    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        """``κ(rows, points)`` as a new array."""


@dataclass(frozen=True, eq=False)
class _OnHost(DeviceValues):
    """Values of the CPU."""

    device: Device
    kernel: BoundKernel

    def prepare(self, X: Features) -> Any:
        return X

    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        return self.device.upload(self.kernel.block(prepared[rows], points))


@dataclass(frozen=True, eq=False)
class _Product(DeviceValues):
    """``finish(left(x)ᵀ right(z))``, as in `bound.ProductKernel`."""

    device: Device
    left: Callable[[Features], Features]
    right: Tensor
    finish: Callable[[Tensor], Any] | None

    def prepare(self, X: Features) -> Any:
        return self.device.upload(np.asarray(self.left(_dense(X))))

    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        values = prepared[rows] @ self.right[points].T
        if self.finish is not None:
            self.finish(values)
        return values


@dataclass(frozen=True, eq=False)
class _Distances(DeviceValues):
    """A function of a distance between rows, which is computed for some rows at a time."""

    device: Device
    right: Tensor
    finish: Callable[[Tensor, Tensor], Tensor]
    positive: bool

    def prepare(self, X: Features) -> Any:
        rows = _dense(X)
        if self.positive and np.min(rows, initial=0.0) < 0:
            raise ValueError("X contains negative values, for which this kernel is not defined.")
        return self.device.upload(rows)

    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        return self.finish(prepared[rows], self.right[points])


@dataclass(frozen=True, eq=False)
class _Columns(DeviceValues):
    """A kernel of some of the columns."""

    inner: DeviceValues
    positions: list[int]

    def prepare(self, X: Features) -> Any:
        return self.inner.prepare(X[:, self.positions])

    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        return self.inner.block(prepared, rows, points)


@dataclass(frozen=True, eq=False)
class _Combined(DeviceValues):
    """Sums or products of kernels."""

    parts: tuple[DeviceValues, ...]
    add: bool

    def prepare(self, X: Features) -> Any:
        return [part.prepare(X) for part in self.parts]

    def block(self, prepared: Any, rows: slice, points: slice) -> Tensor:
        blocks = (
            part.block(own, rows, points) for part, own in zip(self.parts, prepared, strict=True)
        )
        values = next(blocks)
        for block in blocks:
            values.add_(block) if self.add else values.mul_(block)
        return values


def device_values(kernel: BoundKernel, device: Device) -> DeviceValues:
    """The kernel on a device, bound to the same points."""
    if isinstance(kernel, bound.ColumnsKernel):
        return _Columns(device_values(kernel.inner, device), kernel.positions)
    if isinstance(kernel, bound.CombinedKernel):
        parts = tuple(device_values(part, device) for part in kernel.parts)
        return _Combined(parts, kernel.combine is np.add)
    if isinstance(kernel, bound.ProductKernel) and not sparse.issparse(kernel.right):
        finish = _finish(kernel.finish)
        return _Product(device, kernel.left, device.upload(np.asarray(kernel.right)), finish)
    if isinstance(kernel, bound.PairwiseKernel) and not sparse.issparse(kernel.points):
        Z, gamma = np.asarray(kernel.points), kernel.params.get("gamma")
        if kernel.metric == "cosine":
            return _Product(device, normalize, device.upload(normalize(Z)), None)
        if kernel.metric == "laplacian":
            finish = partial(_laplacian, gamma=1.0 / Z.shape[1] if gamma is None else gamma)
            return _Distances(device, device.upload(Z), finish, False)
        if kernel.metric in ("chi2", "additive_chi2"):
            of = None if kernel.metric == "additive_chi2" else 1.0 if gamma is None else gamma
            return _Distances(device, device.upload(Z), partial(_chi2, gamma=of), True)
    return _OnHost(device, kernel)


def _dense(X: Features) -> NDArray[Any]:
    """Rows as an array."""
    return np.asarray(X.toarray() if sparse.issparse(X) else X)


def _finish(function: Callable[[FloatArray], Any] | None) -> Callable[[Tensor], Any] | None:
    """The functions of `meanparity.kernels.bound` that work in place, on a device."""
    if isinstance(function, partial):  # of a power
        return partial(_power, **function.keywords)
    known: dict[Any, Callable[[Tensor], Any] | None] = {
        None: None,
        bound._exp: _exp,
        bound._tanh: _tanh,
    }
    return known[function]


def _exp(values: Tensor) -> None:
    values.clamp_(max=0.0).exp_()  # rounding can make the distance of equal rows negative


def _tanh(values: Tensor) -> None:
    values.tanh_()


def _power(values: Tensor, degree: float) -> None:
    values.pow_(int(degree) if degree == int(degree) else degree)


def _laplacian(X: Tensor, Z: Tensor, gamma: float) -> Tensor:
    total = X.new_zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        total.add_((x[:, None] - z).abs_())
    return total.mul_(-gamma).exp_()


def _chi2(X: Tensor, Z: Tensor, gamma: float | None) -> Tensor:
    """``−Σ (x − z)² / (x + z)``, where terms of 0/0 are zero, or exp of γ times that."""
    total = X.new_zeros((len(X), len(Z)))
    for x, z in zip(X.T, Z.T, strict=True):
        sums = x[:, None] + z
        total.sub_((x[:, None] - z).square_().div_(sums.masked_fill_(sums == 0, 1.0)))
    return total if gamma is None else total.mul_(gamma).exp_()


@dataclass(frozen=True, eq=False)
class DeviceKernel(BoundKernel):
    """A kernel whose sums over points are computed on a device.

    Parameters
    ----------
    host : BoundKernel
        The same kernel on the CPU.
    device : Device
        The device.
    """

    has_device: ClassVar[bool] = True

    host: BoundKernel
    device: Device

    def __getstate__(self) -> dict[str, Any]:
        return {"host": self.host, "device": self.device}  # and no memory of a device

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    @cached_property
    def values(self) -> DeviceValues:
        """The kernel on the device."""
        return device_values(self.host, self.device)

    def block(self, rows: Features, points: slice = ALL, out: Out = None) -> FloatArray:
        """``κ(rows, points)`` as an array of NumPy."""
        return self.host.block(rows, points, out)

    def diagonal(self, rows: Features, first: int = 0) -> FloatArray:
        """``κ(x, x)`` of the points from `first` on, whose features are `rows`: (n,)."""
        prepared = self.values.prepare(rows)
        parts = [
            self.values.block(prepared, part, slice(first + part.start, first + part.stop))
            .diagonal()
            .clone()
            for part in row_blocks(rows.shape[0], _DIAGONAL_ROWS)
        ]
        return download(self.device.torch.cat(parts))

    def evaluate(self, rows: Features, coef: FloatArray, points: slice = ALL) -> FloatArray:
        """``κ(rows, points) @ coef`` for coef of shape (n, m), some rows at a time."""
        prepared, right = self.values.prepare(rows), self.device.upload(coef)
        out = self.device.empty(rows.shape[0], coef.shape[1])
        for part in self._parts(rows.shape[0], len(coef)):
            out[part] = self.values.block(prepared, part, points) @ right
        return download(out)

    def own_values(self, rows: Features) -> Callable[[slice, slice], Tensor]:
        """A function of rows and columns: these kernel values of the first points."""
        return partial(self.values.block, self.values.prepare(rows))

    def evaluate_own(self, rows: Features, coef: FloatArray) -> FloatArray:
        """The same for the first of the points themselves."""
        return self.evaluate(rows, coef, slice(0, rows.shape[0]))

    def evaluate_both(
        self, rows: Features, coef: FloatArray, left: FloatArray, own: FloatArray
    ) -> tuple[FloatArray, FloatArray]:
        """``κ @ coef`` for κ of p rows with all points; `own` plus ``κᵀ @ left`` for the first."""
        n = len(own)
        prepared = self.values.prepare(rows)
        right, of_rows = self.device.upload(coef), self.device.upload(left)
        out = self.device.empty(rows.shape[0], coef.shape[1])
        across = self.device.empty(n, left.shape[1]).zero_()
        for part in self._parts(rows.shape[0], len(coef)):
            block = self.values.block(prepared, part, ALL)
            out[part] = block @ right
            across += block[:, :n].T @ of_rows[part]
        return download(out), own + download(across)

    def _parts(self, n: int, points: int) -> list[slice]:
        return row_blocks(n, max(self.device.block_numbers() // max(points, 1), 1))
