"""Displays drawn with matplotlib: tradeoffs, distributions of groups, and audits."""

from meanparity.displays._shared import COLOURS
from meanparity.displays.audit import AuditDisplay
from meanparity.displays.distributions import GroupDistributionDisplay
from meanparity.displays.tradeoff import TradeoffDisplay

__all__ = ["COLOURS", "AuditDisplay", "GroupDistributionDisplay", "TradeoffDisplay"]
