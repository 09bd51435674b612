"""Factorisations in place and in blocks, checked against free memory before they start."""
