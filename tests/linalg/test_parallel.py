"""Fits at the same time: the threads of the BLAS stay what they were, and so does every bit."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import threading
import time

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from meanparity.linalg import memory
from meanparity.linalg.parallel import all_threads, one_thread, ordered_map

FITS = """
import json, multiprocessing, sys, warnings
from concurrent.futures import ThreadPoolExecutor, ProcessPoolExecutor
import numpy as np
from threadpoolctl import threadpool_info
from meanparity import MeanParity, Nystrom, ParityKernelRidge, ParityRidge
from meanparity.solvers import sums
warnings.simplefilter("ignore")
sums.BLOCK = sums.COLUMN_BLOCK = 2**12  # so that a few rows are several blocks
MODELS = [
    ParityRidge(),
    ParityRidge(solver="dense"),
    ParityRidge(max_gap=0.1),
    ParityKernelRidge(kernel="rbf", gamma=0.1),
    ParityKernelRidge(kernel="rbf", gamma=0.1, solver=Nystrom(40, random_state=0)),
]
RNG = np.random.default_rng(0)
DATA = [(RNG.normal(size=(n, d)), RNG.integers(0, 3, n)) for n, d in ((400, 60), (900, 40))]
TASKS = [(i, j) for i in range(len(MODELS)) for j in range(len(DATA))]

def threads():
    return [pool["num_threads"] for pool in threadpool_info()]

def fit(task):
    X, s = DATA[task[1]]
    model = type(MODELS[task[0]])(**MODELS[task[0]].get_params(deep=False))
    model.fit(X, X[:, 0] + s, sensitive_features=s)
    return model.predict(X).tobytes()

def nested(_):
    with ThreadPoolExecutor(3) as pool:
        return list(pool.map(fit, TASKS)), threads()

if __name__ == "__main__":
    before, alone = threads(), [fit(task) for task in TASKS]
    repeats = int(sys.argv[1]) // len(TASKS)
    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(fit, TASKS * repeats))
    same = found == alone * repeats
    inside = []
    with ThreadPoolExecutor(2) as pool:
        inside += pool.map(nested, range(2))
    context = multiprocessing.get_context("fork")
    with ProcessPoolExecutor(2, mp_context=context) as pool:
        inside += pool.map(nested, range(2))
    print(json.dumps({
        "fits": len(found),
        "same": same,
        "nested": all(values == alone for values, _ in inside),
        "threads": [before, threads(), inside[-1][1]],
    }))
"""


def fits(count):
    done = subprocess.run(
        [sys.executable, "-c", FITS, str(count)],
        capture_output=True,
        text=True,
        check=True,
        timeout=280,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "2", "OMP_NUM_THREADS": "2"},
    )
    return json.loads(done.stdout)


@pytest.mark.parametrize("count", [60, pytest.param(1000, marks=pytest.mark.slow)])
def test_fits_at_the_same_time_give_the_bits_that_they_give_alone(count):
    found = fits(count)
    assert found["fits"] == count
    assert found["same"]
    assert found["nested"]
    assert 2 in found["threads"][0]
    assert found["threads"] == [found["threads"][0]] * 3


def set_threads(count):
    """Give the BLAS threads, from a thread that ends: the one that did it has control of them."""
    thread = threading.Thread(target=threadpool_limits, args=(count, "blas"))
    thread.start()
    thread.join()


@pytest.fixture
def two_threads():
    before = max(blas_threads())
    set_threads(2)
    yield
    set_threads(before)


def blas_threads():
    return {pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"}


@pytest.mark.parametrize("first_to_leave", [0, 1])
def test_a_limit_that_overlaps_with_another_is_lifted_once_both_have_left(
    first_to_leave, two_threads
):
    """Which of the two leaves first makes no difference."""
    entered, seen = [threading.Event(), threading.Event()], []

    def work(number):
        with one_thread():
            entered[number].set()
            assert entered[1 - number].wait(10)
            seen.append(blas_threads())
            time.sleep(0.0 if number == first_to_leave else 0.3)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(2)]
    threads[0].start()
    assert entered[0].wait(10)
    threads[1].start()
    for thread in threads:
        thread.join(10)
    assert seen == [{1}, {1}]
    assert blas_threads() == {2}


def test_all_threads_and_one_thread_exclude_each_other_and_nobody_waits_for_ever(
    two_threads,
):
    seen, stop = [], time.monotonic() + 2.0
    wrong = []

    def work(first, second, expected):
        rounds = 0
        while time.monotonic() < stop:
            with first():
                rounds += 1
                if blas_threads() != {expected}:
                    wrong.append(first)
                with second():
                    time.sleep(0.001)
                if blas_threads() != {expected}:
                    wrong.append(first)
        seen.append(rounds)

    kinds = [(all_threads, one_thread, 2), (one_thread, all_threads, 1)] * 3
    threads = [threading.Thread(target=work, args=kind) for kind in kinds]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert blas_threads() == {2}
    assert not wrong
    assert len(seen) == 6
    assert min(seen) > 0


def test_a_fit_inside_of_blocks_does_not_wait_for_the_blocks():
    def block(number):
        with all_threads():
            return number, sum(ordered_map(lambda n: n, range(3)))

    with all_threads():
        found = list(ordered_map(block, range(4)))
    assert found == [(number, 3) for number in range(4)]


def test_threads_are_restored_after_an_error(two_threads):
    def fail(number):
        raise ValueError("in a block")

    with pytest.raises(ValueError, match="in a block"), all_threads():
        list(ordered_map(fail, range(5)))
    assert blas_threads() == {2}
    with one_thread():
        assert blas_threads() == {1}
    assert blas_threads() == {2}


def test_blocks_are_worked_on_one_by_one_where_addresses_are_limited(monkeypatch):
    """A thread takes 64 MiB of addresses for its memory alone."""
    monkeypatch.setattr(memory, "free_addresses", lambda: 2**28)
    assert set(ordered_map(lambda _: threading.get_ident(), range(4))) == {threading.get_ident()}
