"""Dask collections: the fit to the rows in memory, wherever the partitions are."""

from __future__ import annotations

import os
import signal
import threading
import time

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from scipy import sparse
from sklearn.base import clone

from meanparity import (
    MeanParity,
    Nystrom,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityRidgeCV,
    Pool,
)

NYSTROM = ParityKernelRidge(kernel="rbf", gamma=0.2, fit_intercept=True, solver=Nystrom(50))


def people(n=900, seed=0):
    rng = np.random.default_rng(seed)
    sex = rng.choice(["F", "M"], n)
    frame = pd.DataFrame(rng.standard_normal((n, 5)), columns=list("vwxyz"))
    frame["sex"], frame["grade"] = sex, rng.choice([1, 2], n)
    frame["hours"] = rng.uniform(0.5, 1.0, n)
    frame["salary"] = frame["v"] + (sex == "F") + rng.standard_normal(n)
    return frame


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.comm.timeouts.connect": "30s"}),
        LocalCluster(
            n_workers=4, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as local,
        Client(local) as client,
    ):
        yield client


@pytest.fixture(params=["threads", "processes"])
def scheduler(request):
    if request.param == "processes":
        yield request.getfixturevalue("cluster")
    else:
        with dask.config.set(scheduler="threads"):
            yield None


NAMES = {"sensitive_features": ["sex"], "control_features": "grade", "sample_weight": "hours"}
FEATURES = list("vwxyz")


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("kernel", [False, True])
@pytest.mark.parametrize("named", [False, True])
def test_data_frames(kernel, named):
    frame = people()
    collection = dd.from_pandas(frame, npartitions=7)
    there = people(200, seed=1)
    pool = dd.from_pandas(there, npartitions=3)
    model = clone(NYSTROM).set_params(solver__landmarks=frame[FEATURES].to_numpy()[:60])
    model = model if kernel else ParityRidge()
    columns = {name: frame[value] for name, value in NAMES.items()}
    whole = clone(model).fit(
        frame[FEATURES],
        frame["salary"],
        pool=Pool(there[FEATURES], there["sex"], there["grade"], there["hours"]),
        **columns,
    )
    if named:
        given = (collection, "salary"), NAMES
    else:
        lazy = {name: collection[value] for name, value in NAMES.items()}
        given = (collection[FEATURES], collection["salary"]), lazy
    waiting = Pool(pool[FEATURES], pool["sex"], pool["grade"], pool["hours"])
    fitted = clone(model).fit(*given[0], pool=waiting, **given[1])
    expected = whole.predict(frame[FEATURES])
    predicted = fitted.predict(collection[FEATURES])
    assert isinstance(predicted, dd.Series)
    assert predicted.compute().to_numpy() == pytest.approx(expected, abs=1e-9)
    assert fitted.pool_gaps_ == pytest.approx(whole.pool_gaps_, abs=1e-9)
    assert fitted.parity_residual_ <= 1e-10
    assert list(fitted.feature_names_in_) == FEATURES
    assert fitted.statistics_.loss.n_rows == 900


@pytest.mark.usefixtures("scheduler")
@pytest.mark.parametrize("outputs", [1, 2])
def test_arrays(outputs):
    frame = people()
    X, s = frame[FEATURES].to_numpy(), frame["sex"].to_numpy()
    y = frame["salary"].to_numpy()
    y = y if outputs == 1 else np.stack([y, -y], axis=1)
    whole = ParityRidge().fit(X, y, sensitive_features=s)
    lazy = da.from_array(X, chunks=(250, 3))
    fitted = ParityRidge().fit(
        lazy,
        da.from_array(y, chunks=400),  # cut elsewhere
        sensitive_features=da.from_array(s, chunks=100),
    )
    predicted = fitted.predict(lazy)
    assert predicted.shape == y.shape
    assert predicted.compute() == pytest.approx(whole.predict(X), abs=1e-9)


def test_frames_of_several_outputs_and_empty_pools():
    frame = people()
    collection = dd.from_pandas(frame, npartitions=3)[[*FEATURES, "sex", "salary", "hours"]]
    two = ParityRidge().fit(collection, ["salary", "hours"], sensitive_features="sex")
    whole = ParityRidge().fit(
        frame[FEATURES], frame[["salary", "hours"]], sensitive_features=frame["sex"]
    )
    found = two.predict(collection[FEATURES]).compute().to_numpy()
    assert found == pytest.approx(whole.predict(frame[FEATURES]), abs=1e-9)
    nobody = collection[collection["hours"] > 99]
    with pytest.raises(ValueError, match="In the pool: there are no rows"):
        ParityRidge().fit(
            collection,
            "salary",
            sensitive_features="sex",
            pool=(nobody[[*FEATURES, "hours"]], nobody["sex"]),
        )


