"""Changes tables, model files and statistics at random, and reads them: nothing false gets in.

Every input is read in this process and has to be refused with one of the errors that the command
line shows in one line, or to be read as a strict reader reads it; the memory that it takes is
compared with what an honest file of that size needs. A share of the inputs also goes through the
command line, where nothing may show a traceback. The inputs follow from the seed.

    python -m benchmarks.fuzz --seconds 60 --seed 1
    python -m benchmarks.fuzz --inputs 10000
"""

from __future__ import annotations

import argparse
import codecs
import collections
import csv
import gzip
import io
import json
import math
import struct
import tempfile
import time
import traceback
import tracemalloc
import warnings
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pandas as pd

from meanparity import Nystrom, ParityAdjusted, ParityKernelRidge, ParityRidge, Statistics
from meanparity.files import pack, seal, unpack
from meanparity.persistence import load, read, save
from meanparity.tables import Roles, fit_table, read_frame, reading, write_frame
from meanparity.tables.kinds import EMPTY

ERRORS = (ValueError, OSError, ImportError, MemoryError)  # one line at the command line
GROUPS = ["sex", "office"]
_FLOOR = 24 * 2**20  # bytes that any reading may take: messages, imports, small copies
_COMMANDS = 40  # one of so many inputs also goes through the command line
_CELLS = ["", "NA", "None", "007", "7", "1e308", "inf", "nan", '"', "'", "=1+1", "＝1", "\0", "\r"]
_CELLS += ["x" * 300, " 1", "1,5", "True", "ä", "\n", '"a\nb"', "-0", "1_000", "0x10", "\ufeff"]


@dataclass
class Found:
    """What became of the inputs."""

    counts: collections.Counter[str] = field(default_factory=collections.Counter)
    failures: list[str] = field(default_factory=list)

    def fail(self, kind: str, number: int, message: str) -> None:
        """Note that an input got through, or an error of a kind that it should not have."""
        self.counts[f"{kind}: FAILED"] += 1
        self.failures.append(f"{kind}, input {number}: {message}")


@contextmanager
def _traced_memory() -> Iterator[None]:
    """Trace memory; a run traces once, as threads of libraries may still allocate at the end.

    In some versions of Python, such an allocation while the tracing ends may end the process.
    """
    if tracemalloc.is_tracing():
        yield
        return
    tracemalloc.start()
    try:
        yield
    finally:
        tracemalloc.stop()


