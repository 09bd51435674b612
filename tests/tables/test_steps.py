"""What people who wait for a model see."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest

from meanparity.tables import Roles, fit_table, steps
from meanparity.tables.steps import Steps, in_pieces


def people(n):
    rng = np.random.default_rng(0)
    found = pd.DataFrame({"sex": rng.choice(["F", "M"], n), "x": rng.standard_normal(n)})
    found["claims"] = rng.poisson(np.exp(0.5 * found["x"]))
    return found


@pytest.mark.parametrize("options", [{}, {"model": "linear"}, {"loss": "squared"}], ids=str)
@pytest.mark.parametrize("n", [200, 3200])
def test_every_step_is_announced_with_its_number(n, options):
    said = []
    fit_table(people(n), Roles("claims", ("sex",)), progress=said.append, **options)
    numbered = [re.match(r"step (\d+) of (\d+): ([^:]+)", text) for text in said]
    first = next(i for i, found in enumerate(numbered) if found)
    assert all(numbered[first:])
    numbers = [int(found[1]) for found in numbered if found]
    kernel = 0 if options.get("model") == "linear" else 1 + (n > 3125)
    wanted = 1 + kernel + (options.get("loss") != "squared") + 2
    assert {int(found[2]) for found in numbered if found} == {wanted}
    assert list(dict.fromkeys(numbers)) == list(range(1, wanted + 1))
    assert numbered[-1][3] == "predicting"
    pieces = [re.search(r"(\d) of (\d) (widths|fits)", text) for text in said]
    done = [(int(found[1]), int(found[2])) for found in pieces if found]
    expected = [(i, 4) for i in range(5)] * bool(kernel)
    fits = [0, 1, 2, 3, 3, 4, 5, 6, 6, 7, 8, 9, 9] if options.get("loss") != "squared" else []
    assert list(dict.fromkeys(done)) == list(dict.fromkeys([*expected, *((i, 9) for i in fits)]))


def test_the_time_left_is_said_once_a_third_is_done(monkeypatch):
    said, clock = [], iter([0.0, 20.0, 30.0, 59.6, 70.0])
    monkeypatch.setattr(steps.time, "monotonic", lambda: next(clock))
    done = in_pieces("fits", 6, "fits", said.append)
    for number in (1, 2, 3, 4, 5, 6):
        done(number)
    left = [text.partition(" fits")[2].lstrip(", ") for text in said]
    assert left[:2] == ["", ""]
    assert left[2:] == [
        "about 40 s left in this step",  # 20 s for 2 of 6
        "about 30 s left in this step",
        "about 30 s left in this step",
        "about 14 s left in this step",
        "",
    ]
    assert [text.count("█") for text in said] == [0, 1, 3, 5, 6, 8, 10]


def test_a_step_that_was_not_planned_is_an_error():
    with pytest.raises(ValueError, match="sleeping"):
        Steps(["fitting"], print)("sleeping")
