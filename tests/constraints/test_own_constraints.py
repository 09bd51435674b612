"""A user's own constraint is treated like those of the package."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LinearRegression, Ridge

from meanparity import (
    CovarianceParity,
    MeanParity,
    ParityAdjusted,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
    Pool,
    ResidualParity,
)
from meanparity.constraints import Constraint, Functionals
from meanparity.constraints.contrasts import mean_contrasts
from meanparity.datasets import make_synthetic
from meanparity.exceptions import ParityWarning, SmallGroupsWarning


class Steps(Constraint):
    """The mean prediction rises by the same step from each group to the next."""

    needs_rows = ""

    def __init__(self, step=0.1):
        self.step = step

    def functionals(self, rows):
        codes, k = rows.groups.codes, rows.groups.n_groups
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        member = weights[:, None] * (codes[:, None] == np.arange(k))
        means = member / member.sum(axis=0)
        return Functionals.from_weights(means[:, 1:] - means[:, :-1], [self.step] * (k - 1))


class Pair(Constraint):
    """Two groups have the same mean; where one of them is missing, nothing is said."""

    needs_rows = ""
    uses_control = True

    def __init__(self, first, second, parity_on="both", strict=False):
        self.first = first
        self.second = second
        self.parity_on = parity_on
        self.strict = strict

    def functionals(self, rows):
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        columns, labels, left_out = [], [], []
        for stratum, cells in rows.strata:
            inside, parts = np.isin(rows.codes, cells), []
            for name in (self.first, self.second):
                code = rows.groups.names.index(name) if name in rows.groups.names else -2
                parts.append(weights * ((rows.groups.codes == code) & inside))
            if min(part.sum() for part in parts) > 0:
                columns.append(parts[0] / parts[0].sum() - parts[1] / parts[1].sum())
                labels.append(f"{self.first} minus {self.second} in {stratum}")
            elif self.strict:
                raise ValueError(f"there is no {self.second!r} to compare with")
            else:
                left_out.append((stratum, int(inside.sum())))
        columns = np.stack(columns, axis=1) if columns else np.zeros((rows.n_rows, 0))
        return Functionals.from_weights(columns, labels=labels, unconstrained=left_out)

    def between_groups(self, rows, functionals=None):
        return self.functionals(rows) if functionals is None else functionals


class EachRow(Steps):
    """Curves would compare rows of one group with each other."""

    def between_groups(self, rows, functionals=None):
        return Functionals.from_weights(np.linspace(-1, 1, rows.n_rows))


class Above(Constraint):
    """Errors differ by a shift between groups; `of_y` is how much of y the targets contain."""

    needs_rows = ""
    compares_errors = True

    def __init__(self, shift=0.3, of_y=1.0):
        self.shift = shift
        self.of_y = of_y

    def functionals(self, rows):
        found = mean_contrasts(rows)
        return replace(found, targets=self.of_y * found.apply(rows.y) + self.shift)


class Unsaid(Above):
    """The same without saying so."""

    compares_errors = False


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("constraint", [Steps(), Above()], ids=["steps", "errors"])
def test_leave_one_out_is_that_of_refits(constraint, weighted):
    X, y, _ = make_synthetic(40, 6, random_state=0)
    band = np.arange(40) % 3
    w = np.random.default_rng(0).uniform(1, 5, 40) if weighted else None
    alphas = [0.1, 10.0]
    search = ParityRidgeCV(constraint=constraint, alphas=alphas)
    search.fit(X, y, sensitive_features=band, sample_weight=w)

    for alpha, mse in zip(alphas, search.cv_results_["mean_squared_error"], strict=True):
        errors = []
        for i in range(40):
            rest = np.arange(40) != i
            model = ParityRidge(alpha=alpha, constraint=constraint)
            weights = None if w is None else w[rest]
            model.fit(X[rest], y[rest], sensitive_features=band[rest], sample_weight=weights)
            errors.append((y[i] - model.predict(X[i : i + 1])[0]) ** 2)
        assert mse == pytest.approx(np.average(errors, weights=w), rel=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    ("constraint", "advice"),
    [
        (Unsaid(0.0), "If it compares errors, say so in its class: compares_errors = True"),
        (Above(0.0, of_y=0.5), "Its targets may be Cᵀy plus numbers that do not depend on y"),
    ],
    ids=["unsaid", "half"],
)
def test_leave_one_out_refuses_conditions_that_depend_on_y(constraint, advice, weighted):
    X, y, _ = make_synthetic(40, 6, random_state=0)
    band = np.arange(40) % 3
    w = np.random.default_rng(0).uniform(1, 5, 40) if weighted else None
    search = ParityRidgeCV(constraint=constraint, alphas=[1.0])
    with pytest.raises(ValueError, match=f"conditions change when y changes. {advice}"):
        search.fit(X, y, sensitive_features=band, sample_weight=w)
    search.set_params(cv=4).fit(X, y, sensitive_features=band, sample_weight=w)


class Doubled(MeanParity):
    """The conditions of its parent, in functionals of its own."""

    def functionals(self, rows):
        return Functionals.from_weights(2 * super().functionals(rows).dense())


class DoubledCovariance(CovarianceParity):
    """The same of another parent."""

    def functionals(self, rows):
        return Functionals.from_weights(2 * super().functionals(rows).dense())


class DoubledErrors(ResidualParity):
    """The same of another parent, with one of its statements."""

    compares_errors = True

    def functionals(self, rows):
        return super().functionals(rows)


def test_own_functionals_do_not_inherit_what_a_parent_says_of_its_own():
    X, y, s = make_synthetic(60, 4, random_state=0)
    model = ParityRidge(constraint=Doubled(), unfairness=1.0).fit(X, y, sensitive_features=s)
    free = ParityRidge(unfairness=1.0).fit(X, y, sensitive_features=s)
    found, expected = (m.tradeoff_.training_curve([1.0]).smd for m in (model, free))
    assert found == pytest.approx(expected)
    with pytest.raises(ValueError, match="Doubled does not use control_features"):
        model.fit(X, y, sensitive_features=s, control_features=np.arange(60) % 2)
    said = ("uses_control", "reads_values", "compares_errors")
    for kind in (Doubled, DoubledCovariance, DoubledErrors):
        true = [name for name in said if getattr(kind, name)]
        assert true == (["compares_errors"] if kind is DoubledErrors else [])
    assert ResidualParity.uses_control


class Plain(Constraint):
    """Parity in which the kinds of columns are no parameter."""

    min_group_size = 0

    def functionals(self, rows):
        return mean_contrasts(rows)


@pytest.mark.filterwarnings("ignore:.*is treated as a number")
def test_numbers_are_settled_on_all_rows(monkeypatch):
    """22 ages in all and fewer in a fold are a number in every fold, whichever way it is fitted."""
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((66, 3)), rng.standard_normal(66)
    age = np.repeat(np.arange(22), 3)
    search = ParityRidgeCV(alphas=[1.0], cv=6, constraint=Plain())
    in_one = search.fit(X, y + age / 10, sensitive_features=age).best_score_
    fitted = []
    monkeypatch.setattr("meanparity.estimators._cv.has_closed_folds", lambda *_: fitted.append(1))
    by_fits = search.fit(X, y + age / 10, sensitive_features=age).best_score_
    assert fitted
    assert in_one == pytest.approx(by_fits)
    assert search.constraint.continuous == "auto"


class MeansInRows(Constraint):
    """`MeanParity` from the weight of each row, which is all that a user's constraint may state."""

    needs_rows = ""
    reads_values = False

    def __init__(self, pooling=None):
        self.pooling = pooling

    def functionals(self, rows):
        found = mean_contrasts(rows)
        of_rows = found.dense() @ found.units.T
        return Functionals.from_weights(of_rows, labels=found.labels)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("how", ["confidence", "pooling"])
