"""Parity for the predictions of any regressor, by the smallest shift in mean square."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LinearRegression
from sklearn.metrics import r2_score
from sklearn.utils import column_or_1d
from sklearn.utils.validation import _num_samples, check_is_fitted

from meanparity._documentation import Documented
from meanparity._typing import Columns, FloatArray, FloatOrArray
from meanparity.constraints import Constraint, MeanParity
from meanparity.data.features import FeatureLayout, check_shape, features_to_predict
from meanparity.data.fit_input import (
    FitInput,
    InputOptions,
    check_unfairness,
    check_weights,
    read_rows_to_predict,
    read_targets,
    sensitive_values,
)
from meanparity.data.pool import Pool, as_pool
from meanparity.data.refusals import refuse_other_order
from meanparity.data.streams import refuse_stream
from meanparity.estimators._base import COLUMNS, FIT_METADATA, store_fitted
from meanparity.estimators._corrections import (
    FunctionCorrection,
    GroupShifts,
    read_function_input,
    read_groups_input,
    shifts_groups,
    split_correction,
)
from meanparity.estimators._report import Summary
from meanparity.estimators._wrapped import check_regressor, fit_clone, predictions
from meanparity.exceptions import ParityWarning, warn
from meanparity.state import stored
from meanparity.tradeoff.curve import Comparison

if TYPE_CHECKING:
    from meanparity.report import Report

_CLEARLY_LESS = 0.99  # of the change by a function: a shift of each group is chosen


@stored(
    "ParityAdjusted",
    predicts_with=(*COLUMNS, "estimator_", "_encoder", "_correction", "_layout", "_unfairness"),
)
class ParityAdjusted(Documented, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Any regressor f, such as gradient boosting, plus the smallest correction that gives parity.

    A function g of X (the default) is the one with the least ``Σ_i u_i g(x_i)² + α‖g‖²`` for which
    ``f + g`` meets the constraint; it does not need to know the groups of new rows. A shift of each
    group (``correction="groups"``) is the least one of all, and needs to know them. The shifts,
    and a g with an intercept, leave the mean of all predictions on these rows, weighted as in the
    loss, as it is.

    Parameters
    ----------
    estimator : regressor, optional
        f, any scikit-learn regressor; `LinearRegression` by default. One that is fitted already
        stays so in ``sklearn.frozen.FrozenEstimator(f)``.
    correction : ParityRidge, ParityKernelRidge, a pipeline that ends in one, "groups" or constraint
        The functions g, with their penalty and the constraint. The steps of a pipeline before the
        last are fitted to X, and turn text into numbers for g, while f reads X as it is. "groups"
        shifts each group of categories, inside each stratum of control features; it stands for
        `MeanParity`, and another constraint on groups of categories, such as `ResidualParity` or
        ``MeanParity(intersectional=False)``, can be passed in its place. By default
        ``ParityRidge(alpha=0)``, the linear function of least mean square, which does not need to
        know groups to predict; a warning says if a shift of each group would harm much less. If
        the sensitive columns are features (`sensitive_columns` without `drop_sensitive`), there is
        no pool, and a shift of each group changes the predictions for the rows of fit less, it is
        chosen.
    unfairness : float, default=0.0
        The dial: 0 is parity, 1 is f itself; between, every gap is this share of that of f.
    sensitive_columns : int, str or list of them, optional
        Positions or names of columns of X that say who is in which group, instead of
        `sensitive_features`. They stay features as well unless `drop_sensitive`.
    drop_sensitive : bool, default=False
        Whether `sensitive_columns` are left out of the features of f and g. They may hold text
        then.

    Attributes
    ----------
    estimator_ : regressor
        The fitted f.
    correction_ : {"function", "groups"}
        Which kind of correction was fitted.
    shift_ : float
        Root of the (weighted) mean square of the correction on the rows of fit.
    base_gaps_, gaps_ : dict
        Each gap of f that the constraint is about, and what is left of it, in the units of y.
    base_pool_gaps_, pool_gaps_ : dict
        The same on the pool.
    parity_residual_ : float
        Largest deviation from the constraint on the rows on which it holds.
    comparison_ : Comparison
        What the constraint compares, for `report`.
    n_features_in_, feature_names_in_
        Number and names of the columns seen in fit.

    See Also
    --------
    ParityRidge : Linear functions that are fitted under the constraint.
    meanparity.baselines.BarycenterRegressor : Equal distributions of predictions, approximately.

    Notes
    -----
    The gaps that are closed are those on the rows of `fit` and of the pool. On others some gap is
    left, as with all methods. If f is fitted already, freeze it, and fit the correction to the
    people who are scored; y is not needed. Or pass them as a pool.

    A linear g meets as many conditions as X has columns at most; where it cannot meet all, a
    warning says what is left.

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingRegressor
    >>> from meanparity.datasets import make_synthetic
    >>> from meanparity.metrics import mean_parity_gap
    >>> X, y, s = make_synthetic(500, random_state=0)
    >>> model = ParityAdjusted(HistGradientBoostingRegressor(random_state=0))
    >>> model = model.fit(X, y, sensitive_features=s)
    >>> mean_parity_gap(y, model.predict(X), sensitive_features=s) < 1e-12
    True
    """

    n_features_in_: int
    feature_names_in_: NDArray[Any]
    comparison_: Comparison
    estimator_: Any
    correction_: str
    shift_: float
    base_gaps_: dict[str, FloatOrArray]
    gaps_: dict[str, FloatOrArray]
    base_pool_gaps_: dict[str, FloatOrArray]
    pool_gaps_: dict[str, FloatOrArray]
    parity_residual_: float

    __metadata_request__fit: ClassVar = FIT_METADATA
    __metadata_request__predict: ClassVar = {"sensitive_features": True, "control_features": True}
    __metadata_request__score: ClassVar = {"sensitive_features": True, "control_features": True}

    def __init__(
        self,
        estimator: Any = None,
        *,
        correction: Any = None,
        unfairness: float = 0.0,
        sensitive_columns: Columns = None,
        drop_sensitive: bool = False,
    ) -> None:
        self.estimator = estimator
        self.correction = correction
        self.unfairness = unfairness
        self.sensitive_columns = sensitive_columns
        self.drop_sensitive = drop_sensitive

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        pool: Any = None,
    ) -> Self:
        """Fit the regressor, and its correction.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Features, which f reads as they are; numbers, if g is a function of them and is not in
            a pipeline that encodes them.
        y : array-like of shape (n,), optional
            Targets; not needed if f is frozen.
        sensitive_features : array-like of shape (n,) or (n, r), series or data frame
            One or several sensitive columns. Required unless `sensitive_columns` names columns of
            X.
        control_features : array-like of shape (n,) or (n, c), series or data frame, optional
            The constraint holds inside each combination of their values.
        sample_weight : array-like of shape (n,), optional
            Weights, of f's fit, of the mean square, and in the means of groups.
        pool : (X_pool, sensitive_features_pool) or Pool, optional
            People to be scored: the constraint holds exactly on them as well.
        """
        u = check_unfairness(self.unfairness)
        base = LinearRegression() if self.estimator is None else self.estimator
        check_regressor(base)
        of_groups = shifts_groups(self.correction)
        encoder, space = split_correction(self.correction) if of_groups is None else (None, None)
        if y is None and not isinstance(base, FrozenEstimator):
            raise ValueError(
                "This ParityAdjusted estimator requires y to be passed, but the target y is None. "
                "Only a regressor that is fitted already, FrozenEstimator(f), does without."
            )
        y = None if y is None else _one_output(X, y)
        weights = None if sample_weight is None else check_weights(sample_weight, _num_samples(X))
        options = self._options()
        layout = FeatureLayout.from_table(X, self.sensitive_columns, bool(self.drop_sensitive))
        check_shape(X, type(self).__name__, 2)
        features = layout.select(X)
        given = {
            "sensitive_features": sensitive_values(
                options, layout, X, sensitive_features, _num_samples(X)
            ),
            "control_features": control_features,
            "sample_weight": weights,
        }
        correction: FunctionCorrection | GroupShifts
        constraint: Constraint
        if space is not None:
            people = None if pool is None else self._pool(layout, as_pool(pool))
            own, people_own = features, people
            if encoder is not None:
                own = encoder.fit_transform(features)
                if people is not None:
                    people_own = replace(people, X=encoder.transform(people.X))
            constraint, data = read_function_input(space, own, y, pool=people_own, **given)
            model, f, data = _fit_base(base, features, y, weights, data)
            f_pool = np.zeros((0, 1))
            if data.pool is not None and people is not None:
                f_pool = predictions(model, people.X)[:, None]
            fit = partial(FunctionCorrection.fit, space, constraint, data, f, f_pool, 1 - u)
            in_X = layout.sensitive and not layout.drop_sensitive and pool is None
            if self.correction is None and in_X:
                correction = _less_change(fit, features, data, f, given)
            else:
                correction = fit()
            if isinstance(correction, GroupShifts):
                constraint = MeanParity()
        elif of_groups is not None and pool is None:
            constraint = of_groups
            data, functionals = read_groups_input(constraint, features, y, **given)
            model, f, data = _fit_base(base, features, y, weights, data)
            correction = GroupShifts.fit(constraint, data, functionals, f)
        else:
            raise ValueError(
                "A shift of each group cannot give parity on the rows of fit and on a pool at "
                "once. Fit to the pool itself with the regressor frozen, or pass another "
                "correction."
            )
        effect = correction.effect
        (base_gaps, base_pool_gaps), (gaps, pool_gaps) = effect.gaps(1.0), effect.gaps(u)
        about = constraint.describe(data.rows)
        fitted = {
            "base_gaps_": base_gaps,
            "base_pool_gaps_": base_pool_gaps,
            "gaps_": gaps,
            "pool_gaps_": pool_gaps,
            "parity_residual_": (1 - u) * effect.residual,
            "shift_": (1 - u) * effect.size,
            "estimator_": model,
            "correction_": "groups" if isinstance(correction, GroupShifts) else "function",
            "comparison_": Comparison(data.rows.schema, constraint, about),
            "_correction": correction,
            "_encoder": encoder,
            "_layout": layout,
            "_unfairness": u,
        }
        store_fitted(self, layout, fitted)
        return self

    def _options(self) -> InputOptions:
        return InputOptions(type(self).__name__, self.sensitive_columns, self.drop_sensitive)

    def _pool(self, layout: FeatureLayout, pool: Pool) -> Pool:
        """The pool with the features and the groups that fit reads."""
        try:
            groups = sensitive_values(
                self._options(), layout, pool.X, pool.sensitive_features, _num_samples(pool.X)
            )
            return replace(pool, X=layout.select(pool.X), sensitive_features=groups)
        except ValueError as error:
            raise ValueError(f"In the pool: {error}") from error

    def predict(
        self, X: Any, *, sensitive_features: Any = None, control_features: Any = None
    ) -> FloatArray:
        """Predictions of the regressor, corrected: (n,).

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, d), or data frame
            Rows, with the columns that were there in fit.
        sensitive_features, control_features : columns, optional
            Their groups and strata: needed if `correction_` is "groups", and only then. Groups are
            not needed if `sensitive_columns` names them.
        """
        check_is_fitted(self, "estimator_")
        features = features_to_predict(self, self._layout, X, to_numbers=False)
        values = predictions(self.estimator_, features)
        if isinstance(self._correction, GroupShifts):
            rows = read_rows_to_predict(
                self._options(),
                self._layout,
                self._correction.schema,
                X,
                sensitive_features,
                control_features,
            )
            shift = self._correction.evaluate(rows)
        elif sensitive_features is None and control_features is None:
            encoder = getattr(self, "_encoder", None)  # which older files do not have
            own = features if encoder is None else encoder.transform(features)
            shift = self._correction.evaluate(own)
        else:
            raise ValueError(
                "The correction is a function of X and does not look at groups. Leave "
                "sensitive_features and control_features out."
            )
        return np.asarray(values + (1 - self._unfairness) * shift)

    def summary(self) -> Summary:
        """What was corrected and how: each gap on the rows of fit before and after.

        It prints itself, and `to_frame` has the gaps as a data frame.

        Examples
        --------
        >>> from meanparity.datasets import make_synthetic
        >>> X, y, s = make_synthetic(300, random_state=0)
        >>> found = ParityAdjusted().fit(X, y, sensitive_features=s).summary()
        >>> found.to_frame().round(3)
            gap  before  after
        0  -0.1  -0.200   -0.0
        1   0.1   0.206    0.0
        """
        check_is_fitted(self, "estimator_")
        about = getattr(self, "comparison_", None)
        facts = [
            ("regressor", type(self.estimator_).__name__),
            ("columns", f"{self.n_features_in_:,}"),
            ("correction", self.correction_),
            ("typical size of the correction", f"{self.shift_:.4g}"),
        ]
        if self._unfairness > 0:
            facts.append(("share of the gaps that is left", f"{self._unfairness:.4g}"))
        before = (self.base_gaps_, self.base_pool_gaps_)
        gaps = [
            (f"{name}{where}", float(old[name]), float(new[name]))
            for where, old, new in zip(
                ("", " (pool)"), before, (self.gaps_, self.pool_gaps_), strict=True
            )
            for name in new
        ]
        kind = type(self).__name__
        description = "" if about is None else about.description
        return Summary(kind, description, tuple(facts), "", {}, {}, (), tuple(gaps))

    def report(
        self,
        X: Any,
        y: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
        sample_weight: Any = None,
        name: str = "rows",
        target: str = "y",
        constrained: bool | None = None,
        min_cell: int = 1,
    ) -> Report:
        """A report on the predictions for these rows, with the correction and without it.

        Parameters
        ----------
        X, y, sensitive_features, control_features, sample_weight, name, target, constrained, \
min_cell
            See `ParityRidge.report`.
        """
        from meanparity.report import Slider
        from meanparity.report.models import report_of_model

        check_is_fitted(self, "estimator_")
        if not hasattr(self, "comparison_"):
            raise ValueError(
                "The model comes from a minimal file, which does not say what is compared. Use the "
                "model that was fitted, or meanparity.report.report of its predictions."
            )
        layout, by_group = self._layout, isinstance(self._correction, GroupShifts)
        if sensitive_features is None and layout.sensitive:
            values = layout.sensitive_values(X).values()
            names = self.comparison_.schema.sensitive
            sensitive_features = dict(zip(names, values, strict=True))
        features = features_to_predict(self, layout, X, to_numbers=False)
        base = predictions(self.estimator_, features)
        people = {}
        if by_group:
            in_X = layout.sensitive and not layout.drop_sensitive
            people = {
                "sensitive_features": None if in_X else sensitive_features,
                "control_features": control_features,
            }
        own, u = self.predict(X, **people), self._unfairness
        fair = base + (own - base) / (1 - u) if u < 1 else base
        return report_of_model(
            Slider.dial(u),
            np.column_stack([fair, base]),
            None,
            comparison=self.comparison_,
            X=X,
            features=features,
            y=None if y is None else _one_output(X, y),
            sensitive_features=sensitive_features,
            control_features=control_features,
            sample_weight=sample_weight,
            name=name,
            target=target,
            constrained=constrained,
            min_cell=min_cell,
            shifted=by_group,
        )

    def score(
        self,
        X: Any,
        y: Any,
        sample_weight: Any = None,
        *,
        sensitive_features: Any = None,
        control_features: Any = None,
    ) -> float:
        """R² of the predictions, see scikit-learn's `RegressorMixin.score`.

        Parameters
        ----------
        X, y, sample_weight
            Rows, targets, weights.
        sensitive_features, control_features : columns, optional
            Groups and strata, for ``correction="groups"``; ignored otherwise.
        """
        people = {"sensitive_features": sensitive_features, "control_features": control_features}
        if not isinstance(getattr(self, "_correction", None), GroupShifts):
            people = {}
        return float(r2_score(y, self.predict(X, **people), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _less_change(
    fit: Callable[[], FunctionCorrection],
    features: Any,
    data: FitInput,
    f: FloatArray,
    given: dict[str, Any],
) -> FunctionCorrection | GroupShifts:
    """The correction that changes the predictions for the rows of fit less, in mean square.

    A shift of each group is the least of all changes, so a function is chosen only if it changes
    hardly more: it also has an answer for groups that fit did not see.
    """
    with warnings.catch_warnings(record=True) as noted:
        warnings.simplefilter("always", ParityWarning)
        found = fit()
    constraint, shifts = MeanParity(), None
    try:
        rows, functionals = read_groups_input(constraint, features, data.Y[:, 0], **given)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ParityWarning)
            shifts = GroupShifts.fit(constraint, rows, functionals, f)
    except ValueError:  # numbers, or missing values, which cannot be shifted
        pass
    if shifts is not None and shifts.effect.size < _CLEARLY_LESS * found.effect.size:
        return shifts
    for note in noted:
        warn(str(note.message))
    return found


def _fit_base(
    base: Any, X: Any, y: Any, weights: FloatArray | None, data: FitInput
) -> tuple[Any, FloatArray, FitInput]:
    """The fitted regressor, its predictions for the same rows, (n, 1), and the rows with a y."""
    model = fit_clone(base, X, y, weights)
    f = predictions(model, X)[:, None]
    if y is None:
        data = replace(data, Y=f, rows=replace(data.rows, y=f), spread=f.std(axis=0))
    return model, f, data


def _one_output(X: Any, y: Any) -> FloatArray:
    refuse_stream(X, "X")
    refuse_other_order(X=X, y=y)
    values, single = read_targets("ParityAdjusted", X, y)
    if values.shape[1] > 1:
        raise ValueError(
            f"y has {values.shape[1]} outputs, but ParityAdjusted predicts one. Fit one model for "
            "each, for instance with sklearn.multioutput.MultiOutputRegressor."
        )
    target: FloatArray = column_or_1d(values[:, 0] if single else values, warn=True)
    return target
