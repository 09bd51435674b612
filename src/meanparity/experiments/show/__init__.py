"""Showing what the experiments gave: pictures, tables, a page."""

from meanparity.experiments.show.page import publish

__all__ = ["publish"]
