"""From a file to a model: read a table, fit a model to it, score new rows, compare methods."""

try:
    import pandas  # noqa: F401
    import pyarrow  # noqa: F401
except ModuleNotFoundError as error:
    message = f"meanparity.tables needs {error.name}. Run: pip install 'meanparity[cli]'"
    raise ModuleNotFoundError(message, name=error.name) from error

from meanparity.tables.comparing import compare_methods, plot_comparison
from meanparity.tables.fitting import fit_table
from meanparity.tables.model import TableModel
from meanparity.tables.reading import read_frame
from meanparity.tables.roles import Roles
from meanparity.tables.scoring import score_file
from meanparity.tables.writing import write_frame

__all__ = [
    "Roles",
    "TableModel",
    "compare_methods",
    "fit_table",
    "plot_comparison",
    "read_frame",
    "score_file",
    "write_frame",
]
