"""Models in MLflow, as docs/model-files.md says."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from meanparity import ParityKernelRidge
from meanparity.persistence import save

pytestmark = [pytest.mark.neighbours, pytest.mark.filterwarnings("default")]
PAGE = Path(__file__).parent.parent.parent / "docs" / "model-files.md"


def test_a_model_file_is_served_by_mlflow(tmp_path, monkeypatch):
    import mlflow

    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X, s = rng.standard_normal((80, 3)), rng.choice(["a", "b"], 80)
    model = ParityKernelRidge(kernel="rbf").fit(X, X[:, 0] + (s == "a"), sensitive_features=s)
    save(model, "model.meanparity", minimal=True)
    section = PAGE.read_text("utf-8").split("## In MLflow")[1].split("\n## ")[0]
    script, logged = re.findall(r"```py\n(.*?)```", section, re.DOTALL)
    Path("served.py").write_text(script)
    exec(compile(logged, "model-files.md", "exec"), {})
    served = mlflow.pyfunc.load_model("registered")
    assert np.array_equal(served.predict(X), model.predict(X))
    kept = {path.suffix for path in Path("registered").rglob("*") if path.is_file()}
    assert not kept & {".pkl", ".pickle", ".joblib"}, "nothing in it runs when it is loaded"
    assert (Path("registered") / "artifacts" / "model.meanparity").exists()
