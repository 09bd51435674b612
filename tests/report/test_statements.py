"""Every sentence of the first screen, against the page's own tables and tiles, and the rows."""

from __future__ import annotations

import html
import json
import re
import warnings
from html.parser import HTMLParser
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from meanparity import (
    CovarianceParity,
    MeanParity,
    ParityAdjusted,
    ParityKernelClassifier,
    ParityKernelRegressor,
    ParityKernelRidge,
    ParityRidge,
    ParityWarning,
    ResidualParity,
)
from meanparity.audit import audit
from meanparity.audit.checks import format_number
from meanparity.constraints import LinearParity
from meanparity.report import PredictedRows, Slider, make_report, report
from meanparity.report.statements import (
    Compared,
    Evidence,
    GroupUse,
    Kind,
    LargestGap,
    LeftInBands,
    LikeRowsOfFit,
    OnRows,
    OutOfRange,
    Price,
    SamePrediction,
)
from tests.sentences import numbers

# --- the corpus


def table(n, k, seed, *, tiny=False):
    rng = np.random.default_rng(seed)
    X = pd.DataFrame(rng.normal(size=(n, 4)), columns=["a", "b", "c", "d"])
    group = rng.integers(0, k, n)
    if tiny:
        group[group == k - 1] = 0
        group[:3] = k - 1
    X["a"] += 0.8 * (group % 2)
    y = X["a"] - X["b"] + 0.3 * group % 3 + rng.normal(size=n)
    names = np.array([f"g{i:02}" for i in range(k)])[group]
    age = rng.integers(17, 90, n).astype(float)
    X["e"] = (age - 50) / 20 + rng.normal(size=n)
    return SimpleNamespace(X=X, y=y + 0.02 * age, s=names, age=age, n=n, rng=rng)


def pages(model, t, sensitive, train, *, control=None, weights=None, y=None, **options):
    """A page about the rows of fit, and others."""
    y = t.y if y is None else y
    row_sets, slider = [], Slider.of(model)
    for name, rows in (("training rows", train), ("held-out rows", ~train)):
        columns = slider.columns(model, t.X[rows])
        row_sets.append(
            PredictedRows(
                name,
                columns[:, 0],
                columns[:, 1],
                sensitive[rows],
                y[rows],
                None if control is None else control[rows],
                None if weights is None else weights[rows],
                name == "training rows",
                columns[:, 2:] if columns.shape[1] > 2 else None,
            )
        )
    frame = (t.X[train], row_sets[0])
    return make_report(
        row_sets,
        comparison=model.tradeoff_.comparison,
        slider=slider,
        columns=frame,
        target="pay",
        **options,
    )


def fitted(t, sensitive, *, model=None, control=None, weights=None, y=None, pool=None):
    train = np.arange(t.n) < 2 * t.n // 3
    model = ParityRidge() if model is None else model
    given = {
        "sensitive_features": sensitive[train],
        "control_features": None if control is None else control[train],
    }
    if weights is not None:
        given["sample_weight"] = weights[train]
    if pool is not None:
        given["pool"] = pool
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ParityWarning)
        model.fit(t.X[train], (t.y if y is None else y)[train], **given)
    return pages(model, t, sensitive, train, control=control, weights=weights, y=y)


def frame(**columns):
    return pd.DataFrame(columns)


def two_groups():
    t = table(240, 2, 0)
    return fitted(t, frame(sex=np.where(t.s == "g00", "F", "M")))


def coded_columns():
    t = table(300, 2, 1)
    male = (t.s == "g01").astype(int)
    t.X["male"] = male
    return fitted(t, frame(male=male, black=t.rng.integers(0, 2, t.n)))


def separate_columns():
    t = table(300, 3, 2)
    sensitive = frame(place=t.s, male=t.rng.integers(0, 2, t.n))
    return fitted(t, sensitive, model=ParityRidge(constraint=MeanParity(intersectional=False)))


def fifty_groups():
    t = table(3000, 50, 3)
    return fitted(t, frame(place=t.s), model=ParityKernelRidge(kernel="rbf", fit_intercept=True))


def tiny_groups():
    t = table(200, 6, 4, tiny=True)
    return fitted(t, frame(place=t.s), model=ParityKernelRidge(kernel="rbf", fit_intercept=True))


def a_number():
    t = table(300, 2, 5)
    constraint = MeanParity(continuous=["age"])
    return fitted(t, frame(age=t.age), model=ParityRidge(constraint=constraint))


