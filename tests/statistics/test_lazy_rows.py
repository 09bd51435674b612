"""Lazy frames, relations and readers as X: the fit to the same rows in memory."""

from __future__ import annotations

import tempfile
from functools import partial

import duckdb
import narwhals as nw
import narwhals.stable.v1 as nw_stable
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow.dataset import dataset

from meanparity import (
    Nystrom,
    ParityAdjusted,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.audit import audit
from meanparity.baselines import MeanPenaltyRidge
from meanparity.metrics import max_mean_gap

N = 700


@pytest.fixture(scope="module")
def frame():
    rng = np.random.default_rng(3)
    sex = rng.choice(["F", "M"], N)
    X = rng.standard_normal((N, 3))
    y = X @ [1.0, -1.0, 0.5] + (sex == "M") + 0.1 * rng.standard_normal(N)
    weight = rng.uniform(0.5, 2.0, N)
    return pd.DataFrame(X, columns=list("abc")).assign(sex=sex, salary=y, weight=weight)


def relation(frame):
    return duckdb.from_df(frame)


def reader(frame):
    table = pa.Table.from_pandas(frame, preserve_index=False)
    return pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=97))


STREAMS = {
    "polars": lambda frame: pl.from_pandas(frame).lazy(),
    "polars, computed": lambda frame: (
        pl.from_pandas(frame).lazy().with_columns(a=pl.col("a") * 2 - pl.col("a"))
    ),
    "narwhals": lambda frame: nw.from_native(pl.from_pandas(frame).lazy()),
    "narwhals, stable": lambda frame: nw_stable.from_native(pl.from_pandas(frame).lazy()),
    "duckdb": relation,
    "arrow": reader,
}


@pytest.fixture
def spools(monkeypatch, tmp_path):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("kind", STREAMS)
def test_the_fit_is_that_of_the_rows_in_memory(kind, frame, spools):
    model = ParityRidge()
    model.fit(STREAMS[kind](frame), "salary", sensitive_features="sex", sample_weight="weight")
    here = {"sensitive_features": frame[["sex"]], "sample_weight": frame["weight"]}
    X = frame[list("abc")]
    expected = ParityRidge().fit(X, frame["salary"], **here)
    assert np.allclose(model.predict(X), expected.predict(X), rtol=0, atol=1e-12)
    assert list(model.feature_names_in_) == list("abc")
    assert max_mean_gap(None, model.predict(X), **here) < 1e-13
    assert list(spools.iterdir()) == [], "no rows are left on disk"


def test_landmarks_are_those_of_a_file(frame, tmp_path):
    frame.to_parquet(tmp_path / "rows.parquet", index=False)
    models = [
        ParityKernelRidge(kernel="rbf", solver=Nystrom(40)).fit(
            source, "salary", sensitive_features="sex"
        )
        for source in (tmp_path / "rows.parquet", STREAMS["polars"](frame))
    ]
    X = frame[["a", "b", "c", "weight"]]
    # batches may be cut at other rows
    assert np.allclose(models[0].predict(X), models[1].predict(X), rtol=0, atol=1e-10)


def test_failures_of_a_stream_leave_no_rows_on_disk(frame, spools):
    with pytest.raises(ValueError, match="y names the column 'wage', but the file has"):
        ParityRidge().fit(reader(frame), "wage", sensitive_features="sex")
    assert list(spools.iterdir()) == []


