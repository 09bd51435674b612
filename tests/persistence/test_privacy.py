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

from meanparity import LinearParity
from meanparity.files import unpack
from meanparity.persistence import save
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


def growing(name: str, path: Path, monkeypatch: Any, *, minimal: bool) -> set[str]:
    """The fields of a file that are nearly twice as large after a fit to twice as many rows."""
    found = []
    for n in (60, 120):
        save(fitted(name, n, monkeypatch), path, minimal=minimal)
        header, arrays = unpack(path.read_bytes(), "it", "model file")
        counts: Counter[str] = Counter()
        for where, size in sizes(header["model"], arrays):
            counts[where] += size
        found.append(counts)
    return {where for where, size in found[1].items() if size > 1.9 * found[0][where]}


WITHOUT_ROWS = re.compile("ridge|landmarks|adjusted|bound$|covariance|reduction|unfair|pipe|target")


@pytest.mark.parametrize("minimal", [False, True], ids=["full", "minimal"])
def test_what_grows_with_the_rows_is_what_the_page_lists(minimal, tmp_path, monkeypatch):
    path, every = tmp_path / "m.meanparity", set()
    for name in models.MODELS:
        found = growing(name, path, monkeypatch, minimal=minimal)
        assert found <= listed(minimal=minimal), name
        if minimal and WITHOUT_ROWS.search(name):
            assert not found, name
        every |= found
    assert every == listed(minimal=minimal)
