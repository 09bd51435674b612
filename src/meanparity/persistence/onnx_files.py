"""Models as ONNX files, in double precision."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from meanparity._typing import FloatArray
from meanparity.data.fit_input import check_unfairness
from meanparity.files import write_atomically
from meanparity.persistence.plain import PlainModel

_OPSET = 17


def export_onnx(
    model: Any, path: str | os.PathLike[str], *, unfairness: float | None = None
) -> None:
    """Write a fitted model as ONNX.

    The input is ``X``, (n, d), and the output ``prediction``, (n, m).

    Parameters
    ----------
    model : fitted ParityRidge, ParityKernelRidge or CV estimator, or a Pipeline that ends with one
        The kernel has to be linear, rbf or poly; see `export_arrays` for pipelines.
    path : str or path
        Path of the file; an existing file is replaced.
    unfairness : float, optional
        Position on the dial, by default that of the model.

    See Also
    --------
    export_arrays : For NumPy alone.
    """
    try:
        import onnx
        from onnx import TensorProto, helper, numpy_helper
    except ImportError as error:
        raise ImportError("ONNX files need onnx: pip install 'meanparity[onnx]'.") from error
    plain = PlainModel.of(model)
    u = plain.unfairness if unfairness is None else check_unfairness(unfairness)
    constants: dict[str, FloatArray] = {
        "shift": plain.shift,
        "scale": plain.scale,
        "coef": (1 - u) * plain.fair + u * plain.free,
        "intercept": (1 - u) * plain.fair_intercept + u * plain.free_intercept,
    }
    nodes: list[Any] = []

    def add(kind: str, inputs: list[str], output: str, **options: Any) -> None:
        nodes.append(helper.make_node(kind, inputs, [output], **options))

    given = "X"
    if np.isfinite(plain.fill).any():
        constants["fill"] = np.nan_to_num(plain.fill)
        add("IsNaN", ["X"], "missing")
        add("Where", ["missing", "fill", "X"], "filled")
        given = "filled"
    add("Sub", [given, "shift"], "shifted")
    add("Div", ["shifted", "scale"], "z")
    if plain.kernel == "rbf":
        # distances do not depend on the origin, and are most accurate around the mean of the points
        middle = plain.points.mean(axis=0)
        points = plain.points - middle
        constants |= {
            "middle": middle,
            "points": np.ascontiguousarray(points.T),
            "norms": np.einsum("ij,ij->i", points, points),
            "minus_two": np.array(-2.0),
            "minus_gamma": np.array(-plain.gamma),
            "zero": np.array(0.0),
            "columns": np.ones((points.shape[1], 1)),
        }
        add("Sub", ["z", "middle"], "centred")
        add("Mul", ["centred", "centred"], "squares")
        add("MatMul", ["squares", "columns"], "own_norms")
        add("MatMul", ["centred", "points"], "products")
        add("Mul", ["products", "minus_two"], "twice")
        add("Add", ["twice", "norms"], "partly")
        add("Add", ["partly", "own_norms"], "maybe_negative")
        add("Max", ["maybe_negative", "zero"], "distances")
        add("Mul", ["distances", "minus_gamma"], "exponents")
        add("Exp", ["exponents"], "kernel")
    elif plain.kernel == "polynomial":
        constants |= {
            "points": np.ascontiguousarray(plain.gamma * plain.points.T),
            "coef0": np.array(plain.coef0),
            "degree": np.array(plain.degree),
        }
        add("MatMul", ["z", "points"], "products")
        add("Add", ["products", "coef0"], "base")
        add("Pow", ["base", "degree"], "kernel")
    else:
        constants["coef"] = plain.points.T @ constants["coef"]
        add("Identity", ["z"], "kernel")
    add("MatMul", ["kernel", "coef"], "values")
    add("Add", ["values", "intercept"], "prediction")
    shapes = {"X": len(plain.columns), "prediction": len(constants["intercept"])}
    given_and_found = [
        helper.make_tensor_value_info(name, TensorProto.DOUBLE, [None, width])
        for name, width in shapes.items()
    ]
    graph = helper.make_graph(
        nodes,
        "meanparity",
        given_and_found[:1],
        given_and_found[1:],
        [numpy_helper.from_array(np.asarray(v, dtype=float), n) for n, v in constants.items()],
    )
    made = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", _OPSET)], producer_name="meanparity"
    )
    made.ir_version = 8
    helper.set_model_props(made, {"columns": "\n".join(plain.columns), "unfairness": repr(u)})
    onnx.checker.check_model(made)
    write_atomically(Path(path), made.SerializeToString())
