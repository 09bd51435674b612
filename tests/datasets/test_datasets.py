"""The bundled tables are what their texts say, and the generator draws the paper's numbers."""

import csv
import gzip
import hashlib
import io
import sys
from importlib.resources import files
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from meanparity import datasets
from meanparity.datasets import load_adult, load_communities_crime, make_synthetic

FOLDER = Path(str(files("meanparity.datasets"))) / "data"
NAMES = ["adult", "communities_crime"]
LOADERS = [load_adult, load_communities_crime]
RACES = ["racepctblack", "racePctWhite", "racePctAsian", "racePctHisp"]


def bundled(name):
    """Header and rows of a bundled file, read independently of the package."""
    text = gzip.decompress((FOLDER / f"{name}.csv.gz").read_bytes()).decode()
    header, *rows = csv.reader(io.StringIO(text))
    return header, rows


def test_exports():
    assert datasets.__all__ == [
        "fetch_file",
        "fetch_law_school",
        "load_adult",
        "load_communities_crime",
        "make_synthetic",
    ]


# ---------------------------------------------------------------------- the files


@pytest.mark.parametrize("name", NAMES)
def test_text_states_the_checksum_of_the_file(name):
    digest = hashlib.sha256((FOLDER / f"{name}.csv.gz").read_bytes()).hexdigest()
    assert f"sha256 of {name}.csv.gz:\n{digest}\n" in (FOLDER / f"{name}.txt").read_text()


@pytest.mark.parametrize("name", NAMES)
def test_gzip_header_carries_neither_time_nor_name(name):
    head = (FOLDER / f"{name}.csv.gz").read_bytes()[:10]
    assert head[3] == 0  # flags: no file name, no comment
    assert head[4:8] == bytes(4)  # mtime


def test_folder_is_small_and_complete():
    found = {path.name: path.stat().st_size for path in FOLDER.iterdir()}
    bundled = [f"{name}.{end}" for name in NAMES for end in ("csv.gz", "txt")]
    assert sorted(found) == sorted([*bundled, "law_school.txt"])
    assert sum(found.values()) < 1_000_000


@pytest.mark.parametrize(
    ("loader", "creators"),
    [(load_adult, ["Kohavi", "Becker"]), (load_communities_crime, ["Redmond"])],
)
def test_description_credits_and_licenses(loader, creators):
    text = loader().DESCR
    for part in [*creators, "CC BY 4.0", "https://creativecommons.org/licenses/by/4.0/", "doi.org"]:
        assert part in text


def test_communities_file_has_no_derived_columns():
    header, rows = bundled("communities_crime")
    assert (len(rows), len(header)) == (1993, 101)
    assert header[0] == "communityname"
    assert header[-1] == "ViolentCrimesPerPop"
    assert {"fold", ">0.06black", "high_crime"}.isdisjoint(header)
    assert not [name for name in header if name.startswith("state")]


def test_adult_file_keeps_the_rows_with_unknown_values():
    header, rows = bundled("adult")
    assert (len(rows), len(header)) == (32_561, 15)
    assert sum("?" in row for row in rows) == 2_399


# -------------------------------------------------------------------- both loaders


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("loader", LOADERS)
def test_bunch_fields_agree_with_each_other(loader, as_frame):
    bunch = loader(as_frame=as_frame)
    assert sorted(bunch) == [
        "DESCR",
        "data",
        "feature_names",
        "frame",
        "sensitive",
        "sensitive_names",
        "target",
        "target_names",
    ]
    assert len(bunch.data) == len(bunch.target) == len(bunch.sensitive)
    assert bunch.data.shape[1] == len(bunch.feature_names) == len(set(bunch.feature_names))
    assert set(bunch.feature_names).isdisjoint(bunch.target_names + bunch.sensitive_names)
    assert (bunch.frame is not None) == as_frame


@pytest.mark.parametrize("loader", LOADERS)
def test_array_form_is_ready_for_an_estimator(loader):
    bunch = loader()
    for array in (bunch.data, bunch.target):
        assert type(array) is np.ndarray
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
        assert np.isfinite(array).all()
    assert (np.ptp(bunch.data, axis=0) > 0).all()


