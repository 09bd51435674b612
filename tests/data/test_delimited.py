"""The structure of CSV and TSV files, and what is written in their columns."""

from __future__ import annotations

import csv
import gzip
import io

import numpy as np
import pandas as pd
import pytest

from meanparity import MeanParity, ParityRidge, ParityWarning
from meanparity.data.delimited import Layout, TextFile, scan_rows
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
        TextFile.open(path)
    path.write_bytes("a,b\n1,2\n".encode("utf-16-le"))
    with pytest.raises(ValueError, match=r"zero in line 1, .* or pass --encoding utf-16"):
        TextFile.open(path)
    with pytest.raises(ValueError, match="character of code zero in line 1"):
        Files.open(path)
    path.write_bytes(b"a,b\n1,2\nx,\x81\n")  # no letter of Windows either
    with pytest.raises(ValueError, match="cannot be read as text in UTF-8: line 3 has bytes"):
        TextFile.open(path)
    path.write_bytes(b"a,b\n" + b"1,2\n" * 400_000 + b"x,\xc3")  # half a letter, at the end
    with pytest.raises(ValueError, match="text in UTF-8: line 400002 has bytes"):
        TextFile.open(path, Layout(encoding="utf8"))


LETTERS = "größe;job\n1,5;Büro\n2,5;Café\n"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32", "cp1252"])
@pytest.mark.parametrize("ending", [".csv", ".txt", ".csv.gz"])
def test_encoding_delimiter_and_decimal_mark_are_found(encoding, ending, tmp_path):
    path = tmp_path / f"people{ending}"
    content = LETTERS.encode(encoding)
    path.write_bytes(gzip.compress(content) if ending.endswith("gz") else content)
    with pytest.warns(ParityWarning) as notes:
        found = TextFile.open(path)
    assert (found.delimiter, found.decimal) == (";", ",")
    assert found.header() == ["größe", "job"]
    assert found.scan(["größe", "job"]).written == {"größe": "decimal", "job": "text"}
    said = [str(note.message) for note in notes]
    assert f"{path.name} is read with semicolons between fields and decimal commas" in said[-1]
    guessed = "is not UTF-8 in line 1. It is read as cp1252 (Windows), in which this line is 'größe"
    assert len(said) == 1 + (encoding == "cp1252")
    assert (guessed in said[0]) == (encoding == "cp1252")


def test_what_is_given_is_not_guessed(tmp_path):
    path = tmp_path / "people.csv"
    path.write_bytes(LETTERS.encode("mac-roman"))
    found = TextFile.open(path, Layout(";", ",", "mac-roman"))
    assert found.header() == ["größe", "job"]
    assert found.scan().n_rows == 2
    for given, message in (
        ({"delimiter": ";;"}, "';;' is not one character"),
        ({"decimal": "'"}, "is not known. Pass . or a comma"),
        ({"decimal": ",", "delimiter": ","}, "are both a comma"),
        ({"encoding": "utf-9"}, "The encoding 'utf-9' is not known"),
        ({"encoding": "rot13"}, "The encoding 'rot13' is not known"),
    ):
        with pytest.raises(ValueError, match=message):
            Layout(**given)


@pytest.mark.parametrize(
    ("text", "delimiter", "decimal"),
    [
        ("a,b\n1,2\n", ",", "."),
        ("a;b\n1;2\n", ";", "."),
        ("a\tb\n1,5\t2\n", "\t", ","),
        ("a|b\n1.5|2\n", "|", "."),
        ("pay (net, gross);b\n1;2\n", ";", "."),
        ("a;b\n1,234;2,000\n", ";", "."),  # thousands, as far as one can tell
        ("a;b\n1,234;2,00\n", ";", ","),
        ("a;b\n1,5;2.5\n", ";", "."),
        ('a;b\n"x;y";2\n', ";", "."),
        ("a;b\n1;2\n1;2\n1;2;3\n", ";", "."),  # and reading it names line 4
        ("a,b\n1,2,3\n", ",", "."),
        ("title; subtitle\nx\ny\n", ",", "."),
        ("a\n1\n", ",", "."),
    ],
)
@pytest.mark.filterwarnings("ignore:people.csv is read with")
def test_delimiters_divide_all_rows_alike(text, delimiter, decimal, tmp_path):
    (tmp_path / "people.csv").write_text(text)
    found = TextFile.open(tmp_path / "people.csv")
    assert (found.delimiter, found.decimal) == (delimiter, decimal)


@pytest.mark.filterwarnings("ignore:.* is read with", "ignore:.* is not UTF-8")
def test_estimators_read_files_however_they_are_written(tmp_path):
    frame = people()[[*FEATURES, "y"]].assign(job=["Büro", "Café"] * 100)
    whole = ParityRidge().fit(frame[FEATURES], frame["y"], sensitive_features=frame["job"])
    for encoding, mark in (("cp1252", ","), ("utf-16", "."), ("utf-8", ",")):
        text = frame.to_csv(sep=";", decimal=mark, index=False).encode(encoding)
        (tmp_path / "people.txt.gz").write_bytes(gzip.compress(text))
        model = ParityRidge().fit(tmp_path / "people.txt.gz", "y", sensitive_features="job")
        assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)
        assert set(model.group_counts_) == {"Büro", "Café"}
    frame.to_csv(tmp_path / "other.csv", index=False)
    with pytest.raises(ValueError, match="not written alike: the delimiter is ';' in one and ','"):
        Files.open([tmp_path / "people.txt.gz", tmp_path / "other.csv"])


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
