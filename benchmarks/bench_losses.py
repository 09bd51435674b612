"""Newton's method and L-BFGS compared with the paper's Adam on its smooth-L1 problem.

The paper's linear setting on the bundled Communities & Crime table: no ridge penalty, mean parity,
smooth L1 with β = 0.1 and β = 1. Every time is that of the free and the constrained fit together,
until the constrained objective is within `CLOSE` of the optimum. Adam has the paper's learning rate
of 1e-4 and at most `STEPS` steps. The results that matter are ratios within this one run.
"""

from __future__ import annotations

import json
import time
from functools import partial
from pathlib import Path

import numpy as np

from meanparity import ParityKernelRegressor
from meanparity.datasets import load_communities_crime
from meanparity.losses import SmoothL1
from reproduction.adam import descend

CLOSE = 1e-4
STEPS = 40_000


def fit(X, y, s, loss, solver):
    """The constrained mean loss at every step."""
    model = ParityKernelRegressor(alpha=0.0, loss=loss, solver=solver)
    model.fit(X, y, sensitive_features=s)
    return model.history_["constrained"]["objective"] / len(y)


def adam(X, y, s, loss):
    """The same for the paper's Adam."""
    descend(X, y, s, loss, fair=False, steps=STEPS)
    return descend(X, y, s, loss, fair=True, steps=STEPS).loss


def measure(run, best):
    """Seconds until the constrained objective is close to the best, and where it ends."""
    start = time.perf_counter()
    objective = run()
    seconds = time.perf_counter() - start
    close = np.flatnonzero(objective <= best * (1 + CLOSE))
    share = (close[0] if len(close) else len(objective)) / max(len(objective) - 1, 1)
    return {
        "seconds": seconds * min(share, 1.0),
        "came close": bool(len(close)),
        "above": float(objective[-1] / best - 1),
    }


def main():
    data = load_communities_crime()
    X, y, s = np.asarray(data.data, dtype=float), data.target - data.target.mean(), data.sensitive
    results = {}
    for beta in (0.1, 1.0):
        loss = SmoothL1(beta)
        best = fit(X, y, s, loss, "newton")[-1]
        row = {}
        for solver in ("newton", "lbfgs"):
            runs = [measure(partial(fit, X, y, s, loss, solver), best) for _ in range(5)]
            row[solver] = min(runs, key=lambda run: run["seconds"])
        row["adam"] = paper = measure(partial(adam, X, y, s, loss), best)
        results[beta] = row
        more = "" if paper["came close"] else "more than "
        for solver in ("newton", "lbfgs"):
            ratio = paper["seconds"] / row[solver]["seconds"]
            print(
                f"β = {beta}: {solver} {1e3 * row[solver]['seconds']:.0f} ms, Adam {more}"
                f"{paper['seconds']:.1f} s: {more}{ratio:.0f} times as long"
            )
        if not paper["came close"]:
            print(f"    at the end, Adam is {paper['above']:.1e} above the optimum")
    Path("output").mkdir(exist_ok=True)
    Path("output/bench_losses.json").write_text(json.dumps(results, indent=1))
    print("Results: output/bench_losses.json")


if __name__ == "__main__":
    main()
