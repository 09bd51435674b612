from __future__ import annotations

import logging
import os
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from meanparity.linalg import copies, in_place, memory, symmetric
from meanparity.linalg.adjusted import Adjustment
from meanparity.linalg.blas import NotPositiveDefiniteError
from meanparity.linalg.memory import require_memory
from meanparity.linalg.pivoted import dense_features, pivoted_cholesky
from meanparity.linalg.symmetric import SymmetricMatrix, row_blocks, symmetric_basis

ROUTINES = [in_place, copies]
SIZES = [1, 2, 5, 255, 256, 257, 700, 1100]  # around tiles and blocks


def random_matrix(n, seed=0):
    X = np.random.default_rng(seed).standard_normal((n, n + 2))
    return X @ X.T / (n + 2)


def upper(K):
    """Only the upper triangle; whoever reads the rest gets NaN."""
    array = np.full_like(K, np.nan)
    array[np.triu_indices(len(K))] = K[np.triu_indices(len(K))]
    return SymmetricMatrix.from_upper(array)


@pytest.mark.parametrize("n", SIZES)
def test_cholesky_solves_and_leaves_the_matrix(n):
    K, rhs = random_matrix(n), np.random.default_rng(1).standard_normal((n, 3))
    matrix = upper(K)
    assert np.allclose(matrix.times(rhs), K @ rhs, atol=1e-12)
    for shift in (0.5, 1e-3):  # factored twice in the same room
        factor = matrix.cholesky(shift)
        A = K + shift * np.eye(n)
        assert np.allclose(A @ factor.solve(rhs), rhs, atol=1e-9)
        assert np.allclose(np.tril(factor.array), np.linalg.cholesky(A), atol=1e-9)
        assert np.allclose(matrix.times(rhs), K @ rhs, atol=1e-12)
        assert factor.solve(rhs[:, :0]).shape == (n, 0)


@pytest.mark.parametrize("n", SIZES)
def test_centring(n):
    K, rhs = random_matrix(n), np.random.default_rng(1).standard_normal((n, 2))
    H = np.eye(n) - 1 / n
    centred, row_means = upper(K).centre(np.full(n, 1 / n))
    assert np.allclose(row_means, K.mean(axis=1))
    assert np.allclose(centred.times(rhs), H @ K @ H @ rhs, atol=1e-12)
    shares = np.random.default_rng(2).uniform(size=n)
    shares /= shares.sum()
    H = np.eye(n) - shares
    centred, row_means = upper(K).centre(shares)
    assert np.allclose(row_means, K @ shares)
    assert np.allclose(centred.times(rhs), H @ K @ H.T @ rhs, atol=1e-12)


@pytest.mark.parametrize("n", SIZES)
def test_deflating_and_scaling(n):
    rng = np.random.default_rng(1)
    K, rhs, V, root = random_matrix(n), *(rng.standard_normal((n, r)) for r in (2, 3, 1))
    signs, root = np.array([1.0, -1.0, 1.0]), np.abs(root[:, 0])
    root[::4] = 0.0
    expected = K - (V * signs) @ V.T
    matrix = upper(K).deflate(V, signs)
    assert np.allclose(matrix.times(rhs), expected @ rhs, atol=1e-11)
    assert np.allclose(matrix.diagonal, np.diag(expected), atol=1e-11)
    expected = root[:, None] * expected * root
    assert np.allclose(matrix.scale(root).times(rhs), expected @ rhs, atol=1e-11)


def test_eigen_is_a_pseudo_inverse():
    F = np.random.default_rng(0).standard_normal((40, 7))
    K = F @ F.T
    rhs = np.random.default_rng(1).standard_normal((40, 2))
    assert np.allclose(upper(K).eigen().solve(rhs), np.linalg.pinv(K, hermitian=True) @ rhs)
    indefinite = K - 5 * np.eye(40)
    solved = upper(indefinite).eigen().solve(rhs)
    assert np.allclose(solved, np.linalg.solve(indefinite, rhs))


