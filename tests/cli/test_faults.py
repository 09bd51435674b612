"""What the command line says when something is missing, too large or interrupted."""

from __future__ import annotations

import pkgutil
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

import meanparity.cli
from tests.cli.process import call

MODULES = {module.name for module in pkgutil.iter_modules(meanparity.cli.__path__)} - {"words"}


@pytest.mark.parametrize("module", sorted(MODULES))
def test_every_module_says_what_to_install(module):
    code = f"import sys; sys.modules['typer'] = None; import meanparity.cli.{module}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "Run: pip install 'meanparity[cli]'" in done.stderr.splitlines()[-1]


def test_tables_say_what_to_install():
    code = "import sys; sys.modules['pandas'] = None; import meanparity.tables"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "needs pandas. Run: pip install 'meanparity[cli]'" in done.stderr.splitlines()[-1]


@pytest.mark.skipif(sys.platform != "linux", reason="others do not heed limits on addresses")
@pytest.mark.parametrize("kibibytes", [60_000, 500_000, 700_000])
def test_a_limit_on_addresses_leads_to_one_sentence(kibibytes, tmp_path):
    """Imports would fail, in words of the system's linker or of OpenBLAS."""
    table = tmp_path / "pay.csv"
    pd.DataFrame({"sex": ["F", "M"] * 30, "x": range(60), "pay": range(60)}).to_csv(table)

    def limited():
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (1024 * kibibytes, 1024 * kibibytes))

    asked = ("fit", table, "--target", "pay", "--sensitive", "sex")
    status, printed, errors = call(*asked, preexec_fn=limited)
    assert (status, printed) == (1, "")
    assert errors.startswith("meanparity: The limit on addresses (ulimit -v) leaves ")
    assert errors.endswith("iB, although they use less memory. Raise the limit.\n")
    assert call("fit", "--help", preexec_fn=limited)[0] == 0


@pytest.mark.skipif(sys.platform != "linux", reason="others do not heed limits on addresses")
def test_no_more_addresses_are_asked_for_than_cores_need(tmp_path):
    table = tmp_path / "pay.csv"
    frame = pd.DataFrame({"sex": ["F", "M"] * 30, "x": range(60), "pay": range(60)})
    frame.to_csv(table, index=False)
    frame.to_parquet(tmp_path / "pay.parquet")

    def limited():
        import os
        import resource

        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])
        resource.setrlimit(resource.RLIMIT_AS, (1_100_000 * 1024,) * 2)

    asked = ("--target", "pay", "--sensitive", "sex", "--json")
    assert call("fit", table, *asked, preexec_fn=limited)[0] == 0
    status, _, errors = call("fit", tmp_path / "pay.parquet", *asked, preexec_fn=limited)
    assert status == 1  # PyArrow would wait for ever
    assert "The limit on addresses (ulimit -v) leaves " in errors


@pytest.mark.parametrize("value", ["1e308", "inf", "-1e200"])
@pytest.mark.parametrize("command", ["fit", "audit", "compare"])
def test_an_outcome_that_is_too_large_is_refused_wherever_it_is(command, value, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 60), "x": rng.normal(size=60).round(3)})
    frame["pay"] = frame["x"].astype(str)
    frame.loc[17, "pay"] = value
    frame.to_csv(tmp_path / "a.csv", index=False)
    more = ("--target", "pay", "--sensitive", "sex")
    status, output, errors = call(command, tmp_path / "a.csv", *more)
    assert status == 1
    assert output == ""
    assert "in the column 'pay', row 18, which is infinite or too large" in errors
    assert "nan" not in errors


def test_an_interrupted_command_shows_no_traceback(tmp_path):
    pd.DataFrame({"sex": ["F", "M"] * 50, "pay": range(100)}).to_csv(tmp_path / "a.csv")
    command = "import os; os.write(1, b'x'); from meanparity.cli import main; main()"
    arguments = ["fit", tmp_path / "a.csv", "--target", "pay", "--sensitive", "sex"]
    for delay in np.linspace(0.15, 1.2, 8):
        process = subprocess.Popen(
            [sys.executable, "-c", command, *map(str, arguments)],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        assert process.stdout.read(1) == "x"  # Python runs
        time.sleep(delay)
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=60)
        assert "Traceback" not in errors
        # a signal that arrives while Python itself ends is not seen by any code of ours
        assert process.returncode in (0, 1, 130, -signal.SIGINT)


def test_an_interrupt_inside_a_callback_is_not_lost():
    code = (
        "import sys, time, meanparity.cli as cli\n"
        "sys.unraisablehook = cli.interrupt_again\n"
        "class Callback:\n"
        "    def __del__(self):\n"
        "        raise KeyboardInterrupt\n"
        "try:\n"
        "    Callback()\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=50)
    assert (done.stdout, done.stderr) == ("interrupted\n", "")


@pytest.mark.parametrize("model", ["linear", "kernel"])
@pytest.mark.parametrize("minimal", [False, True])
def test_fit_says_which_rows_a_model_file_holds(model, minimal, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 100), "x": rng.normal(size=100)})
    frame["pay"] = frame["x"] + (frame["sex"] == "M") + rng.normal(size=100)
    frame.to_csv(tmp_path / "a.csv", index=False)
    more = (
        "--target",
        "pay",
        "--sensitive",
        "sex",
        "--model",
        model,
        "-o",
        tmp_path / "m.meanparity",
    )
    status, output, _ = call("fit", tmp_path / "a.csv", *more, *["--minimal"] * minimal)
    assert status == 0
    text = " ".join(output.split())
    assert ("holds the features of 80 rows, those of fit, because" in text) == (model == "kernel")
    computed = "groups of the rows of fit can be computed if the targets are few"
    assert (computed in text) == (model == "kernel" and minimal)
    assert "pool" not in text


@pytest.mark.parametrize("minimal", [False, True])
def test_fit_says_that_files_of_other_losses_hold_targets_and_groups(minimal, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"sex": rng.choice(["F", "M"], 100), "x": rng.normal(size=100)})
    frame["hired"] = (frame["x"] + (frame["sex"] == "M") + rng.normal(size=100) > 0).astype(int)
    frame.to_csv(tmp_path / "a.csv", index=False)
    more = ["--target", "hired", "--sensitive", "sex", "--model", "linear", "--loss", "logistic"]
    file = ["-o", tmp_path / "m.meanparity", *["--minimal"] * minimal]
    status, output, _ = call("fit", tmp_path / "a.csv", *more, *file)
    assert status == 0
    holds = "holds the target and the group of each of the 80 rows of fit"
    assert (holds in " ".join(output.split())) == (not minimal)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            "a = " + "[" * 5000 + "]" * 5000,
            "is not a TOML file: its values are nested too deeply.",
        ),
        ("a = " + "9" * 5000, "is not a TOML file: Exceeds the limit"),
        ("#" * 2**20 + "\n", "is larger than 1 MiB, which no configuration file needs."),
    ],
    ids=["deep", "long number", "large"],
)
def test_a_hostile_configuration_file_is_refused_in_one_line(content, message, tmp_path):
    path = tmp_path / "own.toml"
    path.write_text(content)
    asked = ("audit", "people.csv", "--target", "pay", "--sensitive", "sex", "--config", path)
    status, _, errors = call(*asked)
    assert status == 1
    assert errors.startswith(f"meanparity: own.toml {message}")
    assert errors.count("\n") == 1
