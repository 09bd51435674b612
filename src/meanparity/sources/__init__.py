"""Where rows come from: tables in memory, and files by record batches."""

from meanparity.sources.batches import FORMATS, Columns, Files, is_files
from meanparity.sources.distributed import Partitions, is_dask
from meanparity.sources.progress import shown
from meanparity.sources.table import Pool, Table, check_weights, row_hashes, stack

__all__ = [
    "FORMATS",
    "Columns",
    "Files",
    "Partitions",
    "Pool",
    "Table",
    "check_weights",
    "is_dask",
    "is_files",
    "row_hashes",
    "shown",
    "stack",
]