def a_number_that_matters(degree=1):
    t = table(400, 2, 6)
    t.X["f"], t.X["g"] = (t.age - 50) ** 2 / 500, t.age / 20
    y = t.y + 3 * t.X["f"] + t.X["g"]
    constraint = MeanParity(continuous=["age"], degree=degree)
    model = ParityRidge(constraint=constraint, alpha=0.01)
    return fitted(t, frame(age=t.age), model=model, y=y)


def a_degree():
    t = table(300, 2, 7)
    t.X["f"] = (t.age - 50) ** 2 / 500
    constraint = MeanParity(continuous=["age"], degree=2)
    return fitted(t, frame(age=t.age), model=ParityRidge(constraint=constraint))


def category_and_number():
    t = table(400, 3, 8)
    model = ParityRidge(constraint=MeanParity(continuous=["age"]))
    return fitted(t, frame(sex=t.s, age=t.age), model=model)


def strata():
    t = table(400, 3, 9)
    return fitted(t, frame(place=t.s), control=frame(grade=t.rng.choice([1, 2], t.n)))


def a_pool():
    t = table(300, 2, 10)
    last = np.arange(t.n) >= 250
    people = t.X[last], frame(sex=t.s)[last]
    return fitted(t, frame(sex=t.s), pool=people)


def zero_or_one():
    t = table(300, 2, 11)
    return fitted(t, frame(sex=t.s), y=(t.y > 1).astype(float))


def counts_of_rows():
    t = table(300, 2, 12)
    y = t.rng.poisson(np.exp(0.4 * t.X["a"])).astype(float)
    return fitted(t, frame(sex=t.s), y=y, weights=t.rng.uniform(0.5, 2, t.n))


def gaps_that_grow():
    """In the training rows column a tells groups apart, and in the held-out rows column b."""
    t = table(240, 2, 13)
    later = np.arange(t.n) >= 160
    for column in "ab":
        t.X[column] -= 3.0 * (later & (t.s == "g01"))
    return fitted(t, frame(place=t.s), y=t.X["a"] - t.X["b"] + 0.1 * t.X["c"])


def halfway():
    t = table(300, 3, 14)
    return fitted(t, frame(place=t.s), model=ParityRidge(unfairness=0.3))


def limited():
    t = table(400, 2, 15)
    model = ParityRidge(max_gap=0.4, confidence=0.8)
    return fitted(t, frame(sex=t.s), model=model)


def pooled():
    t = table(300, 8, 16, tiny=True)
    model = ParityRidge(constraint=MeanParity(pooling="auto"))
    return fitted(t, frame(place=t.s), model=model)


def covariance():
    t = table(300, 3, 17)
    grade = np.array([1, 2, 5])[np.unique(t.s, return_inverse=True)[1]]
    model = ParityRidge(constraint=CovarianceParity("linear"))
    return fitted(t, frame(grade=grade), model=model)


def errors():
    t = table(300, 3, 18)
    return fitted(t, frame(place=t.s), model=ParityRidge(constraint=ResidualParity()))


def given_weights():
    t = table(240, 2, 19)
    W = t.rng.normal(size=(160, 2))
    model = ParityRidge(constraint=LinearParity(W - W.mean(axis=0)))
    model.fit(t.X[:160], t.y[:160], sensitive_features=frame(sex=t.s)[:160])
    people = frame(sex=t.s)[:160]
    return model.report(
        t.X[:160], t.y[:160], sensitive_features=people, target="pay", constrained=True
    )


def missing_values():
    t = table(300, 2, 20)
    s = t.s.astype(object)
    s[::7] = None
    t.age[::11] = np.nan
    model = ParityRidge(constraint=MeanParity(missing="group", continuous=["age"]))
    return fitted(t, frame(sex=s, age=t.age), model=model)


def unknown_groups():
    t = table(300, 2, 21)
    s = t.s.astype(object)
    s[::7] = None
    model = ParityRidge(constraint=MeanParity(missing="ignore"))
    return fitted(t, frame(sex=s), model=model)


def a_classifier():
    t = table(300, 2, 22)
    model = ParityKernelClassifier().fit(t.X, t.y > 1, sensitive_features=frame(sex=t.s))
    return model.report(t.X, t.y > 1, sensitive_features=frame(sex=t.s), constrained=True)


def counts_with_a_link():
    t = table(300, 2, 23)
    y = t.rng.poisson(np.exp(0.4 * t.X["a"])).astype(float)
    for model in (
        ParityKernelRegressor(loss="poisson", unfairness=0.4),
        ParityKernelRegressor(loss="poisson", constraint=MeanParity(scale="response")),
    ):
        model.fit(t.X, y, sensitive_features=frame(sex=t.s))
        yield model.report(t.X, y, sensitive_features=frame(sex=t.s), constrained=True)


