"""Which rows and which procedure select the model."""

from __future__ import annotations

import re
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import Ridge

from meanparity import ParityWarning
from meanparity.constraints import left_out
from meanparity.tables import Roles, compare_methods, fit_table, selecting
from tests.tables.test_kinds import coded

ROLES = Roles("y", ("sex",), weight="w")


@pytest.fixture
def searches(monkeypatch):
    """Number of rows, number of weights, and cv of every search."""
    seen = []

    def recording(search, X, y, *, sample_weight, **columns):
        seen.append((len(X), len(sample_weight), search.cv))
        return original(search, X, y, sample_weight=sample_weight, **columns)

    original = selecting.ParityRidgeCV._choose
    monkeypatch.setattr(selecting.ParityRidgeCV, "_choose", recording)
    return seen


@pytest.mark.parametrize(("most_rows", "used"), [(320, 320), (100, 100)])
def test_penalties_are_selected_on_a_limited_number_of_rows(searches, monkeypatch, most_rows, used):
    monkeypatch.setattr(selecting, "_SELECTION_ROWS", most_rows)
    fitted = fit_table(coded().assign(w=1.0), ROLES, model="linear")
    assert searches == [(used, used, None)]
    assert len(fitted.row_sets[0]) == 320  # the fit itself uses all training rows


@pytest.mark.parametrize(("most_cells", "cv"), [(6, None), (5, 5)])
def test_many_groups_are_cross_validated(searches, monkeypatch, most_cells, cv):
    monkeypatch.setattr(selecting, "_MOST_CELLS", most_cells)
    roles = Roles("y", ("sex",), ("code",), "w")  # two groups in three strata
    features = {f"x{seed}": coded(seed=seed)["x"] for seed in range(1, 6)}
    fit_table(coded(noise=3.0).assign(w=1.0, **features), roles, model="linear")
    assert searches == [(320, 320, cv)]


@pytest.mark.parametrize(("exact_rows", "landmarks"), [(320, False), (319, True)])
def test_kernel_models_of_many_rows_use_landmarks(monkeypatch, exact_rows, landmarks):
    monkeypatch.setattr(selecting, "_EXACT_ROWS", exact_rows)
    monkeypatch.setattr(selecting, "_LANDMARKS", 50)
    fitted = fit_table(coded(noise=3.0), Roles("y", ("sex",)), model="kernel")
    assert fitted.selection.endswith(", 50 landmarks") == landmarks
    assert (fitted.estimator.solver != "auto") == landmarks


@pytest.mark.parametrize(
    ("screened", "searched"), [(320, 4 * [(320, 1)]), (100, [*4 * [(100, 1)], (320, 1)])]
)
def test_the_width_of_the_kernel_is_selected_on_few_rows(monkeypatch, screened, searched):
    monkeypatch.setattr(selecting, "_SCREENED_ROWS", screened)
    seen, original = [], selecting.ParityKernelRidgeCV._choose

    def recording(search, X, *args, **kwargs):
        seen.append((len(X), len(search.gammas)))
        return original(search, X, *args, **kwargs)

    monkeypatch.setattr(selecting.ParityKernelRidgeCV, "_choose", recording)
    fit_table(coded(noise=3.0), Roles("y", ("sex",)), model="kernel")
    assert seen == searched


def test_what_is_selected_is_what_the_search_selects():
    table = coded(noise=3.0).assign(w=1.0)
    fitted = fit_table(table, ROLES, model="linear")
    rows = fitted.table.train
    search = selecting.ParityRidgeCV().fit(rows.X, rows.y, **rows.metadata)
    assert fitted.estimator.alpha == search.alpha_
    assert f"penalty {search.alpha_:.3g}" in fitted.selection


