"""Figures of experiments: one function for each kind of figure."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
from matplotlib import rc_context, style
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from meanparity.displays import COLOURS, GroupDistributionDisplay
from reproduction.datasets import DATASETS, PARTS
from reproduction.runner import Outcome

METRIC_LABELS: Mapping[str, str] = MappingProxyType(
    {
        "mse": "MSE",
        "smd": "SMD",
        "dpd": "DPD (W₁)",
        "cov": "Norm of Cov",
        "loss": "Mean loss",
        "seconds": "time",
        "order": "(MPD − DPD) / sd(y)",
        "quadratic": "|loss − quadratic| / L(g*)",
        "linear": "|MPD − α·MPD(g*)| / sd(y)",
        "bound": "loss / bound",
        "bound_zero": "loss / E(Y²)",
    }
)
_MARKERS = ("s", "^", "D", "o", "v", "P", "X")


def draw(outcome: Outcome) -> dict[str, bytes]:
    """The figure of an experiment as PNG and SVG files; equal results give equal bytes."""
    with style.context("default", after_reset=True), rc_context({"svg.hashsalt": "meanparity"}):
        figure = make(outcome)
        figure.draw_without_rendering()
        figure.set_layout_engine("none")  # both files get the same layout
        files = {}
        for kind, metadata in _METADATA.items():
            content = io.BytesIO()
            figure.savefig(content, format=kind, dpi=110, metadata=metadata)
            files[kind] = content.getvalue()
    return files


def make(outcome: Outcome) -> Figure:
    """The figure of an experiment."""
    kind = outcome.experiment.figure
    assert kind is not None
    return _KINDS[kind](outcome)


_METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}


def _grid(outcome: Outcome, rows: int, height: float) -> tuple[Figure, Any, list[str]]:
    """A figure with one column per data set that was run, its axes, and the data sets."""
    present = {row["dataset"] for row in outcome.rows}
    datasets = [name for name in outcome.experiment.datasets if name in present]
    figure = Figure(figsize=(3.6 * len(datasets) + 0.6, height * rows + 0.6), layout="constrained")
    axes = figure.subplots(rows, len(datasets), squeeze=False)
    for ax, dataset in zip(axes[0], datasets, strict=True):
        ax.set_title(DATASETS[dataset].title)
    return figure, axes, datasets


def _boxes(outcome: Outcome) -> Figure:
    """One row per metric; for each method, boxes over the trials for training and test rows."""
    experiment, frame = outcome.experiment, outcome.frame
    figure, axes, datasets = _grid(outcome, len(experiment.metrics), 2.5)
    names = [entry.name for entry in experiment.entries]
    at = np.arange(len(names))
    for row, metric in zip(axes, experiment.metrics, strict=True):
        for ax, dataset in zip(row, datasets, strict=True):
            part = frame[frame.dataset == dataset]
            for colour, where, shift in zip(COLOURS, PARTS, (-0.2, 0.2), strict=False):
                values = [part[part.method == name][f"{metric}_{where}"] for name in names]
                ax.boxplot(
                    values,
                    positions=at + shift,
                    widths=0.32,
                    patch_artist=True,
                    label=f"{where} rows",
                    boxprops={"facecolor": colour, "alpha": 0.45, "edgecolor": colour},
                    medianprops={"color": "black"},
                    whiskerprops={"color": colour},
                    capprops={"color": colour},
                    flierprops={"marker": ".", "markeredgecolor": colour, "markersize": 4},
                )
            ax.set_xticks(at, names, rotation=45, ha="right", rotation_mode="anchor")
            if metric != "mse":  # gaps are compared with zero
                ax.set_ylim(bottom=0)
            ax.grid(axis="y", color="0.9")
            ax.set_axisbelow(True)
        row[0].set_ylabel(METRIC_LABELS[metric])
    _legend(figure, axes[0, 0])
    return figure


def _curves(outcome: Outcome) -> Figure:
    """MSE against SMD along each method's tradeoff, on training rows (top) and test rows."""
    experiment, frame = outcome.experiment, outcome.frame
    figure, axes, datasets = _grid(outcome, 2, 2.8)
    frame = frame.groupby(["dataset", "method", "position"], sort=False).mean(numeric_only=True)
    frame = frame.reset_index()
    for row, where in zip(axes, PARTS, strict=True):
        for ax, dataset in zip(row, datasets, strict=True):
            for i, entry in enumerate(experiment.entries):
                line = frame[(frame.dataset == dataset) & (frame.method == entry.name)]
                # ours is a line; the others are hollow markers at every second point and both ends
                options: dict[str, Any] = {"linewidth": 2}
                if entry.method != "Ours":
                    kept = sorted({*range(0, len(line), 2), len(line) - 1})
                    line = line.iloc[kept]
                    marker = _MARKERS[i % len(_MARKERS)]
                    options = {"linestyle": "none", "markersize": 5, "marker": marker}
                ax.plot(
                    line[f"smd_{where}"],
                    line[f"mse_{where}"],
                    color=COLOURS[i % len(COLOURS)],
                    markerfacecolor="none",
                    label=entry.name,
                    **options,
                )
            ax.set_xlabel(f"SMD, {where} rows")
            ax.grid(color="0.9")
        row[0].set_ylabel(f"MSE, {where} rows")
    _legend(figure, axes[0, 0])
    return figure


