"""Everyday cases next to scikit-learn: linear and small fits, predictions, and the command line.

Run it on an idle machine (`make bench`). The results that matter are ratios within this one run:
each pair of contenders takes turns, and the shortest time of each counts. Fits of ours give the
model at parity, the unconstrained model and the whole tradeoff between them.
"""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from meanparity import ParityKernelRidge, ParityRidge
from meanparity.datasets import load_adult

LINEAR = ((100, 20), (1_000, 20), (100_000, 20), (1_000_000, 20), (100_000, 200))
KERNEL = (100, 300, 500, 1_000, 2_000)
TEXT = np.array(["female, abroad", "female, here", "male, abroad", "male, here"])


def make_data(n, d):
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((n, d)), rng.integers(0, 4, n)
    return X, X[:, 0] + s + rng.standard_normal(n), s


def ratio(ours, theirs, seconds=2.0):
    """Shortest time of each of two calls that take turns for a while, and at least five times."""
    times, start = ([], []), time.perf_counter()
    while len(times[0]) < 5 or time.perf_counter() - start < seconds:
        for call, found in zip((ours, theirs), times, strict=True):
            # Several calls in turn: NumPy and SciPy each bring a BLAS with threads of its own, and
            # the threads of the one that ran last still hold the cores for a moment.
            turn = time.perf_counter()
            while time.perf_counter() - turn < 0.1:
                begin = time.perf_counter()
                call()
                found.append(time.perf_counter() - begin)
    mine, other = min(times[0]), min(times[1])
    return {"ours": mine, "sklearn": other, "ratio": mine / other}


def linear(n, d):
    X, y, s = make_data(n, d)
    text = TEXT[s]
    ours, theirs = ParityRidge(), Ridge()
    found = {
        "fit": ratio(lambda: ours.fit(X, y, sensitive_features=s), lambda: theirs.fit(X, y)),
        "fit, text": ratio(
            lambda: ours.fit(X, y, sensitive_features=text), lambda: theirs.fit(X, y)
        ),
        "predict": ratio(lambda: ours.predict(X), lambda: theirs.predict(X), 1.0),
        "predict one row": ratio(lambda: ours.predict(X[:1]), lambda: theirs.predict(X[:1]), 0.5),
    }
    shown = ", ".join(f"{name} {value['ratio']:.2f}" for name, value in found.items())
    print(f"linear, {n:,} × {d}: {shown} (Ridge.fit {1e3 * found['fit']['sklearn']:.2f} ms)")
    return found


def kernel(n):
    X, y, s = make_data(n, 20)
    ours, theirs = (
        ParityKernelRidge(kernel="rbf", gamma=0.05),
        KernelRidge(kernel="rbf", gamma=0.05),
    )
    found = {
        "fit": ratio(lambda: ours.fit(X, y, sensitive_features=s), lambda: theirs.fit(X, y)),
        "predict": ratio(lambda: ours.predict(X), lambda: theirs.predict(X), 1.0),
    }
    shown = ", ".join(f"{name} {value['ratio']:.2f}" for name, value in found.items())
    print(f"kernel, {n:,} rows: {shown} (KernelRidge.fit {1e3 * found['fit']['sklearn']:.2f} ms)")
    return found


def cpu_seconds(*command):
    """CPU time of a command, the shortest of five."""
    times = []
    for _ in range(5):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run(command, check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def command_line():
    """CPU time of --help, and wall time from a table to a report and a model file."""
    script = str(Path(sys.executable).with_name("meanparity"))
    found = {
        "help": cpu_seconds(script, "--help"),
        "import typer, rich": cpu_seconds(sys.executable, "-c", "import typer, rich"),
    }
    with tempfile.TemporaryDirectory() as folder:
        adult, wide = Path(folder) / "adult.csv", Path(folder) / "wide.csv"
        data = load_adult(as_frame=True)
        frame = data.frame.head(10_000)
        frame.to_csv(adult, index=False)
        outputs = ["-o", f"{folder}/model.meanparity", "--report", f"{folder}/report.html"]
        rng = np.random.default_rng(0)
        columns = pd.DataFrame(rng.standard_normal((1_000, 3_000))).add_prefix("x")
        columns["sex"] = rng.choice(["F", "M"], 1_000)
        columns["y"] = columns["x0"] + rng.standard_normal(1_000)
        columns.to_csv(wide, index=False)
        runs = {
            "10,000 rows of Adult": [adult, "--target", "income>50K", "--sensitive", "sex,race"],
            "1,000 rows × 3,000 columns": [wide, "--target", "y", "--sensitive", "sex"],
        }
        for name, arguments in runs.items():
            start = time.perf_counter()
            call = [script, "fit", *map(str, arguments), *outputs]
            subprocess.run(call, check=True, capture_output=True)
            found[name] = time.perf_counter() - start
    for name, seconds in found.items():
        print(f"{name}: {seconds:.2f} s")
    return found


def main():
    results = {
        "cores": os.cpu_count(),
        "linear": {f"{n} x {d}": linear(n, d) for n, d in LINEAR},
        "kernel": {str(n): kernel(n) for n in KERNEL},
        "command line": command_line(),
    }
    path = Path("output/bench_everyday.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"Results: {path}")


if __name__ == "__main__":
    main()
