"""Data files that are not bundled: from a local folder, the cache, or their public address."""

from __future__ import annotations

import csv
import hashlib
import os
from collections.abc import Mapping
from importlib import import_module
from pathlib import Path
from types import MappingProxyType

from meanparity.exceptions import DataUnavailableError

VARIABLE = "MEANPARITY_DATA"
ADDRESS = "https://raw.githubusercontent.com/steven7woo/fair_regression_reduction/master/data/"
SHA256: Mapping[str, str] = MappingProxyType(
    {
        "adult_full.csv": "250e154ed75714ae57a564926d66c6319cd6aac1bcd32774cc76841a88d74e53",
        "communities.csv": "b97393d2700dd0a320f609762b34ea7a8eccccada9f5bdfdeafbdb5bf8e32110",
        "lawschool.csv": "417f7e65505e87cfc2b952b8b06287f02bcc1702508315e8a8d843b046e59606",
    }
)


def fetch_file(name: str) -> Path:
    """Return the path of one of the paper's data files, whose checksum has been verified.

    The file is read from the folder named by the environment variable MEANPARITY_DATA, or from the
    user's cache, or else downloaded from its public address into the cache.

    Parameters
    ----------
    name : {"adult_full.csv", "communities.csv", "lawschool.csv"}
        Name of the file.

    Returns
    -------
    Path

    Raises
    ------
    DataUnavailableError
        If the file is in none of these places.
    ValueError
        If the name is not known, or the file has another checksum.

    See Also
    --------
    fetch_law_school : A table that is fetched.

    Examples
    --------
    >>> fetch_file("adult.csv")
    Traceback (most recent call last):
        ...
    ValueError: name='adult.csv' is not one of the paper's files. Pass one of adult_full.csv,
        communities.csv, lawschool.csv.
    """
    if name not in SHA256:
        raise ValueError(
            f"name={name!r} is not one of the paper's files. Pass one of {', '.join(SHA256)}."
        )
    folder = os.environ.get(VARIABLE)
    if folder:
        if not Path(folder).expanduser().is_dir():
            raise ValueError(
                f"{VARIABLE}={folder!r} is not a folder. Set it to the folder that contains "
                f"{name}, or unset it to download the file."
            )
        local = Path(folder).expanduser() / name
        if local.is_file():
            seen = hashlib.sha256(local.read_bytes()).hexdigest()
            if seen != SHA256[name]:
                raise ValueError(
                    f"{local} has sha256 {seen}, but {SHA256[name]} is expected: it is another "
                    f"file, or was changed. Replace it, or unset {VARIABLE} to download it."
                )
            return local
    return _download(name)


def read_csv(name: str) -> tuple[list[str], list[list[str]]]:
    """Return the column names and the rows of one of the paper's files, all as text."""
    with fetch_file(name).open(encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines)
    return header, rows


def _download(name: str) -> Path:
    try:
        pooch = import_module("pooch")
    except ImportError as error:
        raise DataUnavailableError(
            f"{name} is not bundled, and downloading it needs pooch: run `pip install "
            f"'meanparity[datasets]'`, or put the file into a folder and set {VARIABLE} to it."
        ) from error
    unreachable = import_module("requests").RequestException  # pooch downloads with requests
    try:
        path = pooch.retrieve(
            ADDRESS + name,
            known_hash=f"sha256:{SHA256[name]}",
            fname=name,
            path=pooch.os_cache("meanparity"),
            downloader=pooch.HTTPDownloader(timeout=20),
        )
    except unreachable as error:
        raise DataUnavailableError(
            f"{name} is neither in {VARIABLE} nor in the cache ({pooch.os_cache('meanparity')}), "
            f"and {ADDRESS + name} cannot be reached ({type(error).__name__}). Connect to the "
            f"network, or put the file into a folder and set {VARIABLE} to it."
        ) from error
    return Path(path)
