"""Names for the types that annotations repeat."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.intp]
Features: TypeAlias = Any  # float64 array or SciPy sparse matrix, (n, d)
