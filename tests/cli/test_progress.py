"""What `meanparity fit` shows on a terminal while people wait."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

pty = pytest.importorskip("pty")  # not on Windows


def shown(arguments):
    """What a command writes to its errors if these are a terminal."""
    control, terminal = pty.openpty()
    command = [sys.executable, "-c", "from meanparity.cli import main; main()", *arguments]
    environment = {**os.environ, "TERM": "xterm", "COLUMNS": "160"}
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=terminal, env=environment
    ) as process:
        os.close(terminal)
        written = b""
        while True:
            try:
                part = os.read(control, 65536)
            except OSError:  # the other end is closed
                break
            if not part:
                break
            written += part
    os.close(control)
    assert process.returncode == 0, written
    return written.decode()


@pytest.fixture
def arguments(tmp_path):
    rng = np.random.default_rng(0)
    people = pd.DataFrame({"sex": rng.choice(["F", "M"], 200), "x": rng.standard_normal(200)})
    people["pay"] = people["x"] + rng.standard_normal(200)
    people.to_csv(tmp_path / "people.csv", index=False)
    return ["fit", str(tmp_path / "people.csv"), "--target", "pay", "--sensitive", "sex"]


def test_a_terminal_shows_each_step_with_its_number(arguments):
    text = shown(arguments)
    counts = re.findall(r"step (\d) of (\d): (\w[\w ]*\w)", text)
    assert list(dict.fromkeys(counts)) == [
        ("1", "4", "selecting the penalty of a linear model"),
        ("2", "4", "selecting the penalty of a kernel model"),
        ("3", "4", "fitting"),
        ("4", "4", "predicting"),
    ]
    widths = re.findall(r"(\d) of 4 widths", text)
    assert list(dict.fromkeys(widths)) == ["0", "1", "2", "3", "4"]
    assert "█████░░░░░ 2 of 4 widths" in text


def test_quiet_shows_nothing(arguments):
    assert shown([*arguments, "--quiet"]) == ""


def test_without_a_terminal_no_step_is_shown(arguments):
    command = [sys.executable, "-c", "from meanparity.cli import main; main()", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "step" not in done.stderr
    assert "█" not in done.stderr
