"""Files that are not bundled: where they are looked for, and that they are the right ones."""

from __future__ import annotations

import hashlib
import http.server
import threading

import numpy as np
import pandas as pd
import pytest

from meanparity.datasets import (
    _fetched,
    fetch_law_school,
    load_adult,
    load_communities_crime,
)
from meanparity.exceptions import DataUnavailableError

CONTENT = b"race,cluster\n7,1\n"
NAME = "lawschool.csv"
LOADERS = [load_adult, load_communities_crime, fetch_law_school]


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty cache, and no folder of the user's."""
    folder = tmp_path / "cache"
    monkeypatch.delenv("MEANPARITY_DATA", raising=False)
    monkeypatch.setattr("pooch.os_cache", lambda name: folder)
    return folder


@pytest.fixture
def expected(monkeypatch):
    """The small file is the right one."""
    digest = hashlib.sha256(CONTENT).hexdigest()
    monkeypatch.setattr(_fetched, "SHA256", {NAME: digest})


@pytest.fixture
def server(monkeypatch):
    """A server on this machine in the place of the public address; what it was asked for."""
    asked = []

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            asked.append(self.path)
            self.send_response(200 if self.path == f"/{NAME}" else 404)
            self.send_header("Content-Length", str(len(CONTENT)))
            self.end_headers()
            self.wfile.write(CONTENT)

        def log_message(self, *args):
            pass

    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever)
    thread.start()
    monkeypatch.setattr(_fetched, "ADDRESS", f"http://127.0.0.1:{serving.server_port}/")
    yield asked
    serving.shutdown()
    thread.join()
    serving.server_close()


def test_a_file_is_downloaded_once(cache, expected, server):
    for _ in range(2):
        path = _fetched.fetch_file(NAME)
        assert path.read_bytes() == CONTENT
    assert path.parent == cache
    assert server == [f"/{NAME}"]


def test_the_users_folder_comes_first(cache, expected, server, tmp_path, monkeypatch):
    monkeypatch.setenv("MEANPARITY_DATA", str(tmp_path))
    (tmp_path / NAME).write_bytes(CONTENT)
    assert _fetched.fetch_file(NAME) == tmp_path / NAME
    assert server == []
    assert _fetched.read_csv(NAME) == (["race", "cluster"], [["7", "1"]])


def test_a_folder_without_the_file_is_passed_over(cache, expected, server, tmp_path, monkeypatch):
    monkeypatch.setenv("MEANPARITY_DATA", str(tmp_path))
    assert _fetched.fetch_file(NAME).parent == cache


def test_another_file_in_the_folder_is_refused(cache, server, tmp_path, monkeypatch):
    monkeypatch.setenv("MEANPARITY_DATA", str(tmp_path))
    (tmp_path / NAME).write_bytes(CONTENT)
    with pytest.raises(ValueError, match=r"has sha256 [0-9a-f]{64}, but 417f7e6.*Replace it"):
        _fetched.fetch_file(NAME)
    assert server == []


def test_another_download_is_refused_and_not_kept(cache, server):
    with pytest.raises(ValueError, match="hash"):
        _fetched.fetch_file(NAME)
    assert not cache.exists() or not list(cache.iterdir())


def test_a_damaged_file_in_the_cache_is_downloaded_again(cache, expected, server):
    cache.mkdir()
    (cache / NAME).write_bytes(b"half of it")
    assert _fetched.fetch_file(NAME).read_bytes() == CONTENT
    assert len(server) == 1


def test_a_variable_that_names_no_folder_is_refused(cache, monkeypatch, tmp_path):
    monkeypatch.setenv("MEANPARITY_DATA", str(tmp_path / "missing"))
    with pytest.raises(ValueError, match=r"MEANPARITY_DATA=.*missing' is not a folder"):
        _fetched.fetch_file(NAME)


@pytest.mark.parametrize("loader", LOADERS)
def test_without_a_network_the_error_says_what_to_do(loader, bundled_only):
    with pytest.raises(DataUnavailableError, match=r"cannot be reached .* set MEANPARITY_DATA"):
        loader(variant="paper")


