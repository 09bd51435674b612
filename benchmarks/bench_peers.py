"""Error, gaps, time and memory beside other libraries, each at its own recommended settings.

`make bench-peers` sets up an environment with the other libraries and prints the tables of
docs/peers.md. Every method is one function below, from training rows to predictions for the test
rows; "lines" counts its statements. Each runs in a process of its own, with one thread, and
seconds are those of the processor, so that other work on the machine does not count. All ridge
penalties are chosen on the training rows from the same list, by the squared error of five folds.
"""

from __future__ import annotations

import argparse
import ast
import inspect
import json
import os
import subprocess
import sys
import textwrap
import threading
import time
import warnings
from importlib.metadata import version

import numpy as np
import psutil

ALPHAS = np.logspace(-2, 3, 6)
SPLITS = 5
LARGE = 200_000


# the methods: rows (X, y, s) of the training set, and (X, s) of the test set


def ridge(X, y, s, X_new, s_new):
    """scikit-learn: Ridge, no constraint."""
    from sklearn.linear_model import RidgeCV

    return RidgeCV(ALPHAS, cv=5).fit(X, y).predict(X_new)


def parity_ridge(X, y, s, X_new, s_new):
    """meanparity: ParityRidge."""
    from meanparity import ParityRidgeCV

    return ParityRidgeCV(alphas=ALPHAS, cv=5).fit(X, y, sensitive_features=s).predict(X_new)


def parity_ridge_pool(X, y, s, X_new, s_new):
    """meanparity: ParityRidge, test rows as pool."""
    from meanparity import ParityRidgeCV

    model = ParityRidgeCV(alphas=ALPHAS, cv=5)
    return model.fit(X, y, sensitive_features=s, pool=(X_new, s_new)).predict(X_new)


def parity_ridge_with_s(X, y, s, X_new, s_new):
    """meanparity: ParityRidge, S is a feature."""
    from meanparity import ParityRidgeCV

    Xs, Xs_new = np.column_stack([X, indicators(s)]), np.column_stack([X_new, indicators(s_new)])
    return ParityRidgeCV(alphas=ALPHAS, cv=5).fit(Xs, y, sensitive_features=s).predict(Xs_new)


