"""The pictures show the numbers: every line, bar and mark is where the data say."""

import sys

import matplotlib
import numpy as np
import pytest
from matplotlib import pyplot as plt
from matplotlib.figure import Figure
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from meanparity import (
    MeanParity,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
)
from meanparity.audit import audit
from meanparity.datasets import make_synthetic
from meanparity.displays import AuditDisplay, GroupDistributionDisplay, TradeoffDisplay
from meanparity.metrics import group_means, mean_parity_gap

matplotlib.use("Agg")

PARITY, FREE = "parity on the training rows (u = 0)", "unconstrained (u = 1)"
TRAIN, TEST = slice(200), slice(200, None)


@pytest.fixture(autouse=True)
def no_figures_left():
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    return make_synthetic(400, nonlinear=True, sensitive_scale=1.0, random_state=0)


@pytest.fixture(scope="module")
def model(data):
    X, y, s = (part[TRAIN] for part in data)
    return ParityKernelRidge(kernel="rbf", gamma=0.1, unfairness=0.37).fit(
        X, y, sensitive_features=s
    )


def marks(ax):
    """Coordinates and shape of the marks on the curves, without the legend's empty ones."""
    return [
        (*line.get_xdata(), *line.get_ydata(), line.get_marker(), line.get_markerfacecolor())
        for line in ax.lines
        if line.get_linestyle() == "None" and len(line.get_xdata())
    ]


def legend_texts(legend):
    return [text.get_text().strip() for text in legend.get_texts()]


# ---------------------------------------------------------------------- the tradeoff


def test_line_is_the_curve(model, data):
    X, y, s = (part[TEST] for part in data)
    curve = model.tradeoff_.curve(X, y, s)
    display = TradeoffDisplay(curve).plot(Figure().subplots())
    (line,) = display.lines_
    np.testing.assert_array_equal(line.get_xdata(), curve.smd)
    np.testing.assert_array_equal(line.get_ydata(), curve.mse)
    assert display.ax_.get_xlabel() == "Sum of absolute mean gaps"
    assert display.ax_.get_ylabel() == "Mean squared error"
    assert display.figure_ is display.ax_.figure


def test_marks_are_at_both_ends_and_at_the_model(model, data):
    X, y, s = (part[TEST] for part in data)
    display = TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s)
    ends = model.tradeoff_.predict(X, [0.0, 1.0])
    predictions = [ends[0], ends[1], model.predict(X)]
    expected = [
        (mean_parity_gap(y, g, sensitive_features=s), ((g - y) ** 2).mean()) for g in predictions
    ]
    seen = marks(display.ax_)
    np.testing.assert_allclose([mark[:2] for mark in seen], expected)
    assert [mark[2:] for mark in seen] == [
        ("o", "white"),
        ("o", display.lines_[0].get_color()),
        ("D", "none"),
    ]
    texts = legend_texts(display.ax_.get_legend())
    assert texts == [type(model).__name__, PARITY, FREE, "this model (u = 0.37)"]


def test_from_predictions_is_from_estimator(model, data):
    X, y, s = (part[TEST] for part in data)
    positions = np.linspace(0, 1, 7)
    ax = Figure().subplots()
    one = TradeoffDisplay.from_predictions(
        y,
        model.tradeoff_.at(0.0).predict(X),
        model.tradeoff_.at(1.0).predict(X),
        sensitive_features=s,
        unfairness=[*positions, 0.37],
        ax=ax,
    )
    other = TradeoffDisplay.from_estimator(
        model, X, y, sensitive_features=s, unfairness=positions, ax=ax
    )
    order = np.argsort([*positions, 0.37])
    for coordinate in ("get_xdata", "get_ydata"):
        here, there = (getattr(display.lines_[0], coordinate)() for display in (one, other))
        np.testing.assert_allclose(here[order], there)


def test_own_position_is_added_once(model, data):
    X, y, s = (part[TEST] for part in data)
    for unfairness, expected in (([0.0, 1.0], [0.0, 0.37, 1.0]), ([0.37, 1.0], [0.37, 1.0])):
        display = TradeoffDisplay.from_estimator(
            model, X, y, sensitive_features=s, unfairness=unfairness, ax=Figure().subplots()
        )
        np.testing.assert_array_equal(display.curves[""].unfairness, expected)
    texts = legend_texts(display.ax_.get_legend())
    assert texts == [type(model).__name__, FREE, "this model (u = 0.37)"]