def a_huber_loss():
    t = table(300, 2, 24)
    model = ParityKernelRegressor(loss="huber", unfairness=0.4)
    model.fit(t.X, t.y, sensitive_features=frame(sex=t.s))
    return model.report(t.X, t.y, sensitive_features=frame(sex=t.s), constrained=True)


def shifted():
    t = table(300, 3, 25)
    model = ParityAdjusted(correction="groups").fit(t.X, t.y, sensitive_features=frame(place=t.s))
    return model.report(t.X, t.y, sensitive_features=frame(place=t.s), constrained=True)


def predictions_of_any_model():
    t = table(300, 3, 26)
    people = frame(place=t.s, age=t.age)
    yield report(t.y, 9 * t.X["a"], people, target="pay", X=t.X)
    yield report(None, t.X["a"], frame(place=t.s))
    yield report(t.y, t.X["a"], frame(place=t.s), control_features=frame(f=t.s > "g00"), X=None)


def a_constant():
    """Three features cannot tell ten groups apart, so only a constant has equal means."""
    t = table(300, 10, 27)
    return fitted(t, frame(place=t.s))


def a_constant_in_each_stratum():
    t = table(400, 3, 28)
    t.X = t.X[["a", "b"]].assign(grade=t.rng.choice([1.0, 2.0], t.n))
    y = t.y + 5 * t.X["grade"]
    grade = frame(grade=t.X["grade"].astype(int))
    return fitted(t, frame(place=t.s), control=grade, y=y)


def rows_of_unknown_origin():
    """The rows of the fit, and others, without a word about which they are."""
    t = table(300, 3, 29)
    people, train = frame(place=t.s), np.arange(t.n) < 200
    for model in (
        ParityRidge(unfairness=0.3).fit(t.X[train], t.y[train], sensitive_features=people[train]),
        ParityAdjusted(correction=ParityRidge(alpha=0.0)).fit(
            t.X[train], t.y[train], sensitive_features=people[train]
        ),
        ParityKernelClassifier().fit(t.X[train], t.y[train] > 1, sensitive_features=people[train]),
    ):
        y = t.y > 1 if isinstance(model, ParityKernelClassifier) else t.y
        for rows in (train, ~train):
            yield model.report(t.X[rows], y[rows], sensitive_features=people[rows])


CORPUS = [
    two_groups,
    coded_columns,
    separate_columns,
    fifty_groups,
    tiny_groups,
    a_number,
    a_number_that_matters,
    a_degree,
    category_and_number,
    strata,
    a_pool,
    zero_or_one,
    counts_of_rows,
    gaps_that_grow,
    halfway,
    limited,
    pooled,
    covariance,
    errors,
    given_weights,
    missing_values,
    unknown_groups,
    a_classifier,
    counts_with_a_link,
    a_huber_loss,
    shifted,
    predictions_of_any_model,
    a_constant,
    a_constant_in_each_stratum,
    rows_of_unknown_origin,
]


# --- the page as it is read


class Tables(HTMLParser):
    """Captions and cells of all tables, and the answers of the first screen."""

    def __init__(self, page):
        super().__init__()
        self.tables, self.answers, self.open = {}, [], None
        self.feed(page.split("<body>")[1].split('<script type="application/json"')[0])

    def handle_starttag(self, tag, attributes):
        if tag == "caption":
            self.text = ""
            self.open = "caption"
        elif tag == "tr":
            self.row = []
        elif tag in ("td", "th", "dt", "p"):
            self.text, self.open = "", tag

    def handle_data(self, data):
        if self.open:
            self.text += data

    def handle_endtag(self, tag):
        text = " ".join(getattr(self, "text", "").split())
        if tag == "caption":
            self.rows = self.tables.setdefault(text, [])
        elif tag in ("td", "th"):
            self.row.append(text)
        elif tag == "tr":
            self.rows.append(self.row)
        elif tag == "p":
            self.answers.append(text)
        if tag == self.open:
            self.open = None


class Page:
    def __init__(self, found):
        self.page = found.to_html()
        text = re.search(r'id="data">(.*?)</script>', self.page, re.S).group(1)
        self.data = json.loads(text)
        self.parsed = Tables(self.page)

    def cells(self, caption):
        """The rows of the tables whose caption begins like that, by their first cell."""
        found = {}
        for name, rows in self.parsed.tables.items():
            if name.lower().startswith(caption.lower()):
                found |= {row[0]: row for row in rows}
        return found

    def part(self, rows):
        (part,) = [p for p in self.data["parts"] if p["name"] == rows.name]
        return part

    def tile(self, rows, kind, at):
        """The largest gap of a kind as the page's script computes it."""
        part, weights = self.part(rows), self.data["weights"][at]
        sizes = np.abs(np.array(weights) @ np.array(part["gaps"]))
        own = [size for size, k in zip(sizes, part["gap_kinds"], strict=True) if k == kind]
        return max(own)


