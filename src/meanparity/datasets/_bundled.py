"""Reading the files in ``data/``: the tables, their descriptions, and pandas on request."""

import csv
import gzip
from importlib import import_module
from importlib.resources import files
from io import StringIO
from typing import Any

_FOLDER = files("meanparity.datasets") / "data"


def read_table(name: str) -> tuple[list[str], list[list[str]]]:
    """Column names and rows of ``data/<name>.csv.gz``, all as text.

    Examples
    --------
    >>> header, rows = read_table("adult")
    >>> header[:2], rows[0][:2], len(rows)
    (['age', 'workclass'], ['39', 'State-gov'], 32561)
    """
    text = gzip.decompress((_FOLDER / f"{name}.csv.gz").read_bytes()).decode("utf-8")
    header, *rows = csv.reader(StringIO(text))
    return header, rows


def read_description(name: str) -> str:
    """Source, licence and changes of a data set: the text of ``data/<name>.txt``.

    Examples
    --------
    >>> read_description("adult").splitlines()[0]
    'Adult (Census Income)'
    """
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def import_pandas() -> Any:
    """Return the pandas module, or say how to do without it.

    Examples
    --------
    >>> import_pandas().__name__
    'pandas'
    """
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which cannot be imported. "
            "Run `pip install pandas`, or pass as_frame=False to get arrays."
        ) from error
