"""Newton's method and L-BFGS beside the paper's Adam on its smooth-L1 problem.

The paper's linear setting on the bundled Communities & Crime table: no ridge penalty, mean parity,
smooth L1 with β = 0.1 and β = 1. Counted is the time until the objective is within `CLOSE` of the
optimum; Adam at the paper's learning rate of 1e-4 has `STEPS` steps for that. All figures that
matter are ratios within this one run.
"""

from __future__ import annotations

import json
import time
from pathlib import Path

import numpy as np

from meanparity import ParityKernelRegressor
from meanparity.datasets import load_communities_crime
from meanparity.losses import SmoothL1

CLOSE = 1e-4
STEPS = 40_000


def fit(X, y, s, best=None, **parameters):
    """Seconds until the constrained objective is close to the best, and where it ended."""
    start = time.perf_counter()
    model = ParityKernelRegressor(alpha=0.0, **parameters).fit(X, y, sensitive_features=s)
    seconds = time.perf_counter() - start
    objective = model.history_["constrained"]["objective"]
    best = objective[-1] if best is None else best
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
        model = ParityKernelRegressor(alpha=0.0, loss=loss).fit(X, y, sensitive_features=s)
        best = model.tradeoff_.objective(0.0)
        row = {}
        for optimizer in ("newton", "lbfgs"):
            runs = [fit(X, y, s, best, loss=loss, optimizer=optimizer) for _ in range(5)]
            row[optimizer] = min(runs, key=lambda run: run["seconds"])
        row["adam"] = fit(X, y, s, best, loss=loss, optimizer="adam", max_iter=STEPS)
        results[beta] = row
        adam = row["adam"]
        more = "" if adam["came close"] else "more than "
        for optimizer in ("newton", "lbfgs"):
            ratio = adam["seconds"] / row[optimizer]["seconds"]
            print(
                f"β = {beta}: {optimizer} {1e3 * row[optimizer]['seconds']:.0f} ms, Adam {more}"
                f"{adam['seconds']:.1f} s: {more}{ratio:.0f} times as long"
            )
        if not adam["came close"]:
            print(f"    and Adam is still {adam['above']:.1e} above the optimum")
    Path("output").mkdir(exist_ok=True)
    Path("output/bench_losses.json").write_text(json.dumps(results, indent=1))
    print("numbers: output/bench_losses.json")


if __name__ == "__main__":
    main()
