"""Spaces of functions: what they refuse."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from meanparity.constraints import Functionals
from meanparity.solvers.problem import ConstrainedProblem
from meanparity.solvers.spaces import ColumnFunctions


@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("column", [0, 2])
def test_one_column_whose_squares_are_infinite_is_enough(convert, column):
    X = np.ones((5, 3))
    X[:, column] = 1e200
    problem = ConstrainedProblem(
        convert(X), np.zeros((5, 1)), np.ones(1), Functionals.none(5), False
    )
    with pytest.raises(ValueError, match="squares of X are infinite"):
        ColumnFunctions.prepare(problem)