def test_second_curve_joins_the_first(model, data):
    ax = Figure().subplots()
    displays = []
    for name, rows in (("train", TRAIN), ("held out", TEST)):
        X, y, s = (part[rows] for part in data)
        displays.append(
            TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s, name=name, ax=ax)
        )
    first, second = (display.lines_[0].get_color() for display in displays)
    assert first != second
    assert len(marks(ax)) == 6
    assert legend_texts(ax.get_legend()) == [
        "train",
        "held out",
        PARITY,
        FREE,
        "this model (u = 0.37)",
    ]
    grey = [handle.get_color() for handle in ax.get_legend().get_lines()[2:]]
    assert grey == ["0.35"] * 3


def test_several_curves_at_once(model, data):
    X, y, s = (part[TEST] for part in data)
    curves = {"train": model.tradeoff_.training_curve(), "held out": model.tradeoff_.curve(X, y, s)}
    display = TradeoffDisplay(curves, position=0.3).plot()
    assert [line.get_label() for line in display.lines_] == ["train", "held out"]
    for line, curve in zip(display.lines_, curves.values(), strict=True):
        np.testing.assert_array_equal(line.get_xdata(), curve.smd)
    assert len(marks(display.ax_)) == 6
    # on the training rows, and only there, the curve starts at gap 0
    assert marks(display.ax_)[0][0] < 1e-12 < marks(display.ax_)[3][0]


def test_keywords_style_the_line_and_its_marks(model, data):
    X, y, s = (part[TEST] for part in data)
    display = TradeoffDisplay.from_estimator(
        model, X, y, sensitive_features=s, color="red", linestyle=":", ax=Figure().subplots()
    )
    assert display.lines_[0].get_color() == "red"
    assert display.lines_[0].get_linestyle() == ":"
    assert marks(display.ax_)[1][3] == "red"


def test_axes_may_hold_other_artists(model):
    ax = Figure().subplots()
    ax.errorbar([0.1], [0.1], yerr=[0.05], fmt="s", label="elsewhere")
    TradeoffDisplay(model.tradeoff_.training_curve()).plot(ax, name="train")
    assert set(legend_texts(ax.get_legend())) == {"elsewhere", "train", PARITY, FREE}


def test_several_outputs_share_one_curve(data):
    X, y, s = data
    model = ParityRidge().fit(X, np.column_stack([y, 2 * y]), sensitive_features=s)
    display = TradeoffDisplay.from_estimator(
        model, X, np.column_stack([y, 2 * y]), sensitive_features=s
    )
    curve = model.tradeoff_.training_curve()
    np.testing.assert_allclose(display.lines_[0].get_ydata(), curve.mse)


# ---------------------------------------------------------------------- the distributions


def histograms(ax):
    return [patch.get_data() for patch in ax.patches]


def densities(ax):
    """The density curves by colour; the lines at the means have two points."""
    return {line.get_color(): line for line in ax.lines if len(line.get_xdata()) > 2}


def mean_lines(ax):
    """Where the lines at the means are, a thin and a thick one for each group."""
    thin, thick = (
        [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() == width]
        for width in (1.2, 2.5)
    )
    assert thin == thick
    return thin


def values_and_groups():
    random = np.random.default_rng(0)
    s = np.repeat(["a", "b", "c"], [50, 80, 20])
    before = random.normal(size=150) + np.repeat([0.0, 1.0, 3.0], [50, 80, 20])
    return before, random.normal(size=150), s


def test_bars_have_area_one_and_count_the_rows():
    before, after, s = values_and_groups()
    display = GroupDistributionDisplay.from_predictions(
        before, after, sensitive_features=s, bins=17
    )
    for ax, values in zip(display.axes_, (before, after), strict=True):
        assert len(ax.patches) == 3
        for (heights, edges, _), group in zip(histograms(ax), "abc", strict=True):
            assert len(heights) == 17
            assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)
            counts = np.histogram(values[s == group], edges)[0]
            np.testing.assert_allclose(heights * np.diff(edges) * (s == group).sum(), counts)
    both = np.concatenate([before, after])
    assert edges[0] == both.min()
    assert edges[-1] == both.max()


