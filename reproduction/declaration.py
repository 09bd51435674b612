"""What an experiment is: data sets, methods, measurements, and claims about them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from meanparity.baselines import METHODS, Method
from reproduction.datasets import DATASETS, Trial

TRIALS = 10  # as in the paper
Row = dict[str, Any]
Measure = Callable[["Entry", Trial], list[Row]]
Features = Literal["all", "without S", "Fourier", "standardised Fourier"]
FigureKind = Literal["boxes", "curves", "steps", "distributions"]


@dataclass(frozen=True)
class Entry:
    """One method of an experiment, in one setting.

    Parameters
    ----------
    name : str
        Name in tables and figures.
    method : str or Method
        Name in `meanparity.baselines.METHODS`, or a method of your own.
    setting : {"linear", "kernel"}
        The paper's linear or kernel setting.
    parameters : mapping
        Parameters that differ from those in `METHODS`.
    positions : tuple of float
        Values of the method's tradeoff parameter, for a sweep.
    features : {"all", "without S", "Fourier", "standardised Fourier"}
        Which columns the method may use: those of the data set, all but the sensitive ones, or
        random Fourier features of the latter. These are standardised, or the penalty is raised to
        what it is on features of their average variance.
    pool : bool
        Whether parity also holds on the test rows, which are passed as the pool without their
        targets.
    as_mean : bool
        Whether to measure the mean prediction of a method that predicts at random.
    gammas : tuple of float
        If not empty, leave-one-out chooses the γ of our RBF kernel among these values, and the
        penalty.
    """

    name: str
    method: str | Method
    setting: str = "linear"
    parameters: Mapping[str, Any] = field(default_factory=dict)
    positions: tuple[float, ...] = ()
    features: Features = "all"
    pool: bool = False
    as_mean: bool = False
    gammas: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        if isinstance(self.method, Method) and self.method.name in METHODS:
            if METHODS[self.method.name] is not self.method:
                raise ValueError(
                    f"{self.name}: the registry has another method {self.method.name!r}. Give your "
                    "own another name."
                )
            object.__setattr__(self, "method", self.method.name)
        if self.features not in get_args(Features):
            raise ValueError(
                f"features={self.features!r}. Pass one of {', '.join(get_args(Features))}."
            )
        if self.gammas and (self.method, self.setting, self.pool) != ("Ours", "kernel", False):
            raise ValueError(
                f"{self.name}: gammas={self.gammas!r} requires method='Ours', setting='kernel' and "
                "pool=False."
            )

    @property
    def resolved(self) -> Method:
        """The method itself, also where it is given by its name."""
        return self.method if isinstance(self.method, Method) else METHODS[self.method]


@dataclass(frozen=True)
class Verdict:
    """Whether the numbers agree with a claim.

    Parameters
    ----------
    held : bool or None
        Whether the claim held; None if the numbers do not allow an answer.
    explanation : str
        The numbers that decided, in one sentence.
    """

    held: bool | None
    explanation: str


@dataclass(frozen=True)
class Claim:
    """A statement about the results of an experiment.

    Parameters
    ----------
    text : str
        The statement, in our words.
    check : callable
        Maps the results of the experiment (a pandas data frame) to a `Verdict`.
    kind : {"proved", "observed", "ours"}
        Whether the paper proves it, the paper reports it, or this package states it.
    """

    text: str
    check: Callable[[Any], Verdict]
    kind: Literal["proved", "observed", "ours"] = "observed"


@dataclass(frozen=True)
class Task:
    """One method on one split of one data set."""

    experiment: Experiment
    dataset: str
    entry: Entry
    trial: int

    @property
    def label(self) -> str:
        """Experiment, data set, method and trial, for messages."""
        return f"{self.experiment.name}, {self.dataset}, {self.entry.name}, trial {self.trial}"


@dataclass(frozen=True)
class Experiment:
    """A table or figure.

    Parameters
    ----------
    name : str
        Name on the command line.
    paper : str
        Number and (label) of the table or figure in the paper; empty if it is not in the paper.
    title : str
        Title on the page.
    datasets : tuple of str
        Names in `reproduction.datasets.DATASETS`.
    entries : tuple of Entry
        The methods.
    measure : callable
        Maps an entry and a trial to rows of numbers; see `reproduction.measures`.
    metrics : tuple of str
        The numbers to show.
    figure : {"boxes", "curves", "steps", "distributions"} or None
        The kind of figure.
    claims : tuple of Claim
        Statements about the results.
    is_printed : bool
        Whether the paper prints numbers of this experiment, which are then compared with ours.
    trials : int
        Number of splits.
    cost : float
        Approximate seconds per trial and method, to estimate the remaining time.
    note : str
        What a reader needs to know.
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
                f"{self.name!r} needs a name, at least one data set, one entry and one trial."
            )
        for name in self.datasets:
            if name not in DATASETS:
                raise ValueError(
                    f"{self.name}: {name!r} is not a data set. The data sets are: "
                    f"{', '.join(DATASETS)}."
                )
        slugs = [slug(entry.name) for entry in self.entries]
        for entry in self.entries:
            if not isinstance(entry.method, Method) and entry.method not in METHODS:
                raise ValueError(
                    f"{self.name}: {entry.method!r} is not a method. The methods are: "
                    f"{', '.join(METHODS)}. Pass one of your own as a Method of "
                    "meanparity.baselines."
                )
            if not slug(entry.name) or slugs.count(slug(entry.name)) > 1:
                raise ValueError(
                    f"{self.name}: the file name of entry {entry.name!r} is empty or not unique. "
                    "Rename the entry."
                )
            if entry.positions and entry.resolved.dial is None:
                raise ValueError(
                    f"{self.name}: {entry.resolved.name} has no tradeoff parameter. Leave out "
                    "positions."
                )

    @property
    def stem(self) -> str:
        """The name in file names."""
        return slug(self.name)

    def tasks(self, datasets: frozenset[str], trials: int) -> Iterator[Task]:
        """All tasks on the given data sets, with at most `trials` trials."""
        for dataset in self.datasets:
            if dataset in datasets:
                for entry in self.entries:
                    for trial in range(min(trials, self.trials)):
                        yield Task(self, dataset, entry, trial)


def slug(name: str) -> str:
    """The name with every run of characters that are unsafe in file names replaced by a hyphen.

    Examples
    --------
    >>> slug("fig:tradeoff"), slug("linear: parity on train"), slug("../..")
    ('fig-tradeoff', 'linear-parity-on-train', '')
    """
    return re.sub(r"[^\w.+-]+", "-", name).strip(".-")
