"""Tables are read as they were written, or refused."""

from __future__ import annotations

import gzip
import time
import tracemalloc
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet
import pytest
from openpyxl.utils import get_column_letter

from meanparity import ParityRidge
from meanparity.linalg import memory
from meanparity.persistence import read, save
from meanparity.tables import Roles, fit_table, read_frame, reading, score_file, write_frame
from meanparity.tables.reading import TableFile
from tests.cli.test_commands import run


def people(n=300, seed=0):
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame({"id": [f"{i:05}" for i in range(n)]})
    frame["office"] = rng.choice(["007", "7", "NA", "None"], n)
    frame["sex"], frame["age"] = rng.choice(["F", "M"], n), rng.integers(20, 60, n)
    frame["hours"] = rng.normal(38, 4, n).round(2)
    pay = frame["hours"] + 2.4 * (frame["sex"] == "M") + rng.standard_normal(n)
    frame["pay"] = pay.round(3)
    return frame


@pytest.fixture(params=["whole", "batches"])
def way(request, monkeypatch):
    """The table is read at once, or in batches of rows."""
    if request.param == "batches":
        monkeypatch.setattr(reading, "_BATCH_ROWS", 70)
        monkeypatch.setattr(reading, "LARGE", 0)
    return request.param


@pytest.mark.parametrize("place", ["every", "one", "short"])
def test_an_audit_does_not_read_a_shifted_table(place, way, tmp_path):
    """Rows with a field in front, whose region would be read as the sex."""
    lines = people()[["sex", "pay"]].assign(region="N").to_csv(index=False).splitlines()
    if place == "every":
        lines[1:] = [f"p{i},{line}" for i, line in enumerate(lines[1:])]
    else:
        lines[200] = f"{lines[200]},x" if place == "one" else "F,38.5"
    path = tmp_path / "people.csv"
    path.write_text("\n".join(lines))
    line = 2 if place == "every" else 201
    command = ("audit", path, "--target", "pay", "--sensitive", "sex", "--within", "100")
    with pytest.raises(ValueError, match=rf"people\.csv has \d fields in line {line}, but 3"):
        run(*command)
    with pytest.raises(ValueError, match=rf"people\.csv has \d fields in line {line}, but 3"):
        fit_table(path, Roles("pay", ("sex",)))


def test_a_table_to_score_is_not_shifted(way, tmp_path):
    frame = people()
    fitted = fit_table(frame, Roles("pay", ("sex",), ignored=("id", "office")), model="linear")
    save(fitted.pipeline, tmp_path / "m.meanparity", about=fitted.about())
    lines = frame.drop(columns="pay").to_csv(index=False).splitlines()
    (tmp_path / "new.csv").write_text("\n".join([lines[0], *(f"{i}," for i in lines[1:])]))
    with pytest.raises(ValueError, match=r"new\.csv has 6 fields in line 2, but 5 in its header"):
        score_file(read(tmp_path / "m.meanparity"), tmp_path / "new.csv", tmp_path / "out.csv")
    assert not (tmp_path / "out.csv").exists()