def test_both_axes_have_the_same_limits():
    before, after, s = values_and_groups()
    upper, lower = Figure().subplots(2)
    GroupDistributionDisplay(before, after, sensitive_features=s).plot((upper, lower))
    assert upper.get_xlim() == lower.get_xlim()
    assert upper.get_ylim() == lower.get_ylim()
    highest = max(heights.max() for ax in (upper, lower) for heights, _, _ in histograms(ax))
    assert upper.get_ylim()[1] > highest


def test_means_and_densities_are_those_of_the_groups():
    from scipy.stats import gaussian_kde

    before, after, s = values_and_groups()
    display = GroupDistributionDisplay.from_predictions(before, after, sensitive_features=s)
    for ax, values in zip(display.axes_, (before, after), strict=True):
        expected = group_means(None, values, sensitive_features=s)
        np.testing.assert_allclose(mean_lines(ax), list(expected.values()))
        lines = list(densities(ax).values())
        assert len(lines) == 3
        for line, group in zip(lines, "abc", strict=True):
            member = values[s == group]
            x = line.get_xdata()
            assert (x[0], x[-1]) == (member.min(), member.max())
            np.testing.assert_allclose(line.get_ydata(), gaussian_kde(member)(x))
        gap = mean_parity_gap(None, values, sensitive_features=s)
        assert ax.get_title("right") == f"sum of mean gaps = {gap:.4g}"
    assert legend_texts(display.axes_[0].get_legend()) == [
        "a (n = 50)",
        "b (n = 80)",
        "c (n = 20)",
    ]


def test_constant_group_and_single_row_have_no_density():
    before, after, s = values_and_groups()
    after[s == "a"] = 0.1 + 0.2 * np.array([1.0, 1.0 + 1e-15] * 25)  # constant but for rounding
    before, after, s = np.append(before, 0.5), np.append(after, 0.5), np.append(s, "d")
    display = GroupDistributionDisplay.from_predictions(before, after, sensitive_features=s)
    colours = [patch.get_facecolor()[:3] for patch in display.axes_[0].patches]
    for ax, expected in zip(display.axes_, ([0, 1, 2], [1, 2]), strict=True):
        drawn = [matplotlib.colors.to_rgb(colour) for colour in densities(ax)]
        assert drawn == [colours[group] for group in expected]
        assert len(mean_lines(ax)) == len(ax.patches) == 4
        for heights, edges, _ in histograms(ax):
            assert (heights * np.diff(edges)).sum() == pytest.approx(1.0)


@pytest.mark.parametrize("value", [0.0, -3.0, 0.3, 1e17])
def test_everything_constant_can_be_drawn(value):
    after = value * np.array([1.0, 1.0 + 2e-16, 1.0, 1.0])
    display = GroupDistributionDisplay.from_predictions(
        np.full(4, value), after, sensitive_features=["a", "a", "b", "b"]
    )
    display.figure_.canvas.draw()
    for ax in display.axes_:
        assert not densities(ax)
        assert ax.get_title("right") == "sum of mean gaps = 0"
        low, high = ax.get_xlim()
        assert low < value < high


def test_one_group_can_be_drawn():
    display = GroupDistributionDisplay.from_predictions(
        [1.0, 2.0, 4.0], [1.0, 1.0, 5.0], sensitive_features=["a"] * 3
    )
    display.figure_.canvas.draw()
    assert [mean_lines(ax) for ax in display.axes_] == [[pytest.approx(7 / 3)]] * 2


def test_from_estimator_draws_the_free_prediction_or_the_response(model, data):
    X, y, s = (part[TEST] for part in data)
    free = model.tradeoff_.at(1.0).predict(X)
    for before, expected, title in (
        ("free", free, "Before: unconstrained prediction"),
        ("response", y, "Before: outcome y"),
    ):
        display = GroupDistributionDisplay.from_estimator(
            model, X, y, sensitive_features=s, before=before, axes=Figure().subplots(2)
        )
        np.testing.assert_array_equal(display.y_before, expected)
        np.testing.assert_array_equal(display.y_after, model.predict(X))
        assert [ax.get_title("left") for ax in display.axes_] == [
            title,
            "After: prediction, u = 0.37",
        ]


def test_means_meet_on_the_training_rows(data):
    X, y, s = data
    model = ParityRidge().fit(X, y, sensitive_features=s)
    display = GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s)
    above, below = (np.ptp(mean_lines(ax)) for ax in display.axes_)
    free = model.tradeoff_.at(1.0).predict(X)
    assert above == pytest.approx(mean_parity_gap(y, free, sensitive_features=s))
    assert below < 1e-12 < 0.05 < above
    assert display.axes_[1].get_title("left") == f"After: prediction, {PARITY}"
    assert display.axes_[1].get_title("right") == "sum of mean gaps = 0"


