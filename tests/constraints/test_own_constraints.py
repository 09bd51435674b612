"""A user's own constraint is treated like those of the package."""

from __future__ import annotations

import numpy as np
import pytest

from meanparity import ParityRidge, ParityRidgeCV
from meanparity.constraints import Constraint, Functionals
from meanparity.datasets import make_synthetic


class Steps(Constraint):
    """The mean prediction rises by the same step from each group to the next."""

    needs_rows = ""

    def __init__(self, step=0.1):
        self.step = step

    def functionals(self, rows):
        codes, k = rows.groups.codes, rows.groups.n_groups
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        member = weights[:, None] * (codes[:, None] == np.arange(k))
        means = member / member.sum(axis=0)
        return Functionals.from_weights(means[:, 1:] - means[:, :-1], [self.step] * (k - 1))


@pytest.mark.parametrize("weighted", [False, True])
def test_leave_one_out_is_that_of_refits(weighted):
    X, y, _ = make_synthetic(40, 6, random_state=0)
    band = np.arange(40) % 3
    w = np.random.default_rng(0).uniform(1, 5, 40) if weighted else None
    alphas = [0.1, 10.0]
    search = ParityRidgeCV(constraint=Steps(), alphas=alphas)
    search.fit(X, y, sensitive_features=band, sample_weight=w)

    for alpha, mse in zip(alphas, search.cv_results_["mean_squared_error"], strict=True):
        errors = []
        for i in range(40):
            rest = np.arange(40) != i
            model = ParityRidge(alpha=alpha, constraint=Steps())
            weights = None if w is None else w[rest]
            model.fit(X[rest], y[rest], sensitive_features=band[rest], sample_weight=weights)
            errors.append((y[i] - model.predict(X[i : i + 1])[0]) ** 2)
        assert mse == pytest.approx(np.average(errors, weights=w), rel=1e-8)