@pytest.mark.filterwarnings("ignore:A gap of")
def test_groups_keep_their_text(way, tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    people(seed=1).to_csv(tmp_path / "next.csv", index=False)
    status, output = run(
        *("audit", tmp_path / "people.csv", "--target", "pay", "--sensitive", "office"),
    )
    assert status == 0
    counts = frame["office"].value_counts()
    lines = [line.split() for line in output.splitlines() if line]
    assert {line[0]: int(line[1]) for line in lines if line[0] in counts} == counts.to_dict()
    fitted = fit_table(
        tmp_path / "people.csv",
        Roles("pay", ("office",), ignored=("id",)),
        model="kernel",
        pool=tmp_path / "next.csv",
    )
    for summary in fitted.report().summaries:
        assert set(summary.names) == set(counts.index)
    assert "office_NA" in fitted.table.names


def test_predict_reads_groups_as_fit_did_and_copies_what_is_written(way, tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = Roles("pay", ("office",), ignored=("id", "age"))
    fitted = fit_table(tmp_path / "people.csv", roles, model="linear")
    save(fitted.pipeline, tmp_path / "m.meanparity", about=fitted.about())
    for new in (frame, frame[frame["office"] == "7"], frame[frame["office"] == "NA"]):
        new = new.drop(columns="pay")
        new.to_csv(tmp_path / "new.csv", index=False)
        out = tmp_path / "scored.csv"
        score_file(read(tmp_path / "m.meanparity"), tmp_path / "new.csv", out)
        expected = fitted.pipeline.predict(new[list(fitted.columns)].reset_index(drop=True))
        scored = read_frame(out, as_written=["id", "office"])
        assert scored["predicted pay"].to_numpy() == pytest.approx(expected, abs=1e-9)
        assert scored["id"].tolist() == new["id"].tolist()
        assert scored["office"].astype(str).tolist() == new["office"].tolist()


@pytest.mark.filterwarnings("ignore:The sensitive column 'age' has")
def test_sensitive_numbers_are_numbers(way, tmp_path):
    frame = people()
    frame.to_csv(tmp_path / "people.csv", index=False)
    roles = Roles("pay", ("age",), ignored=("id", "office"))
    fitted = fit_table(tmp_path / "people.csv", roles, model="linear")
    assert fitted.table.encoder.kinds["age"] == "number"
    assert fitted.report().summaries[0].numbers == ("age",)
    whole = fit_table(frame, roles, model="linear")
    rows = frame[list(whole.columns)]
    assert fitted.pipeline.predict(rows) == pytest.approx(whole.pipeline.predict(rows))
    codes = frame.assign(age=[f"0{age}" for age in frame["age"]]).drop(columns="pay")
    codes.to_csv(tmp_path / "codes.csv", index=False)
    save(fitted.pipeline, tmp_path / "m.meanparity", about=fitted.about())
    with pytest.raises(ValueError, match=r"has '0\d\d' in the column 'age', row 1, but the model"):
        score_file(read(tmp_path / "m.meanparity"), tmp_path / "codes.csv", tmp_path / "out.csv")
    with pytest.raises(ValueError, match=r"The pool has '0\d\d' in the column 'age', row 1"):
        fit_table(tmp_path / "people.csv", roles, model="linear", pool=tmp_path / "codes.csv")


def test_lines_of_blanks_are_not_left_out_in_silence(way, tmp_path):
    (tmp_path / "a.csv").write_text("pay\n1\n  \n3\n")
    with pytest.raises(ValueError, match="has 3 rows, but 2 if lines of blanks are left out"):
        read_frame(tmp_path / "a.csv", ["pay"])


def test_only_cells_of_groups_are_kept_as_written(way, tmp_path):
    (tmp_path / "a.csv").write_text("g,h,x\nNA,NA,1\n,None,2\nTrue,7,nan\n")
    frame = read_frame(tmp_path / "a.csv", ["g", "h", "x"], as_written=["g"])
    assert frame["g"].fillna("empty").tolist() == ["NA", "empty", "True"]
    assert frame["h"].isna().tolist() == [True, True, False]
    assert frame["x"].isna().tolist() == [False, False, True]


def test_many_columns_take_no_more_time_each(tmp_path):
    def seconds(columns):
        path = tmp_path / "wide.csv"
        path.write_text(",".join(f"c{i}" for i in range(columns)) + "\n" + "1," * (columns - 1))
        found = []
        for _ in range(3):
            start = time.process_time()
            TableFile(path)
            found.append(time.process_time() - start)
        return min(found)

    assert seconds(40_000) < 40 * seconds(4_000)  # 100 times as many, if each is compared with all


@pytest.mark.parametrize("compression", ["lz4", "uncompressed"])
def test_damaged_feather_files_are_refused_in_one_sentence(compression, tmp_path):
    path = tmp_path / "people.feather"
    people(200).to_feather(path, compression=compression)
    good, rng, refused = path.read_bytes(), np.random.default_rng(0), []
    for _ in range(300):
        content = bytearray(good)
        for place in rng.integers(0, len(good), 3):
            content[place] = rng.integers(256)
        path.write_bytes(content)
        try:
            read_frame(path)
        except ValueError as error:
            refused.append(str(error))
    assert len(refused) > 30
    expected = ("cannot be read as feather", "columns named", "has columns but no rows")
    assert all(any(part in message for part in expected) for message in refused)


def test_a_feather_file_whose_text_overlaps_is_refused(tmp_path):
    """Its size is right, and only a look at every offset tells that it is damaged."""
    offsets = pa.py_buffer(np.array([0, 6, 2, 8], np.int32).tobytes())
    text = pa.Array.from_buffers(pa.string(), 3, [None, offsets, pa.py_buffer(b"abcdefgh")])
    path = tmp_path / "people.feather"
    with pa.OSFile(str(path), "wb") as file:
        table = pa.table({"pay": [1.0, 2.0, 3.0], "sex": text})
        with pa.ipc.new_file(file, table.schema) as writer:
            writer.write_table(table)
    for whole_or_parts in (read_frame, lambda path: list(TableFile(path).batches())):
        with pytest.raises(ValueError, match="cannot be read as feather"):
            whole_or_parts(path)


def test_what_a_table_takes_in_memory_follows_from_its_rows_not_from_its_bytes(
    tmp_path, monkeypatch
):
    rows = 10_000_000
    table = pa.table({"a": pa.DictionaryArray.from_arrays(np.zeros(rows, np.int8), ["x"])})
    pa.parquet.write_table(table, tmp_path / "a.parquet")
    assert (tmp_path / "a.parquet").stat().st_size < 50_000
    monkeypatch.setattr("meanparity.linalg.memory.available_bytes", lambda: 50 * 2**20)
    with pytest.raises(MemoryError, match=r"The table in a\.parquet needs 76\.29 MiB"):
        read_frame(tmp_path / "a.parquet")


SHEET = '<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'


def workbook_of(path, rows):
    """A workbook whose sheet has these rows, as XML."""
    write_frame(pd.DataFrame({"a": [1]}), path)
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    sheet = f"{SHEET}{rows}</sheetData></worksheet>".encode()
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, part in parts.items():
            archive.writestr(name, sheet if name.startswith("xl/worksheets/") else part)


NAMES = '<row><c t="str"><v>sex</v></c><c t="str"><v>pay</v></c></row>'


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (NAMES + '<row><c r="XFD1"><v>1</v></c></row>' * 9000, "row 2 of the sheet has 16384"),
        ('<row><c r="XFD1"><v>1</v></c></row>' * 9000, "column 1 of the sheet has no name"),
    ],
)
def test_a_small_workbook_of_many_wide_rows_is_refused_at_the_first(rows, message, tmp_path):
    """Each row takes 40 bytes before compression, and 128 KiB in memory."""
    path = tmp_path / "people.xlsx"
    workbook_of(path, rows)
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message):
            read_frame(path)
        assert tracemalloc.get_traced_memory()[1] < 2**25
    finally:
        tracemalloc.stop()