# --- the rows, without any of the library's sums


def naive(summary, at):
    """What is compared for each row, the group labels of each set of groups, and strata."""
    rows, weights = summary.predicted, at
    columns = rows.columns if rows.scores is None else rows.scores
    values = columns @ weights
    if summary.quantity == "prediction error":
        values = values - rows.y
    return values


def mean_gaps(summary, values):
    """Mean of each group minus that of its stratum, by a data frame."""
    rows = summary.predicted
    people = pd.DataFrame(rows.sensitive_features).reset_index(drop=True)
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    table = pd.DataFrame({"value": values * weight, "weight": weight})
    stratum = pd.Series("", table.index)
    if rows.control_features is not None:
        control = pd.DataFrame(rows.control_features).reset_index(drop=True)
        stratum = control.iloc[:, 0].astype(str)
    columns = [list(summary.columns)]
    if summary.separately:
        columns = [[name] for name in summary.columns]
    found = []
    for names in columns:
        known = people[names].notna().all(axis=1)
        if summary_missing(summary) == "group":
            known[:] = True
        values_of = people[names].astype(object)
        labels = values_of.where(values_of.notna(), "missing").astype(str).agg("|".join, axis=1)
        here = table[known]
        whole = here.groupby(stratum[known]).sum()
        own = here.groupby([stratum[known], labels[known]]).sum()
        for (s, _), row in own.iterrows():
            if own.loc[s].shape[0] > 1:
                mean = whole.loc[s, "value"] / whole.loc[s, "weight"]
                found.append(row["value"] / row["weight"] - mean)
    return np.array(found)


def summary_missing(summary):
    return "ignore" if summary.data["in_no_group"] else "group"


def check_gap(statement, summary, page):
    model, free = summary.slider.model, summary.slider.weights[-1]
    scale = max(np.ptp(naive(summary, free)), np.ptp(naive(summary, model)))
    exact = {"rel": 1e-6, "abs": 1e-8 * scale}
    text = str(statement)
    of_scores = statement.quantity == summary.quantity
    ends = [(statement.now, model, -1)]
    if statement.free is not None:
        ends.append((statement.free, free, -2))
    for named, weights, at in ends:
        if statement.kind is Kind.mean:
            values = naive(summary, weights)
            if not of_scores:  # predictions beside the scores that are compared
                values = summary.predicted.at(weights)
            gaps = mean_gaps(summary, values)
            extra = [g for g in summary.data["gap_labels"] if " known" in g or " missing" in g]
            if not extra:
                assert abs(named.value) == pytest.approx(np.abs(gaps).max(), **exact)
                assert statement.considered == len(gaps)
                nearest = np.abs(gaps - named.value).min()
                assert nearest <= 1e-6 * abs(named.value) + 1e-8 * scale
        if of_scores:
            assert abs(named.value) == pytest.approx(
                page.tile(statement.rows, statement.kind, at), **exact
            )
    if statement.kind is Kind.covariance:
        check_covariances(statement, summary)
    # each number of the sentence stands in a table of the page, in the line that it names
    lines = page.cells(statement.rows.name) | page.cells(f"{statement.rows.name}: what")
    for named, _, _ in ends:
        if abs(named.value) <= statement.zero or not of_scores:
            continue
        if named.name not in lines:
            assert len(summary.names) < summary.n_groups
            continue
        shown = {cell.lstrip("-") for cell in lines[named.name]}
        assert format_number(abs(named.value)) in shown
        assert format_number(abs(named.value)) in {n.lstrip("-") for n in numbers(text)}
        assert f"{named.name}" in text
    # the tables are about the free model of the same penalty, and the cost may be about another
    other = statement.free is not None and summary.predicted.best is not None
    assert ("at the same penalty" in text) == other
    grown = statement.free is not None and abs(statement.now.value) > abs(statement.free.value)
    grown = grown and not statement.is_zero
    free_is_zero = statement.free is not None and abs(statement.free.value) <= statement.zero
    assert ("is larger with the constraint" in text) == (grown and not free_is_zero)
    assert ("up to rounding error" in text) == statement.is_zero
    for word, sign in (("above", 1), ("below", -1)):
        if statement.kind is Kind.mean and not statement.is_zero and statement.free is None:
            assert (word in text) == (np.sign(statement.now.value) == sign)


