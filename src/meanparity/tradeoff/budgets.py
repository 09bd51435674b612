r"""The most accurate function within a budget of gaps: a small problem in r unknowns.

Every candidate is ``g_free − Σ_k ν_k h_k``. Its gaps are ``g₀ − Nν`` and its excess objective over
the free solution is ``νᵀMν``. In coordinates x with ``νᵀMν = ‖x‖²``, the gaps are ``g₀ − Ax``, and
the answer is the shortest x whose gaps are within the budget:

* **no gap above its limit** is a problem of least distance, solved exactly by non-negative least
  squares (Lawson and Hanson);
* **a sum of sizes** is the same with one condition for each pattern of signs, of which only the
  violated ones are added;
* **a root of the sum of squares** is ``x = (AᵀA + I/μ)⁻¹Aᵀg₀`` for one number μ.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq, linprog, nnls

from meanparity._typing import FloatArray, IntArray

Kind = Literal["gap", "smd", "norm"]
KINDS: tuple[Kind, ...] = ("gap", "smd", "norm")
SIZES: dict[Kind, str] = {
    "gap": "largest gap",
    "smd": "sum of gaps",
    "norm": "root of the sum of squared gaps",
}
_Found = TypeVar("_Found")

_ROUNDING = 1e-13  # of the largest free gap
_MOST_PATTERNS = 5_000  # steps towards the signs of a sum; a few dozen are common
_MOST_ROOT_STEPS = 100  # towards the root for a norm; about five are common
_FEW_GAPS = 50  # gaps up to which signs are found once, for all limits


class UnreachableError(ValueError):
    """No function of the space has gaps within the budget."""


@dataclass(frozen=True, eq=False)
class WeightedGaps:
    """A budget for sums of gaps: ``‖weights · gaps‖`` is at most a limit.

    Parameters
    ----------
    weights : (m, e, R) array
        e sums of the R gaps, for each output.
    limits : (m,) array
        The limit of each output.
    """

    weights: FloatArray
    limits: FloatArray


@dataclass(frozen=True, eq=False)
class Budgets:
    """Exact answers for one output.

    Parameters
    ----------
    A : (R, r) array
        Gaps of a unit step of x, in units in which parity is a step of length one.
    free : (R,) array
        g₀, the gaps of the free solution.
    back : (r, r') array
        Takes x to the multipliers ν.
    parts : (R,) array of int
        Which set of rows a gap is about, numbered from 0.
    length : float
        The length of x at parity, before it was divided by.
    """

    A: FloatArray
    free: FloatArray
    back: FloatArray
    parts: IntArray
    length: float

    @classmethod
    def from_directions(
        cls, gram: FloatArray, gaps: FloatArray, free: FloatArray, parts: IntArray
    ) -> Budgets:
        """From M, (r, r), N, (R, r), and the free gaps, (R,)."""
        values, vectors = np.linalg.eigh((gram + gram.T) / 2)
        keep = values > len(values) * np.finfo(float).eps * values.max(initial=0.0)
        back = vectors[:, keep] / np.sqrt(values[keep])
        A = gaps @ back
        length = float(np.linalg.norm(np.linalg.lstsq(A, free, rcond=1e-12)[0])) or 1.0
        return cls(A * length, free, back * length, parts, length)

    def within_weighted(self, weights: FloatArray, limit: float) -> FloatArray:
        """The shortest step after which ``‖weights · gaps‖`` is at most a limit.

        Weights are (e, R). If no step meets the limit, it is the step to parity.
        """
        parts = np.zeros(len(weights), dtype=int)
        weighted = Budgets(weights @ self.A, weights @ self.free, self.back, parts, self.length)
        if weighted.size("norm", weighted.gaps(self.parity)) >= limit:
            return self.parity
        return weighted.within("norm", limit)

    @property
    def scale(self) -> float:
        """The largest free gap."""
        return float(np.abs(self.free).max(initial=0.0))

    @cached_property
    def parity(self) -> FloatArray:
        """The step to the constrained solution or, if gaps are left, to those of least norm."""
        return np.asarray(np.linalg.lstsq(self.A, self.free, rcond=1e-12)[0], dtype=float)

    def share_of_parity(self, x: FloatArray) -> float | None:
        """The share of the way to parity that a step x goes; None if it goes another way.

        If gaps are left at parity, the constrained solution is at another place: there it is the
        functionals, and not the gaps, that have the least sum of squares.
        """
        if not x.any():
            return 0.0
        if not self.meets("gap"):
            return None
        if x is self.parity:
            return 1.0
        share = min(float(x @ self.parity) / float(self.parity @ self.parity), 1.0)
        same = np.linalg.norm(x - share * self.parity) <= 1e-12 * np.linalg.norm(self.parity)
        return share if same else None

    def multipliers(self, x: FloatArray) -> FloatArray:
        """ν of a step x."""
        return np.asarray(self.back @ x)

    def excess(self, x: FloatArray) -> float:
        """The excess objective of a step x."""
        return float(self.length**2 * (x @ x))

    def gaps(self, x: FloatArray) -> FloatArray:
        """The gaps after a step x: (R,)."""
        return np.asarray(self.free - self.A @ x)

    def size(self, kind: Kind, gaps: FloatArray) -> float:
        """What a budget of this kind limits."""
        return size_of(kind, gaps, self.parts)

    def within(self, kind: Kind, limit: float) -> FloatArray:
        """The shortest step x after which the size of the gaps is at most a limit."""
        if self.size(kind, self.free) <= limit:
            return np.zeros(self.A.shape[1])
        if kind == "gap":
            return self.within_limits(np.full(len(self.free), limit))
        if kind == "norm":
            return self._within_norm(limit)
        return self._with_patterns(limit, self._patterns)[0]

    def meets(self, kind: Kind) -> bool:
        """Whether no gaps are left at parity, up to rounding."""
        left = self.size(kind, self.gaps(self.parity))
        return left <= 1e-10 * self.size(kind, self.free)

    def least(self, kind: Kind) -> float:
        """The smallest size that gaps can have, rounded up by 1e-9; 0 up to rounding at parity."""
        size = self.size(kind, self.gaps(self.parity))
        if self.meets(kind):
            return size
        if kind != "norm":  # the step to parity leaves the gaps of least norm
            size = self._least_by_programme(kind)
        return size * (1 + 1e-9)

    def _least_by_programme(self, kind: Kind) -> float:
        """The smallest maximum of gaps, or sum of gaps, by a linear programme.

        The unknowns are the change of the gaps along orthonormal directions, a limit for each
        gap, and the limit of their maximum or of their sums.
        """
        U, sizes, _ = np.linalg.svd(self.A, full_matrices=False)
        U = U[:, sizes > 1e-12 * sizes.max(initial=0.0)]
        gaps, (k, r) = self.free / self.scale, U.shape
        each, none = np.eye(k), np.zeros((k, 1))
        if kind == "gap":
            whole = each
        else:
            whole = np.equal.outer(np.unique(self.parts), self.parts).astype(float)
        found = linprog(
            np.append(np.zeros(r + k), 1.0),
            A_ub=np.vstack(
                [
                    np.hstack([-U, -each, none]),
                    np.hstack([U, -each, none]),
                    np.hstack([np.zeros((len(whole), r)), whole, -np.ones((len(whole), 1))]),
                ]
            ),
            b_ub=np.concatenate([-gaps, gaps, np.zeros(len(whole))]),
            bounds=[(None, None)] * r + [(0, None)] * (k + 1),
        )
        return self.scale * self.size(kind, gaps - U @ found.x[:r])

    def met_parity(self, rounding: float, kind: Kind = "gap") -> FloatArray:
        """The step to parity, if no more than rounding is left there."""
        if self.size("gap", self.gaps(self.parity)) > rounding:
            raise self._unreachable(kind)
        return self.parity

    def within_limits(self, limits: FloatArray) -> FloatArray:
        """The shortest step after which no gap is larger than its own limit, (R,)."""
        bounded = np.isfinite(limits)
        A, free, limits = self.A[bounded], self.free[bounded], limits[bounded]
        G, h = np.vstack([A, -A]), np.concatenate([free - limits, -free - limits])
        try:
            return self._shortest(G, h, "gap")[0]
        except UnreachableError as error:
            if bounded.all() and np.ptp(limits) == 0:
                raise
            raise UnreachableError(
                "No function of this space meets all these limits. With the same limit for all "
                f"gaps, the smallest possible is {self.least('gap'):.4g}. Allow more."
            ) from error

    @cached_property
    def _patterns(self) -> FloatArray:
        """Signs that hold somewhere between the free solution and parity: (p, R)."""
        found = np.zeros((0, len(self.free)))
        least, whole = self.least("smd"), self.size("smd", self.free)
        for share in np.linspace(0.9, 0.1, 9) if len(self.free) <= _FEW_GAPS else ():
            _, active = self._with_patterns(least + share * (whole - least), found)
            found = np.unique(np.vstack([found, active]), axis=0)
        return found

    def _with_patterns(self, limit: float, signs: FloatArray) -> tuple[FloatArray, FloatArray]:
        """The shortest step, and the signs of those sums that are as large as the limit."""
        x, slack = np.zeros(self.A.shape[1]), _ROUNDING * self.scale * len(self.free)
        if len(signs):
            x, held = self._shortest(signs @ self.A, signs @ self.free - limit, "smd")
            signs = signs[held]
        for _ in range(_MOST_PATTERNS):
            gaps = self.gaps(x)
            sums = np.bincount(self.parts, np.abs(gaps))
            worst = int(sums.argmax())
            if sums[worst] <= limit + slack:
                return x, signs
            signs = np.vstack([signs, np.where(self.parts == worst, np.sign(gaps), 0.0)])
            x, held = self._shortest(signs @ self.A, signs @ self.free - limit, "smd")
            signs = signs[held]  # x gets longer with every step, so that none comes back
        raise RuntimeError(
            f"The exact answer for a sum of {len(self.free)} gaps was not found after "
            f"{_MOST_PATTERNS} steps. Limit the largest gap or the norm instead."
        )

    @cached_property
    def _spectrum(self) -> tuple[FloatArray, FloatArray, FloatArray, float]:
        """The part of A that a step can use, in its singular vectors.

        Right singular vectors, (r, p); singular values, (p,); free gaps along the left singular
        vectors, (p,); and the sum of squares of free gaps that no step changes.
        """
        left, sizes, right = np.linalg.svd(self.A, full_matrices=False)
        known = sizes > 1e-12 * sizes.max(initial=0.0)
        along = left[:, known].T @ self.free
        rest = self.free - left[:, known] @ along
        return right[known].T, sizes[known], along, float(rest @ rest)

    def _within_norm(self, limit: float) -> FloatArray:
        right, sizes, along, rest = self._spectrum
        allowed = limit**2 - rest
        if not allowed > 0:
            raise self._unreachable("norm")
        # Σ_i (q_i / (d_i + μ))² = allowed: Newton's method for the inverse of the root of the sum,
        # which is concave in μ, so that the steps from μ = 0 never pass the root
        d = 1 / sizes**2
        q, wanted, mu = along * d, np.sqrt(allowed), 0.0
        for _ in range(_MOST_ROOT_STEPS):
            p = q / (d + mu)
            size = math.sqrt(p @ p)
            step = (size / wanted - 1) * (p @ p) / float(p @ (p / (d + mu)))
            if not step > 1e-15 * mu:
                break
            mu += step
        return np.asarray(right @ (sizes * along * mu * d / (d + mu)))

    def _shortest(
        self, G: FloatArray, h: FloatArray, kind: Kind
    ) -> tuple[FloatArray, NDArray[np.bool_]]:
        """The shortest x with ``G x ≥ h``, and the conditions that make it long.

        Raises
        ------
        UnreachableError
            If there is none.
        """
        if not len(G):  # SciPy's nnls would end the process
            return np.zeros(G.shape[1]), np.zeros(0, dtype=bool)
        G, h = G / self.scale, h / self.scale
        rows = np.vstack([G.T, h])
        target = np.zeros(len(rows))
        target[-1] = 1.0
        pull, distance = nnls(rows, target, maxiter=30 * rows.shape[1] + 300)
        if distance <= 1e-9:
            raise self._unreachable(kind)
        residual = rows @ pull - target
        x = -residual[:-1] / residual[-1]
        held = pull > 1e-12 * pull.max(initial=0.0)
        if held.any():  # once more from the conditions that hold with equality
            exact = np.linalg.lstsq(G[held], h[held], rcond=1e-13)[0]
            least = (G @ exact - h).min()
            if least > min((G @ x - h).min(), 0.0) - 1e-14 and exact @ exact <= x @ x * (1 + 1e-9):
                x = exact
        return np.asarray(x), held

    def _unreachable(self, kind: Kind) -> UnreachableError:
        return UnreachableError(
            "No function of this space has gaps as small as that: the smallest possible "
            f"{SIZES[kind]} is {self.least(kind):.4g}. Allow more."
        )

    def smallest(self, kind: Kind) -> FloatArray:
        """The shortest of the steps after which the gaps have the smallest size of this kind."""
        if kind == "norm" or self.meets(kind):
            return self.parity
        return self.within(kind, self.least(kind))

    def within_excess(self, kind: Kind, excess: float) -> FloatArray:
        """The step with the smallest gaps of this kind whose excess objective is at most this."""
        if not self.scale:
            return self.parity
        smallest = self.smallest(kind)
        if self.excess(smallest) <= excess:
            return smallest

        def find(limit: float) -> tuple[FloatArray, float]:
            x = self.within(kind, limit)
            return x, self.excess(x)

        low, high = self.size(kind, self.gaps(smallest)), self.size(kind, self.free)
        low = max(low + 1e-12 * (high - low), self.least(kind))
        return smallest_within(find, excess, (low, high), np.zeros_like(smallest), 1e-14)


def smallest_within(
    find: Callable[[float], tuple[_Found, float]],
    excess: float,
    limits: tuple[float, float],
    free: _Found,
    tolerance: float,
) -> _Found:
    """What `find` finds for the smallest limit whose excess objective is at most a number.

    `find` returns what it found within a limit, and the excess, which is 0 for the larger of both
    limits: there it is `free`. The smallest limit is known up to a share of this one.
    """
    low, high = limits
    best, smallest = free, high

    def beyond(limit: float) -> float:
        nonlocal best, smallest
        found, value = find(limit)
        if value <= excess and limit < smallest:
            best, smallest = found, limit
        return value - excess

    if excess > 0 and beyond(low) > 0:
        brentq(beyond, low, high, xtol=tolerance * high, rtol=tolerance, maxiter=200)
    return best


def size_of(kind: Kind, gaps: FloatArray, parts: IntArray) -> float:
    """What a budget of this kind limits, of gaps, (R,), that are about parts of the rows."""
    if kind == "gap":
        return float(np.abs(gaps).max(initial=0.0))
    if kind == "norm":
        return float(np.linalg.norm(gaps))
    return float(np.bincount(parts, np.abs(gaps)).max(initial=0.0))


def check_size(value: Any, name: str, infinite: bool = False) -> float:
    """Return a number of 0 or more as a float, or raise an error that names the parameter."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = float("nan")
    fits = 0.0 <= number < np.inf or (infinite and number == np.inf)
    if isinstance(value, bool | np.bool_ | str) or not fits:
        raise ValueError(f"{name}={value!r} is not a finite number of 0 or more. Pass one.")
    return number


def check_limits(limits: Any) -> FloatArray:
    """Return limits as numbers of 0 or more, (p,), or raise an error."""
    values = [check_size(limit, "limits") for limit in np.ravel(limits)]
    if not values:
        raise ValueError("limits is empty. Pass at least one number of 0 or more.")
    return np.array(values)


def check_kind(budget: Any) -> Kind:
    """Return the kind of a budget, or raise an error that lists the kinds."""
    for kind in KINDS:
        if isinstance(budget, str) and budget == kind:
            return kind
    raise ValueError(f"budget={budget!r} is not known. Pass one of {', '.join(KINDS)}.")