@pytest.mark.parametrize("loader", LOADERS)
def test_frame_form_has_the_same_rows(loader):
    arrays, frames = loader(), loader(as_frame=True)
    np.testing.assert_array_equal(frames.target, arrays.target)
    np.testing.assert_array_equal(frames.sensitive, arrays.sensitive)
    assert frames.target.name == arrays.target_names[0]
    assert list(frames.data.columns) == frames.feature_names
    pd.testing.assert_frame_equal(frames.frame[frames.feature_names], frames.data)
    pd.testing.assert_series_equal(frames.frame[frames.target.name], frames.target)
    assert not frames.frame.isna().any(axis=None)


@pytest.mark.parametrize("as_frame", [False, True])
@pytest.mark.parametrize("loader", LOADERS)
def test_return_X_y_is_data_and_target(loader, as_frame):  # noqa: N802
    X, y = loader(as_frame=as_frame, return_X_y=True)
    bunch = loader(as_frame=as_frame)
    assert type(X) is type(bunch.data)
    np.testing.assert_array_equal(X, bunch.data)
    np.testing.assert_array_equal(y, bunch.target)


@pytest.mark.parametrize("loader", LOADERS)
def test_without_pandas_only_frames_fail(loader, monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    assert loader().frame is None
    with pytest.raises(ImportError, match=r"as_frame=True needs pandas.*pip install pandas"):
        loader(as_frame=True)


# --------------------------------------------------------------- Communities and Crime


def test_communities_numbers():
    crime = load_communities_crime()
    header, rows = bundled("communities_crime")
    assert crime.data.shape == (1993, 95)
    assert crime.data.min() == 0
    assert crime.data.max() == 1
    assert crime.feature_names == [n for n in header[1:-1] if n not in RACES]
    places = [header.index(name) for name in crime.feature_names]
    assert crime.data.tolist() == [[float(row[j]) for j in places] for row in rows]
    assert crime.target.tolist() == [float(row[-1]) for row in rows]


def test_communities_sensitive_is_the_first_largest_share():
    crime = load_communities_crime()
    header, rows = bundled("communities_crime")
    expected = []
    for row in rows:
        black, white, asian, hispanic = (float(row[header.index(name)]) for name in RACES)
        expected.append(int(white > black and white >= asian and white >= hispanic))
    assert crime.sensitive.dtype == np.int64
    assert crime.sensitive.tolist() == expected
    assert sum(expected) == 1571


def test_communities_frame_is_the_whole_table():
    crime = load_communities_crime(as_frame=True)
    header, rows = bundled("communities_crime")
    assert list(crime.frame.columns) == [*header, "majority_white"]
    assert crime.frame.communityname.tolist() == [row[0] for row in rows]
    assert crime.sensitive.name == crime.sensitive_names[0] == "majority_white"


@pytest.mark.data
def test_communities_agree_with_the_papers_file(paper_data):
    paper = pd.read_csv(paper_data / "communities.csv")
    ours = load_communities_crime(as_frame=True).frame.drop(
        columns=["communityname", "majority_white"]
    )
    absent = paper.columns.difference(ours.columns)
    assert len(absent) == 23
    assert paper[absent].isna().any().all()
    later_rows = paper.iloc[1:].reset_index(drop=True)
    for name in ours:
        np.testing.assert_array_equal(ours[name], later_rows[name], err_msg=name)


# ----------------------------------------------------------------------------- Adult


def test_adult_frame_is_the_complete_rows():
    adult = load_adult(as_frame=True)
    header, rows = bundled("adult")
    complete = pd.DataFrame([row for row in rows if "?" not in row], columns=header)
    assert adult.data.shape == (30_162, 12)
    assert adult.frame.shape == (30_162, 15)
    assert adult.feature_names == [n for n in header[:-1] if n not in ("sex", "race")]
    for name in [*adult.feature_names, "sex", "race"]:
        assert adult.frame[name].astype(str).tolist() == complete[name].tolist()
    assert adult.target.tolist() == [float(label == ">50K") for label in complete[header[-1]]]


def test_adult_array_is_the_frame_one_hot():
    arrays, frames = load_adult(), load_adult(as_frame=True)
    assert arrays.data.shape == (30_162, 97)
    text = frames.data.select_dtypes(exclude="number").columns
    assert len(text) == 6
    pieces = [
        pd.get_dummies(frames.data[[name]], dtype=float) if name in text else frames.data[[name]]
        for name in frames.data
    ]
    expected = pd.concat(pieces, axis=1)
    assert arrays.feature_names == list(expected.columns)
    np.testing.assert_array_equal(arrays.data, expected)


def test_adult_labels():
    adult = load_adult()
    assert set(adult.target) == {0.0, 1.0}
    assert adult.target.sum() == 7_508
    assert adult.sensitive.shape == (30_162, 2)
    assert adult.sensitive.dtype == object
    assert adult.sensitive_names == ["sex", "race"]
    assert set(adult.sensitive[:, 0]) == {"Female", "Male"}
    assert set(adult.sensitive[:, 1]) == {
        "Amer-Indian-Eskimo",
        "Asian-Pac-Islander",
        "Black",
        "Other",
        "White",
    }
    assert not [n for n in adult.feature_names if n.startswith(("sex", "race", "income"))]


# ------------------------------------------------------------------------- synthetic


def legacy(seed, n, d, noise=0.1, scale=0.1, through=lambda signal: signal):
    """The paper's script, written out: the global stream, a loop over the last column."""
    random = np.random.RandomState(seed)
    w = random.randn(d)
    X = random.randn(n, d)
    for i in range(n):
        X[i, -1] = scale if X[i, -1] > 0 else -scale
    return X, through(X @ w) + noise * random.randn(n), X[:, -1]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ({}, legacy(1, 2000, 5)),
        ({"nonlinear": True}, legacy(1, 2000, 5, through=np.sin)),
        ({"sensitive_scale": 10, "noise": 0.5}, legacy(1, 2000, 5, noise=0.5, scale=10)),
        ({"n_samples": 7, "n_features": 1, "noise": 0}, legacy(1, 7, 1, noise=0)),
    ],
)
def test_synthetic_is_exactly_the_legacy_stream(arguments, expected):
    for ours, theirs in zip(make_synthetic(**arguments, random_state=1), expected, strict=True):
        assert ours.dtype == np.float64
        np.testing.assert_array_equal(ours, theirs)