def check_covariances(statement, summary):
    if summary.predicted.sample_weight is not None or statement.considered > 4:
        return
    values = naive(summary, summary.slider.weights[-1])
    people = pd.DataFrame(summary.predicted.sensitive_features).reset_index(drop=True)
    (number,) = summary.numbers
    label = people[list(summary.columns)].astype(object).where(people.notna(), "missing")
    label = (
        label.astype(str).agg("|".join, axis=1) if summary.columns else pd.Series("", people.index)
    )
    sizes = []
    for name in label.unique():
        inside = ((label == name) & people[number].notna()).to_numpy()
        x = people[number].to_numpy(dtype=float)[inside]
        sizes.append(abs(np.cov(values[inside], x, bias=True)[0, 1] / x.std()))
    if statement.considered == len(sizes) and statement.free is not None:
        assert statement.free.value == pytest.approx(
            max(sizes) * np.sign(statement.free.value), rel=1e-6
        )


def check_compared(statement, summary, page):
    people = pd.DataFrame(summary.predicted.sensitive_features)
    if statement.groups:
        keys = people[list(summary.columns)].astype(object)
        keys = keys.where(keys.notna(), "missing").astype(str)
        if summary.predicted.control_features is not None:
            control = pd.DataFrame(summary.predicted.control_features).astype(str)
            keys = pd.concat([control.reset_index(drop=True), keys.reset_index(drop=True)], axis=1)
        counts = keys.value_counts()
        expected = sorted(counts.tolist(), reverse=True)
        if summary_missing(summary) != "ignore" and not summary.after.left_out:
            assert [n for _, n in statement.groups] == expected[: len(statement.groups)]
        lines = page.cells(statement.rows.name)
        for name, n in statement.groups[:6]:
            if name in lines:
                assert lines[name][1] == f"{n:,}"


def check_price(statement, summary):
    rows, model = summary.predicted, summary.slider.model
    weight = np.ones(len(rows)) if rows.sample_weight is None else rows.sample_weight
    now, free = (
        np.sqrt(np.average((rows.at(w) - rows.y) ** 2, weights=weight))
        for w in (model, summary.slider.weights[-1])
    )
    middle = np.average(rows.y, weights=weight)
    constant = np.sqrt(np.average((rows.y - middle) ** 2, weights=weight))
    text = str(statement)
    assert statement.now == pytest.approx(now)
    assert format_number(now) in text
    assert ("which is no worse" in text) == (now >= constant)
    if statement.free is None:
        assert "without the constraint" not in text
        return
    assert statement.free == pytest.approx(free)
    change = now / free - 1
    if abs(change) >= 5e-4:
        (share,) = [n for n in numbers(text) if n.endswith("%")]
        assert float(share[:-1].replace(",", "")) == pytest.approx(100 * abs(change), abs=0.51)
        assert ("more than without" in text) == (change > 0)
        assert format_number(free) in text
    else:
        assert "the same as without the constraint" in text


def check_evidence(statement, summary):
    found = summary.after
    told = [f for f in found.findings if not f.too_few_rows]
    assert statement.assessed == len(told)
    assert statement.too_few == len(found.findings) - len(told)
    assert statement.significant == sum(f.p_adjusted <= 0.05 for f in told)
    if not summary.is_stratified and not summary.separately and told:
        again = audit(
            naive(summary, summary.slider.model),
            sensitive_features=pd.DataFrame(summary.predicted.sensitive_features)[
                list(summary.columns)
            ]
            .astype(object)
            .where(lambda f: f.notna(), "~"),
            sample_weight=summary.predicted.sample_weight,
            continuous=[],
        )
        mine = sorted(f.low_all for f in again.findings if not f.too_few_rows)
        if summary_missing(summary) != "ignore":
            assert any(abs(low - statement.low) < 1e-9 for low in mine)


def check_same(statement, summaries):
    """Everybody gets the same prediction, or everybody in a stratum."""
    assert [rows.name for rows in statement.rows] == [s.predicted.name for s in summaries]
    own = np.concatenate([s.predicted.at(s.slider.model) for s in summaries])
    free = np.concatenate([s.predicted.at(s.slider.weights[-1]) for s in summaries])
    stratum = np.zeros(len(own))
    if statement.control:
        control = [pd.DataFrame(s.predicted.control_features) for s in summaries]
        stratum = pd.concat(control)[list(statement.control)].astype(str).agg("|".join, axis=1)
        assert np.ptp(own) > 1e-3 * np.ptp(free)
    else:
        assert statement.value == pytest.approx(own.mean())
        assert format_number(own.mean()) in str(statement)
    spread = pd.Series(own).groupby(np.asarray(stratum)).agg(np.ptp)
    assert spread.max() <= 1e-9 * np.ptp(free)


