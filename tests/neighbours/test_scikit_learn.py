"""Tools of scikit-learn, used with our estimators as its users would."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import sklearn
from sklearn.compose import make_column_transformer
from sklearn.inspection import permutation_importance
from sklearn.linear_model import Ridge
from sklearn.model_selection import learning_curve, validation_curve
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils import estimator_html_repr, get_tags
from sklearn.utils.fixes import parse_version

import meanparity
from meanparity import (
    MeanParity,
    Nystrom,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity import _documentation as documentation
from meanparity.baselines import MeanPenaltyRidge
from meanparity.metrics import max_mean_gap, parity_scorer

# before 1.9, learning_curve does not cut metadata into the batches that it passes to partial_fit
BATCHES = [False, True] if parse_version(sklearn.__version__) >= parse_version("1.9") else [False]
ESTIMATORS = [
    ParityRidge(),
    ParityRidgeCV(),
    ParityKernelRidge(kernel="rbf"),
    ParityKernelRidgeCV(kernel="rbf"),
    ParityKernelRegressor(loss="huber"),
    ParityKernelClassifier(),
    ParityAdjusted(Ridge()),
    MeanPenaltyRidge(),
]


@pytest.fixture
def routing():
    with sklearn.config_context(enable_metadata_routing=True):
        yield


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    s = rng.choice(["a", "b"], 240)
    X = rng.standard_normal((240, 3)) + (s == "a")[:, None]
    return X, X @ [1.0, 0.5, 0.0] + 0.1 * rng.standard_normal(240), s


@pytest.mark.usefixtures("routing")
def test_learning_curves(data):
    """Partial fits to batches are the fits to all rows so far; the groups are routed to both."""
    X, y, s = data
    curves = {}
    for batches in BATCHES:
        for name, scoring in (("r2", "r2"), ("gap", parity_scorer())):
            sizes, here, held_out = learning_curve(
                ParityRidge(),
                X,
                y,
                params={"sensitive_features": s},
                exploit_incremental_learning=batches,
                scoring=scoring,
                train_sizes=[40, 80, 160],
                cv=3,
                error_score="raise",
                shuffle=True,
                random_state=0,
            )
            assert list(sizes) == [40, 80, 160]
            curves[name, batches] = here, held_out
    for name in ("r2", "gap"):
        for batches in BATCHES:
            assert np.allclose(curves[name, False], curves[name, batches], rtol=0, atol=1e-10)
    assert np.abs(curves["gap", False][0]).max() < 1e-12, "parity is exact on the rows of each fit"
    assert np.abs(curves["gap", False][1]).max() > 1e-3, "and not on others"


@pytest.mark.usefixtures("routing")
@pytest.mark.parametrize("batches", BATCHES)
def test_weights_are_requested_by_partial_fit_as_by_fit(batches, data):
    X, y, s = data
    weights = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    model = ParityRidge().set_partial_fit_request(sample_weight=True)
    model.set_fit_request(sample_weight=True).set_score_request(sample_weight=True)
    scores = learning_curve(
        model,
        X,
        y,
        params={"sensitive_features": s, "sample_weight": weights},
        exploit_incremental_learning=batches,
        cv=3,
        train_sizes=[80, 160],
        error_score="raise",
    )[2]
    unweighted = learning_curve(
        ParityRidge(),
        X,
        y,
        params={"sensitive_features": s},
        exploit_incremental_learning=batches,
        cv=3,
        train_sizes=[80, 160],
    )[2]
    assert np.isfinite(scores).all()
    assert not np.allclose(scores, unweighted)


@pytest.mark.usefixtures("routing")
def test_validation_curves(data):
    X, y, s = data
    _, scores = validation_curve(
        ParityKernelRidge(kernel="rbf", solver=Nystrom(30)),
        X,
        y,
        param_name="solver__n_components",
        param_range=[5, 50],
        params={"sensitive_features": s},
        cv=3,
        error_score="raise",
    )
    assert scores[1].mean() >= scores[0].mean()


def group_scorer(s):
    """As in docs/scikit-learn.md: scikit-learn passes no metadata to this scorer."""

    def negative_gap(model, X, y):
        return -max_mean_gap(y, model.predict(X), sensitive_features=s)

    return negative_gap


def test_permutation_importance_of_the_gap(data):
    """The importance of a column for a gap: groups keep their rows when a column is shuffled."""
    X, y, s = data
    free = ParityRidge(unfairness=1.0).fit(X, y, sensitive_features=s)
    gap = group_scorer(s)
    found = permutation_importance(free, X, y, scoring=gap, n_repeats=5, random_state=0)
    drop = found.importances_mean  # of the negative gap: shuffling the first column closes it
    assert drop[0] < drop[1] < 0
    assert abs(drop[2]) < 0.05 * abs(drop[0])
    fair = ParityRidge().fit(X, y, sensitive_features=s)
    found = permutation_importance(fair, X, y, scoring=gap, n_repeats=5, random_state=0)
    assert (found.importances_mean[:2] > 0).all(), "parity needs every column that it uses"


def test_permutation_importance_with_groups_among_the_columns(data):
    X, y, s = data
    frame = pd.DataFrame(X, columns=list("uvw")).assign(group=s)
    model = ParityRidge(sensitive_columns="group", drop_sensitive=True, unfairness=1.0)
    model.fit(frame, y)
    scorers = {"gap": parity_scorer(sensitive_columns="group"), "r2": "r2"}
    found = permutation_importance(model, frame, y, scoring=scorers, n_repeats=3, random_state=0)
    assert found["r2"].importances_mean[3] == 0, "the model does not use the group"
    assert found["gap"].importances_mean[3] < 0, "shuffled groups have no gap"


@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_set_output_keeps_the_names_of_sensitive_columns(container, data):
    import polars as pl

    X, y, s = data
    frame = pd.DataFrame(X, columns=list("uvw")).assign(grade=np.arange(len(y)) % 3, group=s)
    if container == "polars":
        frame = pl.from_pandas(frame)
    columns = make_column_transformer(
        (OneHotEncoder(sparse_output=False), ["grade"]),
        ("passthrough", ["group"]),
        remainder=StandardScaler(),
        verbose_feature_names_out=False,
    )
    model = ParityRidge(sensitive_columns="group", drop_sensitive=True)
    pipeline = make_pipeline(columns, model).set_output(transform=container)
    pipeline.fit(frame, y)
    assert {"group", "u", "grade_0"} <= set(pipeline[-1].feature_names_in_)
    assert max_mean_gap(None, pipeline.predict(frame), sensitive_features=s) < 1e-12


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_the_html_representation_links_to_our_reference(estimator, monkeypatch):
    monkeypatch.setattr(documentation, "documentation", lambda: "https://host/docs")
    name = type(estimator).__name__
    home = "meanparity.baselines" if name == "MeanPenaltyRidge" else "meanparity"
    page = estimator_html_repr(estimator)
    own = page.split("Documentation for ")[0]  # before the estimator in a ParityAdjusted
    assert f'href="https://host/docs/api/generated/{home}.{name}.html"' in own
    assert "https://scikit-learn.org" not in own
    monkeypatch.setattr(documentation, "documentation", lambda: "")
    assert "https://host" not in estimator_html_repr(estimator)


def test_links_are_those_of_public_names_only(monkeypatch):
    monkeypatch.setattr(documentation, "documentation", lambda: "https://host/docs")
    link = "https://host/docs/api/generated/meanparity.{}.html"
    assert MeanParity()._get_doc_link() == link.format("constraints.MeanParity")
    assert Nystrom()._get_doc_link() == link.format("solvers.Nystrom")

    class Own(ParityRidge):
        pass

    assert Own()._get_doc_link() == ""
    for estimator in (ParityRidge, ParityRidgeCV, ParityAdjusted):
        assert estimator.__name__ in meanparity.__all__


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda model: type(model).__name__)
def test_tags_tell_what_is_supported(estimator, data):
    """Arrays of other libraries than NumPy are converted, and so answers are NumPy's."""
    X, y, s = data
    tags = get_tags(estimator)
    assert not tags.array_api_support
    target = y > 0 if isinstance(estimator, ParityKernelClassifier) else y
    model = sklearn.base.clone(estimator).fit(X, target, sensitive_features=s)
    assert type(model.predict(X)) is np.ndarray
    assert tags.input_tags.sparse == _accepts_sparse(estimator, X, target, s)


def _accepts_sparse(estimator, X, y, s):
    from scipy.sparse import csr_array

    try:
        sklearn.base.clone(estimator).fit(csr_array(X), y, sensitive_features=s)
    except (TypeError, ValueError):
        return False
    return True
