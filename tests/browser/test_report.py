"""The report in a browser: the slider, by mouse and by keyboard, against the library."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import mean_squared_error, r2_score

from meanparity import MeanParity, ParityKernelRidge
from meanparity.metrics import group_means, max_mean_gap, mean_parity_gap
from meanparity.report import PredictedRows, make_report

pytestmark = pytest.mark.browser
RNG = np.random.default_rng(0)
N = 500
X = RNG.standard_normal((N, 3))
S = RNG.choice(["F", "M", "x"], N, p=[0.5, 0.3, 0.2])
Y = 100 * (np.sin(X[:, 0]) + (S == "F") + 0.3 * RNG.standard_normal(N))
TRAIN = np.arange(N) < 300


@pytest.fixture(scope="module")
def model():
    fitted = ParityKernelRidge(kernel="rbf", fit_intercept=True)
    return fitted.fit(X[TRAIN], Y[TRAIN], sensitive_features=pd.DataFrame({"sex": S[TRAIN]}))


@pytest.fixture(scope="module")
def path(model, tmp_path_factory):
    parts = []
    for name, rows in (("training rows", TRAIN), ("held-out rows", ~TRAIN)):
        fair, free = model.tradeoff_.predict(X[rows], [0.0, 1.0])
        sensitive = pd.DataFrame({"sex": S[rows]})
        constrained = name == "training rows"
        parts.append(PredictedRows(name, fair, free, sensitive, Y[rows], constrained=constrained))
    made = make_report(parts, comparison=model.tradeoff_.comparison, position=0.0, target="salary")
    found = tmp_path_factory.mktemp("page") / "report.html"
    made.save(found)
    return found


def number(text):
    return float(text.replace(",", ""))


def check(page, model, rows):
    """What the page shows is what the library says at this position."""
    u = int(page.input_value("#unfairness")) / 100
    assert float(page.inner_text("#position")) == u
    predicted = model.tradeoff_.at(u).predict(X[rows])
    y, s = Y[rows], S[rows]
    near = {"rel": 1e-3, "abs": 1e-9}
    largest = max_mean_gap(y, predicted, sensitive_features=s)
    total = mean_parity_gap(y, predicted, sensitive_features=s)
    names = ("mse", "rmse", "r2", "max-gap", "smd")
    shown = {name: number(page.inner_text(f"#{name}")) for name in names}
    assert shown["rmse"] == pytest.approx(shown["mse"] ** 0.5, rel=1e-3)
    assert shown["mse"] == pytest.approx(mean_squared_error(y, predicted), **near)
    assert shown["r2"] == pytest.approx(r2_score(y, predicted), **near)
    assert shown["max-gap"] == pytest.approx(largest, **near)
    assert shown["smd"] == pytest.approx(total, **near)
    table = page.eval_on_selector_all(
        "#live tbody tr", "rows => rows.map(row => [...row.children].map(cell => cell.innerText))"
    )
    means = group_means(y, predicted, sensitive_features=s)
    free = model.tradeoff_.at(1.0).predict(X[rows])
    assert [line[0] for line in table] == sorted(means)
    for name, count, mean, gap, change, _, up, *_ in table:
        mine = s == name
        assert number(count) == mine.sum()
        assert number(mean) == pytest.approx(means[name], **near)
        assert number(gap) == pytest.approx(means[name] - predicted.mean(), rel=1e-3, abs=1e-6)
        moved = predicted[mine] - free[mine]
        assert number(change) == pytest.approx(moved.mean(), rel=1e-3, abs=1e-6)
        assert int(up[:-1]) == pytest.approx(100 * np.mean(moved > 1e-9), abs=0.51)
    return u


def test_the_slider_by_keyboard(opened, path, model):
    page = opened(path)
    assert check(page, model, TRAIN) == 0
    page.focus("#unfairness")
    for key, u in (("ArrowRight", 0.01), ("ArrowRight", 0.02), ("End", 1.0), ("ArrowLeft", 0.99)):
        page.keyboard.press(key)
        assert check(page, model, TRAIN) == u
    spoken = page.get_attribute("#unfairness", "aria-valuetext")
    assert spoken.startswith("0.99, largest gap ")
    page.keyboard.press("Home")
    assert check(page, model, TRAIN) == 0


def test_the_slider_by_mouse(opened, path, model):
    page = opened(path)
    page.locator("#unfairness").scroll_into_view_if_needed()
    before = page.inner_html("#distributions"), page.inner_html("#tradeoff")
    box = page.locator("#unfairness").bounding_box()
    page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + box["height"] / 2, steps=5)
    page.mouse.up()
    assert 0.5 < check(page, model, TRAIN) < 0.7
    assert page.inner_html("#distributions") != before[0]
    assert page.inner_html("#tradeoff") != before[1]
    page.get_by_role("button", name="Back to the model").click()
    assert check(page, model, TRAIN) == 0
    assert page.inner_html("#distributions") == before[0]


def test_other_rows_are_a_click_away(opened, path, model):
    page = opened(path)
    page.get_by_label("held-out rows").check()
    assert check(page, model, ~TRAIN) == 0
    page.focus("#unfairness")
    page.keyboard.press("PageUp")
    assert check(page, model, ~TRAIN) > 0


@pytest.mark.parametrize("width", [390, 1200])
@pytest.mark.parametrize("budget", ["gap", "smd", "norm"])
def test_the_slider_along_a_frontier(opened, model, tmp_path, budget, width):
    rows = ~TRAIN
    options = {"sensitive_features": S[rows], "target": "salary", "budget": budget}
    model.report(X[rows], Y[rows], **options).save(tmp_path / "report.html")
    page = opened(tmp_path / "report.html", viewport={"width": width, "height": 800})
    limits = model.tradeoff_.along_frontier(budget, 20)[0]
    frontier = model.tradeoff_.frontier(X[rows], Y[rows], S[rows], budget, limits)
    size = {"gap": "largest gap", "smd": "sum of gaps", "norm": "root of the sum of squared gaps"}
    measured = {"gap": frontier.max_gap, "smd": frontier.smd, "norm": frontier.norm}[budget]
    assert page.inner_text("#position") == "0 (unfairness 0)"
    page.focus("#unfairness")
    page.keyboard.press("ArrowRight")
    for step in range(1, 21):
        near = {"rel": 1e-3, "abs": 1e-6}
        assert number(page.inner_text("#position")) == pytest.approx(limits[step], **near)
        for name, values in (
            ("mse", frontier.mse),
            ("r2", frontier.r2),
            ("max-gap", frontier.max_gap),
            ("smd", frontier.smd),
        ):
            assert number(page.inner_text(f"#{name}")) == pytest.approx(values[step], **near)
        spoken = page.get_attribute("#unfairness", "aria-valuetext").rpartition(
            f", {size[budget]} "
        )
        assert number(spoken[2]) == pytest.approx(measured[step], **near)
        page.keyboard.press("ArrowRight")
    assert page.locator("#norm").is_visible() == (budget == "norm")
    if budget == "norm":
        assert number(page.inner_text("#norm")) == pytest.approx(frontier.norm[-1], rel=1e-3)
    caption = page.locator("figure", has=page.locator("#tradeoff")).locator("figcaption")
    said = {
        "gap": "largest gap between groups",
        "smd": "sum of the gaps between groups",
        "norm": "root of the sum of the squared gaps between groups",
    }
    assert caption.inner_text() == f"Mean squared error against the {said[budget]}"
    axis = page.locator("#tradeoff text").all_text_contents()
    assert size[budget] in axis
    assert number(axis[4]) == pytest.approx(measured.max(), rel=1e-3)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [360, 1200])
def test_it_fits_every_screen(opened, path, scheme, width):
    page = opened(path, viewport={"width": width, "height": 800}, color_scheme=scheme)
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    background = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (background == "rgb(255, 255, 255)") == (scheme == "light")


@pytest.fixture(scope="module")
def mixture(tmp_path_factory):
    """A category and a number on two sets of rows: the longest first screen."""
    age = 45 + 12 * X[:, 1]
    features = np.column_stack([X, age, S == "F"])
    y = 0.1 * (age - 45) ** 2 + Y
    sensitive = pd.DataFrame({"sex": np.where(S == "F", "f", "m"), "age": age})
    constraint = MeanParity(continuous=["age"])
    made = ParityKernelRidge(kernel="rbf", gamma=0.01, constraint=constraint)
    made.fit(features[TRAIN], y[TRAIN], sensitive_features=sensitive[TRAIN])
    parts = []
    for name, rows in (("training rows", TRAIN), ("held-out rows", ~TRAIN)):
        ends = made.tradeoff_.predict(features[rows], [0.0, 1.0])
        of_fit = name == "training rows"
        parts.append(PredictedRows(name, *ends, sensitive[rows], y[rows], constrained=of_fit))
    frame = pd.DataFrame(features[TRAIN], columns=["a", "b", "c", "age", "sex"])
    page = make_report(
        parts, comparison=made.tradeoff_.comparison, columns=(frame, parts[0]), target="wage"
    )
    found = tmp_path_factory.mktemp("mixture") / "report.html"
    page.save(found)
    return found


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize(("width", "height"), [(1200, 800), (390, 844)])
def test_the_first_screen_answers_every_question(opened, mixture, width, height, scheme):
    size = {"width": width, "height": height}
    page = opened(mixture, viewport=size, color_scheme=scheme)
    bottoms = page.eval_on_selector_all(
        ".answers div", "all => all.map(e => e.getBoundingClientRect().bottom)"
    )
    assert len(bottoms) == 5
    assert max(bottoms) < height
    folded = page.locator("details p")
    assert folded.count() == 5
    assert not folded.first.is_visible()
    page.get_by_text("More about the gaps").click()
    assert folded.first.is_visible()
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")


def test_folded_sentences_are_printed(opened, mixture):
    page = opened(mixture)
    assert not page.locator("details p").first.is_visible()
    page.evaluate("window.dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details p").first.is_visible()


def test_a_number_alone_is_not_explained_as_gaps_of_groups(opened, tmp_path):
    age = 45 + 12 * X[:, 1]
    model = ParityKernelRidge(kernel="rbf", constraint=MeanParity(continuous=["age"]))
    model.fit(X, Y + age, sensitive_features={"age": age})
    made = model.report(X, Y + age, sensitive_features={"age": age}, constrained=True)
    made.save(tmp_path / "age.html")
    page = opened(tmp_path / "age.html")
    assert page.locator("#smd-note").is_hidden()
    assert page.locator("#smd").is_hidden()
    unit = "largest difference per standard deviation"
    assert page.locator("#tradeoff text").first.text_content() == unit
    assert page.inner_text("#tradeoff-kind") == unit
    assert unit in page.get_attribute("#tradeoff", "aria-label")
    assert page.get_attribute("#unfairness", "aria-valuetext").startswith(f"0, {unit} ")
    page.evaluate("document.querySelector('#unfairness').value = 100")
    page.dispatch_event("#unfairness", "input")
    free = model.tradeoff_.at(1.0).predict(X)
    slope = abs(np.cov(free, age, ddof=0)[0, 1]) / age.std()
    assert number(page.inner_text("#max-covariance")) == pytest.approx(slope, rel=1e-3)


def test_everything_has_a_name_for_those_who_listen(opened, path):
    page = opened(path)
    assert page.get_by_role("slider", name="Unfairness").count() == 1
    assert page.get_by_role("heading", level=1).inner_text().startswith("Predictions of salary")
    assert page.get_by_role("img").count() == 2
    assert page.get_by_role("table", name="Groups at this position of the slider").count() == 1
    assert page.get_attribute("html", "lang") == "en"


def test_hostile_names_are_text(opened, tmp_path):
    names = [
        "<script>document.title = 'owned'</script>",
        "</script><img src=x onerror=\"document.title='owned'\">",
        "\"quoted\" & 'single'",
        "😀",
        "long " * 39 + "long",
    ]
    groups = np.array(names, dtype=object)[np.arange(N) % 5]
    sensitive = pd.DataFrame({"<b>who</b>": groups})
    frame = pd.DataFrame(X, columns=["<i>a</i>", "b", "c"])
    model = ParityKernelRidge(kernel="rbf").fit(frame, Y, sensitive_features=sensitive)
    report = model.report(frame, Y, sensitive_features=sensitive, target="<u>pay</u>")
    report.save(tmp_path / "hostile.html")
    page = opened(tmp_path / "hostile.html")
    assert page.title() == "<u>pay</u>: groups and predictions"
    shown = page.eval_on_selector_all("#live tbody th", "cells => cells.map(c => c.textContent)")
    assert shown == sorted(names)
    assert page.get_by_text("<i>a</i>", exact=True).count() > 0
    assert page.locator("main b, main i, main u, main img").count() == 0


@pytest.mark.parametrize("width", [390, 500, 1200])
def test_long_names_and_numbers_stand_whole_in_charts(opened, tmp_path, width):
    """Names that differ in their last letters can be told apart, and no digit is cut off."""
    names = [f"union=no: sex=female, region=north, black={answer}" for answer in ("no", "yes")]
    rng = np.random.default_rng(1)
    s, x = np.repeat(names, 30), rng.normal(size=(60, 3))
    y = 40_000.0 * (x[:, 0] + rng.normal(size=60) + (s == names[0]))
    model = ParityKernelRidge(kernel="rbf").fit(x, y, sensitive_features={"who": s})
    made = model.report(x, y, sensitive_features={"who": s}, name="people", target="pay")
    made.save(tmp_path / "long.html")
    page = opened(tmp_path / "long.html", viewport={"width": width, "height": 800})
    shown = page.eval_on_selector_all(
        "#distributions text:has(tspan)",
        "all => all.map(t => [...t.querySelectorAll('tspan')].map(l => l.textContent).join(' '))",
    )
    assert shown == names
    left = "t => t.getBoundingClientRect().left - t.closest('svg').getBoundingClientRect().left"
    for chart in ("distributions", "tradeoff"):
        edges = page.eval_on_selector_all(f"#{chart} text", f"all => all.map({left})")
        assert min(edges) >= 0
    assert page.evaluate(
        "[...document.querySelectorAll('#mse, #rmse')].every(e => e.getClientRects().length == 1"
        " && e.scrollWidth <= e.clientWidth && e.offsetHeight < 40)"
    )
    ticks = [t for t in page.locator("#tradeoff text").all_text_contents() if t[0].isdigit()]
    assert max(map(len, ticks)) == len("1,234,567,890")


def test_a_million_rows_are_a_small_page(opened, tmp_path):
    rng = np.random.default_rng(0)
    n = 1_000_000
    y = rng.standard_normal(n)
    free = y + 0.5 * rng.standard_normal(n)
    groups = rng.integers(0, 50, n)
    fair = free - np.bincount(groups, free)[groups] / np.bincount(groups)[groups]
    constraint = MeanParity(continuous=[], min_group_size=1)
    model = ParityKernelRidge(kernel="rbf", constraint=constraint)
    some = slice(0, 1000)
    model.fit(rng.standard_normal((1000, 5)), y[some], sensitive_features=groups[some])
    part = PredictedRows("rows", fair, free, groups, y)
    report = make_report([part], comparison=model.tradeoff_.comparison, position=0.0)
    report.save(tmp_path / "big.html")
    assert (tmp_path / "big.html").stat().st_size < 5e6
    page = opened(tmp_path / "big.html")
    assert page.inner_text("#max-gap") == "0"
    assert page.locator("#live tbody tr").count() == 50


def test_no_script_and_no_style_runs_but_those_of_the_report(path, browser, tmp_path):
    text = path.read_text("utf-8")
    assert "unsafe-inline" not in text
    own = "<script>document.title = 'changed'</script><style>h1 {color: rgb(1, 2, 3)}</style>"
    own += "<img src=x onerror=\"document.title = 'changed'\"><p style='color: red' id=own>x</p>"
    changed = tmp_path / "changed.html"
    changed.write_text(text.replace("<header>", f"{own}<header>"), "utf-8")
    page = browser.new_page()
    refused = []
    page.on("console", lambda message: refused.append(message.text))
    page.goto(changed.as_uri())
    page.wait_for_selector("#max-gap:not(:empty)")  # the report's own script ran
    assert page.title() != "changed"
    colour = "element => getComputedStyle(element).color"
    assert page.locator("h1").evaluate(colour) != "rgb(1, 2, 3)"
    assert page.locator("#own").evaluate(colour) != "rgb(255, 0, 0)"
    assert sum("Content Security Policy" in message for message in refused) >= 4
    page.close()
