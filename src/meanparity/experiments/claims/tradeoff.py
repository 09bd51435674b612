"""Curves of error against gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meanparity.experiments.claims.shared import EXACT, ROUNDING, everywhere, mean_of, short
from meanparity.experiments.declaration import Claim, Verdict


def _trial(rows: Any, trial: Any) -> Any:
    return rows[rows.trial == trial]


def _at(ours: Any, theirs: Any, part: str) -> Any:
    """Our MSE in one trial where our train SMD is theirs: the quadratic through all positions."""
    gap = ours.smd_train.to_numpy()
    curve = np.polyfit(ours.position, ours[f"mse_{part}"], 2)
    return np.polyval(curve, np.clip(theirs.smd_train.to_numpy() / gap.max(), 0.0, 1.0))


def _excess(by: Mapping[str, Any], name: str) -> Any:
    """How much more train MSE a method has than ours at the same gap, relative, in all trials."""
    return np.concatenate(
        [
            theirs.mse_train.to_numpy() / _at(_trial(by["Ours"], trial), theirs, "train") - 1
            for trial, theirs in by[name].groupby("trial")
        ]
    )


def exact_at_zero(rows: Any) -> Verdict:
    """At position 0, SMD of ours on the training rows is what rounding leaves."""
    ours = rows[(rows.estimator == "Ours") & (rows.position == 0)]
    worst = float((ours.smd_train / ours.sd).max())
    return Verdict(worst <= ROUNDING, f"Its largest train SMD is {worst:.0e} · sd(y).")


def climbs(rows: Any) -> Verdict:
    """On the training rows of every method and trial, a smaller SMD comes with a larger MSE."""
    worst = -np.inf
    for _, part in rows.groupby(["dataset", "method", "trial"]):
        mse = part.sort_values("smd_train").mse_train.to_numpy()
        worst = max(worst, float((np.diff(mse) / mse[:-1]).max()))
    curves = rows.groupby(["dataset", "method", "trial"]).ngroups
    held = worst <= 1e-7
    return Verdict(
        held, f"MSE {'never rises' if held else 'rises'} with SMD along {curves} curves."
    )


def coincide(rows: Any) -> Verdict:
    """FPR and FKR lie on our curve, on the training rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        apart = {name: float(np.abs(_excess(by, name)).max()) for name in ("FPR", "FKR")}
        says = ", ".join(f"{name} {value:.0e}" for name, value in apart.items())
        return max(apart.values()) <= 1e-9, f"{says} of the MSE away at most"

    return everywhere(rows, ask)


def nrfc_above(rows: Any) -> Verdict:
    """NRFC's curve lies on or above ours on the training rows of Communities & Crime."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        low, high = (float(f(100 * _excess(by, "NRFC"))) for f in (np.min, np.max))
        return low >= -1e-5, f"{round(low, 1) + 0.0:.1f} to {high:.1f} % more at the same SMD"

    return everywhere(rows[rows.dataset == "communities_crime"], ask)


def same_at_zero(rows: Any) -> Verdict:
    """Methods whose SMD goes to 0 (5 % of the free one) have the same MSE there as ours."""

    def ask(by: Mapping[str, Any]) -> tuple[bool | None, str]:
        ends = {
            name: part.loc[part.groupby("trial").smd_train.idxmin()][
                ["mse_train", "smd_train"]
            ].mean()
            for name, part in by.items()
        }
        free = mean_of(by["Ours"][by["Ours"].position == 1], "smd_train")
        near = {n: end.mse_train for n, end in ends.items() if end.smd_train <= 0.05 * free}
        far = [f"{n} ends at SMD {ends[n].smd_train:.3f}" for n in ends if n not in near]
        off = max(abs(value / near["Ours"] - 1) for value in near.values())
        says = ", ".join([f"{100 * off:.1f} % apart at most", *far])
        return (off <= 0.02 if len(near) > 1 else None), says

    return everywhere(rows, ask)


def smaller_on_test(rows: Any) -> Verdict:
    """Somewhere NRFC or FKR has a smaller mean test MSE than ours at the same train SMD."""
    found = []
    for dataset, part in rows.groupby("dataset", sort=False):
        by = dict(list(part.groupby("method", sort=False)))
        for name in ("FKR", "NRFC"):
            gains = [
                1 - theirs.mse_test.to_numpy() / _at(_trial(by["Ours"], trial), theirs, "test")
                for trial, theirs in by[name].groupby("trial")
            ]
            gain = float(np.mean(gains, axis=0).max())
            if gain > 1e-4:
                found.append(f"{name} on {short(dataset)} by {100 * gain:.2f} %")
    return Verdict(bool(found), f"{'; '.join(found)} at most." if found else "Nowhere.")


def unstable_at_the_ends(rows: Any) -> Verdict:
    """On Law School, FKR or NRFC is off our curve by more than 1 % at an end of its dial."""
    part = rows[rows.dataset == "law_school"]
    if part.empty:
        return Verdict(None, "Law School was not run.")
    ours = part[part.method == "Ours"]
    off = {}
    for name in ("FKR", "NRFC"):
        theirs = part[part.method == name]
        ends = theirs[theirs.position.isin([theirs.position.min(), theirs.position.max()])]
        off[name] = float(np.abs(_excess({"Ours": ours, name: ends}, name)).max())
    says = ", ".join(f"{name} {value:.0e}" for name, value in off.items())
    return Verdict(max(off.values()) > 0.01, f"Train MSE off our curve, relative: {says}.")


def cheap(rows: Any) -> Verdict:
    """The whole curve costs ours less time than any other method."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        times = {name: float(part.seconds.median()) for name, part in by.items()}
        ratios = {n: times[n] / times["Ours"] for n in times if n != "Ours"}
        says = ", ".join(f"{name} {ratio:.0f}" for name, ratio in ratios.items())
        return min(ratios.values()) > 1, f"{says} times as long"

    return everywhere(rows, ask)


TRADEOFF = (
    Claim(EXACT.text, exact_at_zero, "proved"),
    Claim("The error climbs as the constraint gets stricter.", climbs),
    Claim("Our curve coincides with FKR's and FPR's on the training rows.", coincide),
    Claim("On Communities & Crime, NRFC's curve lies above ours.", nrfc_above),
    Claim("Where SMD goes to 0, all methods have almost the same error.", same_at_zero),
    Claim("NRFC and FKR sometimes have a slightly smaller test error.", smaller_on_test),
    Claim("FKR and NRFC are numerically unstable at the ends on Law School.", unstable_at_the_ends),
    Claim("Ours has the much lower complexity.", cheap),
)