def test_a_file_missing_at_its_address_is_unavailable(cache, server, monkeypatch):
    monkeypatch.setattr(_fetched, "SHA256", {"gone.csv": "0" * 64})
    with pytest.raises(DataUnavailableError, match="HTTPError"):
        _fetched.fetch_file("gone.csv")


def test_without_pooch_the_error_says_what_to_install(cache, monkeypatch):
    def missing(name):
        raise ImportError(name)

    monkeypatch.setattr(_fetched, "import_module", missing)
    with pytest.raises(DataUnavailableError, match=r"pip install 'meanparity\[datasets\]'"):
        _fetched.fetch_file(NAME)


@pytest.mark.parametrize("loader", LOADERS)
def test_an_unknown_variant_is_refused(loader):
    with pytest.raises(ValueError, match=r"variant='papers' is not known. Pass 'full' or 'paper'"):
        loader(variant="papers")


# --- the paper's files

PAPER = pytest.mark.usefixtures("paper_data")
SHAPES = {
    load_adult: ((2000, 102), "income>50K", "sex"),
    load_communities_crime: ((1994, 118), "ViolentCrimesPerPop", "majority_white"),
    fetch_law_school: ((1000, 9), "ugpa", "race"),
}


@PAPER
@pytest.mark.data
@pytest.mark.parametrize("loader", LOADERS)
def test_the_papers_variant(loader):
    shape, target, sensitive = SHAPES[loader]
    arrays = loader(variant="paper")
    frames = loader(variant="paper", as_frame=True)
    assert arrays.data.shape == shape
    assert arrays.feature_names == list(frames.data.columns)
    assert sensitive not in arrays.feature_names
    assert (arrays.target_names, arrays.sensitive_names) == ([target], [sensitive])
    assert np.isfinite(arrays.data).all()
    assert arrays.sensitive.dtype == np.int64
    assert set(arrays.sensitive) == {0, 1}
    assert 0 <= arrays.target.min() <= arrays.target.max() <= 1
    assert np.array_equal(frames.data.to_numpy(), arrays.data)
    assert np.array_equal(frames.frame[sensitive], arrays.sensitive)
    assert frames.target.name == target
    X, y = loader(variant="paper", return_X_y=True)
    assert np.array_equal(X, arrays.data)
    assert np.array_equal(y, arrays.target)
    assert any(
        f"sha256 of {name}:\n{digest}" in arrays.DESCR for name, digest in _fetched.SHA256.items()
    )


@PAPER
@pytest.mark.data
def test_law_school_in_full(paper_data):
    law = fetch_law_school()
    raw = pd.read_csv(paper_data / "lawschool.csv").dropna()
    assert law.data.shape == (20800, 8)
    assert list(raw.columns.drop(["race", "gender", "ugpa"])) == law.feature_names
    assert np.array_equal(law.target, raw.ugpa)
    assert np.array_equal(law.sensitive[:, 0] == "white", raw.race == 7)
    assert np.array_equal(law.sensitive[:, 1], raw.gender)
    assert np.array_equal(law.data[:, law.feature_names.index("bar1")], raw.bar1 == "P")
    assert np.array_equal(law.data[:, law.feature_names.index("age")], raw.age)
    frames = fetch_law_school(as_frame=True)
    assert frames.frame.shape == (20800, 11)
    assert np.array_equal(frames.data.to_numpy(), law.data)
    X, _ = fetch_law_school(return_X_y=True)
    assert np.array_equal(X, law.data)


@PAPER
@pytest.mark.data
def test_adult_in_the_papers_form(paper_data):
    adult = load_adult(variant="paper", as_frame=True)
    raw = pd.read_csv(paper_data / "adult_full.csv")
    raw = raw[~(raw == "?").any(axis=1)]
    merged = np.sort(adult.data["fnlwgt"])
    assert np.isin(np.round(np.expm1(merged)), raw.fnlwgt).all()
    assert adult.data["race_White"].mean() == pytest.approx((raw.race == "White").mean(), abs=0.03)
    assert adult.sensitive.mean() == pytest.approx((raw.sex == "Female").mean(), abs=0.03)