def parity_boosting(X, y, s, X_new, s_new):
    """meanparity: gradient boosting, groups shifted."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    from meanparity import ParityAdjusted

    model = ParityAdjusted(HistGradientBoostingRegressor(random_state=0), correction="groups")
    return model.fit(X, y, sensitive_features=s).predict(X_new, sensitive_features=s_new)


def boosting(X, y, s, X_new, s_new):
    """scikit-learn: gradient boosting, no constraint."""
    from sklearn.ensemble import HistGradientBoostingRegressor

    return HistGradientBoostingRegressor(random_state=0).fit(X, y).predict(X_new)


def parity_kernel(X, y, s, X_new, s_new):
    """meanparity: ParityKernelRidge, RBF."""
    from meanparity import ParityKernelRidgeCV

    model = ParityKernelRidgeCV(kernel="rbf", alphas=ALPHAS, fit_intercept=True, cv=5)
    return model.fit(X, y, sensitive_features=s).predict(X_new)


def fairlearn_correlation(X, y, s, X_new, s_new):
    """Fairlearn: CorrelationRemover, then Ridge."""
    from fairlearn.preprocessing import CorrelationRemover
    from sklearn.linear_model import RidgeCV

    Xs, Xs_new = np.column_stack([X, indicators(s)]), np.column_stack([X_new, indicators(s_new)])
    remover = CorrelationRemover(sensitive_feature_ids=list(range(X.shape[1], Xs.shape[1])))
    model = RidgeCV(ALPHAS, cv=5).fit(remover.fit_transform(Xs), y)
    return model.predict(remover.transform(Xs_new))


def fairlearn_reduction(X, y, s, X_new, s_new):
    """Fairlearn: exponentiated gradient, bounded group loss."""
    from fairlearn.reductions import BoundedGroupLoss, ExponentiatedGradient, SquareLoss
    from sklearn.linear_model import Ridge, RidgeCV

    alpha = RidgeCV(ALPHAS, cv=5).fit(X, y).alpha_
    loss = SquareLoss(y.min(), y.max())
    groups = [
        np.mean((y[s == g] - RidgeCV([alpha]).fit(X, y).predict(X[s == g])) ** 2) for g in (0, 1)
    ]
    bound = BoundedGroupLoss(loss, upper_bound=float(np.mean(groups)))
    model = ExponentiatedGradient(Ridge(alpha), bound, eps=0.01)
    model.fit(X, y, sensitive_features=s)
    return model.predict(X_new, random_state=0)


def aif360_grid(X, y, s, X_new, s_new):
    """AIF360: grid search, bounded group loss."""
    import pandas as pd
    from aif360.sklearn.inprocessing import GridSearchReduction
    from sklearn.linear_model import Ridge, RidgeCV

    alpha = RidgeCV(ALPHAS, cv=5).fit(X, y).alpha_
    names = [f"x{j}" for j in range(X.shape[1])]
    model = GridSearchReduction(
        prot_attr="s",
        estimator=Ridge(alpha),
        constraints="BoundedGroupLoss",
        loss="Square",
        min_val=y.min(),
        max_val=y.max(),
        drop_prot_attr=True,
    )
    table = pd.DataFrame(np.column_stack([X, s]), columns=[*names, "s"])
    model.fit(table, pd.Series(y))
    return model.predict(pd.DataFrame(np.column_stack([X_new, s_new]), columns=[*names, "s"]))


def holistic_barycenter(X, y, s, X_new, s_new):
    """holisticai: Wasserstein barycentre of Ridge."""
    from holisticai.bias.mitigation import WassersteinBarycenter
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(ALPHAS, cv=5).fit(X, y)
    after = WassersteinBarycenter()
    after.fit(model.predict(X), s == 0, s == 1)
    return after.transform(model.predict(X_new), s_new == 0, s_new == 1)["y_pred"]


def holistic_plugin(X, y, s, X_new, s_new):
    """holisticai: plug-in estimation and calibration of Ridge."""
    from holisticai.bias.mitigation import PluginEstimationAndCalibration
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(ALPHAS, cv=5).fit(X, y)
    after = PluginEstimationAndCalibration()
    after.fit(model.predict(X), s == 0, s == 1)
    return after.transform(model.predict(X_new), s_new == 0, s_new == 1)["y_pred"]


def equipy_barycenter(X, y, s, X_new, s_new):
    """EquiPy: Wasserstein barycentre of Ridge."""
    from equipy.fairness import FairWasserstein
    from sklearn.linear_model import RidgeCV

    model = RidgeCV(ALPHAS, cv=5).fit(X, y)
    after = FairWasserstein()
    return after.fit_transform(model.predict(X), s, model.predict(X_new), s_new)


def barycenter(X, y, s, X_new, s_new):
    """meanparity: Wasserstein barycentre of Ridge."""
    from sklearn.linear_model import RidgeCV

    from meanparity.baselines import BarycenterRegressor

    model = BarycenterRegressor(RidgeCV(ALPHAS, cv=5)).fit(X, y, sensitive_features=s)
    return model.predict(X_new, sensitive_features=s_new)


def fairret_linear(X, y, s, X_new, s_new):
    """fairret: linear, penalty on means."""
    import torch
    from fairret.loss import NormLoss
    from fairret.statistic import PositiveRate

    torch.manual_seed(0)
    groups = np.eye(len(np.unique(s)))[np.unique(s, return_inverse=True)[1]]
    parts = (X, groups, (y - y.mean()) / y.std())
    rows = torch.utils.data.TensorDataset(*(torch.Tensor(part) for part in parts))
    model, penalty = torch.nn.Linear(X.shape[1], 1), NormLoss(PositiveRate())
    adam = torch.optim.Adam(model.parameters(), lr=0.01)
    for _ in range(100):
        for batch in torch.randperm(len(rows)).split(256):
            X_batch, groups_batch, y_batch = rows[batch]
            values = model(X_batch)
            loss = torch.nn.functional.mse_loss(values.squeeze(1), y_batch)
            # the penalty divides by the mean of all rows: one is added, so that it is not zero
            loss += penalty(
                values + 1, groups_batch, pred_as_logit=False, target_statistic=torch.ones(1)
            )
            adam.zero_grad()
            loss.backward()
            adam.step()
    return y.mean() + y.std() * model(torch.Tensor(X_new)).detach().numpy().ravel()


def indicators(s):
    """A column for each group but the first; a number as it is."""
    groups = np.unique(s)
    return s[:, None] if len(groups) > 20 else 1.0 * (s[:, None] == groups[1:])


METHODS = [
    ridge,
    parity_ridge,
    parity_ridge_pool,
    parity_ridge_with_s,
    fairlearn_correlation,
    fairlearn_reduction,
    aif360_grid,
    fairret_linear,
    barycenter,
    equipy_barycenter,
    holistic_barycenter,
    holistic_plugin,
    parity_kernel,
    boosting,
    parity_boosting,
]
# the kernel matrix of all rows of the large table would have 157 GB
FOR_LARGE = [method for method in METHODS if method is not parity_kernel]


# the data sets: X, y, s with two groups, 0 and 1


def adult():
    from meanparity.datasets import load_adult

    data = load_adult()
    rows = np.random.default_rng(0).permutation(len(data.target))[:6000]
    return data.data[rows], data.target[rows], (data.sensitive[rows, 0] == "Male").astype(int)


def communities():
    from meanparity.datasets import load_communities_crime

    data = load_communities_crime()
    return data.data, data.target, data.sensitive.astype(int)


def law_school():
    from meanparity.datasets import fetch_law_school

    data = fetch_law_school()
    s = (np.asarray(data.sensitive)[:, 0] == "white").astype(int)
    rows = np.random.default_rng(0).permutation(len(data.target))[:6000]
    return np.asarray(data.data)[rows], data.target[rows], s[rows]


def large():
    rng = np.random.default_rng(0)
    s = (rng.random(LARGE) < 0.3).astype(int)
    X = rng.standard_normal((LARGE, 20)) + 0.3 * s[:, None]
    return X, X[:, :5].sum(axis=1) + 0.5 * s + rng.standard_normal(LARGE), s


DATA = {"adult": adult, "communities": communities, "law_school": law_school, "large": large}


def measure(method, data: str) -> dict:
    """Run one method on the splits of one data set, and describe the predictions."""
    from sklearn.model_selection import train_test_split
    from sklearn.preprocessing import StandardScaler

    from meanparity.metrics import max_mean_gap, wasserstein_gap

    warnings.simplefilter("ignore")
    X, y, s = DATA[data]()
    results, process = [], psutil.Process()
    for split in range(1 if data == "large" else SPLITS):
        parts = train_test_split(X, y, s, test_size=0.3, stratify=s, random_state=split)
        scaler = StandardScaler().fit(parts[0])
        X_fit, X_new = scaler.transform(parts[0]), scaler.transform(parts[1])
        if split == 0 and data != "large":  # imports are not timed
            method(X_fit[:400], parts[2][:400], parts[4][:400], X_new[:50], parts[5][:50])
        before, peak, done = process.memory_info().rss, [0], threading.Event()
        watch = threading.Thread(target=_watch, args=(process, peak, done))
        watch.start()
        start = time.process_time()
        values = np.asarray(method(X_fit, parts[2], parts[4], X_new, parts[5]), float).ravel()
        seconds = time.process_time() - start
        done.set()
        watch.join()
        groups = {"sensitive_features": parts[5]}
        results.append(
            {
                "error": float(np.mean((parts[3] - values) ** 2) / np.var(parts[3])),
                "gap": float(max_mean_gap(None, values, **groups) / np.std(parts[3])),
                "distribution": float(wasserstein_gap(None, values, **groups) / np.std(parts[3])),
                "seconds": seconds,
                "mib": max(peak[0] - before, 0) / 2**20,
            }
        )
    return {key: float(np.mean([r[key] for r in results])) for key in results[0]}


def _watch(process, peak, done):
    while not done.wait(0.005):
        peak[0] = max(peak[0], process.memory_info().rss)


def lines(method) -> int:
    """Number of statements of a method, imports and docstring not counted."""
    tree = ast.parse(textwrap.dedent(inspect.getsource(method))).body[0]
    assert isinstance(tree, ast.FunctionDef)
    nodes = (node for statement in tree.body[1:] for node in ast.walk(statement))
    statements = (node for node in nodes if isinstance(node, ast.stmt))
    return sum(not isinstance(node, ast.Import | ast.ImportFrom) for node in statements)


def probe(method) -> list[str]:
    """What the predictions of one method have in common, tried on small problems."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    X, X_new = rng.standard_normal((600, 6)), rng.standard_normal((200, 6))
    s, s_new = 1 * (np.arange(600) % 5 < 2), 1 * (np.arange(200) % 5 < 2)
    X, X_new = X + 0.5 * s[:, None], X_new + 0.5 * s_new[:, None]
    y = X[:, 0] + s + 0.5 * rng.standard_normal(600)

    def gap(values, groups):
        assert np.std(values) > 1e-3, "a constant, which meets every condition"
        means = [values[groups == group].mean() for group in np.unique(groups)]
        return float(np.ptp(means))

    def training():
        return gap(method(X, y, s, X, s), s) < 1e-8

    def scored():
        return gap(method(X, y, s, X_new, s_new), s_new) < 1e-8

    def without_groups():
        other = rng.permutation(s_new)
        return np.allclose(method(X, y, s, X_new, s_new), method(X, y, s, X_new, other))

    def three():
        t = np.minimum(np.arange(600) % 6, 2)  # groups of 100, 100 and 400
        return gap(method(X, y, t, X, t), t) < 1e-8

    def number():
        age = X[:, 1] + rng.standard_normal(600)
        values = method(X, y, age, X, age)
        return np.std(values) > 1e-3 and abs(np.cov(values, age)[0, 1]) < 1e-8

    return [_answer(ask) for ask in (training, scored, without_groups, three, number)]