def test_widths_one_after_the_other_are_those_of_one_search():
    fitted = fit_table(coded(noise=3.0), Roles("y", ("sex",)), model="kernel")
    rows = fitted.table.train
    gammas = [width / rows.X.shape[1] for width in selecting._WIDTHS]
    search = selecting.ParityKernelRidgeCV(kernel="rbf", fit_intercept=True, gammas=gammas)
    search.fit(rows.X, rows.y, **rows.metadata)
    assert fitted.estimator.gamma == search.gamma_
    assert fitted.estimator.alpha == search.alpha_


def test_large_kernel_models_have_500_landmarks(monkeypatch):
    monkeypatch.setattr(selecting, "_EXACT_ROWS", 100)
    fitted = fit_table(coded(noise=3.0), Roles("y", ("sex",)), model="kernel")
    assert fitted.selection.endswith(", 500 landmarks")
    assert fitted.estimator.solver.n_components == 500


def test_leave_one_out_supports_all_cells_that_it_is_used_for():
    assert selecting._MOST_CELLS == left_out.MOST_CELLS


def test_widths_are_compared_with_200_uniform_landmarks(monkeypatch):
    monkeypatch.setattr(selecting, "_SCREENED_ROWS", 300)
    seen, original = [], selecting.ParityKernelRidgeCV._choose

    def recording(search, *args, **kwargs):
        seen.append(search.solver)
        return original(search, *args, **kwargs)

    monkeypatch.setattr(selecting.ParityKernelRidgeCV, "_choose", recording)
    fit_table(coded(noise=3.0), Roles("y", ("sex",)), model="kernel")
    assert [solver for solver in seen if isinstance(solver, str)] == ["auto"]
    assert (seen[0].n_components, seen[0].landmarks) == (200, "uniform")


# --- the price of parity