@pytest.mark.usefixtures("scheduler")
def test_empty_partitions_and_groups_of_one_partition_only():
    frame = people().sort_values("sex").reset_index(drop=True)
    frame.loc[:30, "sex"] = "X"
    parts = [frame[:300], frame[:0], frame[300:310], frame[310:], frame[:0]]
    collection = dd.from_delayed([dask.delayed(part) for part in parts], meta=frame[:0])
    assert not collection.known_divisions
    whole = ParityRidge().fit(frame[FEATURES], frame["salary"], sensitive_features=frame["sex"])
    fitted = ParityRidge().fit(
        collection[[*FEATURES, "sex", "salary"]], "salary", sensitive_features="sex"
    )
    assert fitted.coef_ == pytest.approx(whole.coef_, abs=1e-9)
    assert set(fitted.group_means_) == {"F", "M", "X"}
    predicted = fitted.predict(collection[FEATURES]).compute()
    assert predicted.to_numpy() == pytest.approx(whole.predict(frame[FEATURES]), abs=1e-9)


def broken(part, number, bad):
    if number == bad:
        raise RuntimeError("the disk of this partition is gone")
    return part


@pytest.mark.usefixtures("scheduler")
def test_a_partition_that_fails_is_named(monkeypatch):
    monkeypatch.setattr("meanparity.statistics.collect._SAMPLE", 10)
    frame = people()
    parts = [dask.delayed(broken)(frame[i * 300 : (i + 1) * 300], i, 1) for i in range(3)]
    collection = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    with pytest.raises(ValueError, match=r"Partition 1 of 3 failed: RuntimeError: the disk"):
        ParityRidge().fit(collection, "salary", sensitive_features="sex")
    frame.loc[650, "v"] = np.nan
    collection = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match=r"Partition 2 of 3 failed: ValueError: .*NaN"):
        clone(NYSTROM).set_params(solver__landmarks=np.zeros((1, 7))).fit(
            collection[[*FEATURES, "sex", "hours", "grade", "salary"]],
            "salary",
            sensitive_features="sex",
        )


def slow(part):
    time.sleep(0.3)
    return part


def test_a_worker_that_dies_changes_nothing(cluster):
    frame = people()
    whole = ParityRidge().fit(frame[FEATURES], frame["salary"], sensitive_features=frame["sex"])
    parts = [dask.delayed(slow)(frame[i * 75 : (i + 1) * 75]) for i in range(12)]
    collection = dd.from_delayed(parts, meta=frame[:0], verify_meta=False)
    victim = next(iter(cluster.run(os.getpid).values()))

    def kill():
        time.sleep(0.5)
        os.kill(victim, signal.SIGKILL)

    thread = threading.Thread(target=kill)
    thread.start()
    fitted = ParityRidge().fit(
        collection[[*FEATURES, "sex", "salary"]], "salary", sensitive_features="sex"
    )
    thread.join()
    assert victim not in cluster.run(os.getpid).values()
    assert fitted.coef_ == pytest.approx(whole.coef_, abs=1e-12)


def test_wrong_collections_speak():
    frame = people()
    collection = dd.from_pandas(frame, npartitions=3)
    X = collection[FEATURES]
    with pytest.raises(TypeError, match="X is a Dask collection, but y is ndarray"):
        ParityRidge().fit(X, frame["salary"].to_numpy(), sensitive_features=collection["sex"])
    other = dd.from_pandas(frame, npartitions=5)
    with pytest.raises(ValueError, match=r"X has 3 partitions, but y has 5"):
        ParityRidge().fit(X, other["salary"], sensitive_features=collection["sex"])
    with pytest.raises(ValueError, match="y names the column 'pay', but X has the columns"):
        ParityRidge().fit(collection, "pay", sensitive_features="sex")
    array = da.from_array(frame[FEATURES].to_numpy(), chunks=(300, 5))
    with pytest.raises(ValueError, match="y='salary' names a column, but X has none"):
        ParityRidge().fit(array, "salary", sensitive_features="sex")
    with pytest.raises(ValueError, match="X has 900 rows, but another collection has 10"):
        ParityRidge().fit(array, da.zeros(10), sensitive_features=da.zeros(900))
    with pytest.raises(ValueError, match="which group each row belongs to"):
        ParityRidge().fit(X, collection["salary"])
    with pytest.raises(ValueError, match=r"but X has the columns .* Did you mean 'salary'\?"):
        ParityRidge().fit(collection, "slary", sensitive_features="sex")
    shifted = dd.concat([collection.partitions[0], dd.from_pandas(frame[310:], npartitions=2)])
    with pytest.raises(ValueError, match=r"Partition 1 of 3 failed.*X has 300 rows, but y has 295"):
        ParityRidge().fit(X, shifted["salary"], sensitive_features=collection["sex"])
    model = ParityRidge().fit(frame[FEATURES], frame["salary"], sensitive_features=frame["sex"])
    with pytest.raises(ValueError, match=r"X has 1 dimension\. Pass rows and columns"):
        model.predict(da.zeros(10))
    empty = dd.from_pandas(frame[:0], npartitions=1)
    with pytest.raises(ValueError, match="X has no rows"):
        ParityRidge().fit(empty, "salary", sensitive_features="sex")