def _steps(outcome: Outcome) -> Figure:
    """Mean loss and SMD at the steps of GD and of Fair-GD."""
    frame = outcome.frame
    figure, axes, datasets = _grid(outcome, 2, 2.4)
    frame = frame.groupby(["dataset", "curve", "step"], sort=False).mean(numeric_only=True)
    frame = frame.reset_index()
    for row, metric in zip(axes, ("loss", "smd"), strict=True):
        for ax, dataset in zip(row, datasets, strict=True):
            for colour, curve, line in zip(COLOURS, ("GD", "Fair-GD"), ("--", "-"), strict=False):
                part = frame[(frame.dataset == dataset) & (frame.curve == curve)]
                values = part[metric]
                if metric == "smd":  # zero cannot be drawn on a logarithmic axis
                    values = np.maximum(values, 1e-18)
                    ax.set_yscale("log")
                    ax.set_ylim(1e-18, 3)
                ax.plot(part.step, values, line, color=colour, label=curve)
            ax.set_xlabel("step")
            ax.grid(color="0.9")
        row[0].set_ylabel(f"{METRIC_LABELS[metric]}, training rows")
    _legend(figure, axes[0, 0])
    return figure


def _distributions(outcome: Outcome) -> Figure:
    """Responses and predictions of the last method in each group, on training and test rows."""
    figure, axes, datasets = _grid(outcome, 4, 1.9)
    frame = outcome.frame
    frame = frame[frame.method == outcome.experiment.entries[-1].name]
    for column, dataset in zip(axes.T, datasets, strict=True):
        for pair, part in ((column[:2], "train"), (column[2:], "test")):
            rows = frame[(frame.dataset == dataset) & (frame.part == part)]
            GroupDistributionDisplay(
                rows.response, rows.prediction, sensitive_features=rows.group.rename("S")
            ).plot(pair, titles=(f"y, {part}", f"prediction, {part}"), xlabel="")
        for ax in column[::2]:
            ax.get_legend().remove()
        handles = column[0].get_legend_handles_labels()[0]
        place = {"loc": "lower center", "bbox_to_anchor": (0.5, 1.1), "ncols": 2, "frameon": False}
        column[0].legend(handles, DATASETS[dataset].group_names, **place)
        column[0].set_title(f"{DATASETS[dataset].title}\n\n\n", loc="center")
        for ax in column:
            ax.tick_params(labelsize="small")
            ax.set_ylabel("")
        for ax in column[1::2]:  # bars of a response with few values exceed those of predictions
            ax.autoscale(axis="y")
            ax.set_ylim(bottom=0)
    for ax in axes[:, 0]:
        ax.set_ylabel("Density")
    return figure


_KINDS: Mapping[str, Callable[[Outcome], Figure]] = MappingProxyType(
    {"boxes": _boxes, "curves": _curves, "steps": _steps, "distributions": _distributions}
)


def _legend(figure: Figure, ax: Axes) -> None:
    handles, labels = ax.get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper right", ncols=len(labels), frameon=False)
