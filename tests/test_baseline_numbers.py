"""The tables of docs/baselines.md: the paper's data, its splits, every method.

``python -m tests.test_baseline_numbers`` prints them (MEANPARITY_DATA names the folder).
"""

from __future__ import annotations

import re
import tempfile
from pathlib import Path

import pytest

from meanparity.experiments import CATALOGUE, Plan
from meanparity.experiments.show.tables import summary

pytestmark = [pytest.mark.data, pytest.mark.slow]
SHOWN = (Path(__file__).parent.parent / "docs" / "baselines.md").read_text()
EXPERIMENTS = [CATALOGUE[f"tab:methods-{setting}"] for setting in ("linear", "kernel")]
DATASETS = EXPERIMENTS[0].datasets
NUMBERS = [f"{metric}_{part}" for metric in ("mse", "smd", "dpd") for part in ("train", "test")]


def run(folder):
    plan = Plan.make(EXPERIMENTS, Path(folder))
    plan.run(jobs=2)
    return dict(zip(("linear", "kernel"), plan.outcomes(), strict=True))


@pytest.fixture(scope="module")
def outcomes(paper_data, tmp_path_factory):
    return run(tmp_path_factory.mktemp("methods"))


def markdown(outcome, dataset):
    """A table of the document."""
    lines = ["| method | MSE train | MSE test | SMD train | SMD test | W1 train | W1 test |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for method, row in summary(outcome).loc[dataset].iterrows():
        cells = [f"{row[name, 'mean']:.4f} ± {row[name, '_spread']:.4f}" for name in NUMBERS]
        lines += [f"| {method} | {' | '.join(cells)} |"]
    return "\n".join(lines)


def rows_of(text):
    """Method and numbers of each row of a table."""
    rows = re.findall(r"^\| ([\w-]+) \| (\d\.\d{4} ± .*) \|$", text, re.MULTILINE)
    return {name: [float(x) for x in re.findall(r"\d\.\d{4}", cells)] for name, cells in rows}


@pytest.mark.parametrize("setting", ["linear", "kernel"])
@pytest.mark.parametrize("dataset", DATASETS)
def test_the_documents_show_these_numbers(dataset, setting, outcomes):
    found = rows_of(markdown(outcomes[setting], dataset))
    shown = rows_of(SHOWN.split(f"### {dataset}, {setting}\n")[1].split("###")[0])
    assert list(found) == list(shown)
    for name, cells in found.items():
        # a value that rounding moves over a threshold of the grid moves by a step
        tolerance = 1e-3 if name == "RBA" else 1.1e-4
        assert cells == pytest.approx(shown[name], abs=tolerance), name


@pytest.mark.parametrize("setting", ["linear", "kernel"])
def test_gaps_are_what_each_method_promises(setting, outcomes):
    numbers = outcomes[setting].frame.set_index("method")
    assert numbers.loc["Ours", "smd_train"].max() <= 1e-12
    if setting == "linear":
        assert numbers.loc["NRFC", "smd_train"].max() <= 1e-10
    assert numbers.groupby("method")["mse_test"].mean().min() > 0


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for setting, outcome in run(folder).items():
            for dataset in DATASETS:
                print(f"### {dataset}, {setting}\n\n{markdown(outcome, dataset)}\n")
