from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import sparse
from sklearn.gaussian_process.kernels import RBF, Matern, WhiteKernel
from sklearn.metrics.pairwise import pairwise_kernels

from meanparity.kernels import Kernel
from meanparity.kernels.bound import BoundKernel, gram
from meanparity.kernels.spec import KERNEL_NAMES, resolve_kernel
from meanparity.linalg import memory

RNG = np.random.default_rng(0)
X = np.abs(RNG.standard_normal((20, 4)))
Z = np.abs(RNG.standard_normal((7, 4)))

NAMED = [
    ("linear", {}),
    ("rbf", {"gamma": 0.3}),
    ("rbf", {}),
    ("poly", {"degree": 3, "gamma": 0.2, "coef0": 0.5}),
    ("poly", {"degree": 1}),
    ("poly", {"degree": 7}),
    ("polynomial", {"degree": 2.5}),
    ("polynomial", {"degree": 2, "coef0": 0}),
    ("sigmoid", {"gamma": 0.1, "coef0": -0.3}),
    ("laplacian", {"gamma": 0.7}),
    ("cosine", {}),
    ("chi2", {"gamma": 0.4}),
    ("chi2", {}),
    ("additive_chi2", {}),
]


def test_every_name_of_scikit_learn_is_tested():
    assert {name for name, _ in NAMED} | {"precomputed"} == set(KERNEL_NAMES)


@pytest.mark.parametrize(("name", "params"), NAMED, ids=str)
def test_blocks_are_scikit_learns(name, params):
    bound = Kernel(name, **params).bind(X)
    expected = pairwise_kernels(Z, X, metric=name, **params)
    assert np.allclose(bound.block(Z), expected, rtol=1e-12, atol=1e-13)
    out = np.full((7, 30), np.nan)
    assert bound.block(Z, slice(5, 20), out=out[:, 3:18]) is not None
    assert np.allclose(out[:, 3:18], expected[:, 5:], rtol=1e-12, atol=1e-13)
    assert np.isnan(out[:, :3]).all()
    assert np.isnan(out[:, 18:]).all()
    coef = RNG.standard_normal((20, 2))
    assert np.allclose(bound.evaluate(Z, coef), expected @ coef)
    own = pairwise_kernels(X, metric=name, **params)
    assert np.allclose(bound.diagonal(X), own.diagonal())


@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "sigmoid", "cosine", "laplacian"])
def test_sparse_points(name):
    bound = Kernel(name).bind(sparse.csr_matrix(X))
    expected = Kernel(name).bind(X).block(Z)
    out = np.empty((7, 20))
    assert np.allclose(bound.block(sparse.csr_matrix(Z)), expected)
    assert np.allclose(bound.block(sparse.csr_matrix(Z), out=out), expected)


@pytest.mark.parametrize(
    "kernel", [RBF(0.7), Matern(1.5) + WhiteKernel(3.0), lambda a, b: float(a @ b) ** 2]
)
def test_objects_and_functions(kernel):
    bound = resolve_kernel(kernel).bind(X)
    assert np.allclose(bound.block(Z), pairwise_kernels(Z, X, metric=kernel))


def test_functions_take_parameters():
    bound = resolve_kernel(lambda a, b, power: float(a @ b) ** power, params={"power": 2}).bind(X)
    assert np.allclose(bound.block(Z), (Z @ X.T) ** 2)


def test_sums_and_products_on_columns():
    rbf, linear = Kernel("rbf", gamma=0.5, columns=[0, 2]), Kernel("linear", columns=[-1])
    first = pairwise_kernels(Z[:, [0, 2]], X[:, [0, 2]], metric="rbf", gamma=0.5)
    second = Z[:, [3]] @ X[:, [3]].T
    assert np.allclose((rbf + linear).bind(X).block(Z), first + second)
    assert np.allclose((rbf * linear).bind(X).block(Z), first * second)
    nested = (rbf + linear) * "linear" + RBF(1.0)
    expected = (first + second) * (Z @ X.T) + RBF(1.0)(Z, X)
    assert np.allclose(nested.bind(X).block(Z), expected)
    out = np.empty((7, 20))
    assert nested.bind(X).block(Z, out=out) is out
    assert np.allclose(out, expected)
    assert np.allclose(("linear" * rbf).bind(X).block(Z), first * (Z @ X.T))
    assert np.allclose(("linear" + rbf).bind(X).block(Z), first + (Z @ X.T))


def test_columns_by_name():
    kernel = Kernel("linear", columns=["b", "d"])
    expected = Z[:, [1, 3]] @ X[:, [1, 3]].T
    assert np.allclose(kernel.bind(X, ["a", "b", "c", "d"]).block(Z), expected)
    with pytest.raises(ValueError, match=r"looks at column 'b', but X has columns \['a'"):
        kernel.bind(X, ["a", "x", "c", "d"])
    with pytest.raises(ValueError, match="4 columns without names"):
        kernel.bind(X)
    with pytest.raises(ValueError, match="looks at column 4"):
        Kernel("linear", columns=[4]).bind(X)


