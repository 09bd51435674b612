"""Feature maps: origins, whitening, and how sums of one map become sums of another."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import sparse

from meanparity.kernels import Kernel
from meanparity.solvers.features import KernelFeatures, LinearFeatures


def at(landmarks, spec=None):
    return KernelFeatures.from_landmarks(spec or Kernel("rbf", gamma=0.5), None, landmarks, float)


@pytest.fixture
def landmarks():
    return np.random.default_rng(0).standard_normal((6, 2))


def test_the_origin_is_the_mean_of_columns_far_from_zero():
    near = np.array([[1.0, 5.0], [-1.0, -5.0]])
    one = np.array([1.0, 0.0])
    for X in (near, near + one, near - one):  # up to a standard deviation
        assert LinearFeatures.near(X, centred=True).origin.tolist() == [0.0, 0.0]
    far = near + np.array([1.001, 0.5])
    assert LinearFeatures.near(far, centred=True).origin.tolist() == [1.001, 0.5]
    assert LinearFeatures.near(far, centred=False).origin.tolist() == [0.0, 0.0]
    assert LinearFeatures.near(sparse.csr_array(far), centred=True).origin.tolist() == [0.0, 0.0]


def test_the_origin_is_that_of_the_first_rows():
    X = np.vstack([np.full((4096, 1), 7.0), np.full((10, 1), 1e6)])
    assert LinearFeatures.near(X, centred=True).origin.tolist() == [7.0]


@pytest.mark.parametrize("origin", [[0.0, 0.0], [2.0, -3.0]])
@pytest.mark.parametrize("convert", [np.asarray, sparse.csr_array])
def test_columns_are_evaluated_about_their_origin(origin, convert):
    X, coef = np.random.default_rng(1).standard_normal((5, 2)), np.array([[1.0, 2.0], [0.5, -1.0]])
    features = LinearFeatures(np.array(origin))
    assert features.raw(convert(X)) == pytest.approx(X - origin)
    assert features.evaluate(convert(X), coef) == pytest.approx((X - origin) @ coef)
    assert (features.width, repr(features)) == (2, "2 columns")


def test_columns_change_by_the_difference_of_their_origins():
    mine, other = LinearFeatures(np.array([3.0, 1.0])), LinearFeatures(np.array([1.0, 5.0]))
    change = mine.change_from(other)
    assert (change.shift.tolist(), change.order, change.turn) == ([2.0, -4.0], None, None)
    with pytest.raises(ValueError, match="statistics of 2 columns, the others of 3 columns"):
        mine.change_from(LinearFeatures(np.zeros(3)))
    with pytest.raises(ValueError, match="the others of a kernel at 3 landmarks"):
        mine.change_from(at(np.eye(3)))


def test_the_same_landmarks_do_not_change(landmarks):
    mine = at(landmarks)
    for other in (mine, at(landmarks.copy())):
        change = mine.change_from(other)
        assert (change.shift.tolist(), change.order, change.turn) == ([0.0] * 6, None, None)


def test_features_of_another_whitening_are_turned(landmarks):
    mine, X = at(landmarks), np.random.default_rng(2).standard_normal((4, 2))
    whitening = mine.whitening @ np.diag([1.0, -1, 1, 1, -1, 1])
    other = KernelFeatures(mine.landmarks, mine.spec, None, whitening, False)
    change = mine.change_from(other)
    assert (change.shift.tolist(), change.order) == ([0.0] * 6, None)
    theirs, ours = (f.raw(X) @ f.whitening for f in (other, mine))
    assert theirs @ change.turn.T == pytest.approx(ours)


def test_landmarks_in_another_order_are_put_in_place(landmarks):
    mine, X = at(landmarks), np.random.default_rng(2).standard_normal((4, 2))
    order = [2, 0, 1, 5, 3, 4]
    K = mine.kernel.block(mine.landmarks[order])[:, order]
    whitening = np.ascontiguousarray(np.linalg.inv(np.linalg.cholesky(K)).T)
    other = KernelFeatures(mine.landmarks[order], mine.spec, None, whitening, False)
    change = mine.change_from(other)
    assert not change.shift.any()
    assert np.array_equal(other.landmarks[change.order], mine.landmarks)
    theirs, ours = (f.raw(X) @ f.whitening for f in (other, mine))
    assert theirs @ change.turn.T == pytest.approx(ours)
    assert other.raw(X)[:, change.order] == pytest.approx(mine.raw(X))


def test_other_landmarks_and_kernels_do_not_add_up(landmarks):
    moved = landmarks.copy()
    moved[4, 1] += 0.1  # one of them
    others = [
        at(moved),
        at(landmarks[:5]),
        at(landmarks, Kernel("rbf", gamma=0.6)),
        LinearFeatures(np.zeros(6)),
    ]
    for other in others:
        with pytest.raises(ValueError, match="same kernel and landmarks add up"):
            at(landmarks).change_from(other)


def test_landmarks_among_points(landmarks):
    mine = at(landmarks)
    assert mine.is_among(np.vstack([np.ones(2), landmarks]))
    assert mine.is_among(sparse.csr_array(landmarks[::-1]))
    assert not mine.is_among(landmarks[1:])


def test_whitened_features_have_the_kernel_as_their_products(landmarks):
    twice = np.vstack([landmarks, landmarks[:2]])  # two of eight depend on the others
    mine = at(twice)
    assert (mine.width, repr(mine)) == (6, "a kernel at 6 landmarks")
    phi = mine.raw(landmarks) @ mine.whitening
    assert phi @ phi.T == pytest.approx(mine.spec.bind(landmarks).block(landmarks), abs=1e-9)
    assert np.array_equal(mine.whitening, np.triu(mine.whitening))
    with pytest.raises(ValueError, match="zero at all landmarks"):
        at(np.zeros((3, 2)), Kernel("linear"))


def test_precision_is_single_only_where_landmarks_were_chosen_for_it(landmarks):
    single = KernelFeatures.from_landmarks(
        Kernel("rbf", gamma=0.5), None, landmarks.astype(np.float32), np.float32
    )
    assert single.precision(np.float32) is np.float32
    assert at(landmarks).precision(np.float32) is float
    assert LinearFeatures(np.zeros(2)).precision(np.float32) is float
