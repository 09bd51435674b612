"""Methods beside each other: one binary attribute, several, and the pool."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from meanparity.experiments.claims.shared import (
    EXACT,
    ORDER,
    PENALTIES,
    ROUNDING,
    everywhere,
    exact_covariance,
    mean_of,
)
from meanparity.experiments.declaration import Claim, Verdict
from meanparity.experiments.problems import PARTS


def _below_penalties(by: Mapping[str, Any]) -> tuple[bool, str]:
    gaps = {name: [mean_of(by[name], f"smd_{p}") for p in PARTS] for name in (*PENALTIES, "Ours")}
    best = [min(gaps[name][i] for name in PENALTIES) for i in (0, 1)]
    ours = gaps["Ours"]
    return all(a < b for a, b in zip(ours, best, strict=True)), (
        f"train SMD {ours[0]:.0e}, test {ours[1]:.4f}, best penalty {best[0]:.4f} and {best[1]:.4f}"
    )


def below_penalties(rows: Any) -> Verdict:
    """SMD of ours is below that of every penalty, on training and test rows."""
    return everywhere(rows, _below_penalties)


def _close_to_nrfc(by: Mapping[str, Any]) -> tuple[bool, str]:
    ours, theirs = mean_of(by["Ours"], "mse_test"), mean_of(by["NRFC"], "mse_test")
    spread = float(by["NRFC"].mse_test.std(ddof=0))
    return abs(ours - theirs) <= spread, f"test MSE {ours:.4f} and {theirs:.4f} ± {spread:.4f}"


def close_to_nrfc(rows: Any) -> Verdict:
    """Test MSE of ours differs from NRFC's by less than its standard deviation."""
    return everywhere(rows, _close_to_nrfc)


def _below_nrfc(by: Mapping[str, Any]) -> tuple[bool | None, str]:
    ours, nrfc = by["Ours"], by["NRFC"]
    gap = mean_of(nrfc, "smd_train")
    at_parity = gap <= ROUNDING * mean_of(nrfc, "sd")
    held = all(mean_of(ours, f"mse_{p}") < mean_of(nrfc, f"mse_{p}") for p in PARTS)
    return (held if at_parity else None), (
        f"NRFC {'reaches' if at_parity else 'does not reach'} parity (train SMD {gap:.4f}), MSE "
        f"{mean_of(nrfc, 'mse_train'):.4f} train, {mean_of(nrfc, 'mse_test'):.4f} test, ours "
        f"{mean_of(ours, 'mse_train'):.4f} and {mean_of(ours, 'mse_test'):.4f}"
    )


def below_nrfc(rows: Any) -> Verdict:
    """Where NRFC too reaches parity on the training rows, ours has the smaller MSE."""
    return everywhere(rows, _below_nrfc)


LINEAR = (
    EXACT,
    ORDER,
    Claim("Ours enforces parity, where penalties leave a gap.", below_penalties),
    Claim("The error of ours is competitive with NRFC's.", close_to_nrfc),
)
KERNEL = (
    EXACT,
    ORDER,
    Claim(
        "When both reach parity on the training rows, ours has a smaller MSE than NRFC.", below_nrfc
    ),
)


def smallest_gap(rows: Any) -> Verdict:
    """With every number of groups, ours has the smallest SMD on the training and test rows."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        gaps = {name: [mean_of(part, f"smd_{p}") for p in PARTS] for name, part in by.items()}
        best = [min(v[i] for n, v in gaps.items() if n != "Ours") for i in (0, 1)]
        ours = gaps["Ours"]
        held = all(a < b for a, b in zip(ours, best, strict=True))
        return held, (
            f"train SMD {ours[0]:.0e}, test {ours[1]:.3f}; the best other {best[0]:.3f} and "
            f"{best[1]:.3f}"
        )

    return everywhere(rows, ask)


MANY_GROUPS = (
    EXACT,
    ORDER,
    Claim("Ours enforces parity with different numbers of sensitive attributes.", smallest_gap),
)


def same_as_nrfc(rows: Any) -> Verdict:
    """MSE and test Norm of Cov of ours and NRFC agree within 1 %; on training rows it has none."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        columns = [f"{metric}_{p}" for metric in ("mse", "cov") for p in PARTS]
        off = [
            abs(mean_of(by["Ours"], c) - mean_of(by["NRFC"], c))
            / (mean_of(by["NRFC"], c) + ROUNDING)
            for c in columns
            if c != "cov_train"
        ]
        zero = mean_of(by["NRFC"], "cov_train") <= ROUNDING * mean_of(by["NRFC"], "sd")
        return max(off) <= 0.01 and zero, f"{max(off):.0e} apart at most, relative"

    return everywhere(rows, ask)