def wages(n=800, seed=0):
    """Wages of which parity in three grades leaves a linear model nothing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["f", "m"], n, p=[0.3, 0.7])})
    frame["edu"] = rng.integers(8, 20, n)
    frame["wage"] = 5 + 0.6 * frame["edu"] + 2 * (frame["sex"] == "m") + rng.normal(0, 2, n)
    return frame.assign(grade=rng.choice(["A", "B", "C"], n))


WAGES = Roles("wage", ("sex",), ("grade",))


def noted(call, *args, **options):
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        made = call(*args, **options)
    return made, [str(w.message) for w in caught if w.category is ParityWarning]


def root_mean_square(values):
    return float(np.sqrt(np.mean(np.square(values))))


@pytest.fixture(scope="module")
def wage_models():
    return {u: noted(fit_table, wages(), WAGES, model="linear", unfairness=u) for u in (0.0, 1.0)}


def test_the_cost_is_that_against_the_best_model_without_the_constraint(wage_models):
    fitted, (told,) = wage_models[0.0]
    free, told_of_free = wage_models[1.0]
    assert not told_of_free
    alpha = free.estimator.alpha  # which is chosen for the model without the constraint
    train, test = fitted.table.train, fitted.table.test
    best = test.y - Ridge(alpha=alpha).fit(train.X.astype(float), train.y).predict(test.X)
    model, least = (
        root_mean_square(test.y - fitted.estimator.predict(test.X)),
        root_mean_square(best),
    )
    (cost,) = [text for text in fitted.report().sentences if "are off by" in text]
    share = re.search(r"off by (\S+) \(root mean squared error\), (\d+)% more than", cost)
    assert float(share[1]) == pytest.approx(model, rel=1e-3)
    assert int(share[2]) == pytest.approx(100 * (model / least - 1), abs=0.51)
    assert int(share[2]) > 15
    named = re.search(r"the best model without the constraint, linear with penalty (\S+) \(", cost)
    assert float(named[1]) == pytest.approx(alpha, rel=5e-3)
    assert f"(penalty {alpha:.3g}) " in told
    assert "On left-out rows the model explains nothing" in told
    assert told.count("Only a constant") == 1
    (same,) = [text for text in free.report().sentences if "are off by" in text]
    assert "the same as without the constraint at the same penalty" in same
    off = re.search(r"off by (\S+) ", same)
    assert float(off[1]) == pytest.approx(least, rel=1e-3)


def test_a_model_that_is_the_best_without_the_constraint_too_is_said_to_be():
    frame, roles = coded(noise=3.0), Roles("y", ("sex",))
    frame["y"] += 2.0 * (frame["sex"] == "M")
    fitted, free = (fit_table(frame, roles, model="linear", unfairness=u) for u in (0.0, 1.0))
    assert fitted.estimator.alpha == free.estimator.alpha
    (cost,) = [text for text in fitted.report().sentences if "are off by" in text]
    assert "the best model without the constraint, which has the same penalty" in cost
    errors = [
        root_mean_square(fitted.table.test.y - model.estimator.predict(fitted.table.test.X))
        for model in (fitted, free)
    ]
    told = re.search(r"off by (\S+) .* (\S+)% (more|less) than .*penalty \((\S+)\)", cost)
    assert [float(told[1]), float(told[4])] == pytest.approx(errors, rel=1e-3)


def test_lines_of_a_comparison_are_tuned_each_for_itself(wage_models):
    (results, _), told = noted(compare_methods, wages(), WAGES)
    found = results.set_index("method")
    free, _ = wage_models[1.0]
    test = free.table.test
    error = root_mean_square(test.y - free.estimator.predict(test.X)) ** 2
    assert found.loc["meanparity, unfairness 1", "test MSE"] == pytest.approx(error)
    assert found.loc["meanparity, unfairness 1", "test MSE"] < 1.02 * found.loc["OLS", "test MSE"]
    fair, _ = wage_models[0.0]
    error = root_mean_square(test.y - fair.estimator.predict(test.X)) ** 2
    assert found.loc["meanparity, unfairness 0", "test MSE"] == pytest.approx(error)
    assert len(told) == len({text.split(": ", 1)[1] for text in told})
    for name in ("meanparity, unfairness 0", "meanparity, untuned"):  # each says whose it is
        (own,) = [text for text in told if text.startswith(f"{name}: Only a constant")]
        assert "or a kernel." in own


def test_predictions_that_are_no_probabilities_are_noted():
    frame = wages()
    frame["hired"] = (frame["wage"] > frame["wage"].median()).astype(int)
    frame = frame.drop(columns="wage").assign(score=30.0 * frame["hired"] + frame["edu"])
    roles = Roles("hired", ("sex",), ignored=("grade",))
    with pytest.MonkeyPatch.context() as patch:  # the squared error is found to predict better
        patch.setattr(
            "meanparity.tables.fitting.select_loss", lambda estimator, *_, **more: (estimator, "")
        )
        fitted, told = noted(fit_table, frame, roles, model="linear")
    (told,) = [text for text in told if "below 0 or above 1" in text]
    predicted = fitted.estimator.predict(fitted.table.test.X)
    outside = int(((predicted < 0) | (predicted > 1)).sum())
    assert told.startswith(f"{outside} of {len(predicted)} predictions for held-out rows")
    assert "--loss logistic" in told
    assert f"(from {predicted.min():.3g} to {predicted.max():.3g})" in told
    for loss in ("logistic", "squared"):  # who asks for it is not told again
        _, told = noted(fit_table, frame, roles, model="linear", loss=loss)
        assert not [text for text in told if "below 0 or above 1" in text]


def test_penalties_of_other_losses_are_those_of_the_model_that_is_fitted():
    rng = np.random.default_rng(0)
    frame = wages(300)
    frame["hired"] = (rng.random(300) < 1 / (1 + np.exp(14 - frame["wage"]))).astype(int)
    roles = Roles("hired", ("sex",), ignored=("grade", "wage"))
    seen, original = [], selecting.select_penalty

    def recording(loss, rows, space, *args):
        seen.append(space["unfairness"])
        return original(loss, rows, space, *args)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(selecting, "select_penalty", recording)
        for u in (0.0, 1.0):
            noted(fit_table, frame, roles, model="linear", loss="logistic", unfairness=u)
    assert seen == [0.0, 1.0]
