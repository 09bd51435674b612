"""What a user writes, with deliberate mistakes: type checkers have to find those, and no others.

It is checked, never run. The comment ``# wrong`` marks lines with a mistake.
"""

from __future__ import annotations

from typing import Any, assert_type

import numpy as np
from numpy.typing import NDArray

from meanparity import (
    MeanParity,
    Nystrom,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
    Pool,
)
from meanparity.audit import audit
from meanparity.datasets import load_adult, load_communities_crime, make_synthetic
from meanparity.metrics import (
    ByGroup,
    group_means,
    max_mean_gap,
    mean_parity_gap,
    selection_rates,
)
from meanparity.statistics import Statistics
from meanparity.tradeoff import Tradeoff, TradeoffCurve

Floats = NDArray[np.float64]

# data sets
data = load_communities_crime()
assert_type(data.data, Floats)
assert_type(data.target, Floats)
assert_type(data.feature_names, list[str])
assert_type(load_adult(return_X_y=True), tuple[Floats, Floats])
X, y, s = data.data, data.target, data.sensitive
print(data.targets)  # wrong
load_adult(variant="papr")  # wrong
load_adult(as_frames=True)  # wrong
frame = load_adult(as_frame=True).frame
noise = make_synthetic(100, random_state=0)

# estimators
model = ParityRidge(alpha=[0.1, 1.0], max_gap={"women": 0.1}, solver="primal")
fitted = model.fit(X, y, sensitive_features=s, pool=Pool(X, s))
assert_type(fitted, ParityRidge)
assert_type(fitted.predict(X), Floats)
assert_type(fitted.tradeoff_, Tradeoff)
assert_type(fitted.gaps_, dict[str, float | Floats])
assert_type(fitted.partial_fit(X, y, sensitive_features=s), ParityRidge)
assert_type(fitted.statistics(X, y, sensitive_features=s), Statistics)
assert_type(ParityRidgeCV().fit(X, y, sensitive_features=s).predict(X), Floats)
fitted.predict(X).to_numpy()  # wrong
fitted.predict(X, s)  # wrong
fitted.fit(X, y, sensitive_feature=s)  # wrong
fitted.fit(X, y, s)  # wrong
fitted.tradeoff_.for_gaps(0.1)  # wrong
ParityRidge(alfa=1.0)  # wrong
ParityRidge(alpha="1")  # wrong
ParityRidge(solver="newton")  # wrong
ParityRidge(constraint="mean parity")  # wrong
ParityRidge(unfairness="half")  # wrong
ParityRidge(sensitive_columns={"sex": 1})  # wrong
ParityKernelRidge(kernel="rbf", solver=Nystrom(n_components=50))
ParityKernelRidge(kernel="gauss")  # wrong
ParityKernelRidge(solver=Nystrom(n_components="all"))  # wrong
ParityKernelRegressor(loss="huber", constraint=MeanParity(scale="response"))
ParityKernelRegressor(loss="logistic")  # wrong
MeanParity(missing="drop")  # wrong
MeanParity(scale="probability")  # wrong
MeanParity(pooling="always")  # wrong

classifier = ParityKernelClassifier().fit(X, y > 0, sensitive_features=s)
assert_type(classifier, ParityKernelClassifier)
assert_type(classifier.predict(X), NDArray[Any])
assert_type(classifier.predict_proba(X), Floats)
assert_type(ParityAdjusted(model).fit(X, y, sensitive_features=s).predict(X), Floats)

# the tradeoff
halfway = fitted.tradeoff_.at(0.5)
assert_type(halfway.predict(X), Floats)
curve = fitted.tradeoff_.curve(X, y, s)
assert_type(curve, TradeoffCurve)
assert_type(curve.mse, Floats)
print(curve.msee)  # wrong
curve.to_pandas()  # wrong

# metrics and audits
gap = mean_parity_gap(y, halfway.predict(X), sensitive_features=s)
assert_type(gap, float | Floats)
largest: float = float(max_mean_gap(y, halfway.predict(X), sensitive_features=s))
text: str = gap  # wrong
group_means(y, y, s)  # wrong
rates = selection_rates(y, y > 0.5, sensitive_features=s)
worst: float = min(rates.values())
assert_type(rates, ByGroup[float])
rates.to_pandas()  # wrong
found = audit(halfway.predict(X), sensitive_features=s)
print(found.findings[0].gap_std)  # wrong