def test_default_gamma_counts_the_kernels_own_columns():
    bound = Kernel("rbf", columns=[0, 1]).bind(X)
    assert np.allclose(bound.block(Z), pairwise_kernels(Z[:, :2], X[:, :2], metric="rbf"))


@given(n=st.integers(1, 600))
@pytest.mark.parametrize("name", ["linear", "rbf", "poly", "laplacian"])
def test_gram_is_the_upper_triangle(name, n):
    points = np.random.default_rng(n).standard_normal((n, 3))
    matrix = gram(Kernel(name).bind(points), points, advice="")
    expected = pairwise_kernels(points, metric=name)
    assert np.allclose(np.triu(matrix.array), np.triu(expected))
    assert np.allclose(matrix.diagonal, expected.diagonal())


class Recorder(BoundKernel):
    """Notes which blocks are asked for."""

    def __init__(self, n):
        self.n, self.asked = n, []

    def block(self, rows, points=slice(None), out=None):
        start, stop, _ = points.indices(self.n)
        self.asked.append((len(rows), start, stop))
        out = np.empty((len(rows), stop - start)) if out is None else out
        out[...] = 1.0
        return out


def test_only_the_triangle_is_evaluated_and_predictions_are_blocked():
    recorder = Recorder(1000)
    gram(recorder, np.zeros((1000, 1)), advice="")
    assert recorder.asked == [(256, 0, 1000), (256, 256, 1000), (256, 512, 1000), (232, 768, 1000)]
    recorder = Recorder(2**21)
    values = recorder.evaluate(np.zeros((5, 1)), np.ones((2**21, 1)))
    assert recorder.asked == [(2, 0, 2**21), (2, 0, 2**21), (1, 0, 2**21)]
    assert values.tolist() == [[2.0**21]] * 5


def test_gram_is_refused_before_it_is_allocated(monkeypatch):
    monkeypatch.setattr(memory, "available_bytes", lambda: 1000)
    points = np.zeros((1500, 1))  # what needs less than 16 MiB is never refused
    with pytest.raises(MemoryError, match=r"kernel matrix of 1,500 rows needs 17.17 MiB.*Buy more"):
        gram(Kernel("rbf").bind(points), points, advice="Buy more.")


@pytest.mark.parametrize("wrong", ["gaussian", "", 7, None, [1]])
def test_unknown_kernels(wrong):
    with pytest.raises((ValueError, TypeError), match="Pass one of additive_chi2, chi2, cosine"):
        resolve_kernel(wrong)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"gamma": -1.0}, r"gamma=-1.0 is not a finite number of 0 or more"),
        ({"gamma": "scale"}, r"gamma='scale' is not a finite number"),
        ({"gamma": np.nan}, r"gamma=nan is not a finite number"),
        ({"degree": None}, r"degree=None is not a finite number"),
        ({"degree": np.inf}, r"degree=inf is not a finite number"),
        ({"coef0": -np.inf}, r"coef0=-inf is not a finite number"),
        ({"columns": []}, "leaves no columns to look at"),
        ({"kernel": "precomputed", "columns": [0]}, "leaves no columns to look at"),
    ],
    ids=str,
)
def test_bad_parameters(settings, message):
    with pytest.raises(ValueError, match=message):
        Kernel(**{"kernel": "rbf", **settings})


def test_masks_are_no_positions():
    for columns in ([True, False], [1.5], [np.True_]):
        with pytest.raises(ValueError, match="A kernel looks at column"):
            Kernel("linear", columns=columns).bind(X)
    one = Kernel("linear", columns=1).bind(X)
    assert np.allclose(one.block(Z), Z[:, [1]] @ X[:, [1]].T)


def test_precomputed_values_are_not_written_to():
    K = X @ X.T
    before = K.copy()
    kernel = Kernel("precomputed") * Kernel("precomputed") + Kernel("precomputed")
    assert np.allclose(kernel.bind(K).block(K), before**2 + before)
    assert np.array_equal(K, before)
    with pytest.raises(ValueError, match=r"square kernel matrix .* shape \(20, 4\)"):
        kernel.bind(X)


def test_dense_points_and_sparse_rows():
    for name in ("linear", "rbf", "poly", "laplacian", "cosine"):
        bound = Kernel(name).bind(X)
        assert np.allclose(bound.block(sparse.csr_array(Z)), bound.block(Z)), name


def test_specifications_are_values():
    assert hash(Kernel("rbf")) == hash(Kernel("rbf"))
    assert Kernel("rbf", gamma=1.0) == Kernel("rbf", gamma=1.0)
    assert Kernel("linear").is_linear
    assert not Kernel("linear", columns=[0]).is_linear
    assert Kernel("rbf") + Kernel("linear") == Kernel("rbf") + Kernel("linear")
