"""One fitted model of every kind, on few rows."""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.compose import TransformedTargetRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.frozen import FrozenEstimator
from sklearn.gaussian_process.kernels import RBF, Matern
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import (
    LBFGS,
    ConjugateGradient,
    CovarianceParity,
    Dense,
    LinearParity,
    MeanParity,
    Newton,
    Nystrom,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
    Pool,
    Primal,
    ResidualParity,
    SmallestLoss,
    Spectral,
)
from meanparity.baselines import (
    BarycenterRegressor,
    CorrelationBoundedRegression,
    CovariancePenaltyRidge,
    MeanPenaltyRidge,
    ReductionRegressor,
    UnfairnessPenaltyRidge,
)
from meanparity.kernels import Kernel

RNG = np.random.default_rng(0)
N = 60
X = pd.DataFrame(RNG.standard_normal((N, 4)), columns=list("abcd"))
S = RNG.choice(["female", "male"], N)
Y = X["a"] + (S == "female") + RNG.standard_normal(N)
BAND = np.array(["young", "middle", "old"])[np.arange(N) % 3]  # three groups: budgets off the dial
AGE = pd.DataFrame({"sex": S, "age": RNG.uniform(20, 60, N)})
NYSTROM = Nystrom(n_components=12)

MODELS = {
    "ridge": ParityRidge(solver=Primal()),
    "ridge, pooling": ParityRidge(constraint=MeanParity(pooling="auto")),
    "ridge, confidence": ParityRidge(max_gap=0.3, confidence=0.9),
    "ridge, two outputs": ParityRidge(alpha=[0.1, 1.0], fit_intercept=False),
    "ridge, residuals": ParityRidge(constraint=ResidualParity()),
    "ridge, covariance": ParityRidge(constraint=CovarianceParity()),
    "ridge, age": ParityRidge(
        constraint=MeanParity(
            continuous=["age"], intersectional=False, degree=1, n_knots=3, min_group_size=2
        )
    ),
    "ridge, own weights": ParityRidge(
        constraint=LinearParity(np.where(S == "male", 1.0, 0.0) - np.mean(S == "male"))
    ),
    "ridge, batches": ParityRidge(max_gap=0.02),
    "ridge cv": ParityRidgeCV(cv=3, scoring=SmallestLoss(max_gap=5.0)),
    "rbf": ParityKernelRidge(kernel="rbf", solver=Dense()),
    "poly": ParityKernelRidge(kernel="poly", solver=Spectral()),
    "sigmoid": ParityKernelRidge(kernel="sigmoid", gamma=0.01),
    "laplacian": ParityKernelRidge(kernel="laplacian", solver=ConjugateGradient()),
    "linear, dense": ParityKernelRidge(kernel="linear", solver="dense", fit_intercept=True),
    "sum of kernels": ParityKernelRidge(
        kernel=Kernel("rbf", columns=["a", "b"]) + Kernel("linear") * Kernel("rbf")
    ),
    "sklearn kernels": ParityKernelRidge(kernel=RBF() + 2.0 * Matern()),
    "rbf, max gap": ParityKernelRidge(kernel="rbf", max_gap=0.05),
    "huber, max gap": ParityKernelRegressor(kernel="rbf", loss="huber", max_gap=0.05),
    "landmarks": ParityKernelRidge(kernel="rbf", solver=NYSTROM),
    "landmarks, strata and pool": ParityKernelRidge(
        kernel="rbf", solver=NYSTROM, constraint=MeanParity(min_group_size=2)
    ),
    "kernel cv": ParityKernelRidgeCV(kernel="rbf", gammas=[0.1, 1.0]),
    "kernel cv, landmarks": ParityKernelRidgeCV(kernel="rbf", solver=NYSTROM),
    **{
        loss: ParityKernelRegressor(kernel="rbf", loss=loss)
        for loss in ("squared", "smooth_l1", "quantile", "epsilon_insensitive")
    },
    "huber": ParityKernelRegressor(kernel="rbf", loss="huber", solver=LBFGS()),
    "poisson": ParityKernelRegressor(kernel="rbf", loss="poisson", solver=Newton()),
    "gamma": ParityKernelRegressor(kernel="rbf", loss="gamma"),
    "classifier": ParityKernelClassifier(kernel="rbf"),
    "hinge": ParityKernelClassifier(kernel="linear", loss="hinge"),
    "adjusted": ParityAdjusted(Ridge()),
    "adjusted boosting": ParityAdjusted(HistGradientBoostingRegressor(max_iter=3)),
    "adjusted groups": ParityAdjusted(Ridge(), correction="groups"),
    "adjusted, frozen": ParityAdjusted(FrozenEstimator(Ridge().fit(X, Y))),
    "barycentre": BarycenterRegressor(),
    "correlation bound": CorrelationBoundedRegression(),
    "correlation bound, kernel": CorrelationBoundedRegression(kernel="rbf"),
    "covariance penalty": CovariancePenaltyRidge(),
    "mean penalty, kernel": MeanPenaltyRidge(kernel="rbf"),
    "reduction": ReductionRegressor(),
    "reduction of ridge": ReductionRegressor(Ridge()),
    "unfairness penalty": UnfairnessPenaltyRidge(),
    "pipeline": make_pipeline(StandardScaler(), ParityRidge()),
    "transformed target": TransformedTargetRegressor(ParityRidge(), transformer=StandardScaler()),
}
NEED_GROUPS = {
    "adjusted groups",
    "barycentre",
    "correlation bound",
    "correlation bound, kernel",
    "unfairness penalty",
}
OF_SKLEARN = {"pipeline": "parityridge__", "transformed target": ""}


def fit(name, model=None):
    """The model, fitted: a new one, or one that may have been fitted before."""
    y, sensitive = Y, S
    model = clone(MODELS[name]) if model is None else model
    if isinstance(model, ParityKernelClassifier):
        y = np.where(Y > 0, "yes", "no")
    elif name in ("poisson", "gamma"):
        y = np.exp(0.2 * Y)
    elif name == "ridge, age":
        sensitive = AGE
    elif name.endswith("max gap"):
        sensitive = BAND
    elif name == "ridge, two outputs":
        y = np.column_stack([Y, Y**2])
    elif name == "landmarks, strata and pool":
        pool = Pool(X[:30] + 0.1, BAND[:30], S[:30])
        return model.fit(X, Y, sensitive_features=BAND, control_features=S, pool=pool)
    if name == "ridge, batches":
        for part in (slice(0, 30), slice(30, N)):
            model.partial_fit(X[part], y[part], sensitive_features=sensitive[part])
        return model
    return model.fit(X, y, **{OF_SKLEARN.get(name, "") + "sensitive_features": sensitive})


def predict(name, model):
    """Its predictions for the rows of the fit."""
    return model.predict(X, **({"sensitive_features": S} if name in NEED_GROUPS else {}))
