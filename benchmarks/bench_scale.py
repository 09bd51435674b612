"""Kernel fits with landmarks to millions of rows, compared with scikit-learn's Nystroem and Ridge.

Run it on an idle machine (`python -m benchmarks.bench_scale`, minutes; `--rows` for fewer rows).
Rows are in single precision, with 20 columns, 4 groups and 500 landmarks. Every measurement runs in
a process of its own. scikit-learn keeps the features of all rows in memory, so it gets fewer rows.
The results that matter are ratios within this one run.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.bench_fit import forget_peak, peak_bytes

COLUMNS, COMPONENTS, GAMMA = 20, 500, 0.05
SIZES = (1_000, 10_000, 100_000, 1_000_000, 10_000_000)
DOUBLED = tuple(100_000 * 2**k for k in range(7))
SKLEARN_ROWS = 1_000_000
TEST_ROWS = 20_000


def make_data(n, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, COLUMNS), dtype=np.float32)
    s = rng.integers(0, 4, n, dtype=np.int8)
    y = np.sin(X[:, 0]) + 0.5 * X[:, 1] * X[:, 2] + 0.3 * s + 0.1 * rng.standard_normal(n)
    return X, y, s


def fit_ours(X, y, s, landmarks):
    from meanparity import Nystrom, ParityKernelRidge

    model = ParityKernelRidge(
        kernel="rbf",
        gamma=GAMMA,
        alpha=1.0,
        fit_intercept=True,
        solver=Nystrom(COMPONENTS, landmarks=landmarks),
    )
    return model.fit(X, y, sensitive_features=s)


def fit_sklearn(X, y, s, landmarks):
    from sklearn.kernel_approximation import Nystroem
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    features = Nystroem(kernel="rbf", gamma=GAMMA, n_components=COMPONENTS, random_state=0)
    return make_pipeline(features, Ridge(alpha=1.0)).fit(X, y)


def gemm_rate():
    """Operations per second of a large float32 matrix product in this process."""
    A = np.random.default_rng(0).standard_normal((4000, 4000)).astype(np.float32)
    A @ A
    times = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A
        times.append(time.perf_counter() - start)
    return 2 * 4000**3 / min(times)


def measure(contender, n, landmarks):
    """Time of one fit, and the peak memory of the process; runs in a child process."""
    fit = fit_ours if contender == "ours" else fit_sklearn
    fit(*make_data(2000), landmarks)
    rate = gemm_rate()
    X, y, s = make_data(n)
    forget_peak()
    start = time.perf_counter()
    model = fit(X, y, s, landmarks)
    seconds = time.perf_counter() - start
    result = {"seconds": seconds, "peak": peak_bytes(), "rate": rate}
    if contender == "ours":
        free = model.tradeoff_.at(1.0)
        result["residual"] = model.parity_residual_ / float(y.std())
    else:
        free = model
    X, y, _ = make_data(TEST_ROWS, seed=1)
    result["error"] = float(np.mean((y - free.predict(X)) ** 2))
    result["share"] = 2 * n * COMPONENTS**2 / rate / seconds
    return result


def child(contender, n, landmarks="uniform"):
    command = [sys.executable, "-m", "benchmarks.bench_scale", "--child", contender, str(n)]
    done = subprocess.run([*command, landmarks], check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", nargs=3)
    parser.add_argument("--rows", type=int, default=max(SIZES))
    arguments = parser.parse_args()
    if arguments.child:
        contender, n, landmarks = arguments.child
        print(json.dumps(measure(contender, int(n), landmarks)))
        return
    results = {}
    for n in sorted({*SIZES, *DOUBLED}):
        if n > arguments.rows:
            break
        for landmarks in ("uniform", "rpcholesky") if n in SIZES else ("uniform",):
            row = results[f"ours {landmarks} {n}"] = child("ours", n, landmarks)
            print(
                f"{n:>10,} rows, {landmarks:>10}: {row['seconds']:6.1f} s, peak "
                f"{row['peak'] / 2**30:.2f} GiB, {row['share']:.0%} of the float32 gemm rate, "
                f"remaining gap {row['residual']:.0e} sd, test error {row['error']:.5f}",
                flush=True,
            )
    seconds = {n: results[f"ours uniform {n}"]["seconds"] for n in DOUBLED if n <= arguments.rows}
    for n, now in seconds.items():
        if n // 2 in seconds:
            print(f"{n:>10,} rows take {now / seconds[n // 2]:.2f} times as long as half as many")
    n = min(SKLEARN_ROWS, arguments.rows)
    row = results[f"sklearn {n}"] = child("sklearn", n)
    ours = results[f"ours uniform {n}"]
    print(
        f"{n:>10,} rows, Nystroem + Ridge: {row['seconds']:6.1f} s "
        f"({row['seconds'] / ours['seconds']:.1f} times ours), peak {row['peak'] / 2**30:.2f} GiB, "
        f"test error {row['error']:.5f}"
    )
    out = Path("output")
    out.mkdir(exist_ok=True)
    (out / "bench_scale.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
