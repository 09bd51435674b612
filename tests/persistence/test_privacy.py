"""What files hold of each row: what grows with their number, as the page about privacy lists it."""

from __future__ import annotations

import re
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from meanparity import LinearParity, ParityKernelClassifier, ParityKernelRidge
from meanparity.datasets import make_synthetic
from meanparity.files import unpack
from meanparity.persistence import describe_rows, load, save
from tests.persistence import models

PAGE = Path(__file__).parents[2] / "docs" / "privacy.md"
ROW = re.compile(r"^\| `([\w.]+)`(?:, `([\w.]+)`)? \| [^|]+ \| (yes|no) \|$", re.MULTILINE)


def listed(*, minimal: bool) -> set[str]:
    """The parts of files that the page lists as growing with the number of rows."""
    rows = [row for row in ROW.findall(PAGE.read_text()) if row[2] == "yes" or not minimal]
    return {name for row in rows for name in row[:2] if name}


def sizes(node: Any, arrays: dict[str, Any], where: str = "") -> Iterator[tuple[str, int]]:
    """Numbers, texts and letters in a model file, by the field that they are in."""
    if isinstance(node, str):
        yield where, len(node)
    elif isinstance(node, list):
        yield where, len(node)
        for part in node:
            yield from sizes(part, arrays, where)
    elif isinstance(node, dict) and isinstance(node.get("array"), str):
        yield where, arrays[node["array"]].size
    elif isinstance(node, dict) and "kind" in node:
        state = dict(node["state"])
        if set(state) == {"parameters", "fitted"}:  # of an estimator
            state |= dict(state.pop("parameters")["dict"]) | dict(state.pop("fitted")["dict"])
        for name, part in state.items():
            yield from sizes(part, arrays, f"{node['kind']}.{name}")
    elif isinstance(node, dict):
        for part in node.values():
            yield from sizes(part, arrays, where)


def fitted(name: str, n: int, monkeypatch: Any) -> Any:
    """A model of the stored kinds, fitted to n rows."""
    rng = np.random.default_rng(0)
    X = pd.DataFrame(rng.standard_normal((n, 4)), columns=list("abcd"))
    S = rng.choice(["female", "male"], n)
    monkeypatch.setattr(models, "X", X)
    monkeypatch.setattr(models, "S", S)
    monkeypatch.setattr(models, "Y", X["a"] + (S == "female") + rng.standard_normal(n))
    monkeypatch.setattr(models, "N", n)
    monkeypatch.setattr(models, "BAND", np.array(["young", "middle", "old"])[np.arange(n) % 3])
    monkeypatch.setattr(models, "AGE", pd.DataFrame({"sex": S, "age": rng.uniform(20, 60, n)}))
    if name == "ridge, own weights":
        weights = LinearParity(np.where(S == "male", 1.0, 0.0) - np.mean(S == "male"))
        own = clone(models.MODELS[name]).set_params(constraint=weights)
        monkeypatch.setitem(models.MODELS, name, own)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return models.fit(name)


def growing(name: str, path: Path, monkeypatch: Any, *, minimal: bool) -> tuple[set[str], Any]:
    """The fields of a file that are nearly twice as large after a fit to twice as many rows.

    Returns the model of that fit as well.
    """
    found = []
    for n in (60, 120):
        model = fitted(name, n, monkeypatch)
        save(model, path, minimal=minimal)
        header, arrays = unpack(path.read_bytes(), "it", "model file")
        counts: Counter[str] = Counter()
        for where, size in sizes(header["model"], arrays):
            counts[where] += size
        found.append(counts)
    return {where for where, size in found[1].items() if size > 1.9 * found[0][where]}, model


