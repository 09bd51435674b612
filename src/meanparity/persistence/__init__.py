"""Models on disk: without pickle, as plain arrays, and as ONNX."""

from meanparity.persistence.arrays import export_arrays
from meanparity.persistence.contents import describe_rows
from meanparity.persistence.model_files import Saved, load, read, save
from meanparity.persistence.onnx_files import export_onnx
from meanparity.state import stored

__all__ = [
    "Saved",
    "describe_rows",
    "export_arrays",
    "export_onnx",
    "load",
    "read",
    "save",
    "stored",
]
