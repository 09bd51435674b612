"""What a constraint says about itself is true of values that satisfy it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.constraints import (
    Constraint,
    CovarianceParity,
    Functionals,
    LinearParity,
    MeanParity,
    ResidualParity,
)
from meanparity.data.groups import Groups
from meanparity.data.rows import Rows

RNG = np.random.default_rng(0)
N = 120
SEX, RACE = RNG.choice(["F", "M"], N), RNG.choice(["x", "y", "z"], N, p=[0.5, 0.3, 0.2])
LEVEL = RNG.choice([1, 2, 5], N)
AGE, GRADE = RNG.normal(40, 9, N), RNG.choice(["low", "high"], N)
Y = RNG.standard_normal((N, 1))


def satisfying(constraint, rows):
    """Random values, changed as little as possible so that they satisfy the constraint."""
    functionals = constraint.functionals(rows)
    C = np.column_stack([functionals.apply(unit[:, None]) for unit in np.eye(rows.n_rows)]).T
    values = RNG.standard_normal((rows.n_rows, 1))
    values -= C @ np.linalg.lstsq(C.T @ C, C.T @ values - functionals.targets, rcond=None)[0]
    return values[:, 0]


def largest_gap(values, *columns, weights=None):
    """The largest difference between a group's mean and the mean of all."""
    codes = Groups.from_columns(
        np.column_stack([np.asarray(c, dtype=object) for c in columns])
    ).codes
    means = [
        np.average(values[codes == j], weights=None if weights is None else weights[codes == j])
        for j in np.unique(codes)
    ]
    return np.abs(np.array(means) - np.average(values, weights=weights)).max()


def covariance(values, numbers):
    return np.mean((values - values.mean()) * (numbers - numbers.mean()))


def test_equal_means_of_one_column():
    rows = Rows.from_columns({"sex": SEX})
    assert MeanParity().describe(rows) == "The mean prediction is the same in every group of sex."
    assert largest_gap(satisfying(MeanParity(), rows), SEX) < 1e-12


def test_intersections_and_columns_on_their_own():
    both = {"sex": SEX, "race": RACE}
    rows = Rows.from_columns(both)
    assert "the same in every combination of sex and race." in MeanParity().describe(rows)
    assert largest_gap(satisfying(MeanParity(), rows), SEX, RACE) < 1e-12
    rows = Rows.from_columns(both, intersectional=False)
    assert MeanParity().describe(rows) == (
        "The mean prediction is the same in every group of sex and of race, each column compared "
        "separately."
    )
    values = satisfying(MeanParity(), rows)
    assert max(largest_gap(values, SEX), largest_gap(values, RACE)) < 1e-12
    assert largest_gap(values, SEX, RACE) > 1e-3


def test_numbers_alone_and_beside_categories():
    rows = Rows.from_columns({"age": AGE})
    assert MeanParity().describe(rows) == "Predictions have zero covariance with age."
    assert abs(covariance(satisfying(MeanParity(), rows), AGE)) < 1e-10
    powers = MeanParity(degree=2)
    assert powers.describe(rows).endswith("zero covariance with the powers up to 2 of age.")
    assert abs(covariance(satisfying(powers, rows), AGE**2)) < 1e-8
    splines = MeanParity(degree=3, n_knots=4).describe(rows)
    assert splines.endswith("zero covariance with all splines of degree 3 with 4 knots in age.")
    mixed = {"sex": SEX, "age": AGE}
    rows = Rows.from_columns(mixed)
    assert MeanParity().describe(rows) == (
        "The mean prediction is the same in every group of sex, and within each of these groups "
        "predictions have zero covariance with age."
    )
    values = satisfying(MeanParity(), rows)
    for sex in "FM":
        assert abs(covariance(values[sex == SEX], AGE[sex == SEX])) < 1e-10
    rows = Rows.from_columns(mixed, intersectional=False)
    assert MeanParity().describe(rows) == (
        "The mean prediction is the same in every group of sex, and predictions have zero "
        "covariance with age."
    )
    values = satisfying(MeanParity(), rows)
    assert abs(covariance(values, AGE)) < 1e-10
    assert abs(covariance(values[SEX == "F"], AGE[SEX == "F"])) > 1e-3


def test_strata_weights_and_errors():
    rows = Rows.from_columns({"sex": SEX}, control_features={"grade": GRADE})
    assert MeanParity().describe(rows) == (
        "Within each stratum of grade, the mean prediction is the same in every group of sex."
    )
    values = satisfying(MeanParity(), rows)
    for grade in ("low", "high"):
        assert largest_gap(values[grade == GRADE], SEX[grade == GRADE]) < 1e-12
    weights = RNG.uniform(0.5, 2, N)
    rows = Rows.from_columns({"sex": SEX}, sample_weight=weights, y=Y)
    assert MeanParity().describe(rows).startswith("The weighted mean prediction is the same")
    assert largest_gap(satisfying(MeanParity(), rows), SEX, weights=weights) < 1e-12
    assert ResidualParity().describe(rows) == (
        "The weighted mean prediction error is the same in every group of sex."
    )
    values = satisfying(ResidualParity(), rows)
    assert largest_gap(values - Y[:, 0], SEX, weights=weights) < 1e-12
    assert largest_gap(values, SEX, weights=weights) > 1e-3
    numbers = Rows.from_columns({"age": AGE}, y=Y)
    assert ResidualParity().describe(numbers) == "Prediction errors have zero covariance with age."