class Fuzzer:
    """The honest files, and ways to change them.

    Parameters
    ----------
    folder : Path
        Where files are written.
    seed : int
        Random seed.
    """

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder, self.seed, self.found = folder, seed, Found()
        rng = np.random.default_rng(0)
        n = 60
        frame = pd.DataFrame({"id": [f"{i:03}" for i in range(n)]})
        frame["sex"], frame["office"] = rng.choice(["F", "M"], n), rng.choice(["007", "NA"], n)
        frame["hours"] = rng.normal(38, 4, n).round(2)
        frame["pay"] = (frame["hours"] + 2 * (frame["sex"] == "M") + rng.normal(size=n)).round(2)
        self.frame = frame
        self.text = frame.to_csv(index=False)
        others = pd.DataFrame(rng.normal(size=(n, 4)).round(3), columns=list("abcd"))
        self.numbers = others.assign(sex=frame["sex"], pay=frame["pay"]).to_csv(index=False)
        frame.to_feather(folder / "people.feather")
        frame.to_feather(folder / "plain.feather", compression="uncompressed")
        frame.to_parquet(folder / "people.parquet")
        write_frame(frame, folder / "people.xlsx")
        self.binary = {
            name: (folder / name).read_bytes()
            for name in ("people.feather", "plain.feather", "people.parquet")
        }
        X, y, s = frame[["hours"]].assign(other=rng.normal(size=n)), frame["pay"], frame["sex"]
        fitted = fit_table(frame, Roles("pay", ("sex",), ignored=("id",)), model="linear")
        kernel = ParityKernelRidge(kernel="rbf", gamma=0.1, solver=Nystrom(8, random_state=0))
        models = [
            (fitted.pipeline, fitted.about()),
            (ParityRidge().fit(X, y, sensitive_features=s), None),
            (ParityKernelRidge(kernel="rbf").fit(X, y, sensitive_features=s), None),
            (kernel.fit(X, y, sensitive_features=s), None),
            (ParityAdjusted().fit(X, y, sensitive_features=s), None),
        ]
        self.models = []
        for model, about in models:
            save(model, folder / "m.meanparity", about=about)
            self.models.append((folder / "m.meanparity").read_bytes())
        self.statistics = []
        for estimator in (ParityRidge(), kernel):
            estimator.statistics(X, y, sensitive_features=s).save(folder / "s.npz")
            self.statistics.append((folder / "s.npz").read_bytes())
        save(fitted.pipeline, folder / "model.meanparity", about=fitted.about())

    def run(self, seconds: float = math.inf, inputs: float = math.inf) -> Found:
        """Try inputs until the time is over or there were enough of them."""
        kinds: list[Callable[[int, np.random.Generator], None]] = [
            self.try_text,
            self.try_text,
            self.try_binary,
            self.try_model,
            self.try_statistics,
            self.try_packed,
            self.try_configuration,
        ]
        stop, number = time.monotonic() + seconds, 0
        with warnings.catch_warnings(), _traced_memory():
            warnings.simplefilter("ignore")
            while number < inputs and time.monotonic() < stop:
                rng = np.random.default_rng([self.seed, number])
                kinds[number % len(kinds)](number, rng)
                number += 1
        return self.found

    def attempt(
        self, kind: str, number: int, honest: float, action: Callable[[], Any]
    ) -> tuple[bool, Any]:
        """Whether the input was read, and as what; anything unforeseen is a failure."""
        with _traced_memory():
            tracemalloc.reset_peak()
            before = tracemalloc.get_traced_memory()[0]
            done, value = self._outcome(kind, number, action)
            peak = tracemalloc.get_traced_memory()[1] - before
        if peak > _FLOOR + 2 * honest:
            self.found.fail(kind, number, f"took {peak:,} bytes of memory")
        if done:
            self.found.counts[f"{kind}: read"] += 1
        return done, value

    def _outcome(self, kind: str, number: int, action: Callable[[], Any]) -> tuple[bool, Any]:
        try:
            return True, action()
        except ERRORS as error:
            self.found.counts[f"{kind}: refused"] += 1
            if not str(error):
                self.found.fail(kind, number, f"{error!r} says nothing")
        except Exception:
            self.found.fail(kind, number, traceback.format_exc(limit=-3))
        return False, None

    # tables of text

    def try_text(self, number: int, rng: np.random.Generator) -> None:
        """A CSV or TSV file: whole and in batches, compared with Python's own reader."""
        separator, suffix = [(",", "csv"), ("\t", "tsv")][int(rng.integers(2))]
        base = self.text if rng.integers(2) else self.numbers
        content = base.replace(",", separator).encode()
        for _ in range(int(rng.integers(1, 4))):
            content = _changed_text(content, separator, rng)
        if not rng.integers(8):
            content = _in_another_shape(content, separator, rng)
        compressed = not rng.integers(8)
        path = self.folder / (f"new.{suffix}.gz" if compressed else f"new.{suffix}")
        path.write_bytes(gzip.compress(content, 1) if compressed else content)
        size = 60 * len(content)
        read_whole = lambda: read_frame(path, as_written=GROUPS)  # noqa: E731
        done, frame = self.attempt(suffix, number, size, read_whole)
        expected = _strict_reader(content, separator)
        if done:
            wrong = _difference(frame, expected)
            if wrong:
                self.found.fail(suffix, number, f"{wrong} in {content[:300]!r}")
        with mock.patch.multiple(reading, _BATCH_ROWS=7, LARGE=0):
            names = expected[0] if expected else ["pay"]
            in_batches = lambda: read_frame(path, names, as_written=GROUPS)  # noqa: E731
            again, parts = self.attempt(f"{suffix}, batches", number, size, in_batches)
        if done != again:
            self.found.fail(suffix, number, "was read in one way, and refused in the other")
        elif done and _difference(parts, expected):
            self.found.fail(f"{suffix}, batches", number, _difference(parts, expected))
        target = expected[0][-1] if expected else "pay"
        fit = lambda: ParityRidge().fit(path, target, sensitive_features="sex")  # noqa: E731
        fitted, _ = self.attempt(f"{suffix}, PyArrow", number, size, fit)
        if fitted and not expected:
            self.found.fail(f"{suffix}, PyArrow", number, "fits to rows that are not even")
        if number % _COMMANDS < 5:
            self.try_commands(number, path)

    def try_commands(self, number: int, path: Path, model: Path | None = None) -> None:
        """The command line: one line about an error, and no traceback."""
        out = self.folder / "scored.csv"
        commands = [["audit", path, "--target", "pay", "--sensitive", "sex,office"]]
        commands.append(["predict", model or self.folder / "model.meanparity", path, "-o", out])
        for command in commands if model is None else commands[1:]:
            self.command(number, command, (0, 1, 3))

    def command(self, number: int, command: list[Any], allowed: tuple[int, ...]) -> None:
        """One command, which may end with one of some statuses."""
        from meanparity.cli.app import run

        output, errors = io.StringIO(), io.StringIO()
        status: Any = 0
        try:
            with (
                mock.patch("sys.argv", ["meanparity", *map(str, command)]),
                redirect_stdout(output),
                redirect_stderr(errors),
            ):
                run()
        except SystemExit as done:
            status = done.code
        except BaseException:
            self.found.fail("command", number, traceback.format_exc(limit=-3))
            return
        text = errors.getvalue()
        self.found.counts[f"command {command[0]}: {status}"] += 1
        if "Traceback" in text or "--debug" in text or status not in allowed:
            self.found.fail("command", number, f"{command}: {status}, {text[-300:]}")
        if status == 0 and "nan" in output.getvalue().split():
            self.found.fail("command", number, f"{command} shows nan")
        if status == 0 and command[0] == "predict":
            scores = pd.read_csv(command[-1])["predicted pay"]
            if not np.isfinite(scores.to_numpy(dtype=float)).all():
                self.found.fail("command", number, f"{command} writes scores that are not finite")

    # tables of bytes

    def try_binary(self, number: int, rng: np.random.Generator) -> None:
        """A Parquet or Feather file with changed bytes."""
        name = list(self.binary)[int(rng.integers(len(self.binary)))]
        content = _changed_bytes(self.binary[name], rng)
        path = self.folder / f"new{Path(name).suffix}"
        path.write_bytes(content)
        read_whole = lambda: read_frame(path)  # noqa: E731
        done, frame = self.attempt(path.suffix, number, 40 * len(content), read_whole)
        if done:
            cells = frame.astype(object).map(str).stack().size if frame.size else 0
            self.found.counts[f"{path.suffix}: cells shown"] += bool(cells)
        if number % _COMMANDS < 5:
            self.try_commands(number, path)

    def try_packed(self, number: int, rng: np.random.Generator) -> None:
        """A compressed table: damaged, or large and of few bytes."""
        kind = ["csv.gz", "xlsx"][int(rng.integers(2))]
        if kind == "csv.gz":
            line, times = [(b"F,1,2\n", 10**5), (b"x", 10**6), (b",", 10**5), (b"\n", 10**6)][
                int(rng.integers(4))
            ]
            content = gzip.compress(b"sex,office,pay\n" + line * int(rng.integers(times)), 1)
            honest = 60 * len(gzip.decompress(content))
        else:
            content = _forged_workbook((self.folder / "people.xlsx").read_bytes(), rng)
            honest = 60 * 2**20
        if rng.integers(2):
            content = _changed_bytes(content, rng)
        path = self.folder / f"new.{kind}"
        path.write_bytes(content)
        self.attempt(kind, number, honest, lambda: read_frame(path, as_written=GROUPS))
        if number % _COMMANDS < 5:
            self.try_commands(number, path)

    def try_configuration(self, number: int, rng: np.random.Generator) -> None:
        """A file of options with changed names, types and sizes, for a table that is not there."""
        lines = [
            'target = "pay"', 'sensitive = ["sex", "office"]', "max-gap = 0.5", "strict = true",
            "[audit]", 'prediction = "hours"', "min-cell = 5", "[fit]", 'model = "linear"',
        ]  # fmt: skip
        values = ["5", "-1e400", "nan", '"a\\u0000b"', "1979-05-27", "07:32:00", "[]", "[[1], {}]"]
        values += ["true", "{a = 1}", '""', "9" * 5000, "[" * 2000 + "]" * 2000, "'" + "x" * 10**6]
        for _ in range(int(rng.integers(1, 4))):
            at = int(rng.integers(len(lines)))
            name = lines[at].partition(" = ")[0]
            kind = int(rng.integers(4))
            if kind <= 1:
                lines[at] = f"{name} = {values[int(rng.integers(len(values)))]}"
            elif kind == 2:
                lines[at] = lines[int(rng.integers(len(lines)))]
            else:
                lines.insert(at, f"{name}x = {values[int(rng.integers(len(values)))]}")
        content = "\n".join(lines).encode()
        path = self.folder / "new.toml"
        path.write_bytes(_changed_bytes(content, rng) if rng.integers(2) else content)
        command = ["audit", "fit"][int(rng.integers(2))]
        self.command(number, [command, self.folder / "missing.csv", "--config", path], (1, 2))

    # models and statistics

    def try_model(self, number: int, rng: np.random.Generator) -> None:
        """A model file with changed bytes, or with a digest that fits what was changed."""
        which = int(rng.integers(len(self.models)))
        data = self.models[which]
        resealed = bool(rng.integers(3))
        content = _forged(data, "model file", rng) if resealed else _changed_bytes(data, rng)
        path = self.folder / "new.meanparity"
        path.write_bytes(content)
        kind = "model, forged" if resealed else "model"
        done, model = self.attempt(kind, number, 60 * len(data), lambda: load(path))
        if done and not hasattr(model, "get_params"):
            self.found.fail(kind, number, f"is no estimator but {model!r}")
        if done and not resealed and content != data:
            self.found.fail(kind, number, "was changed, and was read")
        if done:
            self.try_predict(kind, number, model, which)
        if done and read(path).about:
            self.try_commands(number, self._people(), path)

    def try_predict(self, kind: str, number: int, model: Any, which: int) -> None:
        """What a loaded model predicts: finite numbers, or nothing."""
        rows = self.frame if which == 0 else self.frame[["hours"]].assign(other=1.0)
        try:
            values = np.asarray(model.predict(rows), dtype=float)
        except Exception as error:  # a forged part may be of any type; commands are tried below
            self.found.counts[f"{kind}, predict: {type(error).__name__}"] += 1
            return
        if not np.isfinite(values).all():
            self.found.fail(kind, number, "predicts numbers that are not finite")

    def try_statistics(self, number: int, rng: np.random.Generator) -> None:
        """A file of statistics; what is read has to give finite predictions."""
        which = int(rng.integers(len(self.statistics)))
        data, what = self.statistics[which], "file of statistics"
        resealed = bool(rng.integers(3))
        content = _forged(data, what, rng) if resealed else _changed_bytes(data, rng)
        path = self.folder / "new.npz"
        path.write_bytes(content)
        kind = "statistics, forged" if resealed else "statistics"
        load_it = lambda: Statistics.load(path)  # noqa: E731
        done, statistics = self.attempt(kind, number, 60 * len(data), load_it)
        if not done:
            return
        if not resealed and content != data:
            self.found.fail(kind, number, "was changed, and was read")
        linear = which == 0
        model = ParityRidge() if linear else ParityKernelRidge(kernel="rbf", solver="nystrom")
        if not linear:
            spec = statistics.features.spec
            model.set_params(gamma=spec.gamma, kernel=spec.kernel)
        fit = lambda: model.fit_statistics(statistics)  # noqa: E731
        done, fitted = self.attempt(f"{kind}, fit", number, 60 * len(data), fit)
        if done:
            layout = statistics.layout
            rows = np.zeros((1, layout.n_columns))
            names = layout.names
            table = rows if names is None else pd.DataFrame(rows, columns=list(names))
            try:
                values = fitted.predict(table)
            except ERRORS:
                return
            if not np.isfinite(values).all():
                self.found.fail(kind, number, "predicts numbers that are not finite")

    def _people(self) -> Path:
        path = self.folder / "people.csv"
        path.write_text(self.text)
        return path


