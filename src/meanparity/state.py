"""Objects as explicit state, for files: JSON and arrays, and a name for every kind of object.

A file refers to a kind by the name that `stored` gives it, never by the path of a class, so classes
can be renamed and moved. The state of a dataclass is its fields, the state of an estimator its
parameters and its fitted attributes. Renaming one of these changes the format: raise
`meanparity.files.FORMAT`, and convert older states in `Reader`.

In JSON, text, booleans, None, finite numbers and lists stand for themselves. Everything else is an
object with one of these keys:

=========== =======================================================================
``float``   a number that is not finite, as text
``tuple``   its items
``dict``    pairs of keys and values
``array``   the name of an array in the file
``scalar``  the same, for a scalar of NumPy
``objects`` the items of an array of objects, with its ``shape``
``sparse``  a CSR matrix or array: ``data``, ``indices``, ``indptr``, ``shape``
``kind``    an object of ours: its name, an ``id``, and its ``state``
``same``    the ``id`` of an object that came before
``foreign`` what another library's object was turned into; see `meanparity.persistence`
=========== =======================================================================
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields, is_dataclass
from inspect import signature
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import BaseEstimator

T = TypeVar("T")
# parameters that only fit needs, for which classes have defaults
FITS_WITH = ("constraint", "solver", "cv", "scoring", "alphas", "gammas", "sensitive_kernel")
_IDENTIFIED = {"array", "objects", "sparse", "kind", "foreign"}  # what is written only once
_SPARSE = {"csr_matrix": sparse.csr_matrix, "csr_array": sparse.csr_array}


@dataclass(frozen=True)
class Kind:
    """A kind of object that files can hold.

    Parameters
    ----------
    name : str
        Its name in files.
    cls : type
        Its class.
    predicts_with : tuple of str or None
        The fitted attributes that an estimator needs in order to predict.
    anonymous : callable or None
        Turns an object into one that says no more about people than predicting needs.
    left_out : tuple of str
        Fields of a dataclass that files do not hold; the class has defaults for them.
    any_number : tuple of str
        Fields that may hold numbers which are not finite, such as a limit of infinity.
    """

    name: str
    cls: type
    predicts_with: tuple[str, ...] | None = None
    anonymous: Callable[[Any], Any] | None = None
    left_out: tuple[str, ...] = ()
    any_number: tuple[str, ...] = ()

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields of a dataclass that files hold."""
        own = (f.name for f in fields(self.cls) if f.init)
        return tuple(name for name in own if name not in self.left_out)

    def state(self, value: Any, *, minimal: bool = False) -> dict[str, Any]:
        """Everything that makes up an object; if `minimal`, what it needs in order to predict."""
        if minimal and self.anonymous is not None:
            value = self.anonymous(value)
        if not issubclass(self.cls, BaseEstimator):
            return {name: getattr(value, name) for name in self.fields}
        parameters = value.get_params(deep=False)
        fitted = {name: v for name, v in vars(value).items() if name not in parameters}
        if minimal and self.predicts_with is not None:
            fitted = {name: v for name, v in fitted.items() if name in self.predicts_with}
            defaults = signature(self.cls).parameters
            parameters |= {n: defaults[n].default for n in FITS_WITH if n in parameters}
        return {"parameters": parameters, "fitted": fitted}

    def restore(self, state: dict[str, Any]) -> Any:
        """The object with this state; numbers that are not finite are refused where none can be.

        A kind of somebody else's (with a slash in its name) may hold any numbers. Parameters of
        estimators may be infinite; what they predict with may not.
        """
        if not issubclass(self.cls, BaseEstimator):
            self._check_finite(state)
            return self.cls(**state)
        value, needed = self.cls(**state["parameters"]), self.predicts_with or ()
        self._check_finite({name: v for name, v in state["fitted"].items() if name in needed})
        for name, fitted in state["fitted"].items():
            setattr(value, name, fitted)
        return value

    def _check_finite(self, parts: dict[str, Any]) -> None:
        for name, value in parts.items():
            if "/" not in self.name and name not in self.any_number and not _is_finite(value):
                raise ValueError(
                    f"the part {name!r} of its {self.name} has numbers that are not finite"
                )


KINDS: dict[str, Kind] = {}
_OF_CLASS: dict[type, Kind] = {}


