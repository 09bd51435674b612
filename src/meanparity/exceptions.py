"""Errors and warnings of its own."""

from __future__ import annotations

import numpy as np


class ParityWarning(UserWarning):
    """The fit is not what was probably hoped for: a gap, a constant, or no minimum."""


class NotPositiveDefiniteError(np.linalg.LinAlgError):
    """A matrix that should be positive definite is not, or not in floating point."""
