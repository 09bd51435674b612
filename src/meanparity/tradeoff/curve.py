"""Error and gaps along the dial, on any rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from sklearn.utils import check_array

from meanparity._typing import FloatArray
from meanparity.constraints.base import Constraint
from meanparity.constraints.mean import MeanParity
from meanparity.data.fit_input import check_unfairness
from meanparity.data.refusals import refuse_other_order
from meanparity.data.rows import Rows, Schema
from meanparity.exceptions import import_pandas
from meanparity.state import stored

PAPER_POSITIONS = np.arange(51) / 50  # the paper's α = 0, 1/50, ..., 1

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, repr=False)
class TradeoffCurve:
    """Error and gaps along the tradeoff, on stated rows.

    Parameters
    ----------
    unfairness : (p,) array
        Positions on the dial.
    mse, r2 : (p,) arrays
        Mean squared error and R² of the predictions, averaged over outputs.
    smd, max_gap, norm : (p,) arrays
        Sum (the paper's SMD) and maximum of the absolute gaps, and the root of the sum of their
        squares, the largest over outputs. For one
        set of groups these are `mean_parity_gap` and `max_mean_gap`. With control features there
        is a gap for each group in each stratum, with separately compared columns one for each
        group of each column. The gap of a sensitive number is the covariance with it in units of
        its standard deviation. For residual parity, gaps are those of the errors.
    loss : (p,) array or None
        Mean loss, of a model with another loss than the squared one.

    See Also
    --------
    Frontier : Limits instead of positions of the dial.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> curve = model.tradeoff_.training_curve([0.0, 1.0])
    >>> bool(curve.smd[0] < 1e-12 < curve.smd[1])
    True
    """

    unfairness: FloatArray
    mse: FloatArray
    r2: FloatArray
    smd: FloatArray
    max_gap: FloatArray
    norm: FloatArray
    loss: FloatArray | None = None

    def __repr__(self) -> str:
        shown = {name: v for name, v in vars(self).items() if v is not None}
        ends = (f"{name} {v[0]:.4g} to {v[-1]:.4g}" for name, v in shown.items())
        return f"TradeoffCurve({len(self.unfairness)} points; {'; '.join(ends)})"

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with one row for each position."""
        columns = {name: v for name, v in vars(self).items() if v is not None}
        return import_pandas().DataFrame(columns)


@stored("Comparison")
@dataclass(frozen=True, eq=False)
class Comparison:
    """How groups are compared on any rows.

    Parameters
    ----------
    schema : Schema
        How sensitive and control columns are read.
    constraint : Constraint
        What has to be equal.
    description : str
        One sentence that says what is equal on the rows of fit. Other rows may have other groups
        and weights. Empty in files that were written before it was kept.

    See Also
    --------
    Tradeoff : Holds one.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> type(model.tradeoff_.comparison).__name__
    'Comparison'
    """

    schema: Schema
    constraint: Constraint
    description: str = ""


@stored("CurveSums", any_number=("products", "variance"))
@dataclass(frozen=True, eq=False, repr=False)
class CurveSums:
    """The sums from which error and gaps follow at every position of the dial.

    The squared error is quadratic in u and every gap is linear, so that any number of positions
    costs no more passes over the rows than the two ends.

    Parameters
    ----------
    products : (2, 2, m) array
        Mean products of the errors of both ends.
    variance : (m,) array
        Variance of the targets.
    gaps : (2, r, m) array
        The gaps of both ends.
    """

    products: FloatArray
    variance: FloatArray
    gaps: FloatArray

    @classmethod
    def from_predictions(
        cls,
        y: FloatArray,
        fair: FloatArray,
        free: FloatArray,
        comparison: Comparison,
        rows: Rows,
        shares: FloatArray | None = None,
    ) -> CurveSums:
        """The sums over n rows of targets and of the predictions of both ends, all (n, m).

        `shares`, (n,), sum to one: how much each row counts in the loss.
        """
        shares = np.full(len(y), 1 / len(y)) if shares is None else shares
        errors = np.stack([fair - y, free - y])
        between = comparison.constraint.between_groups(rows)
        compared = (comparison.constraint.compared(values, y) for values in (fair, free))
        return cls(
            np.einsum("n,anm,bnm->abm", shares, errors, errors),
            shares @ (y - shares @ y) ** 2,
            np.stack([between.gaps(values) for values in compared]),
        )

    def curve(self, unfairness: Any = None) -> TradeoffCurve:
        """Error and gaps at positions (p,), by default the paper's 0, 1/50, ..., 1."""
        u = PAPER_POSITIONS if unfairness is None else check_positions(unfairness)
        weights = np.stack([1 - u, u])
        mse = np.einsum("ap,bp,abm->pm", weights, weights, self.products)
        varies = self.variance > 0
        r2 = np.where(varies, 1 - mse / np.where(varies, self.variance, 1.0), np.nan)
        gaps = np.abs(np.einsum("ap,akm->pkm", weights, self.gaps))
        return TradeoffCurve(
            unfairness=u,
            mse=mse.mean(axis=1),
            r2=r2.mean(axis=1),
            smd=gaps.sum(axis=1).max(axis=1),
            max_gap=gaps.max(axis=(1, 2), initial=0.0),
            norm=np.linalg.norm(gaps, axis=1).max(axis=1),
        )


@dataclass(frozen=True, eq=False, repr=False)
class Frontier:
    """Error and gaps of the functions that budgets lead to, on stated rows.

    They are the functions of smallest objective within each limit. For gaps of responses, whose
    problem is not convex, they are stationary points.

    Parameters
    ----------
    budget : {"gap", "smd", "norm"}
        What is limited on the rows of fit.
    limit : (p,) array
        The limits, in the units of y.
    mse, r2 : (p,) arrays
        Mean squared error and R² of the predictions, averaged over outputs.
    smd, max_gap, norm : (p,) arrays
        Sum and maximum of the absolute gaps on these rows, and the root of the sum of their
        squares, the largest over outputs.

    See Also
    --------
    TradeoffCurve : Positions of the dial instead of limits.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> frontier = model.tradeoff_.training_frontier("gap", limits=[0.0, 0.1])
    >>> bool(frontier.mse[0] >= frontier.mse[1])
    True
    """

    budget: str
    limit: FloatArray
    mse: FloatArray
    r2: FloatArray
    smd: FloatArray
    max_gap: FloatArray
    norm: FloatArray

    def __repr__(self) -> str:
        shown = {name: v for name, v in vars(self).items() if name != "budget"}
        ends = (f"{name} {v[0]:.4g} to {v[-1]:.4g}" for name, v in shown.items())
        return f"Frontier({self.budget!r}, {len(self.limit)} points; {'; '.join(ends)})"

    def to_frame(self) -> pd.DataFrame:
        """A pandas data frame with one row for each limit."""
        columns = {name: v for name, v in vars(self).items() if name != "budget"}
        return import_pandas().DataFrame(columns)


@stored("StepSums", any_number=("errors", "variance"))
@dataclass(frozen=True, eq=False, repr=False)
class StepSums:
    """The sums from which error and gaps follow for every function ``g_free − Σ_k ν_k h_k``.

    Parameters
    ----------
    errors : (m, 1 + r, 1 + r) array
        Mean products of the errors ``y − g_free`` and of the values of h.
    variance : (m,) array
        Variance of the targets.
    free, steps : (R, m) and (m, R, r) arrays
        Gaps of the free solution, and of each h.
    """

    errors: FloatArray
    variance: FloatArray
    free: FloatArray
    steps: FloatArray

    def frontier(self, budget: str, limits: FloatArray, multipliers: FloatArray) -> Frontier:
        """Error and gaps of functions with multipliers ν, (p, r, m)."""
        p, _, m = multipliers.shape
        moved = np.concatenate([np.ones((p, 1, m)), multipliers], axis=1)
        mse = np.einsum("pim,mij,pjm->pm", moved, self.errors, moved)
        varies = self.variance > 0
        r2 = np.where(varies, 1 - mse / np.where(varies, self.variance, 1.0), np.nan)
        gaps = np.abs(self.free - np.einsum("mkr,prm->pkm", self.steps, multipliers))
        return Frontier(
            budget,
            limits,
            mse.mean(axis=1),
            r2.mean(axis=1),
            gaps.sum(axis=1).max(axis=1),
            gaps.max(axis=(1, 2), initial=0.0),
            np.linalg.norm(gaps, axis=1).max(axis=1),
        )


def curve_sums(y: Any, fair: Any, free: Any, sensitive_features: Any) -> CurveSums:
    """The sums of a tradeoff curve from targets and two predictions of shape (n,) or (n, m)."""
    refuse_other_order(y=y, fair=fair, free=free, sensitive_features=sensitive_features)
    y, fair, free = check_ends(y, fair, free)
    rows = Rows.from_columns(sensitive_features, n_rows=len(y), continuous=[])
    return CurveSums.from_predictions(y, fair, free, Comparison(rows.schema, MeanParity()), rows)


def check_ends(y: Any, fair: Any, free: Any) -> tuple[FloatArray, FloatArray, FloatArray]:
    """Targets and predictions of both ends, all (n, m)."""
    y, fair, free = (
        check_array(values, ensure_2d=False, dtype=np.float64, input_name=name)
        for name, values in (("y", y), ("fair predictions", fair), ("free predictions", free))
    )
    shapes = y.shape, fair.shape, free.shape
    y, fair, free = (values.reshape(len(values), -1) for values in (y, fair, free))
    if not y.shape == fair.shape == free.shape:
        raise ValueError(
            f"y has shape {shapes[0]}, but the predictions have {shapes[1]} and {shapes[2]}. "
            "Pass one target for each prediction."
        )
    return y, fair, free


def check_positions(unfairness: Any) -> FloatArray:
    """Positions on the dial: (p,)."""
    positions = np.array([check_unfairness(value) for value in np.ravel(unfairness)])
    if not len(positions):
        raise ValueError("unfairness is empty. Pass at least one number between 0 and 1.")
    return positions