def stored(
    name: str,
    *,
    predicts_with: tuple[str, ...] | None = None,
    anonymous: Callable[[Any], Any] | None = None,
    left_out: tuple[str, ...] = (),
    any_number: tuple[str, ...] = (),
) -> Callable[[type[T]], type[T]]:
    """Let files hold the objects of a class, a dataclass or an estimator.

    Parameters
    ----------
    name : str
        The name of the class in files, which must never change. Names without a slash belong to
        this package; take one like "mine/Steps".
    predicts_with, anonymous, left_out, any_number
        See `Kind`. An estimator with `predict` needs `predicts_with`.

    Returns
    -------
    function
        A decorator of classes.

    See Also
    --------
    save : Writes objects of the class.
    """

    def register(cls: type[T]) -> type[T]:
        estimator = issubclass(cls, BaseEstimator)
        if not estimator and not is_dataclass(cls):
            raise TypeError(f"{cls} is neither a dataclass nor an estimator.")
        if "/" not in name and cls.__module__.split(".")[0] != __name__.split(".")[0]:
            raise ValueError(
                f"The name {name!r} has no slash, and such names belong to meanparity. Pass one "
                f"like 'mine/{name}'."
            )
        if name in KINDS and not ("/" in name and _same_place(KINDS[name].cls, cls)):
            raise ValueError(f"The name {name!r} is that of {KINDS[name].cls}. Pass another.")
        if estimator and hasattr(cls, "predict") and predicts_with is None:
            raise TypeError(f"{cls} predicts. Pass predicts_with, the attributes it predicts with.")
        KINDS[name] = _OF_CLASS[cls] = Kind(
            name, cls, predicts_with, anonymous, left_out, any_number
        )
        return cls

    return register


def _is_finite(value: Any) -> bool:
    """Whether all numbers in a value are finite; other objects, and labels, are not looked at."""
    if sparse.issparse(value):
        return _is_finite(value.data)
    if isinstance(value, np.ndarray):
        return value.dtype.kind not in "fc" or bool(np.isfinite(value).all())
    if isinstance(value, float | np.floating):
        return bool(np.isfinite(value))
    if isinstance(value, dict):
        return all(map(_is_finite, value.values()))
    return not isinstance(value, list | tuple) or all(map(_is_finite, value))


def _same_place(first: type, second: type) -> bool:
    """Whether a class is a new version of another, as when a cell of a notebook runs again."""
    return (first.__module__, first.__qualname__) == (second.__module__, second.__qualname__)


def is_stored(value: Any) -> bool:
    """Whether an object is of a kind that files can hold."""
    return type(value) in _OF_CLASS


class Writer:
    """Turns objects into JSON and arrays.

    Parameters
    ----------
    foreign : callable, optional
        ``foreign(writer, value)`` turns an object of another library into JSON; without it, such
        objects are refused.
    minimal : bool
        Whether only what predicting needs is written.

    Attributes
    ----------
    arrays : dict
        The arrays, by name.

    Examples
    --------
    >>> writer = Writer()
    >>> writer.write((1, np.arange(2.0)))
    {'tuple': [1, {'array': '0', 'id': 0}]}
    >>> Reader(writer.arrays).read({'tuple': [1, {'array': '0', 'id': 0}]})
    (1, array([0., 1.]))
    """

    def __init__(
        self, foreign: Callable[[Writer, Any], Any] | None = None, *, minimal: bool = False
    ) -> None:
        self.arrays: dict[str, NDArray[Any]] = {}
        self._foreign = foreign
        self._minimal = minimal
        self._seen: dict[int, tuple[Any, Any]] = {}  # objects are kept, or ids would be used again

    def write(self, value: Any) -> Any:
        """An object as JSON; what it consists of is written once."""
        if value is None or isinstance(value, bool) or type(value) in (int, str):
            return value
        if type(value) is float:
            return value if math.isfinite(value) else {"float": repr(value)}
        if type(value) is list:
            return [self.write(item) for item in value]
        if type(value) is tuple:
            return {"tuple": [self.write(item) for item in value]}
        if type(value) is dict:
            return {"dict": [[self.write(key), self.write(v)] for key, v in value.items()]}
        if isinstance(value, np.generic):
            return {"scalar": self.array(np.asarray(value))}
        if id(value) not in self._seen:
            self._seen[id(value)] = value, {"same": len(self._seen)}
            return self._write_once(value, len(self._seen) - 1)
        return self._seen[id(value)][1]

    @property
    def objects(self) -> list[Any]:
        """The objects that were written so far."""
        return [value for value, _ in self._seen.values()]

    def array(self, values: NDArray[Any]) -> str:
        """Add an array, and return its name."""
        name = str(len(self.arrays))
        self.arrays[name] = values
        return name

    def _write_once(self, value: Any, number: int) -> Any:
        if type(value) is np.ndarray:
            if value.dtype.kind == "O":
                items = [self.write(item) for item in value.ravel().tolist()]
                return {"objects": items, "shape": list(value.shape), "id": number}
            return {"array": self.array(value), "id": number}
        if sparse.issparse(value):
            rows = value.tocsr()
            parts = {n: self.array(getattr(rows, n)) for n in ("data", "indices", "indptr")}
            return {"sparse": type(rows).__name__, **parts, "shape": [*rows.shape], "id": number}
        kind = _OF_CLASS.get(type(value))
        if kind is not None:
            state = kind.state(value, minimal=self._minimal)
            written = {name: self.write(part) for name, part in state.items()}
            return {"kind": kind.name, "state": written, "id": number}
        if self._foreign is None:
            raise ValueError(
                f"{value!r} is of type {type(value).__name__}, which a file cannot hold. Pass "
                "text, numbers or booleans; kernels, constraints and losses by name."
            )
        return {"foreign": self._foreign(self, value), "id": number}


