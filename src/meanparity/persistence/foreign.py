"""Objects of other libraries in model files, from a list of types, by skops, which runs no code.

An object of scikit-learn that contains one of ours, such as a pipeline or a search, is written as
its attributes, so that ours keep their explicit state.
"""

from __future__ import annotations

import io
import json
import zipfile
from importlib import import_module
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.model_selection._search import BaseSearchCV

from meanparity.files import read_array, unpacked_bytes
from meanparity.linalg.memory import require_memory
from meanparity.state import Reader, Writer, is_stored

_SKRUB = (
    "_apply_to_each_col.ApplyToEachCol",
    "_check_input.CheckInputDataFrame",
    "_clean_categories.CleanCategories",
    "_clean_null_strings.CleanNullStrings",
    "_dataframe._common.is_any_date",
    "_dataframe._common.is_categorical",
    "_dataframe._common.is_numeric",
    "_datetime_encoder.DatetimeEncoder",
    "_drop_uninformative.DropUninformative",
    "_duration_to_float.DurationToFloat",
    "_string_encoder.StringEncoder",
    "_table_vectorizer.PassThrough",
    "_table_vectorizer.ShortReprDict",
    "_table_vectorizer.TableVectorizer",
    "_table_vectorizer._created_by_predicate",
    "_to_datetime.ToDatetime",
    "_to_float.ToFloat",
    "_to_str.ToStr",
    "selectors._base.All",
    "selectors._base.And",
    "selectors._base.Cols",
    "selectors._base.Filter",
    "selectors._base.Sub",
    "selectors._selectors._cardinality_below",
)
_KERNELS = (
    "CompoundKernel",
    "ConstantKernel",
    "DotProduct",
    "ExpSineSquared",
    "Exponentiation",
    "Hyperparameter",
    "Matern",
    "Product",
    "RBF",
    "RationalQuadratic",
    "Sum",
    "WhiteKernel",
)
_SPLITTERS = (
    "GroupKFold",
    "GroupShuffleSplit",
    "KFold",
    "LeaveOneGroupOut",
    "LeaveOneOut",
    "LeavePGroupsOut",
    "LeavePOut",
    "PredefinedSplit",
    "RepeatedKFold",
    "RepeatedStratifiedKFold",
    "ShuffleSplit",
    "StratifiedGroupKFold",
    "StratifiedKFold",
    "StratifiedShuffleSplit",
    "TimeSeriesSplit",
)
# parts of regressors; `check_parts` checks the numbers in those that are read without a check
_PARTS = (
    "_loss.loss.HalfTweedieLoss",
    "_loss.loss.HalfTweedieLossIdentity",
    "ensemble._hist_gradient_boosting.predictor.TreePredictor",
    "metrics._dist_metrics.ChebyshevDistance64",
    "metrics._dist_metrics.EuclideanDistance64",
    "metrics._dist_metrics.ManhattanDistance64",
    "neighbors._ball_tree.BallTree",
    "neighbors._kd_tree.KDTree",
    "neural_network._stochastic_optimizers.AdamOptimizer",
    "neural_network._stochastic_optimizers.SGDOptimizer",
    "tree._tree.Tree",
    "utils._bunch.Bunch",
)

TRUSTED = (
    *(f"skrub.{name}" for name in _SKRUB),
    *(f"sklearn.gaussian_process.kernels.{name}" for name in _KERNELS),
    *(f"sklearn.model_selection._split.{name}" for name in _SPLITTERS),
    *(f"sklearn.{name}" for name in _PARTS),
    "numpy.dtype",
    "pandas.DatetimeTZDtype",
    "zoneinfo.ZoneInfo",
    "collections.UserDict",
)


def write_foreign(writer: Writer, value: Any) -> Any:
    """An object of another library as JSON and arrays."""
    if isinstance(value, BaseSearchCV):
        raise ValueError(f"A {type(value).__name__} cannot be saved. Save its best_estimator_.")
    if _contains_ours(value, set()):
        path = _path(value)
        if not isinstance(value, BaseEstimator) or path not in _containers():
            raise ValueError(_refusal([path]))
        state = {name: writer.write(part) for name, part in vars(value).items()}
        return {"container": path, "state": state}
    skops = _skops()
    try:
        data = skops.dumps(value, compression=zipfile.ZIP_STORED)
    except Exception as error:
        raise ValueError(_refusal([_path(value)])) from error
    unknown = _untrusted(data)
    if unknown:
        raise ValueError(_refusal(unknown))
    return {"skops": writer.array(np.frombuffer(data, dtype=np.uint8))}