def check_like_fit(statement, summary):
    """The constrained model has no gaps here, and its predictions differ."""
    assert summary.predicted.constrained is None
    fair = naive(summary, summary.slider.weights[0])
    assert np.abs(mean_gaps(summary, fair)).max() < 1e-8 * np.ptp(fair)


def check_use(statement, found):
    """What is said of two people is false of no two rows of the page."""
    text = str(statement)
    if statement.same is not None:
        assert "can get different" not in text
        return
    own = [s.predicted.at(s.slider.model) for s in found.summaries]
    assert np.ptp(np.concatenate(own)) > 0
    assert "even if they differ" not in text


def check_bands(statement, summary, page):
    """Bands are read from their names, and their means computed again."""
    covariances = [g.value for g in summary.gaps_of(Kind.covariance, summary.slider.model)]
    uncorrelated = max(map(abs, covariances)) <= summary.data["zero"]
    assert ("No covariance" in str(statement)) == uncorrelated
    values = np.asarray(
        pd.DataFrame(summary.predicted.sensitive_features)[statement.number], dtype=float
    )
    known = np.isfinite(values)
    weight = summary.predicted.sample_weight
    weight = np.ones(len(values)) if weight is None else weight
    part = page.cells(f"{statement.rows.name} in bands of") or page.cells(statement.rows.name)
    names = [name for name in part if name.startswith(f"{statement.number} ")]
    names = [name for name in names if re.search(r"below|or more", name)]
    assert len(names) == statement.bands
    found = {}
    for name in names:
        low, high = -np.inf, np.inf
        if match := re.search(r"(\S+) to below (\S+)$", name):
            low, high = map(float, match.groups())
        elif match := re.search(r"below (\S+)$", name):
            high = float(match.group(1))
        else:
            low = float(re.search(r"(\S+) or more$", name).group(1))
        inside = known & (values >= low) & (values < high)
        assert part[name][1] == f"{inside.sum():,}"
        found[name] = inside
    assert sum(inside.sum() for inside in found.values()) == known.sum()
    for named, at in (
        (statement.now, summary.slider.model),
        (statement.free, summary.slider.weights[-1]),
    ):
        if named is None:
            continue
        compared = naive(summary, at)
        mean = np.average(compared[known], weights=weight[known])
        gaps = {
            name: np.average(compared[i], weights=weight[i]) - mean for name, i in found.items()
        }
        assert named.value == pytest.approx(gaps[named.name], rel=1e-9)
        assert abs(named.value) == pytest.approx(max(map(abs, gaps.values())), rel=1e-9)
        assert format_number(abs(named.value)) in str(statement)
    text = str(statement)
    much = statement.free is not None and abs(statement.now.value) > 0.25 * abs(
        statement.free.value
    )
    assert not ("higher degree" in text and not much)


def check_range(statement, summary):
    y, predicted = summary.predicted.y, summary.predicted.at(summary.slider.model)
    outside = (predicted < y.min()) | (predicted > y.max())
    assert statement.n == outside.sum() > 0
    assert (statement.low, statement.high) == (y.min(), y.max())
    assert statement.furthest in predicted


def check(found):
    page, by_name = Page(found), {s.predicted.name: s for s in found.summaries}
    seen = []
    for answer in found.answers:
        for statement in answer.statements:
            seen.append(str(statement))
            rows = getattr(statement, "rows", None)
            summary = None if rows is None or isinstance(rows, tuple) else by_name[rows.name]
            match statement:
                case LargestGap():
                    check_gap(statement, summary, page)
                case Compared():
                    check_compared(statement, summary, page)
                case Price():
                    check_price(statement, summary)
                case Evidence():
                    check_evidence(statement, summary)
                case LeftInBands():
                    check_bands(statement, summary, page)
                case OutOfRange():
                    check_range(statement, summary)
                case SamePrediction():
                    check_same(statement, [by_name[r.name] for r in rows])
                case LikeRowsOfFit():
                    check_like_fit(statement, summary)
                case OnRows():
                    assert [r.n for r in rows] == [len(by_name[r.name].predicted) for r in rows]
                    imposed = [by_name[r.name].predicted.constrained for r in rows]
                    assert [r.constrained for r in rows] == imposed
                    assert ("on which" in str(statement)) == (set(imposed) != {None})
                case GroupUse():
                    check_use(statement, found)
                case _:
                    pytest.fail(f"{statement!r} is not checked")
    assert [a for a in page.parsed.answers if a in seen] == seen
    assert found.sentences == seen
    for sentence in seen:
        assert "nan" not in re.split(r"\W+", sentence)
        assert "None" not in sentence
        assert not re.search(r"\b1 (rows|groups|gaps|bands|conditions|covariances)\b", sentence)
        assert not re.search(r"\ball [12] ", sentence)
        assert " ," not in sentence
    return page