def test_the_cells_of_a_workbook_are_compared_with_free_memory_while_they_are_read(
    tmp_path, monkeypatch
):
    path, width = tmp_path / "people.xlsx", 2000
    names = "".join(f'<c t="str"><v>c{j}</v></c>' for j in range(width))
    last = f'<row><c r="{get_column_letter(width)}1"><v>1</v></c></row>'
    workbook_of(path, f"<row>{names}</row>" + last * 600)
    assert read_frame(path).shape == (600, width)
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**25)
    with pytest.raises(MemoryError, match=r"The table in people\.xlsx needs 64\.00 MiB"):
        read_frame(path)


@pytest.mark.parametrize("line", [b"F,1\n", b"x"])
def test_a_small_compressed_table_is_compared_with_free_memory_as_large_as_it_is(
    line, tmp_path, monkeypatch
):
    """It may have one line only, which a reader by lines would hold."""
    path = tmp_path / "people.csv.gz"
    path.write_bytes(gzip.compress(b"sex,pay\n" + line * (2**23 // len(line))))
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**24)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"people\.csv\.gz needs .*free"):
            read_frame(path)
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize("suffix", ["parquet", "feather"])
@pytest.mark.parametrize("large", [False, True])
def test_an_index_that_pandas_wrote_stays_a_column(suffix, large, tmp_path, monkeypatch):
    if large:
        monkeypatch.setattr(reading, "LARGE", 0)
        monkeypatch.setattr(reading, "_BATCH_ROWS", 7)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 40), "x": rng.normal(size=40)})
    frame["grade"] = pd.array(rng.integers(3, size=40), dtype="Int64")
    frame["pay"] = frame["x"] + rng.normal(size=40)
    path = tmp_path / f"a.{suffix}"

    def written(table):
        if suffix == "parquet":
            table.to_parquet(path)
        else:
            pa.feather.write_feather(pa.Table.from_pandas(table), path)
        found = read_frame(path, ["sex", "x", "grade", "pay"])
        assert sorted(found) == ["grade", "pay", "sex", "x"]
        assert found["grade"].dtype == "Int64"
        assert found.index.tolist() == list(range(len(found)))
        return found

    found = written(frame.set_index("sex"))
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    found = written(frame.set_index(["grade", "sex"]))
    pd.testing.assert_frame_equal(found[frame.columns], frame)
    kept = frame["x"] > 0
    found = written(frame[kept])  # row numbers, without a name
    pd.testing.assert_frame_equal(found, frame[kept].reset_index(drop=True))
    assert TableFile(path).names == ["sex", "x", "grade", "pay"]
    model = ParityRidge().fit(path, "pay", sensitive_features="sex")
    assert list(model.feature_names_in_) == ["x", "grade"]


@pytest.mark.parametrize("end", [b"\0", b"\0" * 3000, b"anything", b"\x1f\x8b\x08"])
def test_what_follows_a_compressed_table_is_refused_by_every_reader(end, tmp_path):
    text = people(40).drop(columns=["id", "office"]).to_csv(index=False).encode()
    path = tmp_path / "a.csv.gz"
    half = text.index(b"\n", len(text) // 2) + 1
    path.write_bytes(gzip.compress(text[:half]) + gzip.compress(text[half:]))
    assert len(read_frame(path)) == 40
    ParityRidge().fit(path, "pay", sensitive_features="sex")
    path.write_bytes(gzip.compress(text) + end)
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be decompressed"):
        read_frame(path)
    with pytest.raises(ValueError, match=r"a\.csv\.gz cannot be decompressed"):
        ParityRidge().fit(path, "pay", sensitive_features="sex")


def test_the_ending_of_a_compressed_table_is_in_small_letters(tmp_path):
    text = people(40).drop(columns=["id", "office"]).to_csv(index=False).encode()
    for ending, allowed in [("CSV.gz", True), ("csv.GZ", False), ("CSV.GZ", False)]:
        path = tmp_path / f"a.{ending}"
        path.write_bytes(gzip.compress(text))
        for action in (
            lambda path=path: read_frame(path),
            lambda path=path: ParityRidge().fit(path, "pay", sensitive_features="sex"),
        ):
            if allowed:
                action()
            else:
                with pytest.raises(ValueError, match=r"has the extension '\.csv\.GZ'"):
                    action()
