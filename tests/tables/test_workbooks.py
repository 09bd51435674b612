"""Cells of Excel sheets become columns of numbers, dates, booleans or text."""

from __future__ import annotations

import datetime

import openpyxl
import pandas as pd
import pytest

from meanparity.tables.workbooks import Workbook

DAY = datetime.datetime(2026, 1, 31)


def sheet(path, **columns):
    book = openpyxl.Workbook()
    book.active.append(list(columns))
    for row in zip(*columns.values(), strict=True):
        book.active.append(list(row))
    book.save(path)
    return Workbook.open(path)


@pytest.fixture
def read(tmp_path):
    def column(*cells, as_written=(), as_text=()):
        found = sheet(tmp_path / "t.xlsx", last=[0] * len(cells), c=cells)
        return found.read(as_written=as_written, as_text=as_text)["c"]

    return column


def test_numbers(read):
    assert read(1, 2).dtype == "int64"
    assert read(1, 2.5).dtype == "float64"
    empty = read(1, None, 3)
    assert empty.dtype == "float64"
    assert empty.isna().tolist() == [False, True, False]


def test_dates_and_booleans_stay_what_they_are_if_all_cells_are(read):
    assert pd.api.types.is_datetime64_any_dtype(read(DAY, None))
    assert read(True, False).dtype == bool
    assert read(True, DAY).tolist() == ["True", str(DAY)]
    assert read(True, 2).tolist() == ["True", "2"]


def test_text_that_says_there_is_no_value_is_empty_unless_read_as_written(read):
    assert read("NA", "x", "").isna().tolist() == [True, False, True]
    assert read("NA", "x", "", as_written=["c"]).isna().tolist() == [False, False, True]
    assert read("NA", "x", "", as_written=["last"]).isna().tolist() == [True, False, True]


def test_columns_of_groups_are_text(read):
    assert read(7, 8, as_text=["c"]).tolist() == ["7", "8"]
    assert read(7, 8, as_text=["last"]).tolist() == [7, 8]
