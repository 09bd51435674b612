"""The fuzz script: what it tries gets through nowhere, and it notices what would."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from benchmarks import fuzz
from benchmarks.fuzz import Fuzzer


@pytest.mark.slow
def test_changed_inputs_are_refused_or_read_as_they_are_written(tmp_path):
    found = Fuzzer(tmp_path, seed=0).run(inputs=1000)
    assert found.failures == []
    tried = {name.partition(":")[0] for name in found.counts}
    assert {"csv", "tsv", ".feather", ".parquet", "model", "statistics"} <= tried
    for kind in ("csv", "tsv", "csv, batches", "csv, PyArrow", "model, forged"):
        assert found.counts[f"{kind}: read"] > 0
        assert found.counts[f"{kind}: refused"] > 0


def test_a_reader_that_shifts_rows_is_noticed(tmp_path, monkeypatch):
    def careless(path, columns=None, *, as_written=()):
        separator = "," if path.suffix == ".csv" else "\t"
        return pd.read_csv(path, sep=separator, on_bad_lines="skip")

    monkeypatch.setattr(fuzz, "read_frame", careless)
    fuzzer = Fuzzer(tmp_path, seed=0)
    for number in range(40):
        fuzzer.try_text(number * 1000 + 7, np.random.default_rng(number))
    failures = " ".join(fuzzer.found.failures)
    assert "although its rows are not even" in failures
    assert "in the column 'office' instead of" in failures


def test_memory_and_unforeseen_errors_are_noticed(tmp_path):
    fuzzer = Fuzzer(tmp_path, seed=0)
    fuzzer.attempt("a", 1, 1000, lambda: len(np.zeros(2**23)))
    fuzzer.attempt("b", 2, 1000, lambda: {}["missing"])
    fuzzer.attempt("c", 3, 1000, lambda: 1)
    assert len(fuzzer.found.failures) == 2
    assert "input 1: took" in fuzzer.found.failures[0]
    assert "KeyError" in fuzzer.found.failures[1]


def test_the_same_seed_gives_the_same_inputs(tmp_path):
    seen = []
    for seed in (1, 1, 2):
        fuzzer = Fuzzer(tmp_path, seed)
        fuzzer.run(inputs=3)
        content = [
            (tmp_path / f"new.{end}").read_bytes()
            for end in ("csv", "tsv")
            if (tmp_path / f"new.{end}").exists()
        ]
        seen.append((content, dict(fuzzer.found.counts)))
        for path in tmp_path.glob("new.*"):
            path.unlink()
    assert seen[0] == seen[1]
    assert seen[0] != seen[2]