def _answer(ask) -> str:
    try:
        return "yes" if ask() else "no"
    except Exception:  # whatever a library raises where it does not support this
        return "refused"


def title(method) -> str:
    """Name of a method in the tables."""
    return method.__doc__.rstrip(".")


def main() -> None:
    """Print a table for each data set, in the form of docs/peers.md."""
    parser = argparse.ArgumentParser(description=main.__doc__)
    parser.add_argument("--data", choices=list(DATA), nargs="*", default=list(DATA))
    parser.add_argument("--one", help="internal: run one method and print JSON")
    parser.add_argument("--features", action="store_true", help="print what each method can do")
    options = parser.parse_args()
    named = {method.__name__: method for method in METHODS}
    if options.features:
        print("| method | equal means, training rows | equal means, scored rows ", end="")
        print("| predicts without groups | three groups | a number |")
        print("|---|---|---|---|---|---|")
        for method in METHODS:
            print(f"| {title(method)} | {' | '.join(probe(method))} |", flush=True)
        return
    if options.one:
        print(json.dumps(measure(named[options.one], options.data[0])))
        return
    packages = (
        "meanparity",
        "scikit-learn",
        "fairlearn",
        "aif360",
        "equipy",
        "fairret",
        "holisticai",
    )
    print(", ".join(f"{name} {version(name)}" for name in packages))
    one_thread = {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    for data in options.data:
        print(f"\n### {data}\n")
        print("| method | error | gap | distributions | seconds | MiB | lines |")
        print("|---|--:|--:|--:|--:|--:|--:|")
        for method in FOR_LARGE if data == "large" else METHODS:
            command = [sys.executable, "-m", "benchmarks.bench_peers"]
            command += ["--data", data, "--one", method.__name__]
            run = subprocess.run(
                command, capture_output=True, text=True, timeout=7200, env=os.environ | one_thread
            )
            if run.returncode:
                reason = run.stderr.strip().splitlines()[-1][:80]
                print(f"| {title(method)} | {reason} | | | | | {lines(method)} |", flush=True)
                continue
            found = json.loads(run.stdout.splitlines()[-1])
            print(
                f"| {title(method)} | {found['error']:.3f} | {found['gap']:.3f} "
                f"| {found['distribution']:.3f} | {found['seconds']:.2f} | {found['mib']:.0f} "
                f"| {lines(method)} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
