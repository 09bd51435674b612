"""From a table to a model: split, choose, fit, look at what came out."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from meanparity._typing import FloatArray
from meanparity.estimators import (
    ParityKernelRidge,
    ParityKernelRidgeCV,
    ParityRidge,
    ParityRidgeCV,
)
from meanparity.path import check_unfairness
from meanparity.report import Part, Report, make_report
from meanparity.sources import Pool
from meanparity.tabular.preparing import Prepared
from meanparity.tabular.roles import Roles

MODELS = ("auto", "linear", "kernel")
_EXACT = 2_000  # rows up to which the kernel fit is exact
_CHOOSING = 20_000  # rows that penalty and kernel width are chosen on
_LANDMARKS = 500
_WIDTHS = (0.1, 0.3, 1.0, 3.0)  # γ, times the number of columns


@dataclass(frozen=True, eq=False, repr=False)
class TableModel:
    """A model of a table.

    Parameters
    ----------
    pipeline : Pipeline
        From the columns of the table to predictions; its last step is a parity estimator.
    roles : Roles
        Which column is what.
    columns : tuple of str
        The features.
    parts : tuple of Part
        Training, held-out and pool rows with the predictions of both ends.
    chosen : str
        How the model was chosen, in words.
    kinds, categories : dict
        What each feature holds, and the values of text columns that have few.
    n_dropped : int
        Rows without a target.
    features : data frame
        What some training rows are to the estimator.
    sample : Part
        Their predictions.
    """

    pipeline: Pipeline
    roles: Roles
    columns: tuple[str, ...]
    parts: tuple[Part, ...]
    chosen: str
    kinds: dict[str, str]
    categories: dict[str, list[str]]
    n_dropped: int
    features: Any
    sample: Part

    @classmethod
    def of(
        cls, estimator: Any, rows: Prepared, parts: tuple[Part, ...], chosen: str, n_dropped: int
    ) -> TableModel:
        """From a fitted estimator, and the rows that were prepared for it."""
        import pandas as pd

        X = rows.X[rows.train]
        fair, free = estimator.tradeoff_.predict(X, [0.0, 1.0])
        sensitive = rows.people["train"]["sensitive_features"]
        return cls(
            Pipeline([*rows.encoder.steps, ("model", estimator)]),
            rows.roles,
            rows.columns,
            parts,
            chosen,
            rows.kinds,
            rows.categories,
            n_dropped,
            pd.DataFrame(X, columns=list(rows.names)),
            Part("sample", fair, free, sensitive),
        )

    @property
    def estimator(self) -> Any:
        """The last step."""
        return self.pipeline[-1]

    def report(self, facts: Mapping[str, str] | None = None) -> Report:
        """The page about it."""
        return make_report(
            self.parts,
            comparison=self.estimator.tradeoff_.comparison,
            position=float(self.estimator.unfairness_),
            target=str(self.roles.target),
            columns=(self.features, self.sample),
            origin=getattr(self.pipeline[0], "output_to_input_", {}),
            facts={"model": self.chosen, **(facts or {})},
        )


def fit_table(
    frame: Any,
    roles: Roles,
    *,
    pool: Any = None,
    model: str = "auto",
    unfairness: float = 0.0,
    max_gap: float | None = None,
    missing: str = "error",
    test_size: float = 0.2,
    seed: int = 0,
    tell: Callable[[str], None] = lambda words: None,
) -> TableModel:
    """Split a table, choose a model on the training rows, fit it, and predict all rows.

    Parameters
    ----------
    frame : pandas data frame
        The table: numbers, text, dates, empty cells.
    roles : Roles
        Which column is what.
    pool : pandas data frame, optional
        People to be scored, on whom parity holds as well.
    model : {"auto", "linear", "kernel"}
        "auto" takes what predicts left-out training rows better.
    unfairness, max_gap, missing
        As those of `ParityRidge`.
    test_size : float
        Share of the rows that is held out.
    seed : int
        Where chance comes from.
    tell : callable, optional
        Gets words about what is being done.
    """
    check_settings(model, unfairness)
    tell("turning the columns into numbers")
    rows = Prepared.of(frame, roles, test_size=test_size, seed=seed, missing=missing)
    scored = None if pool is None else rows.pool(pool)
    tell("choosing penalty and kernel")
    X, y, train = rows.X, rows.y, rows.train
    settings = {"missing": missing}
    estimator, words = choose(X[train], y[train], rows.people["train"], model, seed, settings)
    tell("fitting")
    estimator.set_params(unfairness=unfairness, max_gap=max_gap)
    estimator.fit(X[train], y[train], **rows.people["train"], pool=scored)
    tell("looking at what came out")
    return TableModel.of(estimator, rows, finished(estimator, rows, scored), words, rows.n_dropped)


def check_settings(model: str, unfairness: float) -> None:
    """Refuse what cannot be, before the work is done."""
    if model not in MODELS:
        raise ValueError(f"model={model!r} is not known. Pass one of {', '.join(MODELS)}.")
    check_unfairness(unfairness)


def choose(
    X: FloatArray,
    y: FloatArray,
    people: dict[str, Any],
    model: str,
    seed: int,
    settings: dict[str, Any],
    *,
    many: bool = False,
) -> tuple[Any, str]:
    """An estimator that is not fitted yet, and why this one; for many more rows, if asked."""
    n, d = X.shape
    if n > _CHOOSING:
        some = np.sort(np.random.default_rng(seed).permutation(n)[:_CHOOSING])
        X, y = X[some], y[some]
        people = {
            name: None
            if part is None
            else part[some]
            if isinstance(part, np.ndarray)
            else part.iloc[some].reset_index(drop=True)
            for name, part in people.items()
        }
    # leave-one-out knows up to 200 combinations of values; folds know any number
    who = (people["sensitive_features"], people["control_features"])
    cells = np.prod([len(part.drop_duplicates()) for part in who if part is not None])
    folds: dict[str, Any] = {"cv": None if cells <= 200 else 5}
    found: dict[str, tuple[float, Any, str]] = {}
    if model in ("auto", "linear"):
        search: Any = ParityRidgeCV(**folds, **settings).fit(X, y, **people)
        error = float(np.min(search.cv_results_["mean_squared_error"]))
        words = f"linear, penalty {search.alpha_:.3g}"
        found["linear"] = error, ParityRidge(alpha=search.alpha_, **settings), words
    if model in ("auto", "kernel"):
        options = {"kernel": "rbf", "fit_intercept": True, **settings}
        landmarks = many or n > _EXACT
        if landmarks:
            options |= {"solver": "nystrom", "n_components": _LANDMARKS, "random_state": seed}
        gammas = [width / d for width in _WIDTHS]
        search = ParityKernelRidgeCV(gammas=gammas, **folds, **options).fit(X, y, **people)
        error = float(np.min(search.cv_results_["mean_squared_error"]))
        words = f"RBF kernel, gamma {search.gamma_:.3g}, penalty {search.alpha_:.3g}"
        words += f", {_LANDMARKS} landmarks" if landmarks else ""
        best = ParityKernelRidge(alpha=search.alpha_, gamma=search.gamma_, **options)
        found["kernel"] = error, best, words
    name = min(found, key=lambda which: found[which][0])
    error, estimator, words = found[name]
    if len(found) > 1:
        other = next(which for which in found if which != name)
        words += f"; left-out error {error:.4g}, against {found[other][0]:.4g} of a {other} model"
    return estimator, words


def finished(estimator: Any, rows: Prepared, pool: Pool | None) -> tuple[Part, ...]:
    """Training rows, held-out rows and the pool, with the predictions of a fitted estimator."""
    parts = []
    asked = estimator.parity_on
    both = (("training rows", rows.train, "train"), ("held-out rows", rows.test, "test"))
    for name, some, key in both:
        fair, free = estimator.tradeoff_.predict(rows.X[some], [0.0, 1.0])
        on = key == "train" and (pool is None or asked != "pool")
        parts.append(Part(name, fair, free, y=rows.y[some], constrained=on, **rows.people[key]))
    if pool is not None:
        fair, free = estimator.tradeoff_.predict(pool.X, [0.0, 1.0])
        parts.append(
            Part(
                "rows of the pool",
                fair,
                free,
                pool.sensitive_features,
                control_features=pool.control_features,
                sample_weight=pool.sample_weight,
                constrained=True,
            )
        )
    return tuple(parts)
