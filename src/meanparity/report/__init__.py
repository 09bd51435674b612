"""One page about a fitted model, for people who did not fit it."""

from meanparity.report.page import Report, make_report
from meanparity.report.parts import Part

__all__ = ["Part", "Report", "make_report"]
