"""The structure of CSV and TSV files, and what is written in their columns."""

from __future__ import annotations

import csv
import io

import numpy as np
import pandas as pd
import pytest

from meanparity import MeanParity, ParityRidge
from meanparity.data.delimited import read_header, scan_file, scan_rows
from meanparity.data.files import Files

FEATURES = list("abcdef")


def scan(text, columns=(), separator=","):
    return scan_rows(io.StringIO(text, newline=""), separator, "people.csv", columns)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3,4,5\n", "has 3 fields in line 3, but 2 in its header"),
        ("a,b\n1,2\n\n\n3\n", "has 1 field in line 5, but 2 in its header"),
        ("a,b\n1,2,\n3,4,\n", "has 3 fields in line 2"),
        ('a,b\n"1\n1",2\n3,4,5\n', "has 3 fields in line 4"),
        ('a,b\n1,"2\n3,4\n', "cannot be read in line 3: unexpected end of data"),
        ('a,b\n"1"x,2\n', "cannot be read in line 2: ',' expected after '\"'"),
        ("a,b\n1,2\n\r,3\n", "carriage return without a line feed in line 3"),
        ("a,b\r1,2\r", "carriage return without a line feed in line 1"),
        ("a\tb\n1,2\n", "has 1 field in line 2"),
    ],
)
def test_rows_that_do_not_fit_the_header_are_refused_with_their_line(text, message):
    with pytest.raises(ValueError, match=message):
        scan(text, separator="\t" if "\t" in text else ",")


def test_rows_are_counted_as_they_are_meant():
    assert scan("a,b\n\n1,2\r\n\n3,\n").n_rows == 2
    assert scan('a\n"x\n\ny"\n""\n').n_rows == 2
    assert scan("").names == ()
    assert scan("a,b").n_rows == 0


@pytest.mark.parametrize(
    ("cells", "kind"),
    [
        (["1", "2", ""], "whole"),
        (["-3", "0", "10"], "whole"),
        (["1", "007"], "text"),
        (["1", "+2"], "text"),
        (["-0", "1"], "text"),
        (["1", " 2"], "text"),
        (["1", "NA"], "text"),
        (["1", "٣"], "text"),
        (["9" * 18], "whole"),
        (["9" * 19], "text"),
        (["True", "False", ""], "boolean"),
        (["true", "False"], "text"),
        (["True", "1"], "text"),
        (["", ""], "empty"),
        (["1.5", "2.0"], "decimal"),
        (["1.5", "2"], "text"),  # 2 would become 2.0
        (["1.1", "1.10"], "text"),  # two versions, one number
        ([f"{i / 4:.2f}" for i in range(20)], "text"),
        ([f"{i / 4:.2f}" for i in range(21)], "decimal"),
        ([*(f"{i / 4:.2f}" for i in range(50)), "05"], "text"),
        (["nan", "1.5"], "text"),
        (["1e5", "1.5"], "text"),
    ],
)
def test_cells_become_numbers_only_as_they_are_written(cells, kind):
    text = "g,x\n" + "".join(f"{cell},0\n" for cell in cells)
    assert scan(text, ["g", "nowhere"]).written == {"g": kind}


def test_files_of_bytes_that_are_not_text_are_refused_with_their_line(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(b"a,b\n1,2\n" * 50_000 + b"x\0y,2\n")
    with pytest.raises(ValueError, match="character of code zero in line 100001"):
        scan_file(path, ",")
    path.write_bytes("a,b\nä,2\n".encode("utf-16"))
    with pytest.raises(ValueError, match=r"cannot be read as csv: .* in line 1, which is not"):
        read_header(path, ",")
    with pytest.raises(ValueError, match="character of code zero in line 1"):
        Files.open(path)
    path.write_bytes(b"a,b\n1,2\nx,\xe4\n")
    with pytest.raises(ValueError, match=r"in line 3, which is not written in UTF-8"):
        scan_file(path, ",")


def people(n=200):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((n, 6)).round(3), columns=FEATURES)
    frame["sex"] = rng.choice(["F", "M"], n)
    frame["office"] = rng.choice(["007", "7", "NA", "None"], n)
    frame["age"], frame["bmi"] = rng.integers(20, 60, n), rng.uniform(18, 30, n).round(2)
    frame["y"] = (frame["a"] + (frame["office"] == "007")).round(3)
    return frame


def test_estimators_read_groups_of_files_as_they_are_written(tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    rest = frame[[*FEATURES, "office", "y"]]
    rest.to_csv(tmp_path / "some.csv", index=False)
    model = ParityRidge().fit(tmp_path / "some.csv", "y", sensitive_features="office")
    assert model.group_counts_ == frame["office"].value_counts().to_dict()
    whole = ParityRidge().fit(frame[FEATURES], frame["y"], sensitive_features=frame["office"])
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)


def test_estimators_read_sensitive_numbers_of_files_as_numbers(tmp_path):
    frame = people()[[*FEATURES, "age", "bmi", "y"]]
    frame.to_csv(tmp_path / "people.csv", index=False)
    names, constraint = ["age", "bmi"], MeanParity(continuous=["age", "bmi"])
    model = ParityRidge(constraint=constraint)
    model.fit(tmp_path / "people.csv", "y", sensitive_features=names)
    whole = ParityRidge(constraint=constraint)
    whole.fit(frame[FEATURES], frame["y"], sensitive_features=frame[names])
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)
    codes = frame.assign(age=frame["age"] % 3)[[*FEATURES, "age", "y"]]
    codes.to_csv(tmp_path / "codes.csv", index=False)
    model = ParityRidge().fit(tmp_path / "codes.csv", "y", sensitive_features="age")
    assert list(model.group_counts_) == [0, 1, 2]


def test_estimators_refuse_files_with_uneven_rows_by_their_line(tmp_path):
    text = people()[[*FEATURES, "sex", "y"]].to_csv(index=False).splitlines()
    for line, count in ((text[1] + ",", 9), (text[1].rpartition(",")[0], 7)):
        path = tmp_path / "people.csv"
        path.write_text("\n".join([*text[:150], line, *text[150:]]))
        with pytest.raises(ValueError, match=rf"has {count} fields in line 151, but 8 in its"):
            ParityRidge().fit(path, "y", sensitive_features="sex")


def test_groups_in_several_files_are_read_alike(tmp_path):
    for name, office in (("a", ["1", "2"]), ("b", ["007", ""]), ("c", ["", ""])):
        frame = people(20)[[*FEATURES, "y"]].assign(office=office * 10)
        frame.to_csv(tmp_path / f"{name}.csv", index=False, quoting=csv.QUOTE_ALL)
    constraint = MeanParity(missing="group")
    model = ParityRidge(constraint=constraint).fit(tmp_path, "y", sensitive_features="office")
    assert model.group_counts_ == {"1": 10, "2": 10, "007": 10, None: 30}
    (tmp_path / "b.csv").unlink()
    model = ParityRidge(constraint=constraint).fit(tmp_path, "y", sensitive_features="office")
    assert model.group_counts_ == {1: 10, 2: 10, None: 20}
