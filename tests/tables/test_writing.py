"""Files of scored tables."""

from __future__ import annotations

import csv

import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import pytest

from meanparity.tables.writing import unescape_formula, write_batches


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "feather"])
def test_batches_become_one_table_without_their_index(form, tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"]}, index=[7, 8, 9])
    path = tmp_path / f"scored.{form}"
    assert write_batches([frame[:2], frame[2:]], path) == 3
    if form in ("csv", "tsv"):
        separator = "," if form == "csv" else "\t"
        lines = [["a", "b"], ["1.5", "x"], ["2.5", "y"], ["3.5", "z"]]
        assert path.read_text().splitlines() == [separator.join(line) for line in lines]
    else:
        read = pyarrow.parquet.read_table if form == "parquet" else pyarrow.feather.read_table
        assert read(path).to_pydict() == {"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"]}


FORMULAS = [
    "=1+1",
    "+1",
    "-x",
    "@a",
    "\t=1",
    "\r=1",
    "\n=1",
    " =1",
    "\n",
    "＝1+1",
    "＋1",
    "－1",
    "＠a",
]
FORMULAS += ["＋1", "－1", "＠a", "'=1+1", "''@a", "\u00a0=1", "\u3000＝1"]


def test_text_that_a_spreadsheet_would_run_gets_an_apostrophe_that_can_be_taken_back(tmp_path):
    plain = ["plain", "'quoted'", "a=b", "1-2", "'", "", "it's", "。=1"]
    write_batches([pd.DataFrame({"text": FORMULAS + plain})], tmp_path / "a.csv")
    with (tmp_path / "a.csv").open(newline="", encoding="utf-8") as file:
        written = [row[0] if row else "" for row in csv.reader(file)][1:]
    assert written == [f"'{text}" for text in FORMULAS] + plain
    assert [unescape_formula(text) for text in written] == FORMULAS + plain
