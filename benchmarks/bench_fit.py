"""Time and memory of a fit, compared with scikit-learn's KernelRidge and the paper's formula.

Run it on an idle machine (`make bench`). Every measurement runs in a process of its own, so that
none inherits memory or caches from another. Each process first fits a small problem, so that
imports and the buffers of the BLAS are not counted. Each time is the shortest of `REPEATS` runs.
The results that matter are ratios within this one run.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SIZES = (2000, 4000, 8000, 12000)
PAPER_SIZES = (2000, 4000)
LARGE = 20_000
WARM_UP = 1200
REPEATS = {2000: 5, 4000: 5, 8000: 3}
SETTINGS = {"kernel": "rbf", "gamma": 0.05, "alpha": 1.0}


def make_data(n, seed=0):
    rng = np.random.default_rng(seed)
    X, s = rng.standard_normal((n, 20)), rng.integers(0, 4, n)
    return X, np.sin(X[:, 0]) + 0.3 * s + 0.1 * rng.standard_normal(n), s


def fit_ours(X, y, s):
    from meanparity import ParityKernelRidge

    return ParityKernelRidge(**SETTINGS).fit(X, y, sensitive_features=s)


def fit_pool(X, y, s):
    """The same with parity on a pool of the same size as well."""
    from meanparity import ParityKernelRidge

    Z, _, groups = make_data(len(y), seed=1)
    return ParityKernelRidge(**SETTINGS).fit(X, y, sensitive_features=s, pool=(Z, groups))


def fit_sklearn(X, y, s):
    from sklearn.kernel_ridge import KernelRidge

    return KernelRidge(**SETTINGS).fit(X, y)


def fit_paper(X, y, s):
    """The paper's appendix B as printed: eigenproblem, projection, pseudo-inverse."""
    from sklearn.metrics.pairwise import rbf_kernel

    n = len(y)
    K = rbf_kernel(X, gamma=SETTINGS["gamma"])
    K_S = (s[:, None] == s).astype(float)
    H = np.eye(n) - 1 / n
    values, vectors = np.linalg.eig((H @ K_S @ H) @ (H @ K @ H) / n**2)
    top = np.argsort(-values.real)[: len(np.unique(s)) - 1]
    a = H @ vectors[:, top].real
    a = a / np.sqrt(np.einsum("ij,ij->j", a, K @ a))
    P = np.eye(n) - a @ (a.T @ K)
    inner = P.T @ K @ K @ P + SETTINGS["alpha"] * P.T @ K @ P
    return P @ (np.linalg.pinv(inner, hermitian=True) @ (P.T @ (K @ y)))


CONTENDERS = {"ours": fit_ours, "pool": fit_pool, "sklearn": fit_sklearn, "paper": fit_paper}


def peak_bytes():
    """Peak resident memory of this process."""
    try:
        status = Path("/proc/self/status").read_text()
        return int(status.split("VmHWM:")[1].split()[0]) * 1024
    except (OSError, IndexError):
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def forget_peak():
    try:
        Path("/proc/self/clear_refs").write_text("5")
    except OSError:
        print("on this system, peak memory includes the warm-up", file=sys.stderr)


def measure(contender, n):
    """Time of one fit, and the memory that it added; runs in a child process."""
    fit = CONTENDERS[contender]
    fit(*make_data(WARM_UP if contender != "paper" else 200))
    X, y, s = make_data(n)
    forget_peak()
    before = peak_bytes()
    start = time.perf_counter()
    model = fit(X, y, s)
    result = {"seconds": time.perf_counter() - start, "bytes": peak_bytes() - before}
    if contender == "ours":
        start = time.perf_counter()
        model.tradeoff_.training_curve()
        result["tradeoff"] = time.perf_counter() - start
        result["residual"] = model.parity_residual_ / y.std()
    return result


def gemm_rate():
    """Operations per second of a large float64 matrix product in this process."""
    A = np.random.default_rng(0).standard_normal((4000, 4000))
    A @ A
    times = []
    for _ in range(3):
        start = time.perf_counter()
        A @ A
        times.append(time.perf_counter() - start)
    return 2 * 4000**3 / min(times)


def import_seconds(code):
    runs = []
    for _ in range(5):
        start = time.perf_counter()
        subprocess.run([sys.executable, "-c", code], check=True)
        runs.append(time.perf_counter() - start)
    return min(runs)


def child(contender, n, repeats=1):
    runs = []
    for _ in range(repeats):
        command = [sys.executable, __file__, "--child", contender, str(n)]
        done = subprocess.run(command, check=True, capture_output=True, text=True)
        runs.append(json.loads(done.stdout.splitlines()[-1]))
    return min(runs, key=lambda run: run["seconds"])


def main():
    rate = gemm_rate()
    print(f"float64 matrix product on this machine: {rate / 1e9:.0f} GFLOP/s\n")
    print(f"{'n':>6} {'ours':>9} {'sklearn':>9} {'ratio':>6} {'paper':>9} {'faster':>7}"
          f" {'with pool':>9} {'memory ours':>12} {'sklearn':>8} {'51 points':>10}"
          f" {'gemm rate':>10}")  # fmt: skip
    results = {"gemm": rate, "fits": {}}
    for n in (*SIZES, LARGE):
        repeats = REPEATS.get(n, 1)
        row = {"ours": child("ours", n, repeats)}
        if n in SIZES:
            row["pool"] = child("pool", n, repeats)
            row["sklearn"] = child("sklearn", n, repeats)
        if n in PAPER_SIZES:
            row["paper"] = child("paper", n)
        results["fits"][n] = row
        print_row(n, row, rate)
    base = import_seconds("import sklearn.kernel_ridge, sklearn.linear_model")
    ours = import_seconds("import sklearn.kernel_ridge, sklearn.linear_model, meanparity")
    results["import"] = {"sklearn": base, "added": ours - base}
    print(f"\nimport: scikit-learn {base:.2f} s, meanparity adds {ours - base:.2f} s")
    Path("output").mkdir(exist_ok=True)
    Path("output/bench_fit.json").write_text(json.dumps(results, indent=1))
    print("Results: output/bench_fit.json")


def print_row(n, row, rate):
    ours = row["ours"]
    whole = 8 * n * n
    cells = [f"{n:>6}", f"{ours['seconds']:>8.2f}s"]
    if "sklearn" in row:
        cells += [f"{row['sklearn']['seconds']:>8.2f}s"]
        cells += [f"{ours['seconds'] / row['sklearn']['seconds']:>6.2f}"]
    else:
        cells += [f"{'—':>9}", f"{'—':>6}"]
    if "paper" in row:
        cells += [f"{row['paper']['seconds']:>8.1f}s"]
        cells += [f"{row['paper']['seconds'] / ours['seconds']:>6.0f}×"]
    else:
        cells += [f"{'—':>9}", f"{'—':>7}"]
    if "pool" in row:
        cells += [f"{row['pool']['seconds'] / ours['seconds']:>8.2f}×"]
    else:
        cells += [f"{'—':>9}"]
    cells += [f"{ours['bytes'] / whole:>8.2f}·8n²"]
    cells += [f"{row['sklearn']['bytes'] / whole:>8.2f}" if "sklearn" in row else f"{'—':>8}"]
    cells += [f"{ours['tradeoff'] / ours['seconds']:>10.3%}"]
    cells += [f"{n**3 / 3 / ours['seconds'] / rate:>10.0%}"]
    print(" ".join(cells), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--child", nargs=2, metavar=("CONTENDER", "N"), help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.child:
        print(json.dumps(measure(arguments.child[0], int(arguments.child[1]))))
    else:
        main()
