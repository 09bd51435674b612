"""Reports about fitted models, and about the predictions of any model."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array

from meanparity._typing import FloatArray
from meanparity.constraints.mean import MeanParity
from meanparity.data.fit_input import check_weights
from meanparity.data.refusals import refuse_masked, refuse_other_order
from meanparity.data.rows import Rows
from meanparity.report.page import Report, make_report
from meanparity.report.slider import Slider
from meanparity.report.statements import GroupUse
from meanparity.report.summary import PredictedRows
from meanparity.report.use import as_numbers, use_of
from meanparity.tradeoff.budgets import Kind
from meanparity.tradeoff.curve import Comparison

AT_SAME_PENALTY = "without the constraint at the same penalty"


def report(
    y: Any,
    predictions: Any,
    sensitive_features: Any,
    *,
    control_features: Any = None,
    sample_weight: Any = None,
    X: Any = None,
    name: str = "rows",
    target: str = "y",
    continuous: Any = "auto",
    facts: Mapping[str, str] | None = None,
    min_cell: int = 1,
) -> Report:
    """A report about the predictions of any model.

    Parameters
    ----------
    y : array-like of shape (n,) or None
        Outcomes, if they are known.
    predictions : array-like of shape (n,)
        Predictions, such as scores or probabilities.
    sensitive_features, control_features : columns
        Groups, and strata within which they are compared. A missing value is a group of its own.
    sample_weight : array-like of shape (n,), optional
        Weights.
    X : data frame of numbers, optional
        The columns from which the model predicts: the page then says whether the sensitive columns
        are among them, and which columns tell groups apart.
    name, target : str
        Names of the rows and of the outcome.
    continuous : "auto" or list, default="auto"
        Sensitive columns that are numbers, as in `MeanParity`.
    facts : mapping of str to str, optional
        Further facts for the last section of the page.
    min_cell : int, default=1
        The smallest number of people about whom the report says anything.

    Returns
    -------
    Report

    See Also
    --------
    report_on : From a model and rows.
    make_report : Several sets of rows on a page.

    Examples
    --------
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(300, random_state=0)
    >>> found = report(y, X[:, 0], s, name="people", target="income")
    >>> found
    Report(300 people)
    >>> print(found.sentences[0])
    2 groups of sensitive in the 300 people: sensitive=-0.1 (152 rows); sensitive=0.1 (148 rows).
    """
    refuse_masked(predictions, "predictions")
    values = check_array(predictions, ensure_2d=False, dtype=np.float64, input_name="predictions")
    if values.ndim == 2 and values.shape[1] > 1:
        raise ValueError(
            f"predictions have shape {values.shape}. Pass one column, such as the probabilities of "
            "one class."
        )
    values = values.reshape(-1)
    rows = Rows.from_columns(
        sensitive_features,
        control_features=control_features,
        n_rows=len(values),
        continuous=continuous,
        missing="group",
    )
    constraint = MeanParity(missing="group", continuous=list(rows.schema.continuous))
    return report_of_model(
        Slider.none(),
        np.column_stack([values, values]),
        None,
        comparison=Comparison(rows.schema, constraint),
        X=predictions if X is None else X,
        features=X,
        y=y,
        sensitive_features=sensitive_features,
        control_features=control_features,
        sample_weight=sample_weight,
        name=name,
        target=target,
        min_cell=min_cell,
        facts=facts,
    )


def report_on(
    model: Any, X: Any, y: Any = None, *, budget: Kind | None = None, **options: Any
) -> Report:
    """A report about a fitted model: one of this package, a pipeline, or any other.

    Parameters
    ----------
    model : fitted estimator
        With its own `report`, a pipeline that ends in such an estimator, or with `predict`.
    X, y : array-like
        Rows, and their outcomes if these are known.
    budget : {"gap", "smd", "norm"}, optional
        What the slider limits, as in the `report` of estimators that have a `tradeoff_`.
    **options
        ``sensitive_features`` and the other arguments of the model's `report`, or of
        `meanparity.report.report`.

    Returns
    -------
    Report
        The page.

    See Also
    --------
    report : From predictions.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from meanparity import ParityRidge
    >>> from meanparity.datasets import make_synthetic
    >>> X, y, s = make_synthetic(300, random_state=0)
    >>> model = make_pipeline(StandardScaler(), ParityRidge())
    >>> model = model.fit(X, y, parityridge__sensitive_features=s)
    >>> report_on(model, X, y, sensitive_features=s)
    Report(300 rows)
    """
    last = model[-1] if isinstance(model, Pipeline) else model
    if budget is not None:
        if not hasattr(last, "tradeoff_"):
            raise ValueError(
                f"budget={budget!r} needs the models between the constrained one and the free one "
                f"(tradeoff_), which {type(last).__name__} does not have. Leave budget out."
            )
        options["budget"] = budget
    if hasattr(model, "report"):
        found: Report = model.report(X, y, **options)
        return found
    if hasattr(last, "report"):
        kept = {n: options.get(n) for n in ("sensitive_features", "control_features")}
        refuse_other_order(X=X, y=y, **kept, sample_weight=options.get("sample_weight"))
        of_last: Report = last.report(model[:-1].transform(X), y, **options)
        return of_last
    people = options.pop("sensitive_features", None)
    if people is None:
        raise ValueError("Pass sensitive_features: a report compares groups.")
    if options.pop("constrained", False):
        raise ValueError(
            f"{type(model).__name__} is not under a constraint. Leave constrained out."
        )
    return report(y, model.predict(X), people, X=X, **options)


def report_of_model(
    slider: Slider,
    columns: FloatArray,
    scores: FloatArray | None,
    *,
    comparison: Comparison,
    X: Any,
    features: Any,
    y: Any,
    sensitive_features: Any,
    control_features: Any,
    sample_weight: Any,
    name: str,
    target: str,
    constrained: bool | None = None,
    min_cell: int = 1,
    facts: Mapping[str, str] | None = None,
    shifted: bool = False,
    without: str = "without the constraint",
) -> Report:
    """A report about one set of rows, from the predictions of models, (n, 2 + c).

    `features` are what the models see of X, if that is known, `shifted` says whether predictions
    are shifted by group afterwards, and `without` what the free model is called.
    """
    given = {
        "sensitive_features": sensitive_features,
        "control_features": control_features,
        "sample_weight": sample_weight,
    }
    refuse_other_order(X=X, y=y, **given)
    n = len(columns)
    weights = None if sample_weight is None else check_weights(sample_weight, n)
    outcomes = None if y is None else np.asarray(y, dtype=np.float64)
    if outcomes is not None:
        if outcomes.ndim == 2 and outcomes.shape[1] > 1:
            raise ValueError(f"y has {outcomes.shape[1]} outputs. Make one report for each.")
        outcomes = outcomes.reshape(-1)
        if len(outcomes) != n:
            raise ValueError(f"y has {len(outcomes)} values, but there are {n} predictions.")
        bad = np.flatnonzero(~np.isfinite(outcomes))
        if len(bad):
            raise ValueError(
                f"y has {len(bad):,} missing or infinite values, the first in row {bad[0]}. Leave "
                "such rows out, or pass y=None for a report without outcomes."
            )
    rows = PredictedRows(
        name,
        columns[:, 0],
        columns[:, 1],
        sensitive_features,
        outcomes,
        control_features,
        weights,
        constrained,
        columns[:, 2:] if columns.shape[1] > 2 else None,
        scores,
        without=without,
    )
    use, frame = None, None
    if features is not None:
        numbers, names = as_numbers(features)
        use = use_of(numbers, names, comparison.schema, sensitive_features, None)
        all_numbers = hasattr(features, "columns") and hasattr(features, "iloc")
        if all_numbers and all(kind.kind in "biuf" for kind in features.dtypes):
            frame = features
    if shifted:
        features_too = () if use is None else use.features
        use = GroupUse(features=features_too, shifted=comparison.schema.sensitive)
    return make_report(
        [rows],
        comparison=comparison,
        slider=slider,
        target=target,
        columns=None if frame is None else (frame, rows),
        min_cell=min_cell,
        facts=facts,
        use=use,
    )