FEATURES, LOSS = "holds the features of 120 rows", "the target and the group of each of the 120"
AGES = "the mean prediction at each value of age"
# what describe_rows says of each part that grows with the rows
SAID = {
    "KernelExpansion.points": FEATURES,
    "FittedFunction.coef": FEATURES,
    "StagePart.coef": FEATURES,
    "ParityKernelRidge.dual_coef_": FEATURES,
    "ParityKernelRegressor.dual_coef_": FEATURES,
    "ParityKernelClassifier.dual_coef_": FEATURES,
    "MeanPenaltyRidge.dual_coef_": FEATURES,
    "MeanPenaltyRidge._coef": FEATURES,
    "Distribution.values": "120 predictions for the rows of fit",
    "Distribution.ranks": "120 predictions for the rows of fit",
    "Fit.coef": FEATURES,
    "Directions.coef": FEATURES,
    "Run.c": FEATURES,
    "LossTradeoff.y": LOSS,
    "LossTradeoff.scores": LOSS,
    "LossTradeoff.weights": LOSS,
    "Rows.y": LOSS,
    "Rows.codes": LOSS,
    "LinearParity.weights": "the weights that the constraint gives to each of 120 rows",
    "Fit.cell_means": AGES,
    "Directions.cell_means": AGES,
}


WITHOUT_ROWS = re.compile("ridge|landmarks|adjusted|bound$|covariance|reduction|unfair|pipe|target")


@pytest.mark.parametrize("minimal", [False, True], ids=["full", "minimal"])
def test_what_grows_with_the_rows_is_what_the_page_lists(minimal, tmp_path, monkeypatch):
    path, every = tmp_path / "m.meanparity", set()
    for name in models.MODELS:
        found, model = growing(name, path, monkeypatch, minimal=minimal)
        assert found <= listed(minimal=minimal), name
        text = describe_rows(model, minimal=minimal)
        assert {words for words in SAID.values() if words in text} == {
            SAID[where] for where in found
        }, name
        assert bool(text) == bool(found) or "landmarks" in text, name
        if minimal and WITHOUT_ROWS.search(name):
            assert not found, name
        every |= found
    assert every == listed(minimal=minimal)
    assert set(SAID) == listed(minimal=False)


@pytest.mark.parametrize("minimal", [False, True])
def test_a_pool_is_mentioned_where_there_is_one(minimal):
    X, y, s = make_synthetic(60, random_state=0)
    kernel = ParityKernelRidge(kernel="rbf")
    text = describe_rows(kernel.fit(X, y, sensitive_features=s), minimal=minimal)
    assert "the features of 60 rows, those of fit, because" in text
    assert "pool" not in text
    kernel.fit(X[:40], y[:40], sensitive_features=s[:40], pool=(X[40:], s[40:]))
    text = describe_rows(kernel, minimal=minimal)
    assert "the features of 60 rows, those of fit and its pool, because" in text
    of_pool = "The group of each person of the pool can be computed"
    assert (of_pool in text) == minimal  # of all of these rows in a full file
    kernel.set_params(kernel="precomputed").fit(X @ X.T, y, sensitive_features=s)
    text = describe_rows(kernel, minimal=minimal)
    assert text == "The model file holds 60 coefficients, one for each row of fit."


def test_a_linear_model_of_another_loss_says_what_its_file_holds_and_keeps_its_curves(tmp_path):
    X, y, s = make_synthetic(80, random_state=0)
    model = ParityKernelClassifier(kernel="linear").fit(X, y > 0, sensitive_features=s)
    assert describe_rows(model) == (
        "The model file holds the target and the group of each of the 80 rows of fit, its weight "
        "and its predictions at both ends of the dial, from which curves of the dial are computed; "
        "minimal files do not."
    )
    assert describe_rows(model, minimal=True) == ""
    save(model, tmp_path / "m.meanparity")
    loaded = load(tmp_path / "m.meanparity")
    assert describe_rows(loaded) == describe_rows(model)
    here, there = (m.tradeoff_.training_curve([0.0, 0.3, 1.0]) for m in (model, loaded))
    assert (here.loss == there.loss).all()
    assert (here.max_gap == there.max_gap).all()
    assert loaded.tradeoff_.objective(0.3) == model.tradeoff_.objective(0.3)
    with pytest.raises(ValueError, match="does not have the problem and the solver of its fit"):
        loaded.tradeoff_.for_gap(0.1)
