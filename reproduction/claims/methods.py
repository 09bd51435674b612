"""Claims that compare methods: one binary attribute, several attributes, and the pool."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from reproduction.claims.shared import (
    EXACT,
    ORDER,
    PENALTIES,
    ROUNDING,
    Answer,
    ByMethod,
    exact_covariance,
    in_every_dataset,
    in_every_mode,
    mean_of,
    means_of,
)
from reproduction.datasets import PARTS
from reproduction.declaration import Claim, Verdict


def _smaller_gap(by: ByMethod, others: tuple[str, ...]) -> tuple[bool, list[float], list[float]]:
    """Whether our SMD is below the smallest of the others on both parts, and both SMDs."""
    ours, theirs = means_of(by["Ours"], "smd"), [means_of(by[name], "smd") for name in others]
    best = [min(gaps) for gaps in zip(*theirs, strict=True)]
    return all(a < b for a, b in zip(ours, best, strict=True)), ours, best


@in_every_dataset
def below_penalties(by: ByMethod) -> Answer:
    """Our SMD is below that of every penalty, on training and test rows."""
    held, ours, best = _smaller_gap(by, PENALTIES)
    return held, (
        f"train SMD {ours[0]:.0e}, test {ours[1]:.4f}, best penalty {best[0]:.4f} and {best[1]:.4f}"
    )


@in_every_dataset
def close_to_nrfc(by: ByMethod) -> Answer:
    """Our test MSE differs from NRFC's by at most the standard deviation of NRFC's."""
    ours, theirs = mean_of(by["Ours"], "mse_test"), mean_of(by["NRFC"], "mse_test")
    spread = float(by["NRFC"].mse_test.std(ddof=0))
    return abs(ours - theirs) <= spread, (
        f"test MSE of ours {ours:.4f}, of NRFC {theirs:.4f} ± {spread:.4f}"
    )


@in_every_mode
def below_nrfc(by: ByMethod, mode: str) -> Answer:
    """Where NRFC reaches parity on the training rows too, our MSE is smaller."""
    nrfc = by[mode]
    gap = mean_of(nrfc, "smd_train")
    at_parity = gap <= ROUNDING * mean_of(nrfc, "sd")
    ours, theirs = means_of(by["Ours"], "mse"), means_of(nrfc, "mse")
    held = all(a < b for a, b in zip(ours, theirs, strict=True))
    return (held if at_parity else None), (
        f"{'reaches' if at_parity else 'does not reach'} parity (train SMD {gap:.4f}); its MSE is "
        f"{theirs[0]:.4f} on training and {theirs[1]:.4f} on test rows, ours {ours[0]:.4f} "
        f"and {ours[1]:.4f}"
    )


LINEAR = (
    EXACT,
    ORDER,
    Claim("Ours enforces parity, whereas penalties leave a gap.", below_penalties),
    Claim("The error of ours is competitive with NRFC's.", close_to_nrfc),
)
KERNEL = (
    EXACT,
    ORDER,
    Claim(
        "When both reach parity on the training rows, ours has a smaller MSE than NRFC.", below_nrfc
    ),
)


@in_every_dataset
def smallest_gap(by: ByMethod) -> Answer:
    """For every number of groups, ours has the smallest SMD on training and test rows."""
    held, ours, best = _smaller_gap(by, tuple(name for name in by if name != "Ours"))
    return held, (
        f"train SMD {ours[0]:.0e}, test {ours[1]:.3f}; the best other method {best[0]:.3f} and "
        f"{best[1]:.3f}"
    )


MANY_GROUPS = (
    EXACT,
    ORDER,
    Claim("Ours enforces parity with different numbers of sensitive attributes.", smallest_gap),
)


@in_every_dataset
def same_as_nrfc(by: ByMethod) -> Answer:
    """NRFC has no covariance on training rows; otherwise its scores are within 1 % of ours."""
    ours, nrfc = by["Ours"], by["NRFC"]
    differences = [
        abs(mean_of(ours, column) - mean_of(nrfc, column)) / (mean_of(nrfc, column) + ROUNDING)
        for column in ("mse_train", "mse_test", "cov_test")
    ]
    uncorrelated = mean_of(nrfc, "cov_train") <= ROUNDING * mean_of(nrfc, "sd")
    largest = max(differences)
    return largest <= 0.01 and uncorrelated, f"relative difference at most {largest:.0e}"


def _compare_nrfc(column: str, *, ours_below: bool) -> Callable[[Any], Verdict]:
    @in_every_mode
    def check(by: ByMethod, mode: str) -> Answer:
        ours, theirs = mean_of(by["Ours"], column), mean_of(by[mode], column)
        return (ours < theirs) == ours_below, f"ours {ours:.4f}, NRFC {theirs:.4f}"

    return check


_UNCORRELATED = Claim(
    "Ours is uncorrelated with S on the training rows (eq. cov).", exact_covariance, "proved"
)
COVARIANCE_LINEAR = (
    _UNCORRELATED,
    ORDER,
    Claim("Linear covariance parity: ours does almost the same as NRFC.", same_as_nrfc),
)
COVARIANCE_KERNEL = (
    _UNCORRELATED,
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
    """With the test rows as pool, SMD is zero up to rounding on training and test rows."""
    both = rows[rows.method.str.endswith("test")]
    worst = max(float((both[f"smd_{p}"] / both.sd).max()) for p in PARTS)
    return Verdict(
        worst <= ROUNDING, f"The largest SMD on training or test rows is {worst:.0e} · sd(y)."
    )


@in_every_dataset
def pool_costs(by: ByMethod) -> Answer:
    """Parity on the test rows raises the test MSE by at most a tenth."""
    ratios = {
        setting: mean_of(by[f"{setting}: parity on train and test"], "mse_test")
        / mean_of(by[f"{setting}: parity on train"], "mse_test")
        for setting in ("linear", "kernel")
    }
    changes = ", ".join(f"{name} {100 * (ratio - 1):+.1f} %" for name, ratio in ratios.items())
    return max(ratios.values()) <= 1.1, changes


POOL = (
    EXACT,
    ORDER,
    Claim("With the test rows as pool, parity is exact on them too.", exact_on_pool, "ours"),
    Claim("Parity on the test rows costs little test error.", pool_costs, "ours"),
)


@in_every_dataset
def choosing_helps(by: ByMethod) -> Answer:
    """Choosing by leave-one-out raises test MSE over the paper's setting by at most 1 %."""
    fixed, chosen = (mean_of(by[n], "mse_test") for n in ("the paper's γ and penalty", "chosen"))
    return chosen <= 1.01 * fixed, f"test MSE {fixed:.4f} as in the paper, {chosen:.4f} chosen"


CHOSEN = (
    EXACT,
    ORDER,
    Claim(
        "The choice of leave-one-out predicts test rows at least as well (within 1%).",
        choosing_helps,
        "ours",
    ),
)
METHODS = (EXACT, ORDER)
