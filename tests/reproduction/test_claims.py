"""Every claim can hold and can fail."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from reproduction import CATALOGUE
from reproduction.claims import demographic, methods, proofs, shared, tables, tradeoff

PARTS = ("train", "test")
POOL = [f"{s}: parity on {w}" for s in ("linear", "kernel") for w in ("train", "train and test")]


def frame(by_method, dataset="adult", trials=2):
    """Rows with the same numbers in every trial; numbers that are not given have defaults."""
    rows = []
    for method, numbers in by_method.items():
        row = {"sd": 1.0, "seconds": 1.0}
        for part in PARTS:
            row |= {f"mse_{part}": 1.0, f"smd_{part}": 0.2, f"dpd_{part}": 0.3, f"cov_{part}": 0.1}
        for name, value in numbers.items():
            names = [f"{name}_{p}" for p in PARTS] if f"{name}_train" in row else [name]
            row |= dict.fromkeys(names, value)
        ours = method in ("Ours", "with S", "without S", *POOL)
        key = {"dataset": dataset, "method": method, "estimator": "Ours" if ours else method}
        rows += [{**key, "trial": t, **row} for t in range(trials)]
    return pd.DataFrame(rows)


def curve(method, free=2.0, fair=3.0, excess=0.0, gap=0.5, dataset="communities_crime"):
    """A tradeoff with the exact quadratic, times 1 + excess between its ends, on both parts."""
    u = np.linspace(0, 1, 6)
    mse = (free + (1 - u) ** 2 * (fair - free)) * np.where((u > 0) & (u < 1), 1 + excess, 1.0)
    numbers = {f"mse_{p}": mse for p in PARTS} | {f"smd_{p}": gap * u for p in PARTS}
    keys = {"dataset": dataset, "method": method, "estimator": method, "trial": 0, "position": u}
    keys["sd"] = 1.0
    return pd.DataFrame({**keys, **numbers, "seconds": 1.0 if method == "Ours" else 9.0})


def tradeoff_frame(**changes):
    """The curves of all four methods; `changes` maps a method to arguments of `curve`."""
    names = ("Ours", "FPR", "FKR", "NRFC")
    return pd.concat([curve(name, **changes.get(name, {})) for name in names], ignore_index=True)


def penalties(**gaps):
    return {name: {"smd": gaps.get(name, 0.3)} for name in shared.PENALTIES}


def steps(fair_rate=1.0, worst=1e-16):
    step = np.arange(0, 1001, 50)
    lines = []
    for name, rate in (("GD", 1.0), ("Fair-GD", fair_rate)):
        numbers = {"loss": np.exp(-0.01 * rate * step), "smd": worst, "smd_worst": worst, "sd": 1.0}
        lines.append(pd.DataFrame({"dataset": "adult", "curve": name, "step": step, **numbers}))
    return pd.concat(lines, ignore_index=True)


def people(apart):
    rng = np.random.default_rng(0)
    group = np.repeat([0.0, 1.0], 50)
    noise = rng.normal(size=100)
    frames = []
    for method, size in (("OLS", 1.0), ("Ours", apart)):
        rows = {"group": group, "response": noise + group, "prediction": noise + size * group}
        key = {"dataset": "adult", "method": method, "estimator": method}
        frames += [pd.DataFrame({**key, "part": part, **rows}) for part in PARTS]
    return pd.concat(frames, ignore_index=True)


def even_people():
    rows = people(0.0)
    rows = rows[rows.method == "Ours"]
    means = rows.groupby(["part", "group"]).prediction.transform("mean")
    return rows.assign(prediction=rows.prediction - means)


def pool(gap=1e-15, mse=1.01):
    both = {"smd": gap, "mse": mse}
    return frame({name: both if name.endswith("test") else {"smd": 0.1} for name in POOL})


CASES = [
    (shared.exact_parity, frame({"Ours": {"smd": 1e-12}}), frame({"Ours": {"smd": 1e-9}})),
    (shared.exact_covariance, frame({"Ours": {"cov": 1e-12}}), frame({"Ours": {"cov": 1e-9}})),
    (shared.order, frame({"OLS": {}}), frame({"OLS": {"smd": 0.31}})),
    (
        methods.below_penalties,
        frame({**penalties(), "Ours": {"smd": 0.2}}),
        frame({**penalties(**{"FKR-3": 0.1}), "Ours": {"smd": 0.2}}),
    ),
    (
        methods.close_to_nrfc,
        frame({"NRFC": {"mse": 1.0}, "Ours": {"mse": 1.0}}),
        frame({"NRFC": {"mse": 1.0}, "Ours": {"mse": 1.1}}),
    ),
    (
        methods.below_nrfc,
        frame({"NRFC": {"smd": 1e-15}, "Ours": {"mse": 0.9}}),
        frame({"NRFC": {"smd": 1e-15}, "Ours": {"mse": 1.1}}),
    ),
    (tradeoff.error_rises, tradeoff_frame(), tradeoff_frame(FPR={"excess": -0.4})),
    (tradeoff.curves_coincide, tradeoff_frame(), tradeoff_frame(FKR={"excess": 0.01})),
    (
        tradeoff.nrfc_above,
        tradeoff_frame(NRFC={"excess": 0.05}),
        tradeoff_frame(NRFC={"excess": -0.01}),
    ),
    (tradeoff.same_at_zero, tradeoff_frame(), tradeoff_frame(NRFC={"fair": 3.2})),
    (
        tradeoff.smaller_on_test,
        tradeoff_frame(NRFC={"excess": -0.01}),
        tradeoff_frame(NRFC={"excess": 0.01}),
    ),
    (tradeoff.faster, tradeoff_frame(), tradeoff_frame().assign(seconds=1.0)),
    (
        methods.smallest_gap,
        frame({"OLS": {}, "Ours": {"smd": 0.1}}, "communities_crime_4"),
        frame({"OLS": {}, "Ours": {"smd": 0.3}}, "communities_crime_4"),
    ),
    (
        methods.same_as_nrfc,
        frame({"NRFC": {}, "Ours": {}}).assign(cov_train=1e-15),
        frame({"NRFC": {}, "Ours": {"mse": 1.02}}).assign(cov_train=1e-15),
    ),
    (
        demographic.each_helps_the_other,
        frame({"OLS": {}, "RBA": {"smd": 0.1}, "Ours": {"dpd": 0.2}}),
        frame({"OLS": {}, "RBA": {"smd": 0.1}, "Ours": {"dpd": 0.4}}),
    ),
    (
        demographic.demographic_parity_costs_more,
        frame({"RBA": {"mse": 1.1}, "Ours": {}}),
        frame({"RBA": {"mse": 0.9}, "Ours": {}}),
    ),
    (
        demographic.worse_on_test,
        frame({"RBA": {}, "Ours": {}}).assign(mse_train=0.5, smd_train=0.1, dpd_train=0.1),
        frame({"RBA": {}, "Ours": {}}).assign(mse_train=0.5, smd_train=0.1, dpd_train=0.9),
    ),
    (
        demographic.sometimes_smaller_gap,
        frame({"RBA": {"smd": 0.1}, "Ours": {}}),
        frame({"RBA": {"smd": 0.3}, "Ours": {}}),
    ),
    (
        tables.below_constant,
        frame({"Constant": {"mse": 1.1}, "Ours": {}}),
        frame({"Constant": {"mse": 0.9}, "Ours": {}}),
    ),
    (
        tables.seventy_seven,
        frame({"Constant": {"mse": 77.0}, "Ours": {}}, "synthetic"),
        frame({"Constant": {"mse": 7.0}, "Ours": {}}, "synthetic"),
    ),
    (
        tables.s_lowers_error,
        frame({"with S": {}, "without S": {"mse": 1.1}}),
        frame({"with S": {}, "without S": {"mse": 0.9}}),
    ),
    (
        tables.removal_may_help,
        frame({"with S": {}, "without S": {"smd": 0.1}}),
        frame({"with S": {}, "without S": {"smd": 0.3}}),
    ),
    (proofs.parity_at_every_step, steps(), steps(worst=1e-9)),
    (proofs.same_rate, steps(), steps(fair_rate=0.3)),
    (demographic.more_similar_distributions, people(0.1), people(1.5)),
    (demographic.exact_means, even_people(), people(0.1)),
    (tradeoff.exact_at_zero, tradeoff_frame(), tradeoff_frame().assign(smd_train=1e-8)),
    (methods.exact_on_pool, pool(), pool(gap=1e-8)),
    (methods.pool_costs, pool(), pool(mse=1.2)),
    (
        methods.choosing_helps,
        frame({"the paper's γ and penalty": {}, "chosen": {"mse": 0.9}}),
        frame({"the paper's γ and penalty": {}, "chosen": {"mse": 1.1}}),
    ),
]
LAW = {"dataset": "law_school"}


def law(**changes):
    lines = [curve("Ours", **LAW), curve("FKR", **LAW), curve("NRFC", **{**LAW, **changes})]
    return pd.concat(lines, ignore_index=True)


# statements about code that is not run here: ours may agree, but cannot disagree
ONE_SIDED = [
    (tradeoff.unstable_at_the_ends, law(fair=9.0), law()),
    (
        demographic.faster_than_rba,
        frame({"RBA": {"seconds": 150.0}, "Ours": {}}),
        frame({"RBA": {"seconds": 5.0}, "Ours": {}}),
    ),
]


@pytest.mark.parametrize(
    ("claim", "good", "bad"), ONE_SIDED, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_claim_about_code_that_was_not_run_does_not_fail(claim, good, bad):
    assert claim(good).held is True
    assert claim(bad).held is None
    assert "not run" in claim(bad).explanation


def test_a_claim_about_two_unnamed_data_sets_needs_two():
    def rows(*helped):
        parts = []
        for dataset, held in zip(("adult", "law_school", "communities_crime"), helped, strict=True):
            methods = {"OLS": {}, "RBA": {"smd": 0.1}, "Ours": {"dpd": 0.2 if held else 0.4}}
            parts.append(frame(methods, dataset))
        return pd.concat(parts, ignore_index=True)

    for helped, held in (((1, 1, 1), True), ((1, 0, 1), True), ((0, 0, 1), False)):
        verdict = demographic.each_helps_the_other(rows(*helped))
        assert verdict.held is held
        assert f"It holds on {sum(helped)} of 3: " in verdict.explanation


def test_a_claim_about_nrfc_is_judged_where_its_modes_agree():
    claim = CATALOGUE["fig:cov-kernel"].claims[2].check

    def rows(*errors):
        names = ("NRFC", "NRFC-F", "NRFC-Fs")
        modes = {name: {"mse": mse} for name, mse in zip(names, errors, strict=True)}
        return frame({**modes, "Ours": {"mse": 1.0}})

    assert claim(rows(1.1, 1.2, 1.3)).held is True
    assert claim(rows(0.9, 0.8, 0.7)).held is False
    verdict = claim(rows(0.9, 1.2, 1.3))
    assert verdict.held is None
    assert verdict.explanation.startswith("It depends on the mode of NRFC. NRFC: ")
    at_parity = rows(1.1, 0.5, 1.3).assign(
        smd_train=lambda part: np.where(part.method == "NRFC-Fs", 1e-15, 0.1)
    )
    assert methods.below_nrfc(at_parity).held is True  # only one mode reaches parity


@pytest.mark.parametrize(
    ("claim", "good", "bad"), CASES, ids=lambda value: getattr(value, "__name__", "")
)
def test_a_claim_holds_and_fails(claim, good, bad):
    assert claim(good).held is True
    assert claim(bad).held is False
    for verdict in (claim(good), claim(bad)):
        assert verdict.explanation.endswith((".", ".)"))
        assert "nan" not in verdict.explanation


@pytest.mark.parametrize("claim", CATALOGUE["tab:proofs"].claims, ids=lambda claim: claim.text[:30])
def test_a_proof_fails_where_its_number_is_too_large(claim):
    names = ("smd", "order", "quadratic", "linear", "bound", "bound_zero")
    good = pd.DataFrame([dict.fromkeys(names, 1e-14)])
    assert claim.check(good).held
    failing = [not claim.check(good.assign(**{name: 1.01})).held for name in names]
    assert sum(failing) == 1


@pytest.mark.parametrize("claim", CATALOGUE["fig:cov-kernel"].claims[2:], ids=lambda c: c.text[:30])
def test_a_comparison_with_nrfc_goes_one_way(claim):
    rows = frame({"NRFC": {}, "Ours": {"mse": 0.9, "cov": 0.05}})
    swapped = frame({"Ours": {}, "NRFC": {"mse": 0.9, "cov": 0.05}})
    assert claim.check(rows).held != claim.check(swapped).held


def test_every_claim_of_the_catalogue_is_tested():
    asked = {claim.check for e in CATALOGUE.values() for claim in e.claims}
    tested = {claim for claim, _, _ in [*CASES, *ONE_SIDED]}
    others = {
        claim.check for name in ("tab:proofs", "fig:cov-kernel") for claim in CATALOGUE[name].claims
    }
    assert asked <= tested | others


def test_a_claim_about_data_that_was_not_run_neither_holds_nor_fails():
    verdict = tradeoff.unstable_at_the_ends(tradeoff_frame())
    assert (verdict.held, verdict.explanation) == (None, "Law School was not run.")
    nothing = tradeoff_frame()[:0]
    assert tradeoff.nrfc_above(nothing).held is None
    assert tradeoff.curves_coincide(nothing).held is None


def test_mse_is_compared_with_nrfc_only_at_parity():
    verdict = methods.below_nrfc(frame({"NRFC": {"smd": 0.1}, "Ours": {"mse": 0.9}}))
    assert verdict.held is None
    assert "NRFC: Adult: does not reach parity (train SMD 0.1000)" in verdict.explanation


def test_errors_at_zero_are_compared_only_with_methods_that_reach_it():
    rows = tradeoff_frame()
    far = rows[(rows.method == "Ours") | (rows.smd_train > 0.2)]
    verdict = tradeoff.same_at_zero(far)
    assert verdict.held is None
    assert "FKR ends at SMD 0.300" in verdict.explanation


def test_a_test_gap_that_is_not_monotone_is_not_a_gain():
    """The test gap need not grow along the tradeoff; equal functions have equal errors."""
    rows = tradeoff_frame()
    rows["smd_test"] = (rows.position - 0.3).abs()
    assert tradeoff.smaller_on_test(rows).held is False


def test_one_trial_has_no_spread():
    rows = frame({"Constant": {"mse": 1.1}, "Ours": {}}, trials=1)
    assert tables.below_constant(rows).held is True
