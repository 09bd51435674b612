"""Reading the bundled tables and their descriptions in ``data/``."""

import csv
import gzip
from importlib import import_module
from importlib.resources import files
from io import StringIO
from typing import Any

_FOLDER = files("meanparity.datasets") / "data"


def read_bundled(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the rows of ``data/<name>.csv.gz``, all as text.

    Examples
    --------
    >>> header, rows = read_bundled("adult")
    >>> header[:2], rows[0][:2], len(rows)
    (['age', 'workclass'], ['39', 'State-gov'], 32561)
    """
    text = gzip.decompress((_FOLDER / f"{name}.csv.gz").read_bytes()).decode("utf-8")
    header, *rows = csv.reader(StringIO(text))
    return header, rows


def read_description(name: str) -> str:
    """Return the description of a data set: source, licence and changes.

    Examples
    --------
    >>> read_description("adult").splitlines()[0]
    'Adult (Census Income)'
    """
    return (_FOLDER / f"{name}.txt").read_text(encoding="utf-8")


def import_pandas() -> Any:
    """Return the pandas module, or raise an error that names the alternative.

    Examples
    --------
    >>> import_pandas().__name__
    'pandas'
    """
    try:
        return import_module("pandas")
    except ImportError as error:
        raise ImportError(
            "as_frame=True needs pandas, which is not installed. Run `pip install pandas`, or pass "
            "as_frame=False to get arrays."
        ) from error