def test_missing_values_are_mentioned_where_there_are_some():
    sex = SEX.astype(object)
    sex[:9] = None
    ignored, grouped = (Rows.from_columns({"sex": sex}, missing=how) for how in ("ignore", "group"))
    assert "rows with a missing value are left out" in MeanParity().describe(ignored)
    assert largest_gap(satisfying(MeanParity(), ignored)[9:], sex[9:]) < 1e-12
    assert "missing values form a group of their own" in MeanParity().describe(grouped)
    known = Rows.from_columns({"sex": SEX}, missing="ignore")
    assert MeanParity().describe(known) == MeanParity().describe(Rows.from_columns({"sex": SEX}))


@pytest.mark.parametrize(
    ("constraint", "column", "equal"),
    [
        (CovarianceParity("linear"), LEVEL, False),
        (CovarianceParity("polynomial", degree=2), LEVEL, True),
        (CovarianceParity("rbf"), LEVEL, True),
        (CovarianceParity("linear"), RACE, True),
        (CovarianceParity(lambda a, b: float(a @ b)), LEVEL, False),
    ],
)
def test_covariance_parity_speaks_of_equal_means_only_where_they_are_equal(
    constraint, column, equal
):
    rows = Rows.from_columns({"group": column}, continuous=[])
    sentence = constraint.describe(rows)
    assert "zero covariance with" in sentence
    assert ("which makes the mean prediction the same" in sentence) == equal
    assert ("does not make the mean prediction the same" in sentence) != equal
    assert (largest_gap(satisfying(constraint, rows), column) < 1e-10) == equal


def test_covariance_parity_names_its_features():
    rows = Rows.from_columns({"sex": SEX, "age": AGE})
    linear = "Predictions have zero covariance with the indicators of the values of sex and the"
    assert CovarianceParity().describe(rows) == f"{linear} numbers in age."
    rows = Rows.from_columns({"sex": SEX}, control_features={"grade": GRADE})
    assert CovarianceParity("rbf").describe(rows) == (
        "Within each stratum of grade, predictions have zero covariance with every feature of the "
        "rbf kernel on sex."
    )
    alone = Rows.from_columns({"sex": ["F", "F"]})  # rows on which nothing can be constrained
    assert "does not make the mean prediction the same" in CovarianceParity().describe(alone)


def test_own_conditions_are_not_described_as_those_of_a_parent():
    class FirstTwo(MeanParity):
        def functionals(self, rows):
            return Functionals.from_weights(np.eye(rows.n_rows)[:, 0] - np.eye(rows.n_rows)[:, 1])

    class Spoken(FirstTwo):
        def describe(self, rows):
            return "The first two predictions are equal."

    class Renamed(MeanParity):
        pass

    rows = Rows.from_columns({"sex": SEX})
    assert FirstTwo().describe(rows) == "The predictions satisfy the linear conditions of FirstTwo."
    assert Spoken().describe(rows) == "The first two predictions are equal."
    assert Renamed().describe(rows) == MeanParity().describe(rows)
    assert issubclass(FirstTwo, Constraint)


def test_given_conditions_are_counted():
    rows = Rows.from_columns({"sex": SEX})
    weights = np.stack([np.where(SEX == "F", 1.0, 0.0), np.arange(N) * 1.0], axis=1)
    weights -= weights.mean(axis=0)
    sentence = LinearParity(weights, labels=["sex", "trend"]).describe(rows)
    assert sentence == (
        "The predictions on the training rows satisfy 2 given linear conditions (sex, trend)."
    )
    one = LinearParity(weights[:, 0]).describe(rows)
    assert one == "The predictions on the training rows satisfy 1 given linear condition."


@pytest.mark.parametrize("role", ["sensitive", "control"])
def test_columns_of_the_same_name_as_text_are_refused(role):
    frame = pd.DataFrame([[0, 1], [1, 0]], columns=[1, "1"])
    columns = (
        {"sensitive_features": frame}
        if role == "sensitive"
        else {"sensitive_features": ["a", "b"], "control_features": frame}
    )
    with pytest.raises(
        ValueError, match=rf"{role}_features has the columns 1 and '1'.* Rename one"
    ):
        Rows.from_columns(**columns)
    with pytest.raises(ValueError, match="has the columns 1 and '1'"):
        Groups.from_columns({1: ["a", "b"], "1": ["a", "b"]})
