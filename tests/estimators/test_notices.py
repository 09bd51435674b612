"""What a fit says beside its result: small groups, strata, numbers, dials."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest

from meanparity import (
    CovarianceParity,
    MeanParity,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    Pool,
    ResidualParity,
)
from meanparity.constraints import Constraint
from meanparity.metrics import group_means, mean_parity_gap

ESTIMATORS = [ParityRidge, ParityKernelRidge]


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    n = 120
    frame = pd.DataFrame(
        {
            "sex": rng.choice(["F", "M"], n),
            "race": rng.choice(["a", "b", "c"], n),
            "age": rng.integers(20, 65, n),
            "grade": rng.integers(1, 4, n),
        }
    )
    X = rng.standard_normal((n, 20))
    X[:, 0] += frame["sex"] == "F"
    X[:, 1] += frame["age"] / 20
    y = X[:, 0] + X[:, 1] + 0.5 * frame["grade"].to_numpy() + 0.1 * rng.standard_normal(n)
    return X, y, frame


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_small_groups_are_named_with_sizes_and_standard_errors(estimator, data):
    X, y, frame = data
    s = np.where(np.arange(120) < 4, "few", np.where(np.arange(120) < 5, "one", frame["sex"]))
    error = y[:4].std(ddof=1) / 2
    expected = (
        rf"2 groups of fewer than 10 rows: few \(4 rows, standard error {error:.3g}\); one \("
    )
    with pytest.warns(ParityWarning, match=expected):
        model = estimator().fit(X, y, sensitive_features=s)
    assert set(model.group_means_) == {"few", "one", "F", "M"}, "none are merged"
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Parity costs much", ParityWarning)
        estimator(constraint=MeanParity(min_group_size=0)).fit(X, y, sensitive_features=s)
        warnings.filterwarnings("ignore", "Only a constant", ParityWarning)
        pooled = ParityRidge(constraint=MeanParity(pooling=1.0)).fit(X, y, sensitive_features=s)
    assert set(pooled.gap_limits_.labels) >= {"few", "one"}, "which says what is known of them"
    with pytest.warns(ParityWarning, match=r"1 group of fewer than 2 rows: one \(1 row, standard"):
        estimator(constraint=MeanParity(min_group_size=2)).fit(X, y, sensitive_features=s)
    for wrong in (-1, 2.5, "few", True, None):
        with pytest.raises(ValueError, match="is not an integer of 0 or more"):
            estimator(constraint=MeanParity(min_group_size=wrong)).fit(X, y, sensitive_features=s)


def test_equal_outcomes_do_not_make_a_mean_known(data):
    """Six people with the same outcome have not shown how much people like them vary."""
    X, y, frame = data
    s = np.where(np.arange(120) < 6, "few", frame["sex"])
    answers = (y > np.median(y)).astype(float)
    for same in (0.0, 0.1):  # the variance of the latter is rounding error instead of zero
        answers[:6] = same
        error = answers.std() / np.sqrt(6)
        with pytest.warns(ParityWarning, match=rf"few \(6 rows, standard error {error:.3g}\)"):
            ParityRidge().fit(X, answers, sensitive_features=s)


def test_groups_are_counted_where_they_are_compared(data):
    X, y, frame = data
    with pytest.warns(ParityWarning, match=r"2 groups of fewer than 40 rows: race=a .*; race=b"):
        ParityRidge(constraint=MeanParity(intersectional=False, min_group_size=40)).fit(
            X, y, sensitive_features=frame[["sex", "race"]]
        )
    with pytest.warns(ParityWarning, match=r"F in grade=1 \(\d+ rows"):
        ParityRidge(constraint=MeanParity(min_group_size=40)).fit(
            X, y, sensitive_features=frame["sex"], control_features=frame[["grade"]]
        )
    with pytest.warns(ParityWarning, match=r"2 groups of the pool of fewer than 10 rows: F \("):
        ParityRidge().fit(X, y, sensitive_features=frame["sex"], pool=(X[:12], frame["sex"][:12]))


def test_no_more_than_five_are_listed(data):
    X, y, frame = data
    with pytest.warns(ParityWarning, match="; and 1. more"):
        ParityRidge(constraint=MeanParity(intersectional=True, min_group_size=50)).fit(
            X, y, sensitive_features=frame[["sex", "race", "grade"]]
        )


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_strata_with_one_group_are_reported(estimator, data):
    X, y, frame = data
    grade = frame["grade"].where(frame["sex"] == "M", frame["grade"].clip(upper=2))
    with pytest.warns(
        ParityWarning,
        match=r"There are no groups to compare in 1 stratum, .*grade=3 \(\d+ rows",
    ):
        model = estimator().fit(X, y, sensitive_features=frame["sex"], control_features=grade)
    assert model.unconstrained_strata_ == {"grade=3": int((grade == 3).sum())}
    predicted = model.predict(X)
    for value in (1, 2):
        inside = (grade == value).to_numpy()
        gap = mean_parity_gap(None, predicted[inside], sensitive_features=frame["sex"][inside])
        assert gap <= 1e-10


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_numbers_are_recognised_with_a_warning(estimator, data):
    X, y, frame = data
    with pytest.warns(ParityWarning, match=r"'age' has many .* MeanParity\(continuous=\['age'\]\)"):
        model = estimator().fit(X, y, sensitive_features=frame["age"])
    assert model.continuous_ == ("age",)
    assert model.group_counts_ == {}
    assert model.group_means_ == {}
    assert not model.implies_mean_parity_
    assert abs(np.cov(model.predict(X), frame["age"])[0, 1]) <= 1e-10
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Parity costs much", ParityWarning)
        said = estimator(constraint=MeanParity(continuous=["age"])).fit(
            X, y, sensitive_features=frame["age"]
        )
        estimator(constraint=CovarianceParity()).fit(X, y, sensitive_features=frame["age"])
    assert np.array_equal(said.predict(X), model.predict(X))
    curve = model.tradeoff_.curve(X, y, frame["age"])
    assert np.allclose(curve.smd, curve.unfairness * curve.smd[-1], atol=1e-10)
    spread = np.std(frame["age"])
    free = model.tradeoff_.at(1.0).predict(X)
    assert curve.smd[-1] == pytest.approx(abs(np.cov(free, frame["age"], ddof=0)[0, 1]) / spread)


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_age_and_sex_in_one_table(estimator, data):
    X, y, frame = data
    columns = frame[["sex", "age"]]
    for intersectional in (True, False):
        model = estimator(
            constraint=MeanParity(degree=2, intersectional=intersectional, continuous=["age"])
        )
        predicted = model.fit(X, y, sensitive_features=columns).predict(X)
        assert mean_parity_gap(None, predicted, sensitive_features=frame["sex"]) <= 1e-10
        for power in (1, 2):
            powers = frame["age"].to_numpy() ** power
            for sex in "FM":
                inside = frame["sex"] == sex
                within = abs(np.corrcoef(predicted[inside], powers[inside])[0, 1])
                assert (within <= 1e-9) == intersectional
            assert abs(np.corrcoef(predicted, powers)[0, 1]) <= 1e-9
        assert set(model.group_means_) == {"F", "M"}


def test_marginal_parity_equalises_each_column(data):
    X, y, frame = data
    columns = frame[["sex", "race"]]
    marginal = ParityRidge(constraint=MeanParity(intersectional=False)).fit(
        X, y, sensitive_features=columns
    )
    predicted = marginal.predict(X)
    for name in columns:
        assert mean_parity_gap(None, predicted, sensitive_features=frame[name]) <= 1e-10
    assert mean_parity_gap(None, predicted, sensitive_features=columns) > 1e-3
    assert not marginal.implies_mean_parity_
    assert set(marginal.group_means_) == set(
        group_means(None, predicted, sensitive_features=columns)
    )
    with pytest.raises(ValueError, match=r"intersectional='no'\. Pass True or False"):
        ParityRidge(constraint=MeanParity(intersectional="no")).fit(
            X, y, sensitive_features=columns
        )


@pytest.mark.parametrize("estimator", [ParityRidge(), ParityKernelRidge(kernel="rbf")])
def test_residual_parity(estimator, data):
    X, y, frame = data
    estimator.set_params(constraint="residual_parity")
    model = estimator.fit(X, y, sensitive_features=frame["sex"])
    errors = y - model.predict(X)
    assert mean_parity_gap(None, errors, sensitive_features=frame["sex"]) <= 1e-10
    assert not model.implies_mean_parity_
    if model.fit_intercept:  # then every group is right on average
        assert abs(errors[frame["sex"] == "F"].mean()) <= 1e-10
    curve = model.tradeoff_.curve(X, y, frame["sex"])
    assert curve.max_gap[0] <= 1e-10
    limited = estimator.set_params(max_gap=curve.max_gap[-1] / 4)
    limited = limited.fit(X, y, sensitive_features=frame["sex"])
    assert limited.unfairness_ == pytest.approx(0.25)
    assert model.constraint == "residual_parity"


def test_missing_sensitive_values(data):
    X, y, frame = data
    s = frame["sex"].astype(object).where(np.arange(120) > 14, None)
    with pytest.raises(ValueError, match=r"15 missing values .*'group'.*'ignore'"):
        ParityRidge().fit(X, y, sensitive_features=s)
    group = ParityRidge(constraint=MeanParity(missing="group")).fit(X, y, sensitive_features=s)
    assert set(group.group_means_) == {"F", "M", None}
    assert np.ptp(list(group.group_means_.values())) <= 1e-12
    ignore = ParityRidge(constraint=MeanParity(missing="ignore")).fit(X, y, sensitive_features=s)
    assert set(ignore.group_means_) == {"F", "M"}
    assert np.ptp(list(ignore.group_means_.values())) <= 1e-12
    known = s.notna().to_numpy()
    dropped = ParityRidge().fit(X[known], y[known], sensitive_features=s[known])
    assert not np.allclose(dropped.coef_, ignore.coef_), "ignored rows count in the loss"
    curve = ignore.tradeoff_.curve(X, y, s)
    assert curve.smd[0] <= 1e-12
    with pytest.raises(ValueError, match="missing=None is not known"):
        ParityRidge(constraint=MeanParity(missing=None)).fit(X, y, sensitive_features=s)
    with pytest.raises(ValueError, match="one group only"):
        ParityRidge(constraint=MeanParity(missing="ignore")).fit(
            X, y, sensitive_features=[None] * 120
        )


def test_curves_of_other_rows_need_the_same_columns(data):
    X, y, frame = data
    model = ParityRidge(constraint=MeanParity(min_group_size=0)).fit(
        X[:90], y[:90], sensitive_features=frame["sex"][:90], control_features=frame["grade"][:90]
    )
    there = frame[90:]
    with pytest.raises(ValueError, match="holds at equal grade, which is not known"):
        model.tradeoff_.curve(X[90:], y[90:], there["sex"])
    weights = np.arange(30.0)
    curve = model.tradeoff_.curve(
        X[90:], y[90:], there["sex"], control_features=there["grade"], sample_weight=weights
    )
    predicted = model.predict(X[90:])
    assert curve.mse[0] == pytest.approx(np.average((y[90:] - predicted) ** 2, weights=weights))
    gaps = []
    for grade in (1, 2, 3):
        inside = (there["grade"] == grade).to_numpy() & (weights > 0)
        means = group_means(
            None,
            predicted[inside],
            sensitive_features=there["sex"][inside],
            sample_weight=weights[inside],
        )
        overall = np.average(predicted[inside], weights=weights[inside])
        gaps += [abs(mean - overall) for mean in means.values()] * (len(means) > 1)
    assert curve.smd[0] == pytest.approx(sum(gaps))
    assert curve.max_gap[0] == pytest.approx(max(gaps))


def test_a_compromise_is_announced(data):
    X, y, frame = data
    with pytest.warns(ParityWarning, match="No function of this space meets all 5 conditions"):
        ParityRidge(constraint=ResidualParity()).fit(
            X[:, :2], y, sensitive_features=frame[["sex", "race"]]
        )


def test_two_dials_are_one_too_many(data):
    X, y, frame = data
    with pytest.raises(ValueError, match=r"Both unfairness=0\.5 and max_gap=1"):
        ParityRidge(unfairness=0.5, max_gap=1).fit(X, y, sensitive_features=frame["sex"])
    for wrong in (-1, np.nan, "small", True):
        with pytest.raises(ValueError, match="is not a finite number of 0 or more"):
            ParityRidge(max_gap=wrong).fit(X, y, sensitive_features=frame["sex"])
    with pytest.raises(ValueError, match="weight_scope='all' is not known"):
        ParityRidge(constraint=MeanParity(weight_scope="all")).fit(
            X, y, sensitive_features=frame["sex"]
        )


def test_a_collapse_inside_strata_is_announced(data):
    X, y, frame = data
    X = np.column_stack([X[:, :3], frame["grade"]])
    with pytest.warns(ParityWarning, match="Only a constant in each stratum of grade meets"):
        model = ParityRidge(constraint=MeanParity(min_group_size=0)).fit(
            X, y, sensitive_features=frame["sex"], control_features=frame["grade"]
        )
    assert np.abs(model.coef_[:3]).max() <= 1e-8
    assert model.n_conditions_ == 3


@pytest.mark.parametrize("estimator", ESTIMATORS)
def test_gaps_are_told_by_name(estimator, data):
    X, y, frame = data
    model = estimator(unfairness=0.5, constraint=MeanParity(min_group_size=0)).fit(
        X,
        y,
        sensitive_features=frame["sex"],
        control_features=frame["grade"],
        pool=Pool(X[:50], frame["sex"][:50], frame["grade"][:50]),
    )
    assert model.n_conditions_ == 6
    for gaps, part in ((model.gaps_, slice(None)), (model.pool_gaps_, slice(0, 50))):
        rows, predicted = frame[part], model.predict(X[part])
        assert len(gaps) == 6
        for name, gap in gaps.items():
            sex, grade = name.split(" in grade=")
            inside = (rows["grade"] == int(grade)).to_numpy()
            member = inside & (rows["sex"] == sex).to_numpy()
            assert gap == pytest.approx(predicted[member].mean() - predicted[inside].mean())
    several = estimator().fit(X, np.stack([y, -y], axis=1), sensitive_features=frame["sex"])
    assert np.shape(several.gaps_["F"]) == (2,)
    assert several.pool_gaps_ == {}


def test_weights_of_a_pool_are_not_forgotten(data):
    X, y, frame = data
    heavy = {"sensitive_features": frame["sex"], "sample_weight": frame["grade"]}
    with pytest.warns(
        ParityWarning, match="are weighted by sample_weight, but those of the pool are not"
    ):
        ParityRidge().fit(X, y, pool=(X, frame["sex"]), **heavy)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "Parity costs much", ParityWarning)
        ParityRidge().fit(X, y, pool=Pool(X, frame["sex"], sample_weight=np.ones(120)), **heavy)
        ParityRidge(constraint=MeanParity(weight_scope="loss")).fit(
            X, y, pool=(X, frame["sex"]), **heavy
        )


@dataclass(eq=False, repr=False)
class Own(Constraint):
    what: str

    def functionals(self, rows):
        if self.what == "column":
            rows.column("department")
        return rows.column("sex")


def test_mistakes_in_constraints_of_ones_own(data):
    X, y, frame = data
    with pytest.raises(KeyError, match=r"no column 'department'.*columns are \['sex'\]"):
        ParityRidge(constraint=Own("column")).fit(X, y, sensitive_features=frame["sex"])
    with pytest.raises(TypeError, match=r"Own\.functionals returned ndarray\. Return Functionals"):
        ParityRidge(constraint=Own("array")).fit(X, y, sensitive_features=frame["sex"])
    with pytest.raises(ValueError, match="Own does not use control_features"):
        ParityRidge(constraint=Own("")).fit(
            X, y, sensitive_features=frame["sex"], control_features=frame["grade"]
        )
    with pytest.raises(ValueError, match=r"In the pool: X has 3 features.*pipeline\[:-1\]"):
        ParityRidge().fit(X, y, sensitive_features=frame["sex"], pool=(X[:, :3], frame["sex"]))


@pytest.mark.parametrize("alpha", [0.0, 1.0])
@pytest.mark.parametrize("size", [1.0, 1e3, 1e5, 1e7])
def test_a_salary_beside_indicators(size, alpha):
    """Columns of unlike size: residual parity is met, and changes nothing that was met before."""
    rng = np.random.default_rng(0)
    s = rng.choice(list("abcd"), 200)
    B = rng.standard_normal((200, 5))
    B[:, 1:4] += 1.5 * (s[:, None] == np.array(list("abc")))
    y = B.sum(axis=1) + rng.standard_normal(200) + (s == "a")
    X = B * [size, 1, 1, 1, 1]
    model = ParityRidge(alpha=alpha, constraint="residual_parity")
    model.fit(X, y, sensitive_features=s)
    assert mean_parity_gap(None, y - model.predict(X), sensitive_features=s) <= 1e-8
    dummies = np.column_stack([X[:, 0], s == "a", s == "b", s == "c"])
    model.set_params(alpha=0.0).fit(dummies, y, sensitive_features=s)
    free = model.tradeoff_.at(1.0).predict(dummies)
    assert mean_parity_gap(None, y - free, sensitive_features=s) <= 1e-8, "least squares meets it"
    assert np.allclose(free, model.predict(dummies), atol=1e-7)


def test_warnings_point_at_the_line_that_called(data):
    X, y, frame = data
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        ParityRidge(constraint=MeanParity(min_group_size=500)).fit(
            X[:, :1], y, sensitive_features=frame["age"] % 25
        )
    assert len(caught) >= 2
    assert {w.filename for w in caught} == {__file__}


@pytest.mark.parametrize("solver", ["primal", "dense", "spectral"])
def test_errors_that_no_function_can_make_equal(solver):
    """Both groups have the same rows, so that no function of them tells the groups apart."""
    rng = np.random.default_rng(0)
    half = rng.standard_normal((20, 2))
    X, s = np.vstack([half, half]), np.concatenate([np.arange(20) % 2, 1 - np.arange(20) % 2])
    y = X[:, 0] + s
    model = ParityRidge(constraint="residual_parity", solver=solver)
    with pytest.warns(ParityWarning, match="No function of this space meets the condition:"):
        model.fit(X, y, sensitive_features=s)
    assert np.allclose(model.predict(X), model.tradeoff_.at(1.0).predict(X), atol=1e-8)
    assert model.parity_residual_ == pytest.approx(0.5)
