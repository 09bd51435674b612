"""
Ten million rows from a Parquet file
====================================

A linear model needs only sums over the rows, and holds a few thousand rows at a time. This
example writes ten million rows to a Parquet file and fits to the file.
"""

# %%
# The file
# --------
# The people are drawn with replacement from the census income table (Adult), bundled with the
# package, with a little noise on the numbers. They are written 500,000 at a time.

import os
import tempfile
import time
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import psutil
import pyarrow as pa
import pyarrow.parquet as pq

from meanparity import ParityRidge
from meanparity.datasets import load_adult
from meanparity.displays import TradeoffDisplay

adult = load_adult(as_frame=True)
numbers = ["age", "education-num", "capital-gain", "capital-loss", "hours-per-week"]
people = adult.data[numbers].astype("float32")
people["married"] = adult.data["marital-status"].str.startswith("Married").astype("float32")
people["income"] = adult.target.astype("float32")
people["sex"] = adult.sensitive["sex"].astype("category")

folder = tempfile.TemporaryDirectory()
path, rng = Path(folder.name) / "people.parquet", np.random.default_rng(0)
writer = None
for _ in range(20):
    drawn = people.iloc[rng.integers(len(people), size=500_000)].reset_index(drop=True)
    drawn["hours-per-week"] += rng.normal(size=len(drawn)).astype("float32")
    table = pa.Table.from_pandas(drawn, preserve_index=False)
    writer = writer or pq.ParquetWriter(path, table.schema)
    writer.write_table(table)
writer.close()
print(f"{pq.ParquetFile(path).metadata.num_rows:,} rows, {path.stat().st_size / 2**20:.0f} MiB")

# %%
# The fit
# -------
# `fit` takes the path and the name of the target column.

process = psutil.Process(os.getpid())
before, start = process.memory_info().rss, time.perf_counter()
model = ParityRidge(alpha=1.0).fit(path, "income", sensitive_features="sex")
seconds = time.perf_counter() - start
print(f"{seconds:.1f} s, {(process.memory_info().rss - before) / 2**20:.0f} MiB more memory")
print({group: round(mean, 10) for group, mean in model.group_means_.items()})

# %%
# The decision
# ------------
# The whole tradeoff comes from the same sums, so a limit can be chosen without reading the file
# again.

TradeoffDisplay(model.tradeoff_.training_curve()).plot(name="ten million rows")
plt.show()

curve = model.tradeoff_.training_curve([0.0, 0.5, 1.0])
for u, error, gap in zip(curve.unfairness, curve.mse, curve.smd, strict=True):
    print(f"u = {u}: error {error:.4f}, sum of gaps {gap:.4f}")

# %%
# Parity costs the difference between the first and the last error. Halfway, half of the gap is
# closed for about a quarter of that cost: if half of the gap is acceptable, use
# ``model.tradeoff_.at(0.5)``, and otherwise the model at parity.
#
# A kernel model for files needs landmarks: `ParityKernelRidge(kernel="rbf", solver="nystrom")`
# takes the same arguments. On a cluster, pass a Dask data frame instead of the path.

folder.cleanup()
