"""Which rows and which procedure select the model."""

from __future__ import annotations

import pytest

from meanparity.constraints import left_out
from meanparity.tables import Roles, fit_table, selecting
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
