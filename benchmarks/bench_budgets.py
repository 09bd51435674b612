"""What budgets cost after a fit: 100 limits of each kind, as a share of the time of the fit.

Run it from the repository: ``python -m benchmarks.bench_budgets``. There are 4,000 rows, 20 columns
and 8 groups.
"""

from __future__ import annotations

import time

import numpy as np

from meanparity import ParityKernelRegressor, ParityKernelRidge, ParityRidge

N, COLUMNS, GROUPS, LIMITS = 4_000, 20, 8, 100


def data() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features, targets and groups with gaps of many sizes."""
    rng = np.random.default_rng(0)
    s = rng.integers(0, GROUPS, N)
    X = rng.standard_normal((N, COLUMNS))
    X[:, 0] += rng.standard_normal(GROUPS)[s]
    return X, X[:, 0] + rng.standard_normal(GROUPS)[s] + rng.standard_normal(N), s


def main() -> None:
    """Print a table."""
    X, y, s = data()
    kernel = {"kernel": "rbf", "gamma": 0.05, "alpha": 1.0}
    for name, model in {"RBF": ParityKernelRidge(**kernel), "linear": ParityRidge()}.items():
        best = np.inf
        for _ in range(3):
            start = time.perf_counter()
            tradeoff = model.fit(X, y, sensitive_features=s).tradeoff_
            best = min(best, time.perf_counter() - start)
        largest = float(np.abs(tradeoff.solution.gaps[1]).max())
        finders = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}
        for kind, find in finders.items():
            start = time.perf_counter()
            for limit in np.linspace(0.01, 1, LIMITS) * largest:
                find(limit)
            took = time.perf_counter() - start
            print(f"{name}, {LIMITS} budgets of the {kind}: {took / best:.1%} of a fit", flush=True)
    counts = np.random.default_rng(1).poisson(np.exp(0.3 * y)).astype(float)
    for name, options in {"RBF": {**kernel, "kernel": "rbf"}, "linear": {}}.items():
        poisson = ParityKernelRegressor(loss="poisson", **options)
        start = time.perf_counter()
        tradeoff = poisson.fit(X, counts, sensitive_features=s).tradeoff_
        fit = time.perf_counter() - start
        start = time.perf_counter()
        tradeoff.for_gap(0.3 * float(np.abs(tradeoff.solution.gaps[1]).max()))
        took = (time.perf_counter() - start) / fit
        print(f"Poisson, {name}: one budget takes {took:.1f} fits", flush=True)


if __name__ == "__main__":
    main()