@pytest.mark.parametrize("n", [3, 300, 1100])
def test_indefinite_matrices_are_refused(n):
    K = random_matrix(n)
    K[-1, -1] = -1.0
    with pytest.raises(NotPositiveDefiniteError, match="is not positive"):
        upper(K).cholesky(0.1)


def test_matrices_that_are_singular_in_floating_point_are_refused():
    F = np.random.default_rng(0).standard_normal((50, 5))
    with pytest.raises(NotPositiveDefiniteError):
        upper(F @ F.T).cholesky(0.0)
    with pytest.raises(NotPositiveDefiniteError):
        upper(1e16 * F @ F.T).cholesky(1e-3)
    # a huge row is no reason to refuse: Cholesky does not mind scales
    scale = np.ones(50)
    scale[7] = 1e12
    K = random_matrix(50) * np.outer(scale, scale)
    rhs = np.ones((50, 1))
    solved = upper(K).cholesky(0.1).solve(rhs)
    expected = np.linalg.solve(
        (K + 0.1 * np.eye(50)) / np.outer(scale, scale), rhs / scale[:, None]
    )
    assert np.allclose(solved * scale[:, None], expected, rtol=1e-9)


def test_eigendecompositions_that_do_not_fit_are_refused(monkeypatch):
    matrix = upper(np.eye(900))  # what needs less than 16 MiB is never refused
    monkeypatch.setattr(memory, "available_bytes", lambda: 3 * 8 * 900 * 900 - 1)
    with pytest.raises(MemoryError, match=r"eigendecomposition of 900 rows needs 18.54 MiB"):
        matrix.eigen()


def test_infinite_values_are_refused_before_lapack_sees_them():
    K = random_matrix(5)
    K[1, 2] = np.inf
    with pytest.raises(NotPositiveDefiniteError):
        upper(K).cholesky(0.1)
    with pytest.raises(ValueError, match="infinite or undefined"):
        upper(K).eigen()


def test_long_factorisations_report_progress(caplog, monkeypatch):
    ticks = iter(range(0, 1000, 6))  # every look at the clock is six seconds later
    monkeypatch.setattr(symmetric.time, "monotonic", lambda: next(ticks))
    with caplog.at_level(logging.INFO, logger="meanparity"):
        upper(random_matrix(600)).cholesky(1.0)
    assert "% done" in caplog.text


@pytest.mark.parametrize("routines", ROUTINES)
@given(
    shape=st.tuples(st.integers(0, 6), st.integers(0, 6), st.integers(0, 6)),
    views=st.tuples(*[st.sampled_from(["rows", "columns", "strided", "reversed", "part"])] * 2),
    scale=st.sampled_from([1.0, -1.0, 0.5]),
    add=st.booleans(),
)
def test_products_of_any_views(routines, shape, views, scale, add):
    m, k, n = shape
    rng = np.random.default_rng(m + 7 * k + 49 * n)

    def make(rows, columns, view):
        big = rng.standard_normal((2 * rows + 2, 2 * columns + 2))
        return {
            "rows": np.ascontiguousarray(big[:rows, :columns]),
            "columns": np.asfortranarray(big[:rows, :columns]),
            "strided": big[: 2 * rows : 2, : 2 * columns : 2],
            "reversed": np.ascontiguousarray(big[:rows, :columns])[::-1, ::-1],
            "part": big[1 : rows + 1, 1 : columns + 1],
        }[view]

    A, B = make(m, k, views[0]), make(k, n, views[1])
    out = rng.standard_normal((m, n + 3))[:, 1 : n + 1]
    expected = scale * A @ B + (out if add else 0)
    assert routines.multiply(A, B, out, scale=scale, add=add) is out
    assert np.allclose(out, expected)