def test_columns_by_name_in_lists_and_in_the_pool():
    frame, scored = people(), people(300, seed=1)
    collection, later = (dd.from_pandas(part, npartitions=3) for part in (frame, scored))
    columns = [*FEATURES, "sex", "salary"]
    model = ParityRidge(constraint=MeanParity(parity_on="pool")).fit(
        collection[columns],
        ["salary"],
        sensitive_features=["sex"],
        pool=(later[[*FEATURES, "sex"]], "sex"),
    )
    whole = ParityRidge(constraint=MeanParity(parity_on="pool")).fit(
        frame[FEATURES],
        frame["salary"],
        sensitive_features=frame["sex"],
        pool=(scored[FEATURES], scored["sex"]),
    )
    assert model.coef_.shape == (5,)
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)


def test_sparse_blocks():
    frame = people()
    X = sparse.csr_matrix(np.maximum(frame[FEATURES].to_numpy(), 0))
    blocks = da.concatenate(
        [da.from_delayed(dask.delayed(X[i : i + 300]), (300, 5), float) for i in (0, 300, 600)]
    )
    y, s = (da.from_array(frame[name].to_numpy(), chunks=300) for name in ("salary", "grade"))
    model = ParityRidge().fit(blocks, y, sensitive_features=s)
    whole = ParityRidge().fit(X, frame["salary"], sensitive_features=frame["grade"])
    assert model.coef_ == pytest.approx(whole.coef_, abs=1e-9)


def test_empty_chunks_are_predicted():
    frame = people()
    X = frame[FEATURES].to_numpy()
    model = ParityRidge().fit(X, frame["salary"], sensitive_features=frame["sex"])
    array = da.from_array(X, chunks=(300, 5))
    some = array[da.from_array(np.arange(900) >= 400, chunks=300)]
    assert model.predict(some).compute() == pytest.approx(model.predict(X[400:]))
    two = ParityRidge().fit(X, frame[["salary", "hours"]], sensitive_features=frame["sex"])
    assert two.predict(some).compute() == pytest.approx(two.predict(X[400:]))


def test_partitions_that_cannot_be_read_are_named():
    frame = people()
    broken = frame.assign(salary=frame["salary"].where(frame.index != 700))
    with pytest.raises(ValueError, match=r"Partition 2 has empty cells: .*contains NaN"):
        ParityRidge().fit(dd.from_pandas(broken, npartitions=3), "salary", sensitive_features="sex")
    parts = [dask.delayed(frame[FEATURES][i : i + 300]) for i in (0, 300)]
    parts.append(dask.delayed(frame[FEATURES][600:].rename(columns={"v": "V"})))
    X = dd.from_delayed(parts, meta=frame[FEATURES][:0], verify_meta=False)
    others = dd.from_pandas(frame, npartitions=3)
    with pytest.raises(ValueError, match=r"\['V', .* in partition 2, but .*'v', .* in partition 0"):
        ParityRidge().fit(X, others["salary"], sensitive_features=others["sex"])


def test_estimators_that_need_all_rows_refuse_collections():
    frame = people()
    collection = dd.from_pandas(frame, npartitions=3)
    people_, pay = collection["sex"], collection["salary"]
    for model in (ParityRidgeCV(), ParityKernelRegressor(kernel="rbf")):
        with pytest.raises(TypeError, match="X is a Dask collection"):
            model.fit(collection[FEATURES], pay, sensitive_features=people_)
    for method in ("partial_fit", "statistics"):
        with pytest.raises(TypeError, match="X is a Dask collection"):
            getattr(ParityRidge(), method)(collection[FEATURES], pay, sensitive_features=people_)