def _changed_text(content: bytes, separator: str, rng: np.random.Generator) -> bytes:
    """A table in which a cell, a line or a byte was changed."""
    lines = content.decode("utf-8", "surrogateescape").split("\n")
    row = int(rng.integers(len(lines)))
    cells = lines[row].split(separator)
    at = int(rng.integers(len(cells)))
    kind = int(rng.integers(9))
    if kind <= 2:
        cells[at] = _CELLS[int(rng.integers(len(_CELLS)))]
    elif kind == 3:
        cells.insert(at, "extra")
    elif kind == 4:
        del cells[at]
    lines[row] = separator.join(cells)
    if kind == 5:
        lines.insert(row, lines[int(rng.integers(len(lines)))])
    elif kind == 6:
        lines = [f"p{i}{separator}{line}" if i and line else line for i, line in enumerate(lines)]
    elif kind == 7:
        lines = [f"{line}{separator}" if i and line else line for i, line in enumerate(lines)]
    changed = "\n".join(lines).encode("utf-8", "surrogateescape")
    return _changed_bytes(changed, rng) if kind == 8 else changed


def _in_another_shape(content: bytes, separator: str, rng: np.random.Generator) -> bytes:
    """The same table in UTF-16 with and without its mark, with characters of code zero, or wide."""
    kind = int(rng.integers(6))
    text = content.decode("utf-8", "replace")
    if kind <= 2:
        return text.encode(["utf-16", "utf-16-le", "utf-16-be"][kind])
    if kind == 3:
        return content.replace(b"0", b"\0")
    if kind == 4:
        return codecs.BOM_UTF16_BE + text.encode("utf-16-be")
    width = int(rng.integers(1, 10**5))
    lines = [separator.join(f"c{j}" for j in range(width)), separator.join("1" * width)]
    return "\n".join([*lines, lines[1][: int(rng.integers(2 * width))]]).encode()


