"""Claims about the paper's tables: the constant, and the sensitive column left out."""

from __future__ import annotations

from typing import Any

from reproduction.claims.shared import (
    EXACT,
    ORDER,
    Answer,
    ByMethod,
    in_every_dataset,
    means_of,
    short_title,
    significance,
)
from reproduction.datasets import PARTS
from reproduction.declaration import Claim, Verdict


@in_every_dataset
def below_constant(by: ByMethod) -> Answer:
    """Our MSE is below the constant's by more than two standard errors, on both parts."""
    constant, ours = by["Constant"], by["Ours"]
    excess = [significance(constant, ours, f"mse_{part}") for part in PARTS]
    train, test = (
        a / b for a, b in zip(means_of(constant, "mse"), means_of(ours, "mse"), strict=True)
    )
    return min(excess) > 2, (
        f"the MSE of the constant is {train:.2f} (train) and {test:.2f} (test) times ours"
    )


def seventy_seven(rows: Any) -> Verdict:
    """On the synthetic data the constant has about 77 times the error of ours."""
    part = rows[rows.dataset == "synthetic"].groupby("method")[["mse_train", "mse_test"]].mean()
    ratio = part.loc["Constant"] / part.loc["Ours"]
    explanation = (
        f"{ratio.mse_train:.1f} times on the training rows, {ratio.mse_test:.1f} on the test rows."
    )
    return Verdict(bool(70 < ratio.mse_train < 85), explanation)


CONSTANT = (
    EXACT,
    ORDER,
    Claim("Ours significantly outperforms a constant in all settings.", below_constant),
)
CONSTANT_LINEAR = (
    *CONSTANT,
    Claim("On Synthetic, the constant's error is about 77 times ours.", seventy_seven),
)


@in_every_dataset
def s_lowers_error(by: ByMethod) -> Answer:
    """MSE with S is below that without S, on training and test rows."""
    with_s, without = (means_of(by[name], "mse") for name in ("with S", "without S"))
    held = all(a < b for a, b in zip(with_s, without, strict=True))
    return held, f"test MSE {with_s[1]:.4f} with S, {without[1]:.4f} without S"


def removal_may_help(rows: Any) -> Verdict:
    """In some trials, the test SMD without S is below that with S."""
    wide = rows.pivot_table(index=["dataset", "trial"], columns="method", values="smd_test")
    lower = int((wide["without S"] < wide["with S"]).sum())
    means = wide.groupby("dataset").mean()
    names = [short_title(name) for name in means.index[means["without S"] < means["with S"]]]
    where = ", ".join(names) or "no data set"
    return Verdict(
        lower > 0, f"Lower in {lower} of {len(wide)} trials; the mean is lower on {where}."
    )


WITHOUT_S = (
    EXACT,
    ORDER,
    Claim("S among the features lowers the error.", s_lowers_error),
    Claim("Removing S from the features may help parity on the test rows.", removal_may_help),
)