@pytest.mark.parametrize("case", CORPUS, ids=lambda case: case.__name__)
def test_every_sentence(case):
    made = case()
    for found in [made] if hasattr(made, "summaries") else made:
        check(found)


# --- what the corpus has to show


def statements(found, kind):
    return [s for answer in found.answers for s in answer.statements if isinstance(s, kind)]


def test_before_and_after_name_their_own_groups():
    held = statements(gaps_that_grow(), LargestGap)[0]
    assert held.rows.name == "held-out rows"
    assert abs(held.now.value) > abs(held.free.value)
    assert "larger with the constraint than without it" in str(held)
    assert any(
        s.now.name != s.free.name
        for case in (fifty_groups, tiny_groups, halfway)
        for s in statements(case(), LargestGap)
        if not s.is_zero
    )


def test_means_and_covariances_are_told_apart():
    found = category_and_number()
    kinds = [s.kind for s in statements(found, LargestGap)]
    assert kinds == [Kind.mean, Kind.covariance] * 2
    for statement in statements(found, LargestGap):
        told = "where age in " in str(statement) and "one standard deviation higher" in str(
            statement
        )
        assert told == (statement.kind is Kind.covariance)
        assert ("covariance" in str(statement)) == (told and statement.is_zero)
    page = found.to_html()
    assert 'id="max-covariance"' in page


@pytest.mark.parametrize("case", [a_constant, a_constant_in_each_stratum])
def test_a_constant_is_said_to_be_one_on_the_first_screen(case):
    found = case()
    (same,) = statements(found, SamePrediction)
    assert bool(same.control) == (case is a_constant_in_each_stratum)
    assert "the model is a constant" in str(same)
    shown = [str(s) for answer in found.answers if not answer.folded for s in answer.statements]
    assert str(same) in shown
    page = Page(found)
    lines = page.cells("held-out rows")
    assert len(lines) > 5
    assert {line[-1] for name, line in lines.items() if name in found.summaries[1].names} == {
        "no spread"
    }
    assert "too few rows" not in str(found.summaries[1].after)


def test_rows_that_look_like_those_of_the_fit_are_said_to():
    for at, found in enumerate(rows_of_unknown_origin()):
        of_fit = at % 2 == 0
        assert bool(statements(found, LikeRowsOfFit)) == of_fit
        (rows,) = statements(found, OnRows)
        assert str(rows) == f"{200 if of_fit else 100} rows."
        page = Page(found).page
        assert "imposed on" not in html.unescape(page).split("<body>")[1]
        assert '<th scope="col">interval</th>' in page
        assert "On rows that were not used in fit, the constraint holds only as far" in page
    # whoever says so is believed
    t = table(200, 2, 33)
    people = frame(sex=t.s)
    model = ParityRidge().fit(t.X, t.y, sensitive_features=people)
    for constrained in (True, False):
        told = model.report(t.X, t.y, sensitive_features=people, constrained=constrained)
        assert not statements(told, LikeRowsOfFit)
    # a constant has no gaps anywhere
    with pytest.warns(ParityWarning, match="Only a constant"):
        model.fit(t.X[["a"]], t.y, sensitive_features=people)
    assert not statements(model.report(t.X[["a"]], t.y, sensitive_features=people), LikeRowsOfFit)


def test_the_first_screen_has_one_sentence_for_each_kind_of_gap():
    """The others are folded below, with every set of rows."""
    for case, kinds in (
        (category_and_number, [Kind.mean, Kind.covariance]),
        (two_groups, [Kind.mean]),
    ):
        found = case()
        questions = [answer.question for answer in found.answers]
        assert [answer.folded for answer in found.answers] == [False] * 5 + [True]
        assert questions[2].startswith("How large was the gap")
        assert questions[3:5] == ["What does it cost?", "Is the group itself used to predict?"]
        shown = [s for s in found.answers[2].statements if isinstance(s, LargestGap)]
        assert [statement.kind for statement in shown] == kinds
        assert {statement.rows.name for statement in shown} == {"held-out rows"}
        page = found.to_html()
        folded = page.split("<details>")[1].split("</details>")[0]
        assert folded.count("<p>") == len(found.answers[5].statements)
    # if there are no other rows, those of the fit
    alone = a_huber_loss()
    assert [s.rows.constrained for s in alone.answers[2].statements] == [True]


