"""Other losses for tables: recognised, compared, and saved."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from meanparity.persistence import read, save
from meanparity.tables import Roles, fit_table, read_frame, score_file, selecting
from meanparity.tables.losses import recognise_loss

ROLES = Roles("y", ("sex",))


def people(kind, n=400, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "x": rng.normal(size=n)})
    score = frame["x"] + 0.8 * (frame["sex"] == "M")
    frame["y"] = {
        "logistic": (score + rng.logistic(size=n) > 0).astype(int),
        "poisson": rng.poisson(np.exp(score)),
        "gamma": rng.gamma(3.0, np.exp(score) / 3.0),
        "squared": score + rng.normal(size=n),
    }[kind]
    return frame


@pytest.mark.parametrize("kind", ["logistic", "poisson", "gamma", "squared"])
def test_the_kind_of_outcome_is_recognised_and_said(kind):
    frame = people(kind)
    assert recognise_loss(frame["y"].to_numpy(dtype=float)) == kind
    fitted = fit_table(frame, ROLES, model="linear")
    train = fitted.row_sets[0]
    if kind == "squared":
        assert "recognised" not in fitted.selection
        return
    assert f"with the {kind} loss, compared with" in fitted.selection
    assert f"; {kind} loss, penalty" in fitted.selection  # which made these data, and is better
    assert (train.fair > 0).all()
    if kind == "logistic":
        assert (train.fair < 1).all()
    groups = frame.loc[train.sensitive_features.index, "sex"].to_numpy()
    means = [train.fair[groups == group].mean() for group in ("F", "M")]
    assert means[0] == pytest.approx(means[1], abs=1e-9)
    if kind == "gamma":
        return  # its tail is too long for errors on 80 rows
    squared = fit_table(frame, ROLES, model="linear", loss="squared")
    held_out = [np.mean((f.row_sets[1].y - f.row_sets[1].fair) ** 2) for f in (fitted, squared)]
    assert held_out[0] < held_out[1]


@pytest.mark.parametrize("kind", ["logistic", "gamma"])
@pytest.mark.parametrize("minimal", [False, True])
def test_a_saved_model_predicts_what_the_report_is_about(kind, minimal, tmp_path):
    frame = people(kind)
    fitted = fit_table(frame, ROLES, model="linear", loss=kind)
    assert fitted.report().summaries[0].mean_squared_error(np.array([1.0, 0.0])) > 0
    save(fitted.pipeline, tmp_path / "m.meanparity", about=fitted.about(), minimal=minimal)
    frame.to_csv(tmp_path / "a.csv", index=False)
    saved = read(tmp_path / "m.meanparity")

    def scored(**more):
        score_file(saved, tmp_path / "a.csv", tmp_path / "s.csv", **more)
        return read_frame(tmp_path / "s.csv")["predicted y"].to_numpy()

    rows = fitted.row_sets[0]
    at = rows.sensitive_features.index
    assert scored()[at] == pytest.approx(rows.fair, rel=1e-9)
    if not minimal:
        assert scored(unfairness=1.0)[at] == pytest.approx(rows.free, rel=1e-9)
        between = 0.75 * rows.fair + 0.25 * rows.free
        assert scored(unfairness=0.25)[at] == pytest.approx(between, rel=1e-9)


def test_a_limit_on_gaps_holds_for_predictions_of_other_losses():
    fitted = fit_table(people("logistic"), ROLES, model="linear", loss="logistic", max_gap=0.03)
    rows = fitted.row_sets[0]
    summary = fitted.report().summaries[0]
    now = rows.columns @ summary.slider.model
    gaps = pd.Series(now).groupby(rows.sensitive_features["sex"].to_numpy()).mean() - now.mean()
    assert gaps.abs().max() == pytest.approx(0.03, rel=1e-6)


@pytest.mark.parametrize(
    ("kind", "more", "message"),
    [
        (
            "squared",
            {"loss": "logistic"},
            "'logistic' is for an outcome of 0 and 1, but 'y' contain",
        ),
        ("squared", {"loss": "poisson"}, "'poisson' is for counts, but 'y' contains -"),
        ("poisson", {"loss": "gamma"}, "'gamma' is for positive amounts with a long tail, but 'y'"),
        ("logistic", {"loss": "hinge"}, "loss='hinge' is not known. Pass one of auto, squared"),
        ("logistic", {"loss": "logistic", "unfairness": 0.5}, "has no model with unfairness 0.5"),
    ],
)
def test_a_loss_that_does_not_fit_is_refused(kind, more, message):
    with pytest.raises(ValueError, match=message):
        fit_table(people(kind), ROLES, model="linear", **more)


def test_a_loss_that_fails_falls_back_to_the_squared_error(monkeypatch):
    def failing(estimator, *arguments, **more):
        raise ValueError("the path ends early")

    def select(estimator, *arguments, **more):
        other = type("Other", (type(estimator),), {"fit": failing})
        return other(**estimator.get_params(deep=False)), "logistic loss"

    monkeypatch.setattr("meanparity.tables.fitting.select_loss", select)
    with pytest.warns(UserWarning, match="squared error is minimised, as the other loss failed"):
        fitted = fit_table(people("logistic"), ROLES, model="linear")
    assert type(fitted.estimator).__name__ == "ParityRidge"
    with pytest.raises(ValueError, match="the path ends early"):
        fit_table(people("logistic"), ROLES, model="linear", loss="logistic")


def test_a_loss_that_fits_no_fold_is_named_without_an_infinite_error(monkeypatch):
    def select(*arguments):
        return original(*arguments)[0], np.inf

    original = selecting.select_penalty
    monkeypatch.setattr(selecting, "select_penalty", select)
    fitted = fit_table(people("poisson"), ROLES, model="linear")
    assert "the poisson loss cannot be fitted to all folds" in fitted.selection
    assert "inf" not in fitted.selection


def test_a_long_tail_on_both_sides_is_not_that_of_amounts():
    around = np.concatenate([np.ones(40), [9.0]])
    y = np.concatenate([10 - around, 10 + around])
    assert y.min() > 0
    assert recognise_loss(y) == "squared"