def test_synthetic_several_sensitive_columns():
    X, _, s = make_synthetic(50, 4, n_sensitive=2, random_state=0)
    assert s.shape == (50, 2)
    np.testing.assert_array_equal(s, X[:, -2:])
    assert set(s.ravel()) == {-0.1, 0.1}
    assert len(set(X[:, 1])) == 50


def test_synthetic_s_does_not_share_memory_with_X():  # noqa: N802
    X, _, s = make_synthetic(10, random_state=0)
    assert not np.shares_memory(X, s)


def test_synthetic_draws_anew_without_a_seed():
    assert not np.array_equal(make_synthetic(20)[1], make_synthetic(20)[1])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_samples": 0}, r"n_samples=0 is not a positive integer\. Pass at least 1"),
        ({"n_samples": 10.0}, r"n_samples=10\.0 is not a positive integer"),
        ({"n_features": -1}, r"n_features=-1 is not a positive integer"),
        ({"n_sensitive": True}, r"n_sensitive=True is not a positive integer"),
        ({"n_sensitive": 6}, r"n_sensitive=6 exceeds n_features=5.*Increase n_features"),
        ({"noise": -0.1}, r"noise=-0\.1 is not allowed\. Pass a finite number 0 or more"),
        ({"noise": float("nan")}, r"noise=nan is not allowed"),
        ({"noise": "0.1"}, r"noise='0\.1' is not allowed"),
        ({"sensitive_scale": 0}, r"sensitive_scale=0 is not allowed.*above 0"),
        ({"sensitive_scale": float("inf")}, r"sensitive_scale=inf is not allowed"),
    ],
)
def test_synthetic_refuses_bad_arguments(arguments, message):
    with pytest.raises(ValueError, match=message):
        make_synthetic(**arguments)