def test_limits_for_people_not_seen_are_those_of_the_same_notion(how, weighted):
    X, y, _ = make_synthetic(120, 4, random_state=0)
    band = np.arange(120) % 3
    X[:, 0] += 2 * band  # gaps that max_gap forbids
    y = y + 2 * band
    w = np.random.default_rng(0).uniform(1, 2, 120) if weighted else None
    settings = {"max_gap": 1.5, "confidence": 0.9} if how == "confidence" else {}
    fits = []
    for kind in (MeanParity, MeansInRows):
        constraint = kind(pooling="auto" if how == "pooling" else None)
        model = ParityRidge(constraint=constraint, **settings)
        fits.append(model.fit(X, y, sensitive_features=band, sample_weight=w))
    known, own = (fit.gap_limits_ for fit in fits)
    assert own.standard_errors == pytest.approx(known.standard_errors, rel=1e-9)
    assert own.limits == pytest.approx(known.limits, rel=1e-9)
    assert fits[1].predict(X) == pytest.approx(fits[0].predict(X), abs=1e-8)


@pytest.mark.parametrize("weighted", [False, True])
def test_groups_are_shifted_for_conditions_that_are_about_groups(weighted):
    X, y, _ = make_synthetic(120, 4, random_state=0)
    band = np.arange(120) % 3
    w = np.random.default_rng(0).uniform(1, 2, 120) if weighted else None
    if weighted:
        w[:4] = 0.0
    found = [
        ParityAdjusted(LinearRegression(), correction=constraint)
        .fit(X, y, sensitive_features=band, sample_weight=w)
        .predict(X, sensitive_features=band)
        for constraint in (MeanParity(), MeansInRows())
    ]
    assert found[1] == pytest.approx(found[0], abs=1e-10)


