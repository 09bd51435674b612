"""Curves of error against gap."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from meanparity.experiments.claims.shared import everywhere, mean_of, short
from meanparity.experiments.declaration import Claim, Verdict


def _at(ours: Any, gaps: Any) -> Any:
    """Our MSE on the training rows at given gaps: the quadratic through both ends."""
    fair, free = ours.iloc[0], ours.iloc[-1]
    u = np.clip(gaps / free.smd_train, 0.0, 1.0)
    return free.mse_train + (1 - u) ** 2 * (fair.mse_train - free.mse_train)


def _excess(by: Mapping[str, Any], name: str) -> Any:
    """How much more MSE a method has than ours at the same gap, relative, for all trials."""
    parts = []
    for trial, theirs in by[name].groupby("trial"):
        ours = by["Ours"][by["Ours"].trial == trial]
        parts.append(theirs.mse_train / _at(ours, theirs.smd_train) - 1)
    return np.concatenate(parts)


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
        return max(apart.values()) <= 1e-3, f"{says} of the MSE away at most"

    return everywhere(rows, ask)


def nrfc_above(rows: Any) -> Verdict:
    """NRFC's curve lies on or above ours on the training rows of Communities & Crime."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        low, high = (float(f(100 * _excess(by, "NRFC"))) for f in (np.min, np.max))
        return low >= -1e-5, f"{round(low, 1) + 0.0:.1f} to {high:.1f} % more at the same SMD"

    return everywhere(rows[rows.dataset == "communities_crime"], ask)


def same_at_zero(rows: Any) -> Verdict:
    """Methods whose SMD goes to 0 (5 % of the free one) have the same MSE there as ours."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
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
        return off <= 0.02, ", ".join([f"{100 * off:.1f} % apart at most", *far])

    return everywhere(rows, ask)


def smaller_on_test(rows: Any) -> Verdict:
    """Somewhere NRFC or FKR has the smaller test MSE at the same test SMD."""
    found = []
    for dataset, part in rows.groupby("dataset", sort=False):
        means = part.groupby(["method", "position"])[["mse_test", "smd_test"]].mean()
        ours = means.loc["Ours"].sort_values("smd_test")
        for name in ("FKR", "NRFC"):
            theirs = means.loc[name]
            theirs = theirs[theirs.smd_test.between(ours.smd_test.min(), ours.smd_test.max())]
            line = np.interp(theirs.smd_test, ours.smd_test, ours.mse_test)
            gain = float((1 - theirs.mse_test / line).max())
            if gain > 1e-4:
                found.append(f"{name} on {short(dataset)} by {100 * gain:.1f} %")
    return Verdict(bool(found), f"{'; '.join(found) or 'Nowhere'} at most.")


def stable(rows: Any) -> Verdict:
    """FKR and NRFC jump at the ends of their dials on Law School."""
    part = rows[rows.dataset == "law_school"]
    if part.empty:
        return Verdict(False, "Law School was not run.")
    ends = part.groupby("method").mse_train.agg(["min", "max"])
    says = ", ".join(f"{name} {low:.4f} to {high:.4f}" for name, (low, high) in ends.iterrows())
    wild = ends["max"].drop("Ours").max() > 1.05 * ends.loc["Ours", "max"]
    return Verdict(
        bool(wild), f"Train MSE along the dial: {says}; solved by stable factorisations."
    )


def cheap(rows: Any) -> Verdict:
    """The whole curve costs ours less time than any other method."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        times = {name: float(part.seconds.median()) for name, part in by.items()}
        ratios = {n: times[n] / times["Ours"] for n in times if n != "Ours"}
        says = ", ".join(f"{name} {ratio:.0f}" for name, ratio in ratios.items())
        return min(ratios.values()) > 1, f"{says} times as long"

    return everywhere(rows, ask)


TRADEOFF = (
    Claim("The error climbs as the constraint gets stricter.", climbs),
    Claim("Our curve coincides with FKR's and FPR's on the training rows.", coincide),
    Claim("On Communities & Crime, NRFC's curve lies above ours.", nrfc_above),
    Claim("All methods have almost the same error as SMD goes to 0.", same_at_zero),
    Claim("NRFC and FKR sometimes have a slightly smaller test error.", smaller_on_test),
    Claim("FKR and NRFC are numerically unstable at the ends on Law School.", stable),
    Claim("Ours solves two problems instead of one for each position.", cheap),
)