def read_foreign(reader: Reader, node: dict[str, Any]) -> Any:
    """The object that `write_foreign` wrote; types that are not on the list are refused."""
    if "skops" in node:
        data = reader.array(node["skops"]).tobytes()
        _check_archive(data)
        unknown = _untrusted(data)
        if unknown:
            raise ValueError(f"it has parts of types that are not trusted: {', '.join(unknown)}")
        from meanparity.persistence.parts import check_parts

        value = _skops().loads(data, trusted=list(TRUSTED))
        check_parts(value)
        return value
    if node["container"] not in _containers():
        raise ValueError(f"it has parts of types that are not trusted: {node['container']}")
    module, name = node["container"].rsplit(".", 1)
    cls = getattr(import_module(module), name)
    value = cls.__new__(cls)
    value.__dict__.update({name: reader.read(part) for name, part in node["state"].items()})
    return value


def _check_archive(data: bytes) -> None:
    """Refuse an archive of skops that takes more memory than there is.

    Its parts are stored as they are, and skops reads each part again for every object that refers
    to it, so each may belong to one object only.
    """
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        needed = unpacked_bytes(archive, text="schema.json")
        for member in archive.infolist():
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"its part {member.filename!r} is compressed")
            if member.filename.endswith(".npy"):
                read_array(archive, member)  # its shape is as large as it is
            elif member.filename.endswith(".npz"):
                with zipfile.ZipFile(archive.open(member)) as inside:
                    needed += unpacked_bytes(inside, text="")
        require_memory(needed, what="A part of the model", advice="Do not load this file.")
        owners: dict[str, set[Any]] = {}
        nodes = [json.loads(archive.read("schema.json"))]
        while nodes:
            node = nodes.pop()
            if isinstance(node, dict) and isinstance(node.get("file"), str):
                owners.setdefault(node["file"], set()).add(node.get("__id__"))
            nodes += node.values() if isinstance(node, dict) else node
            nodes = [part for part in nodes if isinstance(part, dict | list)]
    shared = [name for name, found in owners.items() if len(found) > 1 or found == {None}]
    if shared:
        raise ValueError(f"its part {shared[0]!r} belongs to several objects")


def _refusal(types: list[str]) -> str:
    message = (
        "The model has parts of a type that is not on the list of those that files can hold: "
        f"{', '.join(types)}."
    )
    if all(name.startswith(("sklearn.", "skrub.")) for name in types):
        return message
    return (
        f"{message} Functions cannot be saved. Classes of your own can be, with the decorator "
        "meanparity.persistence.stored."
    )


def _path(value: Any) -> str:
    return f"{type(value).__module__}.{type(value).__qualname__}"


def _contains_ours(value: Any, seen: set[int]) -> bool:
    """Whether an object of ours is among the parts of an object."""
    if is_stored(value):
        return True
    if id(value) in seen:
        return False
    seen.add(id(value))
    if isinstance(value, dict):
        parts = list(value.values())
    elif isinstance(value, list | tuple):
        parts = list(value)
    else:
        parts = list(vars(value).values()) if isinstance(value, BaseEstimator) else []
    return any(_contains_ours(part, seen) for part in parts)


def _containers() -> set[str]:
    """The estimators of scikit-learn that skops trusts."""
    _skops()
    from skops.io._trusted_types import SKLEARN_ESTIMATOR_TYPE_NAMES

    return set(SKLEARN_ESTIMATOR_TYPE_NAMES)


def _untrusted(data: bytes) -> list[str]:
    found: list[str] = _skops().get_untrusted_types(data=data)
    return sorted(set(found) - set(TRUSTED))


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise ImportError(
            "Files of models with parts of other libraries need skops: pip install "
            "'meanparity[cli]'."
        ) from error
    return skops.io
