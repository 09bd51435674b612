"""Parts of regressors whose numbers are positions, which scikit-learn follows without a check.

A forged position would make `predict` read outside an array, so positions are checked when a file
is read.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.ensemble._forest import BaseForest
from sklearn.ensemble._gb import BaseGradientBoosting
from sklearn.ensemble._hist_gradient_boosting.common import PREDICTOR_RECORD_DTYPE
from sklearn.ensemble._hist_gradient_boosting.predictor import TreePredictor
from sklearn.neighbors import BallTree, KDTree
from sklearn.tree import BaseDecisionTree
from sklearn.tree._tree import Tree


def check_parts(value: Any) -> None:
    """Refuse an object of another library if positions in its parts lead outside them."""
    _check(value, None, set())


def _check(value: Any, owner: Any, seen: set[int]) -> None:
    """Check an object; `owner` is the estimator that reads the rows for the trees in it."""
    if isinstance(value, str | bytes | int | float | None) or id(value) in seen:
        return
    seen.add(id(value))
    parts: list[Any] = []
    if isinstance(value, Tree):
        _check_tree(value, owner)
    elif isinstance(value, TreePredictor):
        _check_predictor(value, owner)
    elif isinstance(value, KDTree | BallTree):
        _check_neighbours(value)
    elif sparse.issparse(value) and value.format in ("csr", "csc", "bsr"):
        value.check_format(full_check=True)
    elif isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple | set):
        parts = list(value)
    elif isinstance(value, np.ndarray):
        parts = value.ravel().tolist() if value.dtype.kind == "O" else []
    else:
        parts = list(vars(value).values()) if hasattr(value, "__dict__") else []
        # these read the rows once for all their trees
        ensemble = isinstance(owner, BaseForest | BaseGradientBoosting)
        if isinstance(value, BaseEstimator) and not (
            ensemble and isinstance(value, BaseDecisionTree)
        ):
            owner = value
    for part in parts:
        _check(part, owner, seen)


def _check_tree(tree: Any, owner: Any) -> None:
    """The nodes of a decision tree: children come after their parents, and columns exist."""
    count = tree.node_count
    _require(1 <= count <= tree.capacity)
    left, right = tree.children_left, tree.children_right
    inner, numbers = left != -1, np.arange(count)
    for children in (left, right):
        _require(((children > numbers) & (children < count))[inner].all())
    _require(((tree.feature >= 0) & (tree.feature < _width(owner)))[inner].all())


def _check_predictor(tree: Any, owner: Any) -> None:
    """The same for `HistGradientBoostingRegressor`, which files hold without categories."""
    _require(tree.nodes.dtype == PREDICTOR_RECORD_DTYPE and tree.nodes.ndim == 1)
    count, inner = len(tree.nodes), tree.nodes["is_leaf"] == 0
    _require(count >= 1)
    for name in ("left", "right"):
        children = tree.nodes[name].astype(np.int64)
        _require(((children > np.arange(count)) & (children < count))[inner].all())
    columns = tree.nodes["feature_idx"].astype(np.int64)[inner]
    _require(((columns >= 0) & (columns < _width(owner))).all())
    _require(not tree.nodes["is_categorical"].any())


def _check_neighbours(tree: Any) -> None:
    """A tree of neighbours: the one that its points give."""
    points, order, nodes, bounds, leaf_size, *_, metric, weights = tree.__getstate__()
    _require(leaf_size >= 1 and weights is None)
    same = type(tree)(points, leaf_size=leaf_size, metric=metric)
    for found, expected in zip((order, nodes, bounds), same.__getstate__()[1:4], strict=True):
        _require(np.array_equal(found, expected))
    _require(tree.__getstate__()[5:7] == same.__getstate__()[5:7])


def _width(owner: Any) -> int:
    return int(getattr(owner, "n_features_in_", 0))


def _require(condition: Any) -> None:
    if not condition:
        raise ValueError("it has a tree whose nodes lead outside it")
