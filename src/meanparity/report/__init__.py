"""A report about a fitted model: one HTML page for readers who did not fit it."""

from meanparity.report.page import Report, make_report
from meanparity.report.slider import Slider
from meanparity.report.summary import PredictedRows

__all__ = ["PredictedRows", "Report", "Slider", "make_report"]
