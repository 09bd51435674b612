"""Time and memory of the exact kernel fit, dense and by conjugate gradients, on rows of Adult.

Run it on an idle machine (`python -m benchmarks.bench_exact`; it takes minutes and 10 GiB). The
columns are those of the curves in docs/scaling.md, with an RBF kernel, γ = 0.1 and α = 1. Every
measurement runs in a process of its own.
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

SIZES = (1_000, 4_000, 10_000, 30_162)
SOLVERS = ("dense", "conjugate_gradient")


def measure(solver, n):
    """Time of one fit, and the peak memory of the process; runs in a child process."""
    from benchmarks.landmark_curves import problem
    from meanparity import ParityKernelRidge

    model = ParityKernelRidge(kernel="rbf", gamma=0.1, fit_intercept=True, solver=solver)
    X, y, s = problem("adult")
    keep = np.random.default_rng(0).permutation(len(y))[:n]
    X, y, s = X[keep], y[keep], s[keep]
    model.fit(X[:500], y[:500], sensitive_features=s[:500])
    forget_peak()
    start = time.perf_counter()
    model.fit(X, y, sensitive_features=s)
    seconds = time.perf_counter() - start
    return {
        "seconds": seconds,
        "peak": peak_bytes(),
        "residual": model.parity_residual_ / float(y.std()),
        "solver": model.solver_,
        "predictions": model.predict(X[:50]).tolist(),
    }


def child(solver, n):
    command = [sys.executable, "-m", "benchmarks.bench_exact", "--child", solver, str(n)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--child", nargs=2)
    parser.add_argument("--rows", type=int, default=max(SIZES))
    arguments = parser.parse_args()
    if arguments.child:
        solver, n = arguments.child
        print(json.dumps(measure(solver, int(n))))
        return
    results = {}
    for n in [size for size in SIZES if size <= arguments.rows]:
        rows = {solver: child(solver, n) for solver in SOLVERS}
        results[str(n)] = rows
        apart = np.subtract(*[row["predictions"] for row in rows.values()])
        for solver, row in rows.items():
            print(
                f"{n:>7,} rows, {solver:>18}: {row['seconds']:6.1f} s, peak "
                f"{row['peak'] / 2**30:5.2f} GiB, remaining gap {row['residual']:.0e} sd"
            )
        print(f"{'':>13}predictions differ by at most {np.abs(apart).max():.0e}", flush=True)
    out = Path("output")
    out.mkdir(exist_ok=True)
    (out / "bench_exact.json").write_text(json.dumps(results, indent=1))


if __name__ == "__main__":
    main()