@pytest.mark.parametrize("routines", ROUTINES)
def test_blocks_that_blas_cannot_work_on_are_refused(routines):
    for wrong in (np.zeros((3, 3), dtype=np.float16), np.zeros((6, 6))[::2, ::2]):
        with pytest.raises(TypeError, match="need row-major float64"):
            routines.cholesky_lower(wrong)


@pytest.mark.parametrize("routines", ROUTINES)
def test_products_that_do_not_fit_are_refused(routines):
    A, B = np.ones((2, 3)), np.ones((3, 4))
    out = np.zeros((2, 4))
    for wrong in ((A, B.T, out), (A, B, np.zeros((2, 5))), (A[:, :2], B, out)):
        with pytest.raises(ValueError, match="cannot write"):
            routines.multiply(*wrong)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="cannot write"):
        routines.multiply(A, B, out)


@pytest.mark.parametrize("routines", ROUTINES)
@pytest.mark.parametrize("precision", [np.float32, np.float64])
def test_products_with_a_triangle_in_place(routines, precision):
    rng = np.random.default_rng(0)
    A, W = rng.standard_normal((5, 4)).astype(precision), rng.standard_normal((4, 4))
    W = W.astype(precision)  # what lies below the diagonal is not read
    expected = A @ np.triu(W)
    routines.multiply_upper(A, W)
    assert A.dtype == precision
    assert np.allclose(A, expected, rtol=0, atol=20 * np.finfo(precision).eps)
    other = np.float64 if precision == np.float32 else np.float32
    for wrong in (W[:3, :3], W.astype(other)):
        with pytest.raises(ValueError, match="cannot multiply"):
            routines.multiply_upper(A, wrong)
    with pytest.raises(ValueError, match="need contiguous arrays"):
        routines.multiply_upper(A, np.asfortranarray(W))


@pytest.mark.parametrize("routines", ROUTINES)
@pytest.mark.parametrize("n", [1, 2, 40, 300])
def test_blocks_of_larger_arrays(routines, n):
    """Each routine reads and writes its own triangle or block, and nothing beside it."""
    rng = np.random.default_rng(n)
    square, other = slice(1, n + 1), slice(2, n + 2)
    room, wide = rng.standard_normal((2, n + 3, n + 3))
    A, B = room[square, other], wide[square, :3]
    untouched = np.full(room.shape, True)

    def outside(values):
        return values[untouched]

    K = random_matrix(n, seed=n)
    A[...] = K + np.triu(np.full((n, n), 7.0), 1)  # factors read the lower triangle
    untouched[square, other] = np.triu(np.ones((n, n), dtype=bool), 1)
    before = outside(room).copy()
    gram = rng.standard_normal((n, 2)) / 10
    routines.subtract_gram(A, gram)
    expected = K - gram @ gram.T
    assert np.allclose(np.tril(A), np.tril(expected), rtol=0, atol=1e-14 * n)
    A[np.tril_indices(n)] = K[np.tril_indices(n)]
    routines.cholesky_lower(A)
    L = np.linalg.cholesky(K)
    assert np.allclose(np.tril(A), L, rtol=0, atol=1e-10)
    assert np.array_equal(outside(room), before)
    for transposed in (False, True):
        rhs = B.copy()
        routines.divide_left(A, B, transposed=transposed)
        assert np.allclose((L.T if transposed else L) @ B, rhs, rtol=1e-9, atol=1e-9)
    C = np.ascontiguousarray(B.T)
    rhs = C.copy()
    routines.divide_right(C, A)
    assert np.allclose(C @ L.T, rhs, rtol=1e-9, atol=1e-9)
    A[...] = np.triu(K) + np.tril(np.full((n, n), np.nan), -1)  # products read the upper one
    for columns in (0, 1, 3, 12):
        Z = rng.standard_normal((n, columns))
        assert np.allclose(routines.multiply_symmetric(A, Z), K @ Z, rtol=0, atol=1e-13 * n)
    indefinite = -np.eye(n)
    with pytest.raises(NotPositiveDefiniteError, match="pivot 1 is not positive"):
        routines.cholesky_lower(indefinite)


