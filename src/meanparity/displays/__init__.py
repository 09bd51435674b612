"""Displays drawn with matplotlib: tradeoffs, distributions of groups, and audits."""

from meanparity.displays.audit import AuditDisplay
from meanparity.displays.models import COLOURS, GroupDistributionDisplay, TradeoffDisplay

__all__ = ["COLOURS", "AuditDisplay", "GroupDistributionDisplay", "TradeoffDisplay"]
