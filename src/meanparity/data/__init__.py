"""Reading input: columns, groups, rows, features, the pool, files and Dask partitions."""

from meanparity.data.groups import Groups
from meanparity.data.pool import Pool
from meanparity.data.rows import Rows

__all__ = ["Groups", "Pool", "Rows"]