def test_many_groups_differ_in_style_and_have_their_legend_outside():
    random = np.random.default_rng(0)
    s = {"sex": np.tile(["F", "M"], 120), "age": np.repeat(np.arange(6), 40)}
    values = random.normal(size=240)
    display = GroupDistributionDisplay.from_predictions(values, values, sensitive_features=s)
    styles = {(line.get_color(), line.get_linestyle()) for line in display.axes_[0].lines[::3]}
    assert len(styles) == display.groups.n_groups == 12
    assert display.axes_[0].get_legend() is None
    (legend,) = display.figure_.legends
    assert legend.get_title().get_text() == "sex, age"
    assert legend_texts(legend)[0] == "F, 0 (n = 20)"
    display.figure_.canvas.draw()
    boxes = [ax.get_window_extent() for ax in display.axes_]
    assert not any(box.overlaps(legend.get_window_extent()) for box in boxes)


def test_legend_shows_labels_that_matplotlib_would_hide_or_typeset():
    display = GroupDistributionDisplay.from_predictions(
        [1.0, 2.0], [1.0, 2.0], sensitive_features=["_unknown", "$0 to $9"]
    )
    texts = legend_texts(display.axes_[0].get_legend())
    assert texts == [r"\$0 to \$9 (n = 1)", "_unknown (n = 1)"]


def loss_models():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((150, 2))
    s = np.where(rng.random(150) < 0.5, "a", "b")
    mean = np.exp(0.5 * X[:, 0] + 0.4 * (s == "a"))
    counts, amounts = rng.poisson(mean), rng.gamma(2.0, mean / 2) + 0.01
    classes = np.where(mean > 1.1, "yes", "no")
    for loss, y in (("huber", mean), ("poisson", counts), ("gamma", amounts)):
        yield ParityKernelRegressor(loss=loss, kernel="linear"), X, y, s
    for loss in ("logistic", "hinge"):
        yield ParityKernelClassifier(loss=loss, kernel="linear"), X, classes, s


def response_of(model, X):
    if model.loss == "logistic":
        return model.predict_proba(X)[:, 1]
    return model.decision_function(X) if model.loss == "hinge" else model.predict(X)


def test_both_distributions_are_on_the_scale_of_the_response():
    labels = {
        "huber": "Prediction",
        "poisson": "Prediction (scale of the response)",
        "gamma": "Prediction (scale of the response)",
        "logistic": "Predicted probability of yes",
        "hinge": "Decision function (score)",
    }
    for model, X, y, s in loss_models():
        free = model.set_params(unfairness=1.0).fit(X, y, sensitive_features=s)
        expected = response_of(free, X)
        model.set_params(unfairness=0.2).fit(X, y, sensitive_features=s)
        display = GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s)
        np.testing.assert_allclose(display.y_before, expected, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(display.y_after, response_of(model, X), rtol=1e-9)
        assert display.axes_[1].get_xlabel() == labels[model.loss]


def test_outcomes_are_on_the_scale_of_the_response():
    for model, X, y, s in loss_models():
        model.fit(X, y, sensitive_features=s)
        given = {"sensitive_features": s, "before": "response"}
        if model.loss == "hinge":
            with pytest.raises(ValueError, match=r"on another scale\. Pass before='free'"):
                GroupDistributionDisplay.from_estimator(model, X, y, **given)
            continue
        display = GroupDistributionDisplay.from_estimator(model, X, y, **given)
        if model.loss == "logistic":
            np.testing.assert_array_equal(display.y_before, y == "yes")
            label = "Outcome or predicted probability of yes"
            assert display.axes_[1].get_xlabel() == label
            with pytest.raises(ValueError, match="y contains 'maybe', but the classes are"):
                GroupDistributionDisplay.from_estimator(model, X, ["maybe"] * 150, **given)
        else:
            np.testing.assert_array_equal(display.y_before, y)


def test_the_tradeoff_says_that_its_gaps_are_those_of_scores():
    for model, X, y, s in loss_models():
        for scale in ("score",) if model.loss == "hinge" else ("score", "response"):
            model.set_params(constraint=MeanParity(scale=scale)).fit(X, y, sensitive_features=s)
            display = TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s)
            of_scores = scale == "score" and model.loss not in ("huber", "hinge")
            expected = "Sum of absolute mean gaps" + (" of the scores" if of_scores else "")
            assert display.ax_.get_xlabel() == expected