WITHOUT_C_FUNCTIONS = """
import ctypes, sys
if sys.argv[1] == "copies":
    ctypes.pythonapi = None  # as in a Python whose C functions cannot be called
import numpy as np
import meanparity
from meanparity.linalg import blas
assert blas.multiply.__module__ == "meanparity.linalg." + sys.argv[1]
rng = np.random.default_rng(0)
X, s = rng.normal(size=(700, 4)), np.arange(700) % 3
y = X @ [1.0, 2.0, -1.0, 0.5] + s + rng.normal(size=700)
for model in (
    meanparity.ParityKernelRidge(kernel="rbf", solver="dense"),
    meanparity.ParityKernelRidge(kernel="rbf", solver="nystrom"),
    meanparity.ParityKernelRidge(kernel="rbf", solver="conjugate_gradient"),
    meanparity.ParityKernelRidgeCV(kernel="rbf", alphas=[0.1, 1.0]),
    meanparity.ParityRidge(),
    meanparity.ParityKernelRegressor(loss="huber"),
):
    predictions = model.fit(X, y, sensitive_features=s).predict(X)
    means = [predictions[s == group].mean() for group in range(3)]
    assert np.ptp(means) < 1e-12 * 6, (model, means)
    print(*map(float, predictions[:20]))
"""


def test_the_same_fits_without_the_c_functions():
    answers = []
    for routines in ("in_place", "copies"):
        run = subprocess.run(
            [
                sys.executable,
                "-W",
                "error",
                "-W",
                "ignore:Parity costs much",
                "-c",
                WITHOUT_C_FUNCTIONS,
                routines,
            ],
            capture_output=True,
            text=True,
        )
        assert run.returncode == 0, run.stderr
        answers.append([[float(x) for x in line.split()] for line in run.stdout.splitlines()])
    assert np.shape(answers) == (2, 6, 20)
    assert np.allclose(*answers, rtol=1e-7, atol=1e-7)


def test_the_condition_of_a_factored_matrix():
    K = np.diag([1.0, 1e-3, 4.0])
    factor = SymmetricMatrix.from_upper(K.copy()).cholesky(0.0)
    assert factor.reciprocal_condition(4.0) == pytest.approx(1e-3 / 4.0, rel=1e-12)


def test_row_blocks_cover():
    assert [list(range(b.start, b.stop)) for b in row_blocks(7, 3, 2)] == [[2, 3, 4], [5, 6]]
    assert list(row_blocks(0, 3)) == []


def test_symmetric_basis_is_orthonormal_in_the_matrix():
    F = np.random.default_rng(0).standard_normal((6, 3))
    W, signs = symmetric_basis(F @ F.T, 1e-10)
    assert W.shape == (6, 3)
    assert np.allclose(W.T @ F @ F.T @ W, np.eye(3))
    E = (F * [1, -2, 3]) @ F.T
    W, signs = symmetric_basis(E, 1e-10)
    assert np.allclose(W.T @ E @ W, np.diag(signs))
    assert sorted(signs) == [-1, 1, 1]


@given(rank=st.integers(0, 5), k=st.integers(1, 12), scale=st.sampled_from([1.0, 1e-8, 1e8]))
def test_pivoted_cholesky_finds_the_rank(rank, k, scale):
    F = scale * np.random.default_rng(k).standard_normal((k, rank))
    R = F @ F.T
    features = pivoted_cholesky(R.diagonal(), lambda j: R[:, j])
    assert features.shape == (k, min(rank, k))
    assert np.allclose(features @ features.T, R, atol=1e-9 * scale**2)


