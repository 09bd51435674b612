"""
A constraint of your own: a tariff with stated steps
====================================================

Not every rule says "equal". A tariff filing may state by how much the mean rate of each age class
differs from that of the oldest, and the model has to meet these steps exactly, whatever else it
learns from district and engine. Such a rule is one class.

The motor claims are those of Baxter, Coutts and Ross (1980).
"""

# %%
# The class
# ---------
# `functionals(rows)` turns rows into conditions: each is a weighted sum of predictions with a
# target. The same class then works with every estimator, solver and loss, with the tradeoff and
# with held-out folds.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from meanparity import ParityRidge
from meanparity.constraints import Constraint, Functionals


class Steps(Constraint):
    """The mean of each group is a stated amount above that of the base group.

    Parameters
    ----------
    base : str
        The group to compare with.
    steps : dict of str to float
        For every other group, how far its mean lies above that of the base.
    """

    needs_rows = ""

    def __init__(self, base=">35", steps=None):
        self.base = base
        self.steps = steps

    def functionals(self, rows):
        names, codes = [str(name) for name in rows.groups.names], rows.groups.codes
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        member = weights[:, None] * (codes[:, None] == np.arange(len(names)))
        means = member / member.sum(axis=0)
        others = [j for j, name in enumerate(names) if name != self.base]
        columns = means[:, others] - means[:, [names.index(self.base)]]
        labels = [f"{names[j]} above {self.base}" for j in others]
        return Functionals.from_weights(columns, [self.steps[names[j]] for j in others], labels)

    def describe(self, rows):
        return f"The mean of each age class is a stated step above that of {self.base}."


# %%
# The tariff
# ----------
# Claims per policyholder, weighted by exposure. The filing allows 0.05 more for the youngest,
# 0.03 and 0.01 for the next classes.

folder = Path(__file__).parent if "__file__" in globals() else Path.cwd()
motor = pd.read_csv(folder / "data" / "motor_claims.csv")
rate, exposure = motor["claims"] / motor["policyholders"], motor["policyholders"]
X = pd.get_dummies(motor[["district", "engine", "age"]].astype(str), dtype=float)

filed = {"<25": 0.05, "25-29": 0.03, "30-35": 0.01}
tariff = ParityRidge(alpha=1.0, constraint=Steps(steps=filed))
tariff.fit(X, rate, sensitive_features=motor["age"], sample_weight=exposure)


def mean_by_age(values):
    """Mean of each age class over policyholders."""
    total = pd.Series(np.asarray(values) * exposure).groupby(motor["age"]).sum()
    return (total / exposure.groupby(motor["age"]).sum())[["<25", "25-29", "30-35", ">35"]]


table = pd.DataFrame(
    {
        "observed": mean_by_age(rate),
        "no constraint": mean_by_age(tariff.tradeoff_.at(1.0).predict(X)),
        "filed steps": mean_by_age(tariff.predict(X)),
    }
)
print(table.round(4).to_string())
print((table["filed steps"] - table.loc[">35", "filed steps"]).round(10).to_dict())

# %%
# The decision
# ------------
# The steps are met to rounding. Drivers under 25 would pay less than they cost, and those over 35
# more. If the filing stands, this is the tariff that meets it; if the young are not to be
# subsidised, larger steps have to be filed, those of the column without a constraint.

ax = table.plot.bar(rot=0, figsize=(7, 4), color=["#999999", "#0072B2", "#D55E00"])
ax.set(xlabel="age of the driver", ylabel="claims per policyholder")
ax.figure.tight_layout()
plt.show()