# ---------------------------------------------------------------------- no "fair", and the errors


def test_no_picture_calls_a_model_fair(model, data):
    X, y, s = (part[TEST] for part in data)
    figures = [
        TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s).figure_,
        GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s).figure_,
    ]
    for figure in figures:
        for text in figure.findobj(matplotlib.text.Text):
            assert not {"fair", "unbiased"} & set(text.get_text().lower().split())


def test_missing_matplotlib_names_the_extra(model, data, monkeypatch):
    X, y, s = data
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.setitem(sys.modules, "matplotlib.pyplot", None)
    for draw in (
        lambda: TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s),
        lambda: TradeoffDisplay.from_predictions(y, y, y, sensitive_features=s),
        lambda: GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s),
        lambda: GroupDistributionDisplay.from_predictions(y, y, sensitive_features=s),
    ):
        with pytest.raises(ImportError, match=r"pip install 'meanparity\[plot\]'"):
            draw()


def test_several_outputs_have_no_one_distribution(data):
    X, y, s = data
    Y = np.column_stack([y, 2 * y])
    model = ParityRidge().fit(X, Y, sensitive_features=s)
    with pytest.raises(ValueError, match=r"y_before has 2 outputs.*Choose a column"):
        GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s)
    with pytest.raises(ValueError, match=r"y_after has 2 outputs.*Choose a column"):
        GroupDistributionDisplay.from_predictions(y, Y, sensitive_features=s)
    display = GroupDistributionDisplay(y[:, None], Y[:, :1], sensitive_features=s)
    assert display.y_before.shape == display.y_after.shape == y.shape


def test_estimators_without_tradeoff_are_refused(data):
    X, y, s = data
    with pytest.raises(NotFittedError):
        TradeoffDisplay.from_estimator(ParityRidge(), X, y, sensitive_features=s)
    with pytest.raises(TypeError, match=r"LinearRegression has no tradeoff_"):
        TradeoffDisplay.from_estimator(LinearRegression().fit(X, y), X, y, sensitive_features=s)
    pipeline = make_pipeline(StandardScaler(), ParityRidge())
    pipeline.fit(X, y, parityridge__sensitive_features=s)
    with pytest.raises(TypeError, match=r"pipeline\[-1\]"):
        GroupDistributionDisplay.from_estimator(pipeline, X, sensitive_features=s)


def test_inputs_that_cannot_be_drawn_are_refused(model, data):
    X, y, s = data
    with pytest.raises(ValueError, match=r"before='response' is not known, or y is missing"):
        GroupDistributionDisplay.from_estimator(model, X, sensitive_features=s, before="response")
    with pytest.raises(ValueError, match=r"before='fitted' is not known"):
        GroupDistributionDisplay.from_estimator(model, X, y, sensitive_features=s, before="fitted")
    with pytest.raises(ValueError, match=r"axes contains 1 axes. Pass two"):
        GroupDistributionDisplay(y, y, sensitive_features=s).plot(Figure().subplots())
    with pytest.raises(ValueError, match=r"inconsistent numbers of samples"):
        GroupDistributionDisplay(y, y[:-1], sensitive_features=s)
    with pytest.raises(ValueError, match=r"sensitive_features has 399 rows"):
        GroupDistributionDisplay(y, y, sensitive_features=s[:-1])


def test_import_does_not_load_matplotlib():
    import subprocess

    code = "import sys, meanparity.displays; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_displays_read_columns_like_the_model(data):
    X, y, s = data
    names = np.where(np.arange(len(y)) < 5, None, np.where(s > 0, "F", "M"))
    model = ParityRidge(constraint=MeanParity(missing="ignore")).fit(X, y, sensitive_features=names)
    display = GroupDistributionDisplay.from_estimator(model, X, sensitive_features=names)
    assert display.groups.names == ("F", "M")
    assert display.axes_[1].get_title("right") == "sum of mean gaps = 0"
    age = np.arange(float(len(y)))
    model = ParityRidge(constraint=MeanParity(continuous=[0])).fit(X, y, sensitive_features=age)
    with pytest.raises(ValueError, match="are numbers, which have no groups"):
        GroupDistributionDisplay.from_estimator(model, X, sensitive_features=age)
    grade = np.arange(len(y)) % 2
    model = ParityRidge().fit(X, y, sensitive_features=s, control_features=grade)
    weights = np.ones(len(y))
    display = TradeoffDisplay.from_estimator(
        model, X, y, sensitive_features=s, control_features=grade, sample_weight=weights
    )
    assert display.lines_[0].get_xdata()[0] <= 1e-10