def test_covariances_are_told_as_slopes_with_their_unit():
    """A covariance has the unit of both columns; ours is that per standard deviation."""
    t = table(400, 2, 34)
    people = frame(age=t.age)
    found = report(t.y, 9 * t.X["e"], people, target="pay")
    (statement,) = statements(found, LargestGap)
    slope = np.polyfit(t.age, 9 * t.X["e"], 1)[0]
    expected = format_number(slope * t.age.std())
    assert format_number(np.cov(9 * t.X["e"], t.age, ddof=0)[0, 1]) not in str(statement)
    text = (
        f"the predictions are {expected} higher where age is one standard deviation higher, along"
    )
    assert text in str(statement)
    page = Page(found)
    line = page.cells("rows: comparisons")["age"]
    assert line == ["age", "difference per standard deviation", expected]
    assert '<span id="smd-note" hidden>' in page.page
    assert "what the constraint is about" not in page.page
    assert "No covariance" not in " ".join(found.sentences)


def test_blanks_at_the_end_of_a_label_are_shown():
    t = table(200, 2, 35)
    people = frame(job=np.where(t.s == "g00", "other", "other "), sex="F")
    text = " ".join(report(t.y, t.X["a"], people).sentences)
    assert "job=other, sex=F (" in text
    assert "job='other ', sex=F (" in text


def test_much_that_is_left_in_bands_suggests_a_higher_degree():
    found = (a_number_that_matters(degree) for degree in (1, 3))
    one, more = (statements(page, LeftInBands)[0] for page in found)
    assert one.much
    assert "higher degree" in str(one)
    assert abs(one.now.value) > 0.25 * abs(one.free.value)
    assert not more.much
    assert abs(more.now.value) < 0.5 * abs(one.now.value)


def test_bands_are_the_same_on_all_rows_and_in_order():
    found = a_number()
    first, second = (summary.bands[0] for summary in found.summaries)
    assert first.names == second.names
    lows = [float(re.search(r"[\d.]+", name).group()) for name in first.names]
    assert lows == sorted(lows)
    assert [f.name for f in found.summaries[1].after.findings] == list(first.names)


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        (["male", "b", "c"], "Yes: male is among the columns"),
        (["code", "b", "c"], "Yes, in effect: a column"),
        (["d", "b", "c"], "No: male is not among the columns"),
    ],
)
def test_the_first_screen_says_whether_the_group_is_used(columns, message):
    t = table(200, 2, 30)
    t.X["male"] = (t.s == "g01") * 1.0
    t.X["code"] = 5.0 - 3 * t.X["male"]
    people = t.X[["male"]]
    for features in (t.X[columns], t.X[columns].to_numpy()):
        model = ParityRidge().fit(features, t.y, sensitive_features=people)
        sentence = model.report(features, t.y, sensitive_features=people).sentences[-1]
        expected = (
            message
            if hasattr(features, "columns")
            else message.replace("Yes: male is among the columns", "Yes, in effect: a column")
        )
        assert sentence.startswith(expected)


def test_dropped_sensitive_columns_are_not_used():
    t = table(200, 2, 31)
    t.X["male"] = (t.s == "g01") * 1.0
    for drop, start in ((True, "No: male"), (False, "Yes: male")):
        model = ParityRidge(sensitive_columns=["male"], drop_sensitive=drop).fit(t.X, t.y)
        assert model.report(t.X, t.y).sentences[-1].startswith(start)


def test_labels():
    found = coded_columns()
    names = {name for s in statements(found, Compared) for name, _ in s.groups}
    assert names == {f"male={m}, black={b}" for m in (0, 1) for b in (0, 1)}
    found = missing_values()
    names = {name for s in statements(found, Compared) for name, _ in s.groups}
    assert names == {"g00", "g01", "sex=missing"}
    assert "None" not in html.unescape(found.to_html()).split("<body>")[1].split("<script")[0]


def test_predictions_of_any_model_are_not_said_to_be_under_a_constraint():
    for found in predictions_of_any_model():
        page = html.unescape(found.to_html()).split("<body>")[1].split("<script")[0]
        for word in ("constraint was", "unconstrained", "Before", "slider to see"):
            assert word not in re.sub(r"<[^>]+>", " ", page)
