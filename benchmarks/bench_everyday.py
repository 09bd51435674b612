"""Everyday cases next to scikit-learn: linear and small fits, predictions, and the command line.

Run it on an idle machine (`make bench`). The results that matter are ratios within this one run:
each pair of contenders takes turns, and the shortest time of each counts. Fits of ours give the
model at parity, the unconstrained model and the whole tradeoff between them.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from meanparity import ParityKernelRidge, ParityRidge
from meanparity.datasets import load_adult
from meanparity.exceptions import ParityWarning

LINEAR = ((100, 20), (1_000, 20), (100_000, 20), (1_000_000, 20), (100_000, 200))
KERNEL = (100, 300, 500, 1_000, 2_000)
TEXT = np.array(["female, abroad", "female, here", "male, abroad", "male, here"])

warnings.simplefilter("ignore", ParityWarning)  # printing it again and again is no part of a fit


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


def cores(n):
    """Fits on 1, 2, 4, ... cores, each in a process of its own that has only these."""
    available = sorted(os.sched_getaffinity(0))
    counts = sorted({*(2**i for i in range(len(available).bit_length())), len(available)})
    found = {}
    for count in (c for c in counts if c <= len(available)):
        command = [sys.executable, "-m", "benchmarks.bench_everyday", "--child", str(n)]
        limit = lambda part=available[:count]: os.sched_setaffinity(0, part)  # noqa: E731
        done = subprocess.run(command, check=True, capture_output=True, text=True, preexec_fn=limit)
        row = found[str(count)] = json.loads(done.stdout.splitlines()[-1])
        first = found["1"]
        faster = ", ".join(f"{who} {first[who] / row[who]:.2f}" for who in ("ours", "sklearn"))
        print(
            f"kernel, {n:,} rows, {count} cores: {row['ratio']:.2f} (KernelRidge.fit "
            f"{1e3 * row['sklearn']:.0f} ms); times as fast as on one core: {faster}"
        )
    return found


def child(n):
    X, y, s = make_data(n, 20)
    ours = ParityKernelRidge(kernel="rbf", gamma=0.05)
    theirs = KernelRidge(kernel="rbf", gamma=0.05)
    fit = lambda: ours.fit(X, y, sensitive_features=s)  # noqa: E731
    print(json.dumps(ratio(fit, lambda: theirs.fit(X, y), 5.0)))


PARTS = {
    "linear": lambda sizes: {
        f"{n} x {d}": linear(n, d) for n, d in LINEAR if not sizes or f"{n}x{d}" in sizes
    },
    "kernel": lambda sizes: {str(n): kernel(n) for n in KERNEL if not sizes or str(n) in sizes},
    "cores": lambda sizes: {str(n): cores(n) for n in map(int, sizes or ["2000"])},
    "command": lambda _: command_line(),
}


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=[[], *PARTS], help="all of them by default")
    parser.add_argument("--sizes", nargs="+", default=[], help="such as 100000x20, or 2000")
    parser.add_argument("--child", type=int, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        return child(given.child)
    results = {"cores": os.cpu_count()}
    results |= {part: PARTS[part](given.sizes) for part in given.parts or PARTS}
    path = Path("output/bench_everyday.json")
    path.parent.mkdir(exist_ok=True)
    path.write_text(json.dumps(results, indent=1) + "\n")
    print(f"Results: {path}")
    return None


if __name__ == "__main__":
    main()
