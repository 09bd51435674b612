"""Comparisons with other libraries, and the generators of tables and figures in the docs."""
