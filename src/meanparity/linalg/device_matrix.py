"""A symmetric matrix on a device: products with it, and blocked factors in several precisions.

One n × n array in double precision holds the matrix in its blocks on and above the diagonal. The
blocks below belong to the factor: in double precision, or in single precision in half of their
bytes. So a factor takes no memory besides its diagonal blocks, and the matrix is still there for
products and for the next factor. If that array does not fit, blocks of the matrix are computed anew
for every product, and only a factor in single precision is stored.

The factorisation is right-looking. Each diagonal block is factored in double precision and
inverted, the panel below it is a product with the inverse, and what is left of the matrix is
updated in strips of its columns.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from meanparity._typing import FloatArray
from meanparity.linalg.adjusted import Adjustment
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.device import Device, Tensor, download
from meanparity.linalg.memory import format_bytes
from meanparity.linalg.refinement import DOUBLE, Factorable, Rungs
from meanparity.linalg.symmetric import Eigen, row_blocks

TF32, SPLIT, SINGLE = "tf32", "3×tf32", "float32"  # precisions of products, from low to high
_BLOCK, _SMALLEST = 4096, 64  # rows of a block
_FEW_BLOCKS = 6  # a matrix of fewer is cut into smaller ones, of 1,024 rows at least
_MASK = -(2**13)  # of the bits that TF32 keeps
_NEAR = 1e-3  # share of free memory that is not planned for

Values = Callable[[slice, slice], Tensor]  # a new array with these rows and columns of K


@dataclass(frozen=True)
class Plan:
    """What is stored for a matrix of n rows, and the bytes that it takes in all.

    Parameters
    ----------
    n, block : int
        Rows of the matrix, and of a block.
    stored : bool
        Whether the matrix is stored, or its blocks are computed anew.
    """

    n: int
    block: int
    stored: bool

    @property
    def matrix_bytes(self) -> int:
        """Bytes of the n × n array."""
        return (8 if self.stored else 4) * self.n**2

    @property
    def total_bytes(self) -> int:
        """Bytes at the time when most are used, with those that pass by."""
        real, panel = (8 if self.stored else 4), self.n * self.block
        squares, panels = real * panel, max(8 if self.stored else 0, 12) * panel
        return self.matrix_bytes + squares + panels + 6 * 8 * self.block**2

    @classmethod
    def make(cls, n: int, free: int, *, mixed: bool) -> Plan:
        """The plan for this many free bytes.

        The matrix is stored if it fits, with blocks as large as possible. Otherwise it is computed
        anew, if the factor may be in single precision.

        Raises
        ------
        MemoryError
            When neither fits.
        """
        most = int(free * (1 - _NEAR))
        for stored in (True, False) if mixed else (True,):
            block = _block(n)
            while True:
                plan = cls(n, block, stored)
                if plan.total_bytes <= most:
                    return plan
                if block <= _SMALLEST:
                    break
                block //= 2
        way = "A factor in single precision" if mixed else "The kernel matrix"
        also = "" if mixed else "pass precision='mixed', which takes half of that, "
        raise MemoryError(
            f"{way} of {n:,} rows needs {format_bytes(plan.total_bytes)} on the device, but only "
            f"{format_bytes(free)} are free. Fit on fewer rows, {also}or pass "
            "solver=Nystrom(device=...), whose memory does not grow with the rows."
        )


def _block(n: int) -> int:
    """Rows of a block."""
    block = _BLOCK
    while block > 1024 and n < _FEW_BLOCKS * block:
        block //= 2
    while block > _SMALLEST and n <= block // 2:
        block //= 2
    return block


@dataclass(frozen=True, eq=False, kw_only=True)
class DeviceMatrix(Factorable):
    """A symmetric matrix K on a device, adjusted without being changed, and factors of it.

    Parameters
    ----------
    device : Device
        The device.
    values : callable
        Blocks of K.
    plan : Plan
        What is stored.
    mixed : bool
        Whether factors in low precision are tried first.
    array : (n, n) tensor
        K and the factor in double precision; or, if K is not stored, the factor in single.
    """

    device: Device
    values: Values
    plan: Plan
    mixed: bool
    array: Tensor

    @classmethod
    def compute(
        cls, device: Device, values: Values, n: int, *, mixed: bool, plan: Plan | None = None
    ) -> DeviceMatrix:
        """Plan, allocate, and compute K if it is to be stored.

        Raises
        ------
        MemoryError
            Before anything is allocated, when it does not fit.
        """
        plan = Plan.make(n, device.free_bytes(), mixed=mixed) if plan is None else plan
        array, diagonal = device.empty(n, n, single=not plan.stored), device.empty(n)
        for rows in row_blocks(n, plan.block):
            for columns in row_blocks(n, plan.block, rows.start) if plan.stored else (rows,):
                block = values(rows, columns)
                if plan.stored:
                    array[rows, columns] = block
                if columns.start == rows.start:
                    diagonal[rows] = block.diagonal()
        return cls(
            diagonal=download(diagonal),
            device=device,
            values=values,
            plan=plan,
            mixed=mixed,
            array=array,
        )

    @property
    def matrix_bytes(self) -> int:
        """Size of the n × n array that is stored."""
        return self.plan.matrix_bytes

    @property
    def _blocks(self) -> list[slice]:
        return row_blocks(len(self), self.plan.block)

    def _raw(self, rows: slice, columns: slice) -> Tensor:
        """A block of K on or above its diagonal, which must not be changed."""
        return self.array[rows, columns] if self.plan.stored else self.values(rows, columns)

    def plain_times(self, Z: FloatArray) -> FloatArray:
        """The product of K itself with Z, (n, r): each block is read, or computed, once."""
        right = self.device.upload(Z)
        product = right.new_zeros(right.shape)
        wide = len(self) if self.plan.stored else self.plan.block
        for rows in self._blocks:
            product[rows] += self._raw(rows, rows) @ right[rows]
            for columns in row_blocks(len(self), wide, rows.stop):
                block = self._raw(rows, columns)
                product[rows] += block @ right[columns]
                product[columns] += block.T @ right[rows]
        return download(product)

    def rungs(self, shift: float) -> Rungs:
        """Factors of ``K + shift·I`` from low to high precision; one at a time is valid."""
        if self.mixed:
            for name, unit in ((TF32, 2.0**-11), (SPLIT, 2.0**-22), (SINGLE, 2.0**-24)):
                can = name == SINGLE or self.device.has_tf32 or not self.device.is_cuda
                if can and not self.is_too_small(shift, unit):
                    yield name, partial(self._factor, shift, name)
        if self.plan.stored:
            yield DOUBLE, partial(self._factor, shift, DOUBLE)
        else:
            yield DOUBLE, self._refuse

    def _refuse(self) -> DeviceFactor:
        raise MemoryError(
            f"A factor of K + alpha·I in single precision does not lead to a precise solution, and "
            f"one in double precision of {len(self):,} rows does not fit into the device's memory. "
            "Raise alpha, fit on fewer rows, or pass solver=Nystrom(device=...)."
        )

    def _factor(self, shift: float, precision: str) -> DeviceFactor:
        torch, blocks, double = self.device.torch, self._blocks, precision == DOUBLE
        n, b = len(self), self.plan.block
        F = self.array
        if self.plan.stored and not double:
            F = self.array.view(torch.float32)[:, :n]
        adjust = _DeviceAdjustment.upload(self.adjustment, self.device)
        squares = []
        for rows in blocks:  # what is to be factored: below the diagonal in F, on it in squares
            square = adjust.apply(self._raw(rows, rows), rows, rows)
            square.diagonal().add_(shift)
            squares.append(square.to(F.dtype))
            for columns in row_blocks(n, b, rows.stop):
                F[columns, rows] = adjust.apply(self._raw(rows, columns), rows, columns).T
        least = n * torch.finfo(F.dtype).eps if double else torch.finfo(F.dtype).eps
        whole = torch.cat([square.diagonal() for square in squares]).abs()
        with self.device.products("tf32" if precision in (TF32, SPLIT) else "ieee"):
            for k, rows in enumerate(blocks):
                L, info = torch.linalg.cholesky_ex(squares[k].double())
                good = torch.isfinite(L).all() & (L.diagonal() ** 2 > least * whole[rows]).all()
                if bool(info) or not bool(good):
                    raise NotPositiveDefiniteError(f"a pivot in rows {rows} is not positive")
                unit = torch.eye(len(L), dtype=L.dtype, device=L.device)
                inverse = torch.linalg.solve_triangular(L, unit, upper=False).to(F.dtype)
                squares[k] = inverse
                if rows.stop == n:
                    break
                below = slice(rows.stop, n)
                panel = self._multiply(F[below, rows], inverse, precision)
                F[below, rows] = panel
                parts = self._split(panel, precision)
                for j in range(k + 1, len(blocks)):
                    own = slice(blocks[j].start - rows.stop, blocks[j].stop - rows.stop)
                    strip = F[blocks[j].stop :, blocks[j]]
                    for left, right in self._pairs(parts, parts):
                        squares[j].addmm_(left[own], right[own].T, alpha=-1)
                        if len(strip):
                            strip.addmm_(left[own.stop :], right[own].T, alpha=-1)
        return DeviceFactor(self.device, F, squares, blocks)

    def _multiply(self, A: Tensor, B: Tensor, precision: str) -> Tensor:
        """``A @ B.T`` in this precision, as a new array."""
        left, right = self._split(A, precision), self._split(B, precision)
        pairs = self._pairs(left, right)
        out = pairs[0][0] @ pairs[0][1].T
        for a, b in pairs[1:]:
            out.addmm_(a, b.T)
        return out

    def _split(self, values: Tensor, precision: str) -> list[Tensor]:
        """Parts, in this precision, that add up to values."""
        if precision == SPLIT:
            high = self._high(values)
            return [high, values - high]
        emulated = precision == TF32 and not self.device.is_cuda
        return [self._high(values) if emulated else values]

    @staticmethod
    def _pairs(left: list[Tensor], right: list[Tensor]) -> list[tuple[Tensor, Tensor]]:
        """The factors of the products that count: not those of two small parts."""
        first = [(left[0], right[0])]
        return first if len(left) == 1 else [*first, (left[0], right[1]), (left[1], right[0])]

    def _high(self, values: Tensor) -> Tensor:
        """The bits of single precision that TF32 keeps."""
        torch = self.device.torch
        return (values.contiguous().view(torch.int32) & _MASK).view(torch.float32)

    def eigen(self) -> Eigen:
        """Eigendecomposition of the adjusted K, by torch; K is not stored any more."""
        torch, n = self.device.torch, len(self)
        if not self.plan.stored or 3 * 8 * n**2 > self.device.free_bytes() + 8 * n**2:
            raise MemoryError(
                f"The eigendecomposition of {n:,} rows needs {format_bytes(3 * 8 * n**2)} on the "
                "device. Use fewer rows, or device='cpu'."
            )
        adjust, whole = _DeviceAdjustment.upload(self.adjustment, self.device), self.array
        for rows in self._blocks:
            for columns in row_blocks(n, self.plan.block, rows.start):
                block = adjust.apply(self._raw(rows, columns), rows, columns)
                whole[rows, columns] = block
                whole[columns, rows] = block.T
        self.require_finite()
        values, vectors = torch.linalg.eigh(whole)
        return Eigen(download(values), download(vectors), cut=n * torch.finfo(torch.double).eps)

    def require_finite(self) -> None:
        """Raise `ValueError` when an entry is infinite or not a number."""
        for rows in self._blocks:
            for columns in row_blocks(len(self), self.plan.block, rows.start):
                if not bool(self.device.torch.isfinite(self._raw(rows, columns)).all()):
                    raise ValueError(
                        "The kernel matrix has infinite or undefined values. Scale the features, "
                        "for instance with StandardScaler, or choose another kernel."
                    )


@dataclass(frozen=True, eq=False)
class _DeviceAdjustment:
    """An `Adjustment` on a device."""

    means: Tensor | None
    root: Tensor | None
    V: Tensor | None
    signs: Tensor | None

    @classmethod
    def upload(cls, adjustment: Adjustment, device: Device) -> _DeviceAdjustment:
        """Its arrays on the device."""
        parts = adjustment.means, adjustment.root, adjustment.V, adjustment.signs
        return cls(*(None if part is None else device.upload(part) for part in parts))

    def apply(self, block: Tensor, rows: slice, columns: slice) -> Tensor:
        """A new array with a block of the adjusted matrix, from the same block of K."""
        block = block.clone()
        if self.means is not None:
            block -= self.means[rows, None]
            block -= self.means[columns]
        if self.root is not None:
            block *= self.root[rows, None]
            block *= self.root[columns]
        if self.V is not None:
            block -= (self.V[rows] * self.signs) @ self.V[columns].T
        return block


@dataclass(frozen=True, eq=False)
class DeviceFactor:
    """A blocked Cholesky factor on a device.

    Parameters
    ----------
    device : Device
        The device.
    F : (n, n) tensor
        The factor in its blocks below the diagonal.
    inverses : list of tensors
        Inverses of its diagonal blocks.
    blocks : list of slice
        The rows of each block.
    """

    device: Device
    F: Tensor
    inverses: list[Tensor]
    blocks: list[slice]

    def solve(self, rhs: FloatArray) -> FloatArray:
        """``A⁻¹ rhs`` for rhs of shape (n, r), by forward and back substitution in blocks."""
        Z = self.device.upload(rhs).to(self.F.dtype)
        pairs = list(zip(self.blocks, self.inverses, strict=True))
        with self.device.products("ieee"):
            for rows, inverse in pairs:
                if rows.start:
                    Z[rows] -= self.F[rows, : rows.start] @ Z[: rows.start]
                Z[rows] = inverse @ Z[rows]
            for rows, inverse in reversed(pairs):
                if rows.stop < len(Z):
                    Z[rows] -= self.F[rows.stop :, rows].T @ Z[rows.stop :]
                Z[rows] = inverse.T @ Z[rows]
        return download(Z)
