"""What an experiment is: problems, methods, what is measured, and what is claimed about it."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from meanparity.baselines import METHODS
from meanparity.experiments.problems import DATA, Trial

TRIALS = 10  # the paper's
Row = dict[str, Any]
Measure = Callable[["Entry", Trial], list[Row]]
FigureKind = Literal["boxes", "curves", "steps", "distributions"]


@dataclass(frozen=True)
class Entry:
    """One method of an experiment, in one setting.

    Parameters
    ----------
    name : str
        What tables and pictures call it.
    method : str
        Its name in `meanparity.baselines.METHODS`.
    setting : {"linear", "kernel"}
        The paper's linear or kernel setting.
    parameters : mapping
        Parameters of the estimator that differ from the registry's.
    positions : tuple of float
        Positions of its dial, for a sweep.
    features : {"all", "without S"}
        Which columns it may use.
    pool : bool
        Whether the test rows, without their targets, are the pool that parity holds on as well.
    as_mean : bool
        Of a method that predicts at random, measure the mean prediction instead.
    gammas : tuple of float
        If any, leave-one-out chooses one of these, and the penalty, of our RBF kernel.
    """

    name: str
    method: str
    setting: str = "linear"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    positions: tuple[float, ...] = ()
    features: Literal["all", "without S"] = "all"
    pool: bool = False
    as_mean: bool = False
    gammas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if self.features not in ("all", "without S"):
            raise ValueError(f"features={self.features!r}. Pass 'all' or 'without S'.")
        if self.gammas and (self.method, self.setting, self.pool) != ("Ours", "kernel", False):
            raise ValueError("gammas are those of our kernel, without a pool.")


@dataclass(frozen=True)
class Verdict:
    """What the numbers say about a claim.

    Parameters
    ----------
    held : bool or None
        Whether it held; None if there was nothing to ask.
    says : str
        The numbers, in words.
    """

    held: bool | None
    says: str


@dataclass(frozen=True)
class Claim:
    """A statement of the paper about an experiment.

    Parameters
    ----------
    text : str
        The statement, in our words.
    check : callable
        From the experiment's numbers (a pandas data frame) to a `Verdict`.
    kind : {"proved", "observed", "ours"}
        Whether the paper proves it, reports it, or this package says it.
    """

    text: str
    check: Callable[[Any], Verdict]
    kind: Literal["proved", "observed", "ours"] = "observed"


@dataclass(frozen=True)
class Task:
    """One method on one split of one problem."""

    experiment: Experiment
    dataset: str
    entry: Entry
    trial: int

    @property
    def words(self) -> str:
        """Which one it is, for people."""
        where = f"{self.experiment.name}, {self.dataset}, {self.entry.name}"
        return f"{where}, trial {self.trial}"


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Parameters
    ----------
    name : str
        What the command line calls it.
    paper : str
        Where it is in the paper, by number and (label); empty if it is ours.
    title : str
        What it is about.
    datasets : tuple of str
        Names in `meanparity.experiments.problems.DATA`.
    entries : tuple of Entry
        The methods.
    measure : callable
        From an entry and a trial to rows of numbers, see `meanparity.experiments.measures`.
    metrics : tuple of str
        Which of the numbers are shown.
    figure : {"boxes", "curves", "steps", "distributions"} or None
        How they are drawn.
    claims : tuple of Claim
        What is said about them.
    is_printed : bool
        Whether the paper prints numbers of it, which are compared.
    trials : int
        How many splits.
    cost : float
        About how many seconds a trial takes, for the time that is left.
    note : str
        What a reader has to know.
    """

    name: str
    paper: str
    title: str
    datasets: tuple[str, ...]
    entries: tuple[Entry, ...]
    measure: Measure
    metrics: tuple[str, ...]
    figure: FigureKind | None = None
    claims: tuple[Claim, ...] = ()
    is_printed: bool = False
    trials: int = TRIALS
    cost: float = 0.07
    note: str = ""

    def __post_init__(self) -> None:
        if not (slug(self.name) and self.datasets and self.entries and self.trials > 0):
            raise ValueError(
                f"{self.name!r}: pass a name, data sets, entries, and 1 trial or more."
            )
        for name in self.datasets:
            if name not in DATA:
                known = ", ".join(DATA)
                raise ValueError(f"{self.name}: no data set {name!r}. There are: {known}.")
        files = [slug(entry.name) for entry in self.entries]
        for entry in self.entries:
            if entry.method not in METHODS:
                known = ", ".join(METHODS)
                raise ValueError(f"{self.name}: no method {entry.method!r}. There are: {known}.")
            if not slug(entry.name) or files.count(slug(entry.name)) > 1:
                raise ValueError(f"{self.name}: {entry.name!r} is no name or not unlike another's.")
            if entry.positions and METHODS[entry.method].dial is None:
                raise ValueError(f"{self.name}: {entry.method} has no dial. Leave out positions.")

    @property
    def stem(self) -> str:
        """Its name in file names."""
        return slug(self.name)

    def tasks(self, datasets: frozenset[str], trials: int) -> Iterator[Task]:
        """All that has to be run on the given problems, in at most so many trials."""
        for dataset in self.datasets:
            if dataset in datasets:
                for entry in self.entries:
                    for trial in range(min(trials, self.trials)):
                        yield Task(self, dataset, entry, trial)


def slug(name: str) -> str:
    """A name for a file: letters, digits, and what is harmless between them.

    Examples
    --------
    >>> slug("fig:tradeoff"), slug("linear: parity on train"), slug("../..")
    ('fig-tradeoff', 'linear-parity-on-train', '')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-")