class Reader:
    """Turns JSON and arrays back into objects.

    Parameters
    ----------
    arrays : dict
        The arrays, by name.
    foreign : callable, optional
        ``foreign(reader, json)`` is the object that a `Writer`'s function turned into JSON.
    """

    def __init__(
        self,
        arrays: dict[str, NDArray[Any]],
        foreign: Callable[[Reader, Any], Any] | None = None,
    ) -> None:
        self._arrays = arrays
        self._taken: set[str] = set()
        self._foreign = foreign
        self._seen: dict[int, Any] = {}

    def array(self, name: str) -> NDArray[Any]:
        """One of the arrays, each of which belongs to one object, or many would take memory."""
        if name in self._taken:
            raise ValueError(f"its part {name!r} belongs to several objects")
        self._taken.add(name)
        return self._arrays[name]

    @property
    def objects(self) -> list[Any]:
        """The objects that were read so far."""
        return list(self._seen.values())

    def read(self, node: Any) -> Any:
        """The object that JSON stands for."""
        if isinstance(node, list):
            return [self.read(item) for item in node]
        if not isinstance(node, dict):
            return node
        if "same" in node:
            return self._seen[node["same"]]
        value = self._read_object(node)
        if "id" in node:
            # the others are part of what they are in: if a tuple of two had a name, then k tuples
            # could hold 2^k items, and hashing them would never end
            if not _IDENTIFIED & node.keys():
                raise ValueError(f"{sorted(node)} has an id")
            self._seen[node["id"]] = value
        return value

    def _read_object(self, node: dict[str, Any]) -> Any:
        if "array" in node:
            return self.array(node["array"])
        if "scalar" in node:
            return self.array(node["scalar"])[()]
        if "tuple" in node:
            return tuple(self.read(item) for item in node["tuple"])
        if "dict" in node:
            return {self.read(key): self.read(value) for key, value in node["dict"]}
        if "float" in node:
            return float(node["float"])
        if "objects" in node:
            items = np.empty(len(node["objects"]), dtype=object)
            items[:] = [self.read(item) for item in node["objects"]]
            return items.reshape(node["shape"])
        if "sparse" in node:
            parts = tuple(self.array(node[name]) for name in ("data", "indices", "indptr"))
            matrix = _SPARSE[node["sparse"]](parts, shape=tuple(node["shape"]))
            matrix.check_format(full_check=True)  # the products of a wrong one read outside it
            return matrix
        if "kind" in node:
            if node["kind"] not in KINDS:
                own = ": import the module that defines it first" if "/" in node["kind"] else ""
                raise ValueError(f"a {node['kind']!r} is not known{own}")
            state = {name: self.read(part) for name, part in node["state"].items()}
            return KINDS[node["kind"]].restore(state)
        if "foreign" in node and self._foreign is not None:
            return self._foreign(self, node["foreign"])
        raise ValueError(f"{sorted(node)} is not known")
