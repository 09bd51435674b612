"""Tables of people: files in and out, which column is what, and a model of them."""

from meanparity.tabular.comparing import compare, draw
from meanparity.tabular.fitting import MODELS, TableModel, choose, fit_table
from meanparity.tabular.preparing import Prepared
from meanparity.tabular.reading import fingerprint, is_large, read_batches, read_table
from meanparity.tabular.roles import Roles
from meanparity.tabular.scoring import score_file
from meanparity.tabular.streaming import fit_file
from meanparity.tabular.writing import check_output, write_table

__all__ = [
    "MODELS",
    "Prepared",
    "Roles",
    "TableModel",
    "check_output",
    "choose",
    "compare",
    "draw",
    "fingerprint",
    "fit_file",
    "fit_table",
    "is_large",
    "read_batches",
    "read_table",
    "score_file",
    "write_table",
]