def pair_rows(n=90):
    X, y, _ = make_synthetic(n, 6, random_state=0)
    return X, y, np.array(["a", "b", "c"])[np.arange(n) % 3]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(
    "model", [ParityRidge(), ParityKernelRidge(kernel="rbf", gamma=0.1)], ids=str
)
def test_what_is_compared_may_have_weights_of_its_own(model, weighted):
    """On a pool alone, the comparison on the training rows is not the condition of the fit."""
    X, y, s = pair_rows()
    w = np.random.default_rng(0).uniform(1, 5, 60) if weighted else None
    pool = Pool(X[60:], s[60:], sample_weight=None if w is None else np.ones(30))
    model = clone(model).set_params(constraint=Pair("a", "b", parity_on="pool"))
    model.fit(X[:60], y[:60], sensitive_features=s[:60], sample_weight=w, pool=pool)
    means = model.pool_group_means_
    assert means["a"] == pytest.approx(means["b"], abs=1e-9)
    f, weights = model.predict(X[:60]), np.ones(60) if w is None else w
    here = [np.average(f[s[:60] == g], weights=weights[s[:60] == g]) for g in "ab"]
    curve = model.tradeoff_.training_curve([0.0])
    assert curve.max_gap[0] == pytest.approx(abs(here[0] - here[1]))
    assert abs(here[0] - here[1]) > 1e-3


def test_a_comparison_of_rows_instead_of_groups_is_refused():
    X, y, s = pair_rows()
    with pytest.raises(ValueError, match="between_groups of EachRow gives rows with equal"):
        ParityRidge(constraint=EachRow()).fit(X, y, sensitive_features=s)


def test_strata_without_a_comparison_are_named_and_no_condition_at_all_is_said():
    X, y, s = pair_rows()
    grade = np.where((np.arange(90) < 20) & (s != "b"), 1, 2)
    with pytest.warns(SmallGroupsWarning, match="There are no groups to compare in 1 stratum"):
        model = ParityRidge(constraint=Pair("a", "b")).fit(
            X, y, sensitive_features=s, control_features=grade
        )
    assert model.unconstrained_strata_ == {"control=1": int(np.sum(grade == 1))}
    with pytest.warns(ParityWarning, match="Pair has no conditions on these rows"):
        model = ParityRidge(constraint=Pair("a", "z")).fit(X, y, sensitive_features=s)
    assert model.predict(X) == pytest.approx(Ridge().fit(X, y).predict(X))


@pytest.mark.parametrize(
    ("cv", "where"), [(None, "Without one row, as in leave-one-out"), (45, "Without the rows of a")]
)
def test_a_refusal_says_that_rows_were_left_out(cv, where):
    X, y, s = pair_rows()
    s = np.where(np.arange(90) == 0, "z", s)
    search = ParityRidgeCV(constraint=Pair("a", "z", strict=True), alphas=[1.0], cv=cv)
    with pytest.raises(ValueError, match=f"{where}.*: there is no 'z'"):
        search.fit(X, y, sensitive_features=s)
