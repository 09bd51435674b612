"""Printed audits are no wider than 80 letters, and everything is in them."""

from __future__ import annotations

import io
import sys

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity.audit import audit
from meanparity.audit.checks import format_interval
from meanparity.audit.table import WIDTH, text_table
from meanparity.cli import options

LONG = "people whose group has an unusually long name, as in a questionnaire"


def rows(n=400, scale=1.0):
    rng = np.random.default_rng(0)
    people = pd.DataFrame(
        {
            "occupation": rng.choice([LONG, "B" * 90, "c"], n),
            "sex": rng.integers(0, 2, n),
            "grade": rng.choice([1, 2], n),
        }
    )
    return people, scale * (1000 + rng.normal(size=n))


@pytest.mark.parametrize("scale", [1.0, -98765.4, 1e-7])
@pytest.mark.parametrize("columns", [["sex"], ["occupation", "sex"]])
def test_audits_fit_into_a_terminal_and_nothing_is_cut(scale, columns):
    people, values = rows(scale=scale)
    found = audit(
        values,
        sensitive_features=people[columns],
        control_features=people["grade"],
        y_true=values + 1,
        within=abs(scale),
    )
    table = str(found).partition("\n\n4")[0]  # the sentences follow
    lines = found._table()
    assert max(map(len, lines)) <= WIDTH
    if columns == ["sex"]:  # longer names are wrapped, see below
        for finding in found.findings:
            assert sum(line.startswith(f"{finding.name}  ") for line in lines) == 2
    whole = "\n".join(lines).split()
    cells = "\n".join(lines).replace(",", "").split()
    for finding in found.findings:
        assert set(format_interval(finding.low, finding.high)) <= set(whole)
    for name in ("mean", "gap", "detectable", "mean_error"):
        for finding in found.findings:
            value = getattr(finding, name)
            shown = f"{value:.0f}" if abs(value) >= 9999.5 else f"{value:.4g}"
            assert shown in cells, (name, value)
    for title in ("(adjusted)", "within", "error"):
        assert title in table


def test_names_are_wrapped_whole():
    lines = text_table([["name", LONG, "B" * 90], ["x" * 60, "1", "2"]], beside=1)
    names = [line[:18].strip() for line in lines]
    assert all(line[18:20].strip() == "" for line in lines)
    assert LONG in " ".join(names)
    assert "B" * 90 in "".join(names)


@given(
    st.lists(
        st.lists(st.text("ab ", min_size=1, max_size=30), min_size=3, max_size=3),
        min_size=2,
        max_size=9,
    ),
    st.integers(1, 4),
)
def test_any_table_is_narrow_and_has_every_cell(columns, beside):
    columns = [[cell.strip() or "x" for cell in column] for column in columns]
    lines = text_table(columns, beside)
    assert max(map(len, lines)) <= WIDTH
    for column in columns[1:]:
        for cell in column:
            assert any(cell in line for line in lines)


def test_a_narrow_table_has_one_block():
    found = audit(np.arange(60.0), sensitive_features=np.repeat(["F", "M"], 30))
    assert "" not in found._table()


class Terminal(io.StringIO):
    def isatty(self):
        return True


def test_a_terminal_gets_whole_words(monkeypatch):
    text = "short\n\n" + "a sentence of many words " * 9
    monkeypatch.setenv("COLUMNS", "40")
    for stream in (Terminal(), io.StringIO()):
        monkeypatch.setattr(sys, "stdout", stream)
        options.show(text, {}, False)
        shown = stream.getvalue()
        assert shown.split() == text.split()
        assert (max(map(len, shown.split("\n"))) <= 40) == stream.isatty()
        assert shown.startswith("short\n\na sentence")
