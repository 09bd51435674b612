"""Time to choose the penalty: leave-one-out and folds, compared with one factorisation and one fit.

Run it on an idle machine (`make bench`). The results that matter are ratios within this one run.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np
import scipy.linalg
from sklearn.linear_model import RidgeCV
from sklearn.metrics.pairwise import rbf_kernel

from meanparity import ParityKernelRidgeCV, ParityRidge, ParityRidgeCV

SIZES = (1000, 2000, 4000)
ALPHAS = np.logspace(-3, 2, 20)
ROWS, COLUMNS = 200_000, 50


def make_data(n, d):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((n, d)), rng.integers(0, 4, n)
    return X, np.sin(X[:, 0]) + 0.3 * s + 0.1 * rng.standard_normal(n), s


def seconds(run, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def leave_one_out(n):
    """Time of one Cholesky factorisation, and of a search over 20 penalties with its final fit."""
    X, y, s = make_data(n, 20)
    K = rbf_kernel(X, gamma=0.05)
    K[np.diag_indices(n)] += 1.0
    factor = seconds(lambda: scipy.linalg.cholesky(K, check_finite=False))
    search = ParityKernelRidgeCV(kernel="rbf", gammas=0.05, alphas=ALPHAS)
    return {"cholesky": factor, "search": seconds(lambda: search.fit(X, y, sensitive_features=s))}


def folds():
    """Time of five folds and 20 penalties of linear regression, of one fit, and of RidgeCV."""
    X, y, s = make_data(ROWS, COLUMNS)
    ours = ParityRidgeCV(alphas=ALPHAS, cv=5)
    return {
        "one fit": seconds(lambda: ParityRidge().fit(X, y, sensitive_features=s)),
        "ours": seconds(lambda: ours.fit(X, y, sensitive_features=s)),
        "sklearn": seconds(lambda: RidgeCV(alphas=ALPHAS, cv=5).fit(X, y), 1),
    }


def main():
    results = {"leave-one-out": {}, "folds": folds()}
    for n in SIZES:
        row = results["leave-one-out"][n] = leave_one_out(n)
        times = row["search"] / row["cholesky"]
        print(f"leave-one-out, n = {n}, 20 penalties: {times:.1f} Cholesky factorisations")
    row = results["folds"]
    print(
        f"5 folds, 20 penalties, {ROWS:,} rows, {COLUMNS} columns: {row['ours']:.2f} s, "
        f"the time of {row['ours'] / row['one fit']:.1f} fits; scikit-learn's RidgeCV takes "
        f"{row['sklearn'] / row['ours']:.1f} times as long"
    )
    out = Path("output")
    out.mkdir(exist_ok=True)
    (out / "bench_choosing.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
