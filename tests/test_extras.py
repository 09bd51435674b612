"""Without the optional libraries, everything imports or says what to install."""

from __future__ import annotations

import json
import pkgutil
import subprocess
import sys

import meanparity

CORE = """
import importlib, json, sys
OPTIONAL = {"matplotlib", "pooch", "jinja2", "pyarrow", "typer", "rich", "pandas", "skrub"}
OPTIONAL |= {"skops", "onnx", "dask", "distributed", "polars"}

class Missing:
    @staticmethod
    def find_spec(name, path=None, target=None):
        if name.partition(".")[0] in OPTIONAL:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Missing)

def attempt(action):
    try:
        action()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return ""
"""
MODULES = """
print(json.dumps({name: attempt(lambda: importlib.import_module(name)) for name in sys.argv[1:]}))
"""
CALLS = """
import tempfile
from pathlib import Path
import numpy as np
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from meanparity import ParityRidge, displays, persistence
from meanparity.datasets import load_adult, make_synthetic
folder = Path(tempfile.mkdtemp())
X, y, s = make_synthetic(60, random_state=0)
model = ParityRidge().fit(X, y, sensitive_features=s)
pipeline = make_pipeline(StandardScaler(), ParityRidge())
pipeline.fit(X, y, parityridge__sensitive_features=s)
(folder / "a.csv").write_text("x,y,s\\n1,2,a\\n")
audited = displays.AuditDisplay.from_predictions
calls = {
    "plain model": lambda: persistence.save(model, folder / "m"),
    "report": lambda: model.report(X, y, sensitive_features=s).save(folder / "r.html"),
    "pipeline": lambda: persistence.save(pipeline, folder / "p"),
    "onnx": lambda: persistence.export_onnx(model, folder / "m.onnx"),
    "file": lambda: model.fit(folder / "a.csv", "y", sensitive_features="s"),
    "frame": lambda: load_adult(as_frame=True),
    "curve": lambda: model.tradeoff_.training_curve().to_frame(),
    "audit": lambda: audited(model.predict(X), sensitive_features=s),
    "tradeoff": lambda: displays.TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s),
}
print(json.dumps({name: attempt(call) for name, call in calls.items()}))
"""


def run(code, *arguments):
    command = [sys.executable, "-c", CORE + code, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


def test_every_module_imports_or_says_what_to_install():
    walk = pkgutil.walk_packages(meanparity.__path__, "meanparity.")
    names = [module.name for module in walk if not module.name.endswith("__main__")]
    found = run(MODULES, "meanparity", *names)
    assert len(found) > 100
    for name, error in found.items():
        if name.startswith(("meanparity.cli.", "meanparity.tables")):
            assert not error or "pip install 'meanparity[cli]'" in error, name
        else:
            assert not error, name


def test_every_feature_says_what_to_install():
    found = run(CALLS)
    assert found.pop("plain model") == ""
    for name, error in found.items():
        assert error.startswith(("ImportError: ", "ModuleNotFoundError: ")), (name, error)
        assert "pip install" in error, (name, error)