def test_too_large_is_refused_with_size_and_advice(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 2**30)
    with pytest.raises(
        MemoryError, match=r"needs 2\.00 GiB, but only 1\.00 GiB are free\. Do this"
    ):
        require_memory(2**31, what="It", advice="Do this.")
    require_memory(2**29, what="It", advice="Do this.")
    monkeypatch.setattr(memory, "available_bytes", lambda: 0)
    require_memory(memory.SMALL, what="It", advice="Do this.")
    with pytest.raises(MemoryError, match=r"needs 16\.00 MiB, but only 0 bytes are free"):
        require_memory(memory.SMALL + 1, what="It", advice="Do this.")


class Machine:
    """A tree of control groups, in files."""

    def __init__(self, folder, version, mounted=""):
        self.version, self.mount = version, folder / "cgroup"
        self.files = ("memory.max", "memory.current")
        self.kind, self.options, self.group = "cgroup2", "rw", "0::"
        if version == 1:
            self.files = ("memory.limit_in_bytes", "memory.usage_in_bytes")
            self.kind, self.options, self.group = "cgroup", "rw,memory", "4:memory:"
        self.process = folder / "self"
        self.process.mkdir()
        (self.process / "mountinfo").write_text(
            "22 1 8:1 / / rw - ext4 /dev/sda rw\n"
            "29 22 0:26 / /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu\n"
            f"30 22 0:26 {mounted or '/'} {self.mount} rw shared:4 - {self.kind} x {self.options}\n"
        )
        (self.mount).mkdir()

    def enter(self, path):
        (self.process / "cgroup").write_text(f"7:cpu,cpuacct:/elsewhere\n{self.group}{path}\n")

    def limit(self, path, limit, usage, inactive=0):
        folder = self.mount / path
        folder.mkdir(parents=True, exist_ok=True)
        for name, value in zip(self.files, (limit, usage), strict=True):
            (folder / name).write_text(f"{value}\n")
        name = "inactive_file" if self.version == 2 else "total_inactive_file"
        (folder / "memory.stat").write_text(f"anon 900\ninactive_file 0\n{name} {inactive}\n")


@pytest.mark.parametrize("version", [1, 2])
def test_available_memory_heeds_every_control_group_above_the_process(
    version, tmp_path, monkeypatch
):
    machine, unlimited = Machine(tmp_path, version), {1: 2**63 - 4096, 2: "max"}[version]
    monkeypatch.setattr(memory, "_PROCESS", machine.process)
    machine.enter("/slurm/job 7/step")
    assert memory.available_bytes() > 2**20
    machine.limit(".", unlimited, 10**9)
    machine.limit("slurm", 90_000, 20_000)
    machine.limit("slurm/job 7", 5000, 1500, inactive=500)
    machine.limit("slurm/job 7/step", unlimited, 1000)
    machine.limit("slurm/job 8", 10, 10)  # somebody else's
    assert memory.available_bytes() == 4000
    machine.limit("slurm/job 7/step", 3000, 1000)
    assert memory.available_bytes() == 2000
    machine.limit("slurm", 90_000, 89_000)
    assert memory.available_bytes() == 1000
    machine.limit("slurm", 90_000, 99_000)
    assert memory.available_bytes() == 0


def test_available_memory_heeds_the_amount_above_which_processes_are_slowed(tmp_path, monkeypatch):
    machine = Machine(tmp_path, 2)
    monkeypatch.setattr(memory, "_PROCESS", machine.process)
    machine.enter("/user.slice")
    machine.limit("user.slice", 9000, 1000)
    high = machine.mount / "user.slice" / "memory.high"
    high.write_text("max\n")
    assert memory.available_bytes() == 8000
    high.write_text("5000\n")
    assert memory.available_bytes() == 4000
    machine.limit("user.slice", "max", 1000)
    assert memory.available_bytes() == 4000


