"""Every notion and every combination of notions against a naive KKT system."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pytest
from hypothesis import assume, event, given
from hypothesis import strategies as st

from meanparity import (
    CovarianceParity,
    MeanParity,
    ParityKernelRidge,
    ParityRidge,
    Pool,
    ResidualParity,
)
from tests.oracles import conditions, kkt, quadratic_conditions

TOLERANCE = 1e-8
GAMMA = 0.05


@dataclass(frozen=True)
class People:
    """Rows with everything that a constraint may look at."""

    X: np.ndarray
    sensitive: dict[str, list]
    control: dict[str, list] | None
    weights: np.ndarray | None

    def __len__(self):
        return len(self.X)


@st.composite
def people(draw, n, names, missing, controlled, weighted):
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    columns = {
        "sex": np.array(["F", "M"])[np.arange(n) % 2],
        "race": np.array(["a", "b", "c"])[rng.integers(0, 3, n)],
        "age": rng.integers(20, 60, n) + 0.5,
    }
    sensitive = {name: columns[name].tolist() for name in names}
    X = rng.standard_normal((n, 16))
    X[:, 0] += columns["sex"] == "F"
    X[:, 1] += columns["age"] / 30
    if missing != "error":
        for column in sensitive.values():
            for i in rng.integers(0, n, 3):
                column[i] = None
    control = {"grade": rng.integers(0, 2, n).tolist()} if controlled else None
    if controlled and missing != "error":
        control["grade"][int(rng.integers(n))] = None
    weights = rng.integers(0, 4, n) + 0.25 * rng.integers(0, 2, n) if weighted else None
    return People(X, sensitive, control, weights)


@st.composite
def settings(draw):
    """A training set, a pool, and the parameters of an estimator."""
    names = draw(
        st.sampled_from(
            [("sex",), ("sex", "race"), ("age",), ("sex", "age"), ("sex", "race", "age")]
        )
    )
    missing = draw(st.sampled_from(["error", "error", "group", "ignore"]))
    controlled, weighted = draw(st.booleans()), draw(st.booleans())
    shape = names, missing, controlled
    train = draw(people(draw(st.integers(40, 60)), *shape, weighted))
    pool = draw(st.none() | people(draw(st.integers(20, 40)), *shape, draw(st.booleans())))
    kind = draw(st.sampled_from(["mean", "mean", "residual", "quadratic"]))
    places = ["both", "pool", "train"] if kind != "residual" else ["train"]
    return {
        "train": train,
        "pool": pool,
        "y": np.random.default_rng(draw(st.integers(0, 99))).standard_normal((len(train), 2))
        + train.X[:, :1],
        "kind": kind,
        "degree": draw(st.sampled_from([1, 2])),
        "alpha": draw(st.sampled_from([0.1, 1.0, 30.0])),
        "fit_intercept": draw(st.booleans()),
        "parameters": {
            "intersectional": kind == "quadratic" or draw(st.booleans()),
            "continuous": [name for name in names if name == "age"],
            "missing": missing,
            "weight_scope": draw(st.sampled_from(["both", "loss", "constraint"])),
            "parity_on": "train" if pool is None else draw(st.sampled_from(places)),
        },
    }


def oracle(setting, K, new):
    """Values at training rows, pool and new rows, the functionals, and how well they are seen."""
    train, pool, parameters = setting["train"], setting["pool"], setting["parameters"]
    options = {
        "intersectional": parameters["intersectional"],
        "numbers": parameters["continuous"],
        "degree": setting["degree"],
        "missing": parameters["missing"],
    }
    if setting["kind"] == "quadratic":
        make, options = quadratic_conditions, {"missing": parameters["missing"]}
    else:
        make = conditions
    n, p = len(train), 0 if pool is None else len(pool)
    scope, blocks = parameters["weight_scope"], []
    if parameters["parity_on"] != "pool":
        weights = train.weights if scope != "loss" else None
        C = make(train.sensitive, control=train.control, weights=weights, **options)
        blocks.append(np.vstack([C, np.zeros((p + new, C.shape[1]))]))
    if p and parameters["parity_on"] != "train":
        C = make(pool.sensitive, control=pool.control, weights=pool.weights, **options)
        blocks.append(np.vstack([np.zeros((n, C.shape[1])), C, np.zeros((new, C.shape[1]))]))
    C = np.hstack(blocks)
    left, sizes, _ = np.linalg.svd(C, full_matrices=False)
    C = left[:, sizes > 1e-10 * sizes[0]]
    targets = C[:n].T @ setting["y"] if setting["kind"] == "residual" else np.zeros((C.shape[1], 2))
    loss = train.weights if scope != "constraint" else None
    values = kkt(
        K,
        n,
        setting["y"],
        C,
        targets,
        setting["alpha"],
        weights=loss,
        fit_intercept=setting["fit_intercept"],
    )
    seen = np.linalg.eigvalsh(C.T @ K @ C) / np.trace(K) * len(K)
    # a functional between seen and not seen is not determined by rounded kernel values
    assume(not np.any((seen > 1e-14) & (seen < 1e-4)))
    return values, C, targets


def matrix(kernel, points):
    if kernel == "linear":
        return points @ points.T
    distances = ((points[:, None] - points) ** 2).sum(axis=2)
    return np.exp(-GAMMA * distances)


def fit(estimator, setting, **more):
    train, pool = setting["train"], setting["pool"]
    parameters, degree = dict(setting["parameters"]), setting["degree"]
    if setting["kind"] == "quadratic":
        parameters.pop("intersectional")
        constraint = CovarianceParity("polynomial", degree=2, **parameters)
    elif setting["kind"] == "residual":
        constraint = ResidualParity(degree=degree, **parameters)
    else:
        constraint = MeanParity(degree=degree, **parameters)
    estimator.set_params(
        alpha=setting["alpha"], fit_intercept=setting["fit_intercept"], constraint=constraint
    )
    if pool is not None:
        more["pool"] = Pool(pool.X, pool.sensitive, pool.control, pool.weights)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        estimator.fit(
            train.X,
            setting["y"],
            sensitive_features=train.sensitive,
            control_features=train.control,
            sample_weight=train.weights,
            **more,
        )
    said = " ".join(str(w.message) for w in caught)
    assume("No function of this space" not in said)  # a compromise, which is tested elsewhere
    event("a constant" if "Only a constant" in said else "a model")
    return estimator


@given(setting=settings(), seed=st.integers(0, 9))
@pytest.mark.parametrize(
    "estimator",
    [
        ParityRidge(solver="primal"),
        ParityRidge(solver="dense"),
        ParityRidge(solver="spectral"),
        ParityKernelRidge(kernel="rbf", gamma=GAMMA, solver="dense"),
        ParityKernelRidge(kernel="rbf", gamma=GAMMA, solver="spectral"),
    ],
    ids=lambda e: f"{type(e).__name__}-{e.solver}",
)
def test_every_combination_meets_its_optimality_conditions(estimator, setting, seed):
    train, pool = setting["train"], setting["pool"]
    new = np.random.default_rng(seed).standard_normal((5, 16))
    points = np.vstack([train.X, *([] if pool is None else [pool.X]), new])
    model = fit(estimator, setting)
    K = matrix("linear" if isinstance(model, ParityRidge) else "rbf", points)
    values, C, targets = oracle(setting, K, len(new))
    predicted = model.predict(points)
    scale = np.abs(setting["y"]).max()
    assert np.abs(C.T @ predicted - targets).max() <= 1e-10 * scale, "the constraint holds"
    assert np.abs(predicted - values).max() <= TOLERANCE * scale
