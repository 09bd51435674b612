"""Time of the baselines compared with one KernelRidge fit, and of the reduction with its loop.

Run it on an idle machine (`make bench`). The results that matter are ratios within this one run.
Each time is the shortest of several runs.
"""

from __future__ import annotations

import json
import time
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_ridge import KernelRidge

from meanparity.baselines import METHODS, CorrelationBoundedRegression, ReductionRegressor
from tests.oracles.reduction import LoopedReduction

KERNEL_ROWS, RBF = 4000, {"kernel": "rbf", "gamma": 0.05, "alpha": 1.0}
LINEAR_ROWS, LINEAR_COLUMNS = 2000, 100
LOOP_ROWS, LOOP_THRESHOLDS, LOOP_ROUNDS = 1600, 41, 2


def make_data(n, d, groups=2, seed=0):
    rng = np.random.default_rng(seed)
    s = rng.integers(0, groups, n)
    X = rng.standard_normal((n, d)) + 0.3 * s[:, None]
    return X, np.sin(X[:, 0]) + 0.3 * s + 0.1 * rng.standard_normal(n), s


def fastest(run, repeats=3):
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)


def kernels():
    X, y, s = make_data(KERNEL_ROWS, 20)
    KernelRidge(**RBF).fit(X[:500], y[:500])
    base = fastest(lambda: KernelRidge(**RBF).fit(X, y))
    print(f"one KernelRidge fit to {KERNEL_ROWS} rows: {base:.2f} s; multiples of this time:")
    rows = {}

    def add(name, sensitive, note="", **settings):
        people = {"sensitive_features": sensitive, "setting": "kernel"}
        rows[name + note] = fastest(lambda: METHODS[name].fit(X, y, **people, **settings)) / base
        print(f"  {name + note:<20}{rows[name + note]:>6.2f}")

    for name in ("FPR-3", "FKR-3", "NRFC", "Ours"):
        add(name, s, **RBF)
    add("Barycenter", s, " (KernelRidge)", estimator=KernelRidge(**RBF))
    numbers = np.random.default_rng(1).standard_normal(KERNEL_ROWS)
    for name in ("FKR-3", "NRFC"):
        add(name, numbers, ", numeric S", **RBF)
    return rows


def bounds():
    X, y, s = make_data(LINEAR_ROWS, LINEAR_COLUMNS)
    times = {}
    for alpha in (0.0, 1.0):
        fit = partial(CorrelationBoundedRegression(alpha=alpha, unfairness=0.01).fit, X, y)
        times[alpha] = fastest(partial(fit, sensitive_features=s), 20)
        print(
            f"NRFC, linear, {LINEAR_ROWS} rows, {LINEAR_COLUMNS} columns, penalty {alpha:g}: "
            f"{1e3 * times[alpha]:.1f} ms"
        )
    return times


def reduction():
    X, y, s = make_data(LOOP_ROWS, 20)
    y = (y - y.min()) / np.ptp(y)
    theta = np.linspace(0, 1, LOOP_THRESHOLDS)
    model = ReductionRegressor(slack=0.05, thresholds=theta, max_iter=LOOP_ROUNDS)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        ours = fastest(lambda: model.fit(X, y, sensitive_features=s))

    def loop():
        naive = LoopedReduction(X, y, s, 0.05, theta, LOOP_ROUNDS)
        naive.run()
        assert naive.calls == model.n_oracle_calls_

    looped = fastest(loop, 1)
    print(
        f"reduction, {LOOP_ROWS} rows, {LOOP_ROUNDS} rounds: {1e3 * ours:.0f} ms; a loop over rows "
        f"and thresholds: {looped:.1f} s, {looped / ours:.0f} times as long"
    )
    return {"ours": ours, "loop": looped, "ratio": looped / ours}


def main():
    results = {"kernels": kernels(), "bounds": bounds(), "reduction": reduction()}
    Path("output").mkdir(exist_ok=True)
    Path("output/bench_baselines.json").write_text(json.dumps(results, indent=1))
    print("Results: output/bench_baselines.json")


if __name__ == "__main__":
    main()
