"""What is measured in a trial, compared with direct computations."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LinearRegression

from meanparity import ParityKernelRidge
from meanparity.losses import SmoothL1
from reproduction import CATALOGUE
from reproduction.datasets import DATASETS, Dataset, Trial
from reproduction.declaration import Entry
from reproduction.measures import descent, predictions, proofs, scores, sweep
from tests.oracles.metrics import dpd, norm_of_cov, smd


@pytest.fixture(scope="module")
def trial():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 4))
    X[:, 3] = rng.random(120) < 0.3
    y = 1 / (1 + np.exp(-X @ [1.0, -0.5, 0.2, 1.5])) + 0.05 * rng.normal(size=120)
    return Trial.from_dataset(Dataset(X, y, (3,)), 0)


def test_scores_of_least_squares(trial):
    (row,) = scores(Entry("OLS", "OLS"), trial)
    train, test = trial.parts["train"], trial.parts["test"]
    y = trial.y - trial.y[train].mean()
    predicted = LinearRegression().fit(trial.X[train], y[train]).predict(trial.X)
    for part, rows in (("train", train), ("test", test)):
        p, s = predicted[rows], trial.s[rows]
        assert row[f"mse_{part}"] == pytest.approx(np.mean((y[rows] - p) ** 2), rel=1e-12)
        assert row[f"smd_{part}"] == pytest.approx(smd(p, s), rel=1e-12)
        assert row[f"dpd_{part}"] == pytest.approx(dpd(p, s), rel=1e-10)
        assert row[f"cov_{part}"] == pytest.approx(norm_of_cov(p, np.outer(s, s)), rel=1e-10)
    assert row["sd"] == pytest.approx(y[train].std())
    assert row["seconds"] > 0


def test_ours_has_parity_on_training_rows_and_with_a_pool_on_test_rows(trial):
    (alone,) = scores(Entry("Ours", "Ours"), trial)
    (both,) = scores(Entry("Ours", "Ours", pool=True), trial)
    assert alone["smd_train"] <= 1e-13
    assert alone["smd_test"] > 1e-4
    assert max(both["smd_train"], both["smd_test"]) <= 1e-13


def test_without_s_the_fit_differs(trial):
    (with_s,) = scores(Entry("a", "Ours"), trial)
    (without,) = scores(Entry("b", "Ours", features="without S"), trial)
    assert without["mse_train"] > with_s["mse_train"]
    assert without["smd_train"] <= 1e-13


def test_a_random_predictor_and_its_mean_have_the_same_group_means(trial):
    (random,) = scores(Entry("RBA", "RBA"), trial)
    (mean,) = scores(Entry("RBA-mean", "RBA", as_mean=True), trial)
    assert random["smd_test"] == pytest.approx(mean["smd_test"], abs=1e-12)
    assert random["mse_test"] >= mean["mse_test"]


@pytest.mark.parametrize("setting", ["linear", "kernel"])
def test_a_sweep_of_ours_equals_a_fit_at_each_position(trial, setting):
    positions = (0.0, 0.3, 1.0)
    rows = sweep(Entry("Ours", "Ours", setting, positions=positions), trial)
    assert [row["position"] for row in rows] == list(positions)
    for row in rows:
        (fit,) = scores(Entry("x", "Ours", setting, {"unfairness": row["position"]}), trial)
        for name in ("mse_train", "mse_test", "smd_train", "smd_test"):
            assert row[name] == pytest.approx(fit[name], rel=1e-9, abs=1e-13)


@pytest.mark.parametrize("method", ["FPR-1", "FKR-1", "NRFC"])
def test_a_sweep_of_other_methods_sets_their_tradeoff_parameter(trial, method):
    dial = "unfairness" if method == "NRFC" else "penalty"
    rows = sweep(Entry("x", method, positions=(0.001, 0.01)), trial)
    for row in rows:
        (fit,) = scores(Entry("x", method, parameters={dial: row["position"]}), trial)
        assert row["smd_test"] == pytest.approx(fit["smd_test"], rel=1e-12)
    assert rows[0]["smd_train"] != rows[1]["smd_train"]


def test_both_descents_start_at_the_same_loss_and_fair_descent_keeps_parity(trial):
    parameters = {"loss": SmoothL1(0.1), "steps": 400, "learning_rate": 0.01}
    rows = descent(Entry("both", "Ours", parameters=parameters), trial)
    by = {name: [row for row in rows if row["curve"] == name] for name in ("GD", "Fair-GD")}
    assert by["GD"][0]["loss"] == pytest.approx(by["Fair-GD"][0]["loss"], rel=1e-12)
    y = trial.centred().part("train")[1]
    start = np.where(np.abs(y) < 0.1, y**2 / 0.2, np.abs(y) - 0.05).mean()
    assert by["GD"][0]["loss"] == pytest.approx(start, rel=1e-12)
    assert max(row["smd"] for row in by["Fair-GD"]) <= by["Fair-GD"][0]["smd_worst"] <= 1e-12
    assert by["GD"][-1]["smd"] > 0.01
    assert by["GD"][-1]["step"] == 400


def test_predictions_include_every_row(trial):
    rows = predictions(Entry("Ours", "Ours"), trial)
    assert len(rows) == 120
    train = [row for row in rows if row["part"] == "train"]
    means = [np.mean([row["prediction"] for row in train if row["group"] == g]) for g in (0, 1)]
    assert means[0] == pytest.approx(means[1], abs=1e-13)


@pytest.mark.parametrize("setting", ["linear", "kernel"])
def test_proofs_hold(trial, setting):
    (row,) = proofs(Entry("x", "Ours", setting), trial)
    for name in ("smd", "order", "quadratic", "linear"):
        assert row[name] <= 1e-12
    assert 0 < row["bound"] <= 1
    assert 0 < row["bound_zero"] < 1


@pytest.mark.parametrize("alpha", [0.0, 2.0])
def test_the_bound_is_that_of_the_projection(trial, alpha):
    """J(g_fair) ≤ J(P g*), with P projecting onto the complement of the difference of means."""
    (row,) = proofs(Entry("x", "Ours", parameters={"alpha": alpha}), trial)
    X, y, s = trial.centred().part("train")
    w = np.linalg.pinv(X.T @ X + alpha * np.eye(X.shape[1]), hermitian=True) @ (X.T @ y)
    m = X[s == 1].mean(axis=0) - X[s == 0].mean(axis=0)
    projected = w - m * (m @ w) / (m @ m)
    model = ParityKernelRidge(kernel="linear", alpha=alpha).fit(X, y, sensitive_features=s)
    fair, bound = (np.sum((y - X @ v) ** 2) + alpha * v @ v for v in (model.coef_, projected))
    assert row["bound"] == pytest.approx(fair / bound, rel=1e-9)
    assert row["quadratic"] <= 1e-12


def test_proofs_can_fail(trial):
    other = {"constraint": "residual_parity"}
    (row,) = proofs(Entry("x", "Ours", parameters=other), trial)
    assert row["smd"] > 0.1
    assert row["linear"] > 0.1


def test_nrfc_on_random_fourier_features_reaches_parity():
    experiment = CATALOGUE["fig:kernel"]
    entries = {entry.name: entry for entry in experiment.entries}
    trial = Trial.from_dataset(DATASETS["synthetic_sine"].load("paper"), 0)
    assert trial.fourier().X.shape == (len(trial.y), 40)  # of four columns besides S
    found = {name: scores(entries[name], trial)[0] for name in ("NRFC", "NRFC-F", "NRFC-Fs")}
    for name in ("NRFC-F", "NRFC-Fs"):
        assert found[name]["smd_train"] < 1e-10 * found[name]["sd"]
    assert found["NRFC"]["smd_train"] > 0.01 * found["NRFC"]["sd"]
    assert found["NRFC-F"]["mse_train"] > found["NRFC-Fs"]["mse_train"]  # a larger penalty
