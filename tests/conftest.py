"""Settings that every test shares."""

from __future__ import annotations

import os
import re
from pathlib import Path

import matplotlib
import pytest
from hypothesis import HealthCheck, settings

matplotlib.use("Agg")

# The examples are drawn from a fixed seed: a green suite stays green on another machine.
# `pytest --hypothesis-profile=thorough` looks further, and elsewhere every time; `quick` is what
# `make mutants` tries first.
_SLOW = [HealthCheck.too_slow, HealthCheck.data_too_large]
settings.register_profile(
    "default", max_examples=60, deadline=None, derandomize=True, suppress_health_check=_SLOW
)
settings.register_profile("thorough", max_examples=1000, deadline=None, suppress_health_check=_SLOW)
settings.register_profile("quick", settings.get_profile("default"), max_examples=5)
settings.load_profile("default")


@pytest.fixture(scope="session")
def paper_data() -> Path:
    """The folder with the paper's data files."""
    folder = os.environ.get("MEANPARITY_DATA")
    if not folder:
        pytest.fail("set MEANPARITY_DATA to the paper's files, or pass -m 'not data'")
    return Path(folder)


@pytest.fixture
def bundled_only(monkeypatch, tmp_path):
    """A machine without the paper's files and without a network."""
    monkeypatch.delenv("MEANPARITY_DATA", raising=False)
    monkeypatch.setattr("meanparity.datasets._fetched.ADDRESS", "http://127.0.0.1:9/")
    monkeypatch.setattr("pooch.os_cache", lambda name: tmp_path / "empty")


def pytest_make_parametrize_id(val):
    """A test's name must not hold an address: the workers have to find the same tests."""
    text = repr(val)
    return re.sub(r" at 0x[0-9a-f]+", "", text) if " at 0x" in text else None