@pytest.mark.parametrize("version", [1, 2])
@pytest.mark.parametrize("path", ["/docker/abc/inner", "/../../inner", "/inner"])
def test_available_memory_heeds_the_container_that_a_process_is_in(
    version, path, tmp_path, monkeypatch
):
    """A container may see its own group as the root, or where that is on the machine."""
    machine = Machine(tmp_path, version, mounted="/docker/abc")
    monkeypatch.setattr(memory, "_PROCESS", machine.process)
    machine.enter(path)
    machine.limit(".", 5000, 1000)
    machine.limit("inner", 3000, 1000)
    assert memory.available_bytes() == (2000 if path == "/docker/abc/inner" else 4000)


def test_available_memory_without_control_groups(tmp_path, monkeypatch):
    monkeypatch.setattr(memory, "_PROCESS", tmp_path)
    assert memory.available_bytes() > 2**20


ON_LINUX = pytest.mark.skipif(
    sys.platform != "linux", reason="other systems do not heed limits on addresses"
)

LIMITED = """
import resource, sys, warnings
import numpy as np, psutil
from meanparity import ParityKernelRidge
X, s = np.random.default_rng(0).normal(size=(6000, 5)), np.arange(6000) % 2
room = psutil.Process().memory_info().vms + int(sys.argv[2]) * 2**20
resource.setrlimit(resource.RLIMIT_AS, (room, room))
warnings.simplefilter("ignore")
try:
    model = ParityKernelRidge(kernel="rbf", solver=sys.argv[1])
    print(model.fit(X, X[:, 0], sensitive_features=s).solver_info_)
except MemoryError as error:
    print(error)
"""


@ON_LINUX
@pytest.mark.parametrize(
    ("solver", "room", "expected"),
    [
        ("dense", 400, "kernel matrix of 6,000 rows needs 274.66 MiB, but only"),
        ("dense", 1500, "SolverInfo"),
        ("auto", 500, "does not fit into"),
        ("auto", 250, "Choosing 500 landmarks needs 45.78 MiB, but only 0 bytes are free"),
    ],
)
def test_a_limit_on_addresses_leads_to_advice(solver, room, expected):
    done = subprocess.run(
        [sys.executable, "-c", LIMITED, solver, str(room)],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
    )
    assert expected in done.stdout


TIGHT = """
import resource, sys, warnings
import numpy as np, psutil
from sklearn.linear_model import Ridge
from meanparity import (
    Nystrom, ParityAdjusted, ParityKernelClassifier, ParityKernelRegressor, ParityKernelRidge,
    ParityKernelRidgeCV, ParityRidge, ParityRidgeCV,
)
from meanparity.baselines import BarycenterRegressor
warnings.simplefilter("ignore")
X = np.random.default_rng(0).normal(size=(20_000, 300))
s, rows = np.arange(20_000) % 2, slice(2000)
models = [
    ParityRidge(), ParityRidgeCV(), BarycenterRegressor(), ParityAdjusted(Ridge()),
    ParityKernelRidge(kernel="rbf", solver="dense"), ParityKernelRidgeCV(kernel="rbf"),
    ParityKernelRidge(kernel="rbf", solver="conjugate_gradient"),
    ParityKernelRidge(kernel="rbf", solver=Nystrom(n_components=50)),
    ParityKernelRegressor(kernel="rbf", loss="huber"), ParityKernelClassifier(kernel="rbf"),
]
room = psutil.Process().memory_info().vms + 60 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (room, room))
calls = [lambda: ParityRidge().fit(X, X[:, 0], sensitive_features=s)]
for model in models:
    y = X[rows, 0] > 0 if isinstance(model, ParityKernelClassifier) else X[rows, 0]
    calls.append(lambda m=model, y=y: m.fit(X[rows], y, sensitive_features=s[rows]))
calls.append(lambda: models[7].partial_fit(X[rows], X[rows, 0], sensitive_features=s[rows]))
calls.append(lambda: models[0].fit("rows.parquet", "y", sensitive_features="s"))
for call in calls:
    try:
        call()
    except MemoryError as error:
        print(error)
"""