def _forged_workbook(content: bytes, rng: np.random.Generator) -> bytes:
    """A workbook with a sheet of few different bytes, or with a changed part."""
    start = (
        b'<worksheet xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"><sheetData>'
    )
    header = b'<row><c t="str"><v>sex</v></c><c t="str"><v>pay</v></c></row>'
    rows = [
        b'<row><c t="str"><v>F</v></c><c><v>1</v></c></row>',
        b'<row><c r="XFD1"><v>1</v></c></row>',
        b"<row/>",
        b'<row r="1048576"><c><v>1</v></c></row>',
    ]
    kind, times = int(rng.integers(6)), int(rng.integers(4000))
    if kind <= 3:
        sheet = header * int(rng.integers(2)) + rows[kind] * times
    else:
        sheet = header + b"<row><c>" * (times if kind == 4 else 1) + b"<v>1e999</v></c></row>"
    buffer = io.BytesIO()
    with (
        zipfile.ZipFile(io.BytesIO(content)) as old,
        zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as new,
    ):
        for name in old.namelist():
            part = old.read(name)
            if name.startswith("xl/worksheets/sheet"):
                part = start + sheet + b"</sheetData></worksheet>"
            elif not rng.integers(20):
                part = _changed_bytes(part, rng)
            new.writestr(name, part)
    return buffer.getvalue()