@pytest.mark.parametrize("kind", STREAMS)
def test_rows_that_have_to_be_in_memory(kind, frame):
    X, y, s = frame[list("abc")], frame["salary"], frame["sex"]
    lazy = STREAMS[kind]
    named = lazy(frame)
    for model in (ParityRidgeCV(), ParityKernelRegressor(), ParityAdjusted(), MeanPenaltyRidge()):
        with pytest.raises(TypeError, match=r"X is an? .*, whose rows are not in memory"):
            model.fit(named, y, sensitive_features=s)
    model = ParityRidge().fit(X, y, sensitive_features=s)
    with pytest.raises(TypeError, match=r"X is .* not in memory.*collect"):
        model.predict(lazy(X))
    with pytest.raises(TypeError, match=r"X is .* not in memory"):
        ParityRidge().partial_fit(lazy(X), y, sensitive_features=s)
    with pytest.raises(TypeError, match=r"y is .* not in memory"):
        ParityRidge().fit(X, lazy(frame[["salary"]]), sensitive_features=s)
    with pytest.raises(TypeError, match=r"sensitive_features is .* not in memory"):
        ParityRidge().fit(X, y, sensitive_features=lazy(frame[["sex"]]))
    with pytest.raises(TypeError, match=r"sample_weight is .* not in memory"):
        ParityRidge().fit(X, y, sensitive_features=s, sample_weight=lazy(frame[["weight"]]))


def test_lazy_frames_of_other_libraries_are_refused(frame):
    import dask.dataframe

    lazy = nw.from_native(dask.dataframe.from_pandas(frame, npartitions=2))
    assert isinstance(lazy, nw.LazyFrame)
    # a Dask data frame itself is read
    with pytest.raises(TypeError, match="a lazy frame of dask, which cannot be read here"):
        ParityRidge().fit(lazy, "salary", sensitive_features="sex")
    assert ParityRidge().fit(lazy.to_native(), "salary", sensitive_features="sex").coef_.size == 4


@pytest.mark.parametrize("kind", STREAMS)
def test_what_belongs_to_streamed_rows_is_named(kind, frame):
    y, s, lazy = frame["salary"], frame["sex"], STREAMS[kind]
    for target, groups in ((y, "sex"), ("salary", s), (lazy(frame[["salary"]]), "sex")):
        with pytest.raises(ValueError, match=r"but the rows of X are not in memory. Pass the name"):
            ParityRidge().fit(lazy(frame), target, sensitive_features=groups)
    with pytest.raises(TypeError, match=r"pool is .*, whose rows are not in memory"):
        ParityRidge().fit(frame[list("abc")], y, sensitive_features=s, pool=lazy(frame))


@pytest.mark.parametrize("kind", STREAMS)
def test_metrics_and_audits_need_rows_in_memory(kind, frame):
    y, s, lazy = frame["salary"], frame["sex"], STREAMS[kind]
    for measure in (partial(max_mean_gap, y), audit):
        with pytest.raises(TypeError, match=r"y_pred is .*, whose rows are not in memory"):
            measure(lazy(frame[["salary"]]), sensitive_features=s)
        with pytest.raises(TypeError, match=r"sensitive_features is .*, whose rows are not"):
            measure(y, sensitive_features=lazy(frame[["sex"]]))


def _batch(frame):
    return pa.Table.from_pandas(frame, preserve_index=False).to_batches()[0]


@pytest.mark.parametrize(
    ("kind", "made"),
    [
        ("RecordBatch", _batch),
        ("dataset", lambda frame: dataset(pa.Table.from_pandas(frame))),
        ("Scanner", lambda frame: dataset(pa.Table.from_pandas(frame)).scanner()),
    ],
)
def test_other_rows_of_arrow_are_refused_with_what_to_pass(kind, made, frame):
    X, y, s = frame[list("abc")], frame["salary"], frame["sex"]
    model = ParityRidge().fit(X, y, sensitive_features=s)
    for call in (
        lambda: ParityRidgeCV().fit(made(X), y, sensitive_features=s),
        lambda: ParityRidge().fit(X, made(frame[["salary"]]), sensitive_features=s),
        lambda: model.predict(made(X)),
        lambda: audit(y, sensitive_features=made(frame[["sex"]])),
    ):
        with pytest.raises(TypeError, match=rf"is an Arrow {kind}, which is not read here. Pass "):
            call()