@pytest.mark.parametrize("budget", ["gap", "smd", "norm"])
def test_exact_frontiers_are_drawn_beside_the_dial(data, budget):
    X, y, _ = data
    s = np.random.default_rng(0).integers(0, 5, len(y))
    y = y + 0.3 * s
    model = ParityRidge(unfairness=0.5).fit(X, y, sensitive_features=s)
    display = TradeoffDisplay.from_estimator(model, X, y, sensitive_features=s, budget=budget)
    dial, exact = display.lines_
    attribute = {"gap": "max_gap", "smd": "smd", "norm": "norm"}[budget]
    frontier = model.tradeoff_.training_frontier(budget)
    np.testing.assert_allclose(exact.get_xdata(), getattr(frontier, attribute), atol=1e-9)
    np.testing.assert_allclose(exact.get_xdata(), frontier.limit, atol=1e-9)
    np.testing.assert_allclose(exact.get_ydata(), frontier.mse)
    curve = model.tradeoff_.training_curve()
    np.testing.assert_allclose(dial.get_xdata(), getattr(curve, attribute), atol=1e-9)
    assert exact.get_label() == "ParityRidge, within limits"
    assert exact.get_color() == dial.get_color()
    words = {"gap": "Largest absolute", "smd": "Sum of absolute", "norm": "Root of the sum"}[budget]
    assert display.ax_.get_xlabel().startswith(words)


def test_frontiers_of_different_budgets_have_no_common_axis(model):
    curve, tradeoff = model.tradeoff_.training_curve(), model.tradeoff_
    both = {kind: tradeoff.training_frontier(kind) for kind in ("gap", "smd")}
    with pytest.raises(ValueError, match=r"have the budgets \['gap', 'smd'\]\. Draw one kind"):
        TradeoffDisplay(curve, frontiers=both)


# --- audits


@pytest.mark.parametrize("k", [2, 7, 50])
def test_an_audit_is_drawn_as_ordered_gaps_with_simultaneous_intervals(k):
    rng = np.random.default_rng(k)
    s = np.repeat([f"g{j:02d}" for j in range(k)], 12)
    found = audit(rng.normal(size=12 * k) + (s == "g01"), sensitive_features=s, within=0.5)
    display = AuditDisplay(found).plot()
    ordered = sorted(found.findings, key=lambda f: f.gap)
    assert display.names_ == [f.name for f in reversed(ordered)]
    labels = [label.get_text() for label in display.ax_.get_yticklabels()]
    assert labels == [f"{f.name} (12)" for f in ordered]
    bars = [line for line in display.ax_.lines if len(line.get_xdata()) == 2][:k]
    for bar, f in zip(bars, ordered, strict=True):
        assert bar.get_xdata() == pytest.approx([f.low_all, f.high_all])
    (band,) = display.ax_.patches
    assert [band.get_x(), band.get_x() + band.get_width()] == [-0.5, 0.5]
    assert display.ax_.get_title() == "Band: gaps of at most 0.5"
    assert display.ax_.get_xlabel() == "Gap to all rows, simultaneous 95 % intervals"
    plt.close(display.figure_)


def test_gaps_that_are_not_told_have_no_interval():
    rng = np.random.default_rng(0)
    s = np.repeat(["a", "b", "c"], [40, 40, 2])
    model = LinearRegression().fit(rng.normal(size=(82, 2)), rng.normal(size=82))
    axes = plt.figure().subplots()
    X = rng.normal(size=(82, 2))
    display = AuditDisplay.from_estimator(model, X, sensitive_features=s, ax=axes)
    assert display.ax_ is axes
    assert "c (2, too few rows)" in [label.get_text() for label in axes.get_yticklabels()]
    assert not axes.patches
    bars = [
        line for line in axes.lines if line.get_color() == "#0072B2" and len(line.get_xdata()) == 2
    ]
    assert len(bars) == 2
    plt.close(axes.figure)
