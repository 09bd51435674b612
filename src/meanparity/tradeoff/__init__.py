"""Everything between the constrained and the free solution, and the dial in the user's units."""

from meanparity.tradeoff.curve import Comparison, Frontier, TradeoffCurve
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.loss_tradeoff import LossTradeoff
from meanparity.tradeoff.tradeoff import Tradeoff

__all__ = ["Comparison", "FittedFunction", "Frontier", "LossTradeoff", "Tradeoff", "TradeoffCurve"]
