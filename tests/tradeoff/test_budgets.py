"""The most accurate functions within budgets, against a general solver in the whole space."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.base import clone
from sklearn.metrics.pairwise import rbf_kernel

from meanparity import MeanParity, ParityKernelRidge, ParityRidge, Pool, ResidualParity
from meanparity.exceptions import ParityWarning
from meanparity.solvers import Nystrom
from meanparity.tradeoff.budgets import SIZES, Budgets, UnreachableError

KINDS = ("gap", "smd", "norm")


def sizes(gaps):
    """What each budget limits."""
    return {"gap": np.abs(gaps).max(), "smd": np.abs(gaps).sum(), "norm": np.linalg.norm(gaps)}


def group_gaps(values, s):
    return np.array([values[s == g].mean() for g in np.unique(s)]) - values.mean()


def oracle(hessian, best, gaps, offset, kind, limit, parts=None):
    """The smallest ``(c − best)ᵀ H (c − best)`` with gaps ``offset + gaps @ c`` within a limit.

    By SLSQP over all coefficients c, in coordinates in which H is the identity, and with the
    gaps themselves as further unknowns for their sum, which is limited in each part of the rows.
    """
    values, vectors = np.linalg.eigh(hessian)
    keep = values > 1e-10 * values.max()
    back = vectors[:, keep] / np.sqrt(values[keep])
    A, g0 = gaps @ back, offset + gaps @ best
    p, k = A.shape[1], len(g0)
    parts = np.zeros(k) if parts is None else parts
    start = np.linalg.lstsq(A, -g0, rcond=None)[0]
    options = {"maxiter": 5000, "ftol": 1e-16}
    if kind == "smd":

        def limits(v):
            found = g0 + A @ v[:p]
            return np.concatenate([v[p:] - found, v[p:] + found, limit - belongs @ v[p:]])

        belongs = np.equal.outer(np.unique(parts), parts).astype(float)
        last = np.hstack([np.zeros((len(belongs), p)), -belongs])
        slope = np.vstack([np.hstack([-A, np.eye(k)]), np.hstack([A, np.eye(k)]), last])
        found = minimize(
            lambda v: v[:p] @ v[:p],
            np.concatenate([start, np.full(k, limit / k)]),
            jac=lambda v: np.concatenate([2 * v[:p], np.zeros(k)]),
            constraints=[{"type": "ineq", "fun": limits, "jac": lambda v: slope}],
            method="SLSQP",
            options=options,
        )
        return found.fun
    if kind == "gap":
        rule = {
            "fun": lambda z: np.concatenate([limit - g0 - A @ z, limit + g0 + A @ z]),
            "jac": lambda z: np.vstack([-A, A]),
        }
    else:
        rule = {
            "fun": lambda z: limit**2 - np.sum((g0 + A @ z) ** 2),
            "jac": lambda z: -2 * A.T @ (g0 + A @ z),
        }
    found = minimize(
        lambda z: z @ z,
        start,
        jac=lambda z: 2 * z,
        constraints=[{"type": "ineq", **rule}],
        method="SLSQP",
        options=options,
    )
    return found.fun


@pytest.mark.parametrize("seed", range(100))
def test_budgets_are_those_of_a_general_solver(seed):
    rng = np.random.default_rng(seed)
    k = int(rng.integers(2, 13))
    n = int(rng.integers(5 * k, 8 * k + 20))
    X, s = rng.standard_normal((n, 15)), np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    y = X[:, 0] + rng.standard_normal(k)[s] + rng.standard_normal(n)
    X[:, 1] += rng.standard_normal(k)[s]  # a proxy
    alpha, P = 10 ** rng.uniform(-1, 1), np.stack([(s == g) / (s == g).sum() for g in range(k)])
    P = P - 1 / n
    if seed % 2:
        model = ParityRidge(alpha=alpha)
        Z = X - X.mean(axis=0)
        best = np.linalg.solve(Z.T @ Z + alpha * np.eye(15), Z.T @ (y - y.mean()))
        hessian, gaps = Z.T @ Z + alpha * np.eye(15), P @ Z
        values = Z @ best + y.mean()
    else:
        model = ParityKernelRidge(kernel="rbf", gamma=0.05, alpha=alpha)
        K = rbf_kernel(X, gamma=0.05)
        best = np.linalg.solve(K + alpha * np.eye(n), y)
        hessian, gaps = K @ K + alpha * K, P @ K
        values = K @ best
    tradeoff = model.fit(X, y, sensitive_features=s).tradeoff_
    np.testing.assert_allclose(tradeoff.at(1.0).predict(X), values, rtol=1e-8)
    free, share = tradeoff.solution.free.objective[0], rng.uniform(0.05, 0.95)
    finders = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}
    for kind, find in finders.items():
        limit = share * sizes(gaps @ best)[kind]
        predicted = find(limit).predict(X)
        assert sizes(group_gaps(predicted, s))[kind] <= limit * (1 + 1e-9) + 1e-12
        excess = excess_of(tradeoff, predicted, X, y, alpha, model)
        expected = oracle(hessian, best, gaps, np.zeros(k), kind, limit)
        assert excess == pytest.approx(expected, rel=1e-7, abs=1e-11 * free), kind
        # the same function is the one of smallest gaps among those that cost as much
        back = tradeoff.for_loss_increase(excess / free, kind).predict(X)
        assert np.allclose(back, predicted, atol=1e-5 * np.ptp(y)), kind


def excess_of(tradeoff, predicted, X, y, alpha, model):
    """The excess objective of a function, from its values on the training rows."""
    free = tradeoff.at(1.0).predict(X)
    step = predicted - free
    if isinstance(model, ParityRidge):
        Z = X - X.mean(axis=0)
        theta = np.linalg.lstsq(Z, step, rcond=None)[0]
        return step @ step + alpha * theta @ theta
    c = np.linalg.solve(rbf_kernel(X, gamma=0.05), step)
    return step @ step + alpha * c @ step


KERNEL_SOLVERS = {
    "dense": "dense",
    "spectral": "spectral",
    "conjugate gradients": "conjugate_gradient",
    "Nyström": "nystrom",  # with a landmark at every row
}
LINEAR_SOLVERS = ("linear primal", "linear dense", "linear spectral", "linear sums")
NOTIONS = ("strata", "pool", "strata, pool", "number", "weights", "outputs", "errors", "everything")


class Spelled:
    """A problem row by row: functions ``Fc`` on the training rows and the pool, and their gaps.

    Attributes
    ----------
    people, model : dict, estimator
        What fit takes.
    F, gaps, parts : arrays
        Features with a constant column, ``(n + pool, p)``; gaps of values, ``(R, n + pool)``, and
        whether they are about the training rows (0) or the pool (1).
    """

    def __init__(self, notion, solver, linear, seed):
        has = {"everything": "strata, pool, weights, outputs"}.get(notion, notion)
        rng = np.random.default_rng(seed)
        k = int(rng.integers(2, 13)) if has in ("weights", "outputs") else int(rng.integers(2, 6))
        n, there, d = int(rng.integers(70, 90)), 40, 20
        s = np.concatenate([np.arange(k), np.arange(k), rng.integers(0, k, n - 2 * k)])
        strata = np.concatenate([np.zeros(k), np.ones(k), rng.integers(0, 2, n - 2 * k)])
        X = rng.standard_normal((n, d)) + rng.standard_normal((k, d))[s]
        Y = X[:, :2] + rng.standard_normal((k, 2))[s] + rng.standard_normal((n, 2))
        self.people = {"sensitive_features": s}
        self.weights = np.ones(n)
        if "weights" in has:
            self.weights = self.people["sample_weight"] = rng.uniform(0.3, 3.0, n)
        rows = [(s, strata * ("strata" in has), self.weights)]
        if "strata" in has:
            self.people["control_features"] = strata
        pool = None
        if "pool" in has:
            pool, of_pool = rng.standard_normal((there, d)), np.arange(there) % k
            level = np.arange(there) // k % 2 * ("strata" in has)
            weigh = rng.uniform(0.3, 3.0, there) if "weights" in has else np.ones(there)
            self.people["pool"] = Pool(
                pool,
                sensitive_features=of_pool,
                control_features=level if "strata" in has else None,
                sample_weight=weigh if "weights" in has else None,
            )
            rows.append((of_pool, level, weigh))
        if "outputs" not in has:
            Y = Y[:, 0]
        alpha = 10 ** rng.uniform(-1, 1)
        kind = ResidualParity if has == "errors" else MeanParity
        constraint = kind(min_group_size=0)
        if has == "number":
            s = s + rng.uniform(0, 1, n)
            self.people = {"sensitive_features": {"age": s}}
            constraint = MeanParity(continuous=["age"])
        points = X if pool is None else np.vstack([X, pool])
        if linear:
            F = points
            by_rows = "primal" if solver == "sums" else solver
            self.model = ParityRidge(alpha=alpha, solver=by_rows, constraint=constraint)
        else:
            values, vectors = np.linalg.eigh(rbf_kernel(points, gamma=0.2))
            F = vectors * np.sqrt(values)
            solver = Nystrom(landmarks=points) if solver == "nystrom" else solver
            self.model = ParityKernelRidge(
                kernel="rbf", gamma=0.2, alpha=alpha, fit_intercept=True, solver=solver
            ).set_params(constraint=constraint)
        self.X, self.Y, self.points, self.n = X, Y, points, n
        self.F = np.column_stack([F, np.ones(len(F))])
        penalty = alpha * np.diag(np.repeat([1.0, 0.0], [F.shape[1], 1]))
        weighed = self.weights[:, None] * self.F[:n]
        self.hessian = self.F[:n].T @ weighed + penalty
        self.best = np.linalg.solve(self.hessian, weighed.T @ Y.reshape(n, -1))
        self.offset, found = 0.0, []
        if has == "number":
            part = (s - s.mean()) / s.std() / n
            found.append((part, 0))
        else:
            for part, (groups, levels, weigh) in enumerate(rows):
                around = (n, 0) if part else (0, len(points) - n)
                for level in np.unique(levels):
                    whole = weigh * (levels == level)
                    for group in range(k):
                        mine = whole * (groups == group)
                        row = mine / mine.sum() - whole / whole.sum()
                        found.append((np.pad(row, around), part))
        self.gaps = np.array([row for row, _ in found])
        self.parts = np.array([part for _, part in found])
        if has == "errors":
            self.offset = -self.gaps @ self.Y.reshape(n, -1)

    def fit(self, sums):
        """The tradeoff, from a fit or from sums over batches."""
        if not sums:
            return self.model.fit(self.X, self.Y, **self.people).tradeoff_
        for some in np.array_split(np.arange(self.n), 3):
            batch = {name: self._some(values, some) for name, values in self.people.items()}
            self.model.partial_fit(self.X[some], self.Y[some], **batch)
        return self.model.tradeoff_

    @staticmethod
    def _some(values, some):
        return {k: v[some] for k, v in values.items()} if isinstance(values, dict) else values[some]

    def check(self, function, kind, limit):
        """The function is within the limit, and costs what the best one costs."""
        values = np.reshape(function.predict(self.points), (len(self.points), -1))
        if isinstance(self.model, ParityRidge):
            coef = np.linalg.lstsq(self.F, values, rcond=None)[0]
        else:  # as many features as rows, so that the constant is not seen in the values
            constant = function.intercept
            coef = np.vstack([np.linalg.solve(self.F[:, :-1], values - constant), constant])
        np.testing.assert_allclose(self.F @ coef, values, atol=1e-9)
        gaps = self.gaps @ values + self.offset
        for j in range(values.shape[1]):
            offset = self.offset[:, j] if np.ndim(self.offset) else np.zeros(len(gaps))
            sums = [np.abs(gaps[self.parts == p, j]).sum() for p in np.unique(self.parts)]
            size = {**sizes(gaps[:, j]), "smd": max(sums)}[kind]
            assert size <= limit * (1 + 1e-9)
            step = coef[:, j] - self.best[:, j]
            expected = oracle(
                self.hessian, self.best[:, j], self.gaps @ self.F, offset, kind, limit, self.parts
            )
            assert step @ self.hessian @ step == pytest.approx(expected, rel=1e-7), (kind, j)

    def free_size(self, kind):
        gaps = self.gaps @ self.F @ self.best + self.offset
        parts = [gaps[self.parts == p] for p in np.unique(self.parts)] if kind == "smd" else [gaps]
        return min(max(sizes(part[:, j])[kind] for part in parts) for j in range(gaps.shape[1]))


@pytest.mark.parametrize("solver", [*KERNEL_SOLVERS, *LINEAR_SOLVERS])
@pytest.mark.parametrize("notion", NOTIONS)
def test_every_solver_and_notion_against_a_general_solver(solver, notion):
    linear = solver.startswith("linear ")
    which = solver.removeprefix("linear ") if linear else KERNEL_SOLVERS[solver]
    if which == "sums" and notion in ("pool", "strata, pool", "everything", "errors"):
        notion = "weights"  # batches have no pool, and no errors by group
    seed = sum(map(ord, solver + notion))
    problem = Spelled(notion, which, linear, seed)
    tradeoff = problem.fit(which == "sums")
    share = np.random.default_rng(seed).uniform(0.2, 0.9)
    for kind in KINDS:
        limit = share * problem.free_size(kind)
        find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
        problem.check(find(limit), kind, limit)


def make_rows(seed, n=120, k=5):
    rng = np.random.default_rng(seed)
    X, s = rng.standard_normal((n, 8)), np.concatenate([np.arange(k), rng.integers(0, k, n - k)])
    Y = np.column_stack([X[:, 0] + 0.5 * s, X[:, 1] - 0.4 * s]) + rng.standard_normal((n, 2))
    return X, Y, s, rng


@pytest.mark.parametrize("solver", ["dense", "spectral", "conjugate_gradient", Nystrom(120)])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["plain", "weights", "pool", "strata"])
def test_every_solver_gives_the_same_answer(solver, kind, how):
    X, Y, s, rng = make_rows(0)
    people = {"sensitive_features": s}
    if how == "weights":
        people["sample_weight"] = rng.uniform(0.5, 2, len(s))
    if how == "pool":
        people["pool"] = rng.standard_normal((60, 8)), rng.integers(0, 5, 60)
        if isinstance(solver, Nystrom):  # then the spaces are the same
            solver = Nystrom(landmarks=np.vstack([X, people["pool"][0]]))
    if how == "strata":
        people["control_features"] = rng.integers(0, 2, len(s))
    options = {"kernel": "rbf", "gamma": 0.1, "alpha": 0.5, "fit_intercept": True}
    exact = ParityKernelRidge(**options, solver="dense").fit(X, Y, **people).tradeoff_
    other = ParityKernelRidge(**options, solver=solver).fit(X, Y, **people).tradeoff_
    found = []
    for tradeoff in (exact, other):
        find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
        limit = 0.4 * min(b.size(kind, b.free) for b in exact._budgets)
        found.append(find(limit).predict(X))
    assert np.allclose(*found, atol=1e-5)
    assert not np.allclose(found[0], exact.at(1.0).predict(X), atol=1e-3)


@pytest.mark.parametrize("kind", KINDS)
def test_linear_solvers_and_sums_give_the_same_answer(kind):
    X, Y, s, _ = make_rows(1)
    models = [
        ParityRidge(alpha=[0.5, 2.0]).fit(X, Y, sensitive_features=s),
        ParityRidge(alpha=[0.5, 2.0], solver="dense").fit(X, Y, sensitive_features=s),
        ParityRidge(alpha=[0.5, 2.0]).partial_fit(X, Y, sensitive_features=s),
    ]
    found = []
    for model in models:
        tradeoff = model.tradeoff_
        find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
        found.append(find(0.3).predict(X))
    for other in found[1:]:
        assert np.allclose(found[0], other, atol=1e-9)
    for output in range(2):
        gaps = group_gaps(found[0][:, output], s)
        free = group_gaps(models[0].tradeoff_.at(1.0).predict(X)[:, output], s)
        assert sizes(gaps)[kind] == pytest.approx(min(0.3, sizes(free)[kind]), abs=1e-10)


@given(seed=st.integers(0, 10**6), share=st.floats(0.01, 0.99))
def test_no_position_of_the_dial_is_better(seed, share):
    X, Y, s, _ = make_rows(seed)
    tradeoff = ParityRidge().fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    budgets = tradeoff._budgets[0]
    for kind in KINDS:
        limit = share * budgets.size(kind, budgets.free)
        x = budgets.within(kind, limit)
        on_dial = (1 - share) * budgets.parity
        assert budgets.size(kind, budgets.gaps(on_dial)) == pytest.approx(limit)
        assert budgets.excess(x) <= budgets.excess(on_dial) * (1 + 1e-9)
        inside = np.abs(budgets.gaps(x)) < limit * (1 - 1e-9)
        assert kind != "gap" or inside.any() or len(budgets.free) == 2


def test_two_groups_have_the_dial_only():
    X, Y, s, _ = make_rows(3, k=2)
    tradeoff = ParityRidge().fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    limit = 0.3 * np.abs(tradeoff.solution.gaps[1]).max()
    exact, dial = tradeoff.for_gap(limit), tradeoff.at(0.3)
    assert exact.unfairness == pytest.approx(0.3)
    assert np.allclose(exact.predict(X), dial.predict(X))


def test_a_limit_for_each_group():
    X, Y, s, _ = make_rows(4)
    tradeoff = ParityRidge().fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    limits = {"0": 0.1, "1": np.inf, "2": 0.0, "3": 0.3, "4": 0.2}
    gaps = np.abs(group_gaps(tradeoff.for_gap(limits).predict(X), s))
    assert (gaps <= np.array(list(limits.values())) + 1e-12).all()
    same = tradeoff.for_gap(dict.fromkeys(limits, 0.2)).predict(X)
    assert np.allclose(same, tradeoff.for_gap(0.2).predict(X))
    with pytest.raises(ValueError, match=r"max_gap has no limit for '4', but the gaps are '0', "):
        tradeoff.for_gap({"0": 1, "1": 1, "2": 1, "3": 1})
    with pytest.raises(ValueError, match="max_gap names 'x', but the gaps are"):
        tradeoff.for_gap({**limits, "x": 1})
    with pytest.raises(ValueError, match=r"max_gap\['0'\]=-1 is not a finite number"):
        tradeoff.for_gap({**limits, "0": -1})


def test_limits_in_strata_and_on_a_pool():
    X, Y, s, rng = make_rows(5, n=200, k=3)
    grade, there = rng.integers(0, 2, 200), (rng.standard_normal((90, 8)), rng.integers(0, 3, 90))
    model = ParityKernelRidge(kernel="rbf", gamma=0.1)
    tradeoff = model.fit(
        X, Y[:, 0], sensitive_features={"sex": s}, control_features={"grade": grade}
    ).tradeoff_
    predicted = tradeoff.for_gap(0.05).predict(X)
    for level in (0, 1):
        assert np.abs(group_gaps(predicted[grade == level], s[grade == level])).max() < 0.05 + 1e-10
    tradeoff = model.fit(X, Y[:, 0], sensitive_features=s, pool=there).tradeoff_
    for find, kind in ((tradeoff.for_gap, "gap"), (tradeoff.for_smd, "smd")):
        function = find(0.05)
        for rows, groups in ((X, s), there):
            assert sizes(group_gaps(function.predict(rows), groups))[kind] <= 0.05 + 1e-10


def test_sensitive_numbers_have_limits_too():
    X, Y, _, rng = make_rows(6, n=300)
    age = rng.uniform(20, 60, 300)
    y = Y[:, 0] + 0.05 * age + X[:, 2]
    X[:, 3] += 0.1 * age
    model = ParityRidge(constraint=MeanParity(continuous=["age"]))
    tradeoff = model.fit(X, y, sensitive_features={"age": age}).tradeoff_
    predicted = tradeoff.for_gap(0.1).predict(X)
    assert abs(np.cov(predicted, age, ddof=0)[0, 1]) / age.std() == pytest.approx(0.1)


def test_means_of_directions_are_in_the_order_of_the_cells():
    X, Y, s, _ = make_rows(7)
    rows = np.argsort(s, kind="stable")[::-1]  # batches see the cells in another order
    control = (X[:, 0] > 0).astype(int)
    model = ParityRidge(constraint=MeanParity(intersectional=False))
    whole, batches = clone(model), clone(model)
    people = {"sensitive_features": {"s": s, "t": control}}
    whole.fit(X, Y, **people)
    for batch in np.array_split(rows, 3):
        some = {"s": s[batch], "t": control[batch]}
        batches.partial_fit(X[batch], Y[batch], sensitive_features=some)
    found, wanted = (m.tradeoff_.solution for m in (batches, whole))
    assert found.directions.cell_means.shape == wanted.directions.cell_means.shape
    for solution in (found, wanted):
        ends = solution.free.cell_means - solution.fair.cell_means
        steps = np.einsum(
            "kr,rm->km", solution.directions.cell_means[0], solution.directions.multipliers
        )
        assert np.allclose(steps, ends, atol=1e-9)


@pytest.mark.parametrize("kind", KINDS)
def test_frontiers_on_the_training_rows_need_no_rows(kind):
    X, Y, s, rng = make_rows(7)
    weights = rng.uniform(0.5, 2, len(s))
    for model in (ParityRidge(alpha=[1.0, 3.0]), ParityKernelRidge(kernel="rbf", alpha=0.5)):
        people = {"sensitive_features": s, "sample_weight": weights}
        tradeoff = model.fit(X, Y, **people).tradeoff_
        here = tradeoff.training_frontier(kind)
        there = tradeoff.frontier(X, Y, budget=kind, **people)
        for name in ("limit", "mse", "r2", "smd", "max_gap"):
            assert np.allclose(getattr(here, name), getattr(there, name), atol=1e-9), name
        dial = tradeoff.training_curve([0.0, 1.0])
        assert np.allclose(here.mse[[0, -1]], dial.mse)
        assert np.allclose(here.max_gap[[0, -1]], dial.max_gap, atol=1e-9)
        limited = {"gap": here.max_gap, "smd": here.smd, "norm": None}[kind]
        assert limited is None or np.allclose(limited, here.limit, atol=1e-9)
        assert list(here.to_frame().columns) == ["limit", "mse", "r2", "smd", "max_gap", "norm"]
        some = tradeoff.training_frontier(kind, [0.1, 0.2])
        one = tradeoff.training_frontier(kind, 0.2)
        assert some.mse[1] == one.mse[0]
        assert repr(one).startswith(f"Frontier('{kind}', 1 points; limit 0.2 to 0.2; mse ")


def test_budgets_that_everything_meets_or_nothing():
    X, Y, s, _ = make_rows(8)
    tradeoff = ParityRidge().fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    for find in (tradeoff.for_gap, tradeoff.for_smd, tradeoff.for_norm):
        assert find(1e6).unfairness == 1.0
        assert find(0).unfairness == find(1e-15).unfairness == 0.0
        for wrong in (-1, np.nan, np.inf, "1", None, True):
            with pytest.raises(ValueError, match="is not a finite number of 0 or more"):
                find(wrong)
    with pytest.raises(
        ValueError, match=r"budget='mean' is not known\. Pass one of gap, smd, norm"
    ):
        tradeoff.for_loss_increase(0.1, "mean")
    with pytest.raises(ValueError, match="budget=None is not known"):
        tradeoff.training_frontier(None)
    with pytest.raises(ValueError, match=r"limits is empty\. Pass at least one number"):
        tradeoff.training_frontier("gap", [])


@pytest.mark.filterwarnings("ignore:No function of this space")
def test_targets_that_cannot_be_met_leave_gaps():
    """Two columns cannot give five groups errors of the same mean."""
    X, Y, s, _ = make_rows(9)
    model = ParityRidge(constraint="residual_parity").fit(X[:, :2], Y[:, 0], sensitive_features=s)
    tradeoff, y = model.tradeoff_, Y[:, 0]
    left = np.abs(group_gaps(tradeoff.at(0.0).predict(X[:, :2]) - y, s)).max()
    for find in (tradeoff.for_gap, tradeoff.for_smd, tradeoff.for_norm):
        for limit in (0.0, left / 100):
            with pytest.raises(UnreachableError, match="No function of this space has gaps as"):
                find(limit)
    whole = np.abs(group_gaps(tradeoff.at(1.0).predict(X[:, :2]) - y, s)).max()
    limit = left + 0.5 * (whole - left)
    predicted = tradeoff.for_gap(limit).predict(X[:, :2])
    assert np.abs(group_gaps(predicted - y, s)).max() <= limit + 1e-10


@pytest.mark.filterwarnings("ignore:No function of this space")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_smallest_gaps_at_a_price_if_targets_cannot_be_met(seed, kind):
    """Two columns, and gaps of errors of six groups: the smallest are not those at parity."""
    rng = np.random.default_rng(seed)
    n, k, alpha = 200, 6, 5.0
    s = rng.integers(0, k, n)
    X = rng.standard_normal((n, 2))
    X[:, 0] += s
    y = (s % 3) * 1.5 + X[:, 1] + rng.standard_normal(n)
    model = ParityRidge(alpha=alpha, constraint=ResidualParity())
    tradeoff = model.fit(X, y, sensitive_features=s).tradeoff_
    F = np.column_stack([X, np.ones(n)])
    hessian = F.T @ F + alpha * np.diag([1.0, 1.0, 0.0])
    best = np.linalg.solve(hessian, F.T @ y)
    P = np.stack([(s == g) / (s == g).sum() for g in range(k)]) - 1 / n
    problem = hessian, best, P @ F, -P @ y
    free = tradeoff.solution.free.objective[0]

    def measured(function):
        values = function.predict(X)
        step = np.linalg.lstsq(F, values, rcond=None)[0] - best
        return step @ hessian @ step, sizes(P @ (values - y))[kind]

    most = sizes(P @ (F @ best - y))[kind]
    at_most, least = measured(tradeoff.for_loss_increase(1e3, kind))
    assert least <= sizes(P @ (tradeoff.at(0.0).predict(X) - y))[kind] * (1 + 1e-9)
    frontier = tradeoff.training_frontier(kind)
    assert frontier.limit[[0, -1]] == pytest.approx([least, most], rel=1e-8)
    for share in (0.1, 0.5, 0.9):
        limit = least + share * (most - least)
        find = {"gap": tradeoff.for_gap, "smd": tradeoff.for_smd, "norm": tradeoff.for_norm}[kind]
        excess, size = measured(find(limit))
        assert size <= limit * (1 + 1e-9)
        assert excess == pytest.approx(oracle(*problem, kind, limit), rel=1e-6)
    for share in (1e-4, 0.01, 0.05, 0.5, 10.0):
        excess, size = measured(tradeoff.for_loss_increase(share, kind))
        allowed = min(share * free, at_most)
        assert allowed * (1 - 1e-5) <= excess <= allowed * (1 + 1e-9)
        assert size >= least * (1 - 1e-9)
    for limit in (0.0, 0.9 * least):
        with pytest.raises(UnreachableError, match=f"{SIZES[kind]} is {least:.4g}. Allow more"):
            find(limit)
    limits = dict.fromkeys(tradeoff.labels[0], least / 10) | {"0": np.inf}
    with pytest.raises(UnreachableError, match="meets all these limits"):
        tradeoff.for_gap(limits)


def test_a_sum_over_many_gaps():
    rng = np.random.default_rng(0)
    N = rng.standard_normal((60, 59))
    N -= N.mean(axis=0)
    Q = rng.standard_normal((59, 59))
    budgets = Budgets.from_directions(
        Q @ Q.T + np.eye(59), N, N @ rng.standard_normal(59), np.zeros(60, int)
    )
    whole = budgets.size("smd", budgets.free)
    x = budgets.within("smd", 0.3 * whole)
    assert budgets.size("smd", budgets.gaps(x)) == pytest.approx(0.3 * whole)
    # stationary: x = Aᵀλ with |λ| ≤ c, and λ = c · sign(gap) where the gap is not zero
    dual, gaps = np.linalg.lstsq(budgets.A.T, x, rcond=None)[0], budgets.gaps(x)
    up, down = gaps > 1e-9 * whole, gaps < -1e-9 * whole
    dual -= (dual[up].mean() + dual[down].mean()) / 2  # Aᵀ1 = 0
    bound = dual[up].mean()
    assert 1 < np.count_nonzero(up | down) < 60
    assert np.allclose(dual[up], bound)
    assert np.allclose(dual[down], -bound)
    assert np.abs(dual).max() <= bound * (1 + 1e-6)


def test_solvers_without_directions_have_the_dial_only():
    X, Y, s, rng = make_rows(10)
    pool = rng.standard_normal((40, 8)), rng.integers(0, 5, 40)
    model = ParityKernelRidge(kernel="rbf", alpha=0.0, gamma=0.5)
    tradeoff = model.fit(X, Y[:, 0], sensitive_features=s, pool=pool).tradeoff_
    assert tradeoff.solution.directions is None
    with pytest.raises(ValueError, match="returned no directions"):
        tradeoff.for_gap(0.1)
    with pytest.raises(ValueError, match="kept no sums for functions off the dial"):
        tradeoff.training_frontier()


def test_limits_in_fit_are_those_of_the_tradeoff():
    X, Y, s, _ = make_rows(11)
    tradeoff = ParityRidge().fit(X, Y[:, 0], sensitive_features=s).tradeoff_
    whole = np.abs(tradeoff.solution.gaps[1]).max()
    for limit in (0.4 * whole, dict.fromkeys("0124", 0.3 * whole) | {"3": np.inf}):
        model = ParityRidge(max_gap=limit).fit(X, Y[:, 0], sensitive_features=s)
        expected = tradeoff.for_gap(limit).predict(X)
        assert model.unfairness_ is None
        assert np.allclose(model.predict(X), expected)
        assert list(model.gaps_.values()) == pytest.approx(group_gaps(expected, s), abs=1e-12)
        means = [expected[s == group].mean() for group in range(5)]
        assert list(model.group_means_.values()) == pytest.approx(means)
        point = tradeoff.measure(tradeoff.for_gap(limit), X, Y[:, 0], s)
        assert point.mse[0] == pytest.approx(np.mean((Y[:, 0] - expected) ** 2))
        assert point.max_gap[0] == pytest.approx(np.abs(group_gaps(expected, s)).max())


def test_a_limit_that_changes_nothing_is_said():
    X, Y, s, _ = make_rows(12)
    with pytest.warns(ParityWarning, match="The unconstrained fit meets max_gap already"):
        model = ParityRidge(max_gap=1e3).fit(X, Y[:, 0], sensitive_features=s)
    assert model.unfairness_ == 1.0
    for wrong in (-1.0, np.nan, "x", {"0": 1.0}, {"nobody": 1.0}):
        with pytest.raises(ValueError, match="max_gap"):
            ParityRidge(max_gap=wrong).fit(X, Y[:, 0], sensitive_features=s)


@pytest.mark.parametrize("solver", ["dense", "primal", "spectral"])
def test_limits_in_fit_on_a_pool(solver):
    X, Y, s, rng = make_rows(13)
    there = rng.standard_normal((60, 8)), rng.integers(0, 3, 60)
    model = ParityRidge(max_gap=0.05, solver=solver)
    model.fit(X, Y[:, 0], sensitive_features=s, pool=there)
    for rows, groups, gaps in ((X, s, model.gaps_), (*there, model.pool_gaps_)):
        found = group_gaps(model.predict(rows), groups)
        assert np.abs(found).max() <= 0.05 + 1e-10
        assert list(gaps.values()) == pytest.approx(found, abs=1e-10)
    means = [model.predict(there[0])[there[1] == group].mean() for group in range(3)]
    assert list(model.pool_group_means_.values()) == pytest.approx(means)