@ON_LINUX
@pytest.mark.parametrize("threads", ["1", "2"])
def test_where_addresses_are_too_few_for_the_blas_every_fit_is_refused(threads):
    """OpenBLAS would end the process, or try to allocate its buffers for ever; so would PyArrow."""
    done = subprocess.run(
        [sys.executable, "-c", TIGHT],
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
        env={**os.environ, "OPENBLAS_NUM_THREADS": threads},
    )
    *fits, file = done.stdout.splitlines()
    assert len(fits) == 12
    for refused in (*fits, file):
        assert "The limit on addresses (ulimit -v) leaves" in refused
        assert refused.endswith("MiB, although they use less memory. Raise the limit.")
    assert all("their threads need 128.00 MiB" in refused for refused in fits)
    assert "their threads need 128.00 MiB" not in file


BEFORE_PREDICT = """
import resource, psutil
import numpy as np
from meanparity import ParityRidge
X = np.random.default_rng(0).normal(size=(50, 2))
model = ParityRidge().fit(X, X[:, 0], sensitive_features=np.arange(50) % 2)
room = psutil.Process().memory_info().vms + 60 * 2**20
resource.setrlimit(resource.RLIMIT_AS, (room, room))
model.predict(X)
"""


@ON_LINUX
def test_where_addresses_are_too_few_for_the_blas_predict_is_refused():
    done = subprocess.run(
        [sys.executable, "-c", BEFORE_PREDICT],
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )
    last = done.stderr.splitlines()[-1]
    assert last.startswith("MemoryError: The limit on addresses (ulimit -v) leaves")


@pytest.mark.parametrize(
    ("count", "text"), [(12, "12 bytes"), (2048, "2.00 KiB"), (3 * 2**40, "3.00 TiB")]
)
def test_bytes_for_people(count, text):
    assert memory.format_bytes(count) == text


@pytest.mark.parametrize("n", [5, 300, 1300])
def test_a_scaled_matrix_is_factored_and_the_matrix_stays(n):
    rng = np.random.default_rng(0)
    A, root = rng.standard_normal((n, n)), rng.uniform(0, 2, n)
    root[::3] = 0.0
    K = A @ A.T / n
    matrix = SymmetricMatrix.from_upper(K.copy())
    factor = matrix.cholesky(0.5, Adjustment(root=root))
    Z = rng.standard_normal((n, 2))
    expected = np.linalg.solve(root[:, None] * K * root + 0.5 * np.eye(n), Z)
    assert np.allclose(factor.solve(Z), expected, rtol=0, atol=1e-11)
    assert np.allclose(matrix.times(Z), K @ Z, rtol=0, atol=1e-11)


@pytest.mark.parametrize("rank", [1, 7, 40])
def test_features_of_a_whole_matrix_and_of_its_columns(rank):
    F = np.random.default_rng(0).standard_normal((40, rank))
    R = F @ F.T
    found = [
        dense_features(R.copy(), tolerance=1e-12),
        pivoted_cholesky(R.diagonal(), lambda j: R[:, j], tolerance=1e-12),
    ]
    for features in found:
        assert features.shape == (40, rank)
        assert np.allclose(features @ features.T, R, rtol=0, atol=1e-9)
    few = pivoted_cholesky(R.diagonal(), lambda j: R[:, j], max_rank=1)
    assert few.shape == (40, 1)


@pytest.mark.parametrize("n", [3, 255, 256, 300])
@pytest.mark.parametrize("columns", [1, 8, 9])
def test_products_with_few_and_many_columns(n, columns):
    rng = np.random.default_rng(n)
    A, Z = rng.normal(size=(n, n)), rng.normal(size=(n, columns))
    expected = (np.triu(A) + np.triu(A, 1).T) @ Z
    found = SymmetricMatrix.from_upper(A).times(Z)
    assert np.abs(found - expected).max() <= 1e-12 * n
    assert found.flags.c_contiguous
