"""Files of scored tables."""

from __future__ import annotations

import pandas as pd
import pyarrow.feather
import pyarrow.parquet
import pytest

from meanparity.tables.writing import write_batches


@pytest.mark.parametrize("form", ["csv", "tsv", "parquet", "feather"])
def test_batches_become_one_table_without_their_index(form, tmp_path):
    frame = pd.DataFrame({"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"]}, index=[7, 8, 9])
    path = tmp_path / f"scored.{form}"
    assert write_batches([frame[:2], frame[2:]], path) == 3
    if form in ("csv", "tsv"):
        separator = "," if form == "csv" else "\t"
        lines = [["a", "b"], ["1.5", "x"], ["2.5", "y"], ["3.5", "z"]]
        assert path.read_text().splitlines() == [separator.join(line) for line in lines]
    else:
        read = pyarrow.parquet.read_table if form == "parquet" else pyarrow.feather.read_table
        assert read(path).to_pydict() == {"a": [1.5, 2.5, 3.5], "b": ["x", "y", "z"]}