def _changed_bytes(content: bytes, rng: np.random.Generator) -> bytes:
    """Some bytes changed, cut off or repeated."""
    changed = bytearray(content)
    kind = int(rng.integers(6))
    if kind == 0:
        return bytes(changed[: int(rng.integers(len(changed) + 1))])
    if kind == 1:
        start, stop = np.sort(rng.integers(0, len(changed), 2))
        return bytes(changed[:start] + changed[start:stop] * 2 + changed[stop:])
    for place in rng.integers(0, len(changed), int(rng.integers(1, 5))):
        changed[place] = int(rng.integers(256))
    if kind == 2 and len(changed) > 8:  # a number that is a size, perhaps
        place = int(rng.integers(len(changed) - 8))
        changed[place : place + 8] = struct.pack("<q", int(rng.integers(2**62)))
    return bytes(changed)


def _forged(data: bytes, what: str, rng: np.random.Generator) -> bytes:
    """A file whose header or arrays were changed, with the digest that belongs to it."""
    header, arrays = unpack(data, "it", what)
    kind = int(rng.integers(8))
    names = list(arrays)
    name = names[int(rng.integers(len(names)))]
    array = arrays[name]
    nodes = list(_nodes(header))
    node = nodes[int(rng.integers(len(nodes)))]
    if kind <= 1 and array.size and array.dtype.kind == "f":
        values = [np.nan, np.inf, -1.0, 1e300, 1e9, 0.0]
        array.flat[int(rng.integers(array.size))] = values[int(rng.integers(len(values)))]
    elif kind == 2:
        arrays[name] = array.reshape(-1)[: int(rng.integers(array.size + 1))]
    elif kind == 3:
        arrays[name] = array.astype(["f4", "i8", "U5", "f8"][int(rng.integers(4))])
    elif kind == 4:
        del arrays[name]
    elif kind == 5 and node:  # another part in the place of this one
        key = list(node)[int(rng.integers(len(node)))]
        node[key] = nodes[int(rng.integers(len(nodes)))] if rng.integers(2) else "9"
        try:
            json.dumps(header)
        except ValueError:  # a part that contains itself
            return data[:-1]
    elif kind == 6 and node:
        del node[list(node)[int(rng.integers(len(node)))]]
    elif rng.integers(2):  # an array that says that it is larger, or of objects
        shapes = [
            "(3,)",
            "(1000000000000,)",
            "(-1, -8)",
            "(2, 2)",
            "(0, 99999999999)",
            "()",
            "(1,)",
        ]
        types = [
            "|O",
            "<U0",
            "|V0",
            "<f8",
            "<m8[ns]",
            "<c16",
            "|S99999999",
            ">i2",
            "<f2",
            "(9,)<f8",
        ]
        shape, dtype = (some[int(rng.integers(len(some)))] for some in (shapes, types))
        text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}\n"
        size = struct.pack("<H", len(text))
        forged = b"\x93NUMPY\x01\x00" + size + text.encode() + bytes(int(rng.integers(3)) * 8)
        buffer = io.BytesIO()
        with (
            zipfile.ZipFile(io.BytesIO(data)) as old,
            zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive,
        ):
            for part in old.namelist():
                archive.writestr(part, forged if part == f"{name}.npy" else old.read(part))
        return seal(buffer.getvalue())
    else:  # a large array of few bytes, or a text of many parts
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
            item = [b"[]", b"[[[[]]]]", b'{"":[]}', b'{"tuple":[]}'][int(rng.integers(4))]
            model = b"[" + (item + b",") * int(rng.integers(1, 10**5)) + b"1]"
            content = json.dumps(header | {"model": 0}).encode()
            content = content.replace(b'"model": 0', b'"model": ' + model)
            text = io.BytesIO()
            np.save(text, np.frombuffer(content, dtype=np.uint8))
            archive.writestr("header.npy", text.getvalue())
            archive.writestr("0.npy", bytes(int(rng.integers(2**24))))
        return seal(buffer.getvalue())
    return pack(header, arrays)


