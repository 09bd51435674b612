"""Everything between the constrained and the free solution, and the dial in the user's units."""

from meanparity.tradeoff.curve import Comparison, TradeoffCurve
from meanparity.tradeoff.loss_tradeoff import LossTradeoff
from meanparity.tradeoff.tradeoff import FittedFunction, Tradeoff

__all__ = ["Comparison", "FittedFunction", "LossTradeoff", "Tradeoff", "TradeoffCurve"]
