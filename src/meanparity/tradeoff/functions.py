"""Fitted functions of the rows of a table."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from meanparity._typing import FloatArray
from meanparity.data.features import FeatureLayout
from meanparity.linalg.parallel import all_threads
from meanparity.solvers.solution import Basis
from meanparity.state import stored


@stored("TableFunctions")
@dataclass(frozen=True, eq=False)
class TableFunctions:
    """Functions of the rows of a table with the columns that fit saw.

    Parameters
    ----------
    layout : FeatureLayout
        The columns of X.
    functions : Basis
        Evaluates functions of the features.
    """

    layout: FeatureLayout
    functions: Basis

    def evaluate(self, X: Any, coef: FloatArray) -> FloatArray:
        """Values of the functions with coefficients coef, (p, m), at the rows of X: (n, m)."""
        rows = self.layout.read(X)
        with all_threads():
            return self.functions.evaluate(rows, coef)

    def sensitive_features(self, X: Any) -> dict[str, Any]:
        """The sensitive columns in X, if the estimator names them."""
        if not self.layout.sensitive:
            raise ValueError(
                "The groups of these rows are not known. Pass sensitive_features, as in fit."
            )
        return self.layout.sensitive_values(X)


@stored("FittedFunction")
@dataclass(frozen=True, eq=False, repr=False)
class FittedFunction:
    """A fitted function that can be evaluated at any rows.

    Parameters
    ----------
    basis : TableFunctions
        Evaluates functions from their coefficients.
    coef : (p, m) array
        Coefficients.
    intercept : (m,) array
        The constant.
    single_output : bool
        Whether predictions are (n,) instead of (n, m).
    unfairness : float or None
        Its position on the dial; None if it is not on the dial. For a function within a budget, 1
        says that the free fit meets the budget already, so that nothing was changed.
    multipliers : (r, m) array or None
        ν, if it is ``g_free − Σ_k ν_k h_k`` off the dial.

    See Also
    --------
    Tradeoff : Makes them.

    Examples
    --------
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(200, random_state=0)
    >>> model = ParityRidge().fit(X, y, sensitive_features=s)
    >>> model.tradeoff_.at(0.5)
    FittedFunction(unfairness=0.5)
    """

    basis: TableFunctions
    coef: FloatArray
    intercept: FloatArray
    single_output: bool
    unfairness: float | None = None
    multipliers: FloatArray | None = None

    def __repr__(self) -> str:
        where = "off the dial" if self.unfairness is None else f"unfairness={self.unfairness}"
        return f"FittedFunction({where})"

    def predict(self, X: Any) -> FloatArray:
        """Predictions for the rows of X: (n,), or (n, m) for several outputs.

        For other losses than the squared error these are scores, such as logarithms of rates.
        """
        values = self.basis.evaluate(X, self.coef) + self.intercept
        return values[:, 0] if self.single_output else values