def _nodes(value: Any) -> Iterator[Any]:
    if isinstance(value, dict):
        yield value
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, dict | list):
            yield from _nodes(part)


def _strict_reader(content: bytes, separator: str) -> tuple[list[str], list[list[str]]] | None:
    """Header and rows as Python's own reader has them; None if a row does not fit.

    Text that is not UTF-8 is that of Windows, as the note of the command line says.
    """
    try:
        if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
            text = content.decode("utf-16")
        else:
            try:
                text = content.decode("utf-8-sig")
            except UnicodeDecodeError:
                text = content.decode("cp1252")
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator, strict=True))
    except (UnicodeDecodeError, csv.Error):
        return None
    rows = [row for row in rows if row]
    if "\0" in text or len(rows) < 2 or len({len(row) for row in rows}) != 1:
        return None
    return rows[0], rows[1:]


def _difference(frame: pd.DataFrame, expected: tuple[list[str], list[list[str]]] | None) -> str:
    """How a table differs from what is written in the file, in words."""
    if expected is None:
        return "it is read, although its rows are not even"
    names, rows = expected
    if len(frame) != len(rows):
        return f"{len(frame)} rows instead of {len(rows)}"
    for j, name in enumerate(names):
        if name and (name not in frame.columns or list(frame.columns)[j] != name):
            return f"the column {name!r} is missing"
        for cell, written in zip(frame.iloc[:, j].tolist(), (row[j] for row in rows), strict=True):
            if not _same(cell, written, as_written=name in GROUPS):
                return f"{cell!r} in the column {name!r} instead of {written!r}"
    return ""


def _same(cell: Any, written: str, *, as_written: bool) -> bool:
    if cell is None or cell is pd.NA or (isinstance(cell, float) and math.isnan(cell)):
        return written == "" if as_written else written.strip() in EMPTY
    if isinstance(cell, str) or as_written:
        return str(cell) == written
    if isinstance(cell, bool):
        return str(cell).lower() == written.lower()
    try:
        return bool(float(cell) == float(written))
    except ValueError:
        return False


def main() -> None:
    """Try inputs, and print what became of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=math.inf)
    parser.add_argument("--inputs", type=float, default=math.inf)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    if math.isinf(given.seconds) and math.isinf(given.inputs):
        given.seconds = 60.0
    with tempfile.TemporaryDirectory() as folder:
        found = Fuzzer(Path(folder), given.seed).run(given.seconds, given.inputs)
    for name, count in sorted(found.counts.items()):
        print(f"{count:8,}  {name}")
    for failure in found.failures[:20]:
        print("\n" + failure)
    raise SystemExit(bool(found.failures))


if __name__ == "__main__":
    main()
