"""Publishing the results: figures, tables and a page."""

from reproduction.publication.page import publish

__all__ = ["publish"]