def _compare_nrfc(column: str, *, ours_below: bool) -> Callable[[Any], Verdict]:
    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        ours, theirs = mean_of(by["Ours"], column), mean_of(by["NRFC"], column)
        return (ours < theirs) == ours_below, f"ours {ours:.4f}, NRFC {theirs:.4f}"

    return lambda rows: everywhere(rows, ask)


_ZERO = Claim(
    "Ours is uncorrelated with S on the training rows (eq. cov).", exact_covariance, "proved"
)
COVARIANCE_LINEAR = (
    _ZERO,
    ORDER,
    Claim("Linear covariance parity: ours does almost the same as NRFC.", same_as_nrfc),
)
COVARIANCE_KERNEL = (
    _ZERO,
    ORDER,
    Claim(
        "Kernel covariance parity: ours has a much lower train MSE than NRFC.",
        _compare_nrfc("mse_train", ours_below=True),
    ),
    Claim(
        "Kernel covariance parity: ours has a higher test MSE than NRFC (overfitting).",
        _compare_nrfc("mse_test", ours_below=False),
    ),
    Claim(
        "Kernel covariance parity: ours has a lower train Norm of Cov than NRFC.",
        _compare_nrfc("cov_train", ours_below=True),
    ),
    Claim(
        "Kernel covariance parity: ours has a higher test Norm of Cov than NRFC.",
        _compare_nrfc("cov_test", ours_below=False),
    ),
)


def exact_on_pool(rows: Any) -> Verdict:
    """With the test rows as pool, SMD is what rounding leaves on training and test rows."""
    both = rows[rows.method.str.endswith("test")]
    worst = max(float((both[f"smd_{p}"] / both.sd).max()) for p in PARTS)
    return Verdict(worst <= ROUNDING, f"Its largest SMD is {worst:.0e} · sd(y).")


def pool_costs(rows: Any) -> Verdict:
    """What parity on the test rows costs there in MSE: at most a tenth."""

    def ask(by: Mapping[str, Any]) -> tuple[bool, str]:
        ratios = {
            setting: mean_of(by[f"{setting}: parity on train and test"], "mse_test")
            / mean_of(by[f"{setting}: parity on train"], "mse_test")
            for setting in ("linear", "kernel")
        }
        says = ", ".join(f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in ratios.items())
        return max(ratios.values()) <= 1.1, says

    return everywhere(rows, ask)


POOL = (
    EXACT,
    ORDER,
    Claim("With the test rows as pool, parity is exact on them too.", exact_on_pool, "ours"),
    Claim("Parity on the test rows costs little test error.", pool_costs, "ours"),
)


def _chosen(by: Mapping[str, Any]) -> tuple[bool, str]:
    fixed, chosen = (mean_of(by[n], "mse_test") for n in ("the paper's γ and penalty", "chosen"))
    return chosen <= 1.01 * fixed, f"test MSE {fixed:.4f}, chosen {chosen:.4f}"


def choosing_helps(rows: Any) -> Verdict:
    """Test MSE with what leave-one-out chooses is at most 1% above that of the paper's setting."""
    return everywhere(rows, _chosen)


CHOSEN = (
    EXACT,
    ORDER,
    Claim(
        "What leave-one-out chooses predicts test rows at least as well (within 1%).",
        choosing_helps,
        "ours",
    ),
)
METHODS = (EXACT, ORDER)
