"""Everything between the constrained and the free solution, and the dial in the user's units."""

from meanparity.path.curve import (
    PAPER_POSITIONS,
    Comparison,
    CurveSums,
    TradeoffCurve,
    check_unfairness,
    curve_sums,
)
from meanparity.path.loss_tradeoff import LossTradeoff
from meanparity.path.tradeoff import Basis, FittedFunction, TableBasis, Tradeoff

__all__ = [
    "PAPER_POSITIONS",
    "Basis",
    "Comparison",
    "CurveSums",
    "FittedFunction",
    "LossTradeoff",
    "TableBasis",
    "Tradeoff",
    "TradeoffCurve",
    "check_unfairness",
    "curve_sums",
]
