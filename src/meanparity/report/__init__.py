"""A report about predictions: one HTML page for readers who did not fit the model."""

from meanparity.report.models import report, report_on
from meanparity.report.page import Report, make_report
from meanparity.report.slider import Slider
from meanparity.report.summary import PredictedRows

__all__ = ["PredictedRows", "Report", "Slider", "make_report", "report", "report_on"]
