"""
Choosing on the frontier, with uncertainty
==========================================

How large a gap should be allowed? The frontier shows the error of the most accurate model for
every limit. On held-out rows both the error and the gap are estimates: the picture shows what
chance could explain, and the decision takes it into account.

The table is the census income table (Adult), bundled with the package; the groups are sex × race.
"""

# %%
# One fit, every limit
# --------------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.preprocessing import StandardScaler

from meanparity import ParityKernelRidge
from meanparity.audit import audit
from meanparity.datasets import load_adult
from meanparity.displays import TradeoffDisplay

adult = load_adult()
race = np.where(np.isin(adult.sensitive[:, 1], ["White", "Black"]), adult.sensitive[:, 1], "other")
s = np.char.add(np.char.add(adult.sensitive[:, 0].astype(str), ", "), race.astype(str))
train, held = np.arange(4000), np.arange(4000, 14000)
X = StandardScaler().fit(adult.data[train]).transform(adult.data)
y = adult.target
model = ParityKernelRidge(kernel="rbf", gamma=0.01, alpha=1.0, fit_intercept=True)
model.fit(X[train], y[train], sensitive_features=s[train])

TradeoffDisplay.from_estimator(
    model, X[held], y[held], sensitive_features=s[held], budget="gap", name="held-out rows"
)
plt.show()

# %%
# The dashed frontier is the most accurate model for each limit on the largest gap of the training
# rows; the solid line is the dial, which shrinks all gaps in the same proportion. On held-out
# rows the two cross, because gaps that were closed exactly in training reappear there.
#
# What chance could explain
# -------------------------
# For each limit: how much larger the error is than without a constraint, with its standard error
# over held-out people, and the upper end of the simultaneous 95% intervals of all gaps.

free = model.tradeoff_.at(1.0).predict(X[held])
largest = float(np.abs(model.tradeoff_.gaps[1]).max())
rows = []
for limit in np.linspace(0.0, largest, 9):
    values = model.tradeoff_.for_gap(limit).predict(X[held])
    loss = (y[held] - values) ** 2 - (y[held] - free) ** 2
    found = audit(values, sensitive_features=s[held]).findings
    rows.append(
        {
            "limit": limit,
            "extra error": loss.mean(),
            "±": 2 * loss.std() / np.sqrt(len(held)),
            "largest gap": max(abs(f.gap) for f in found),
            "at most": max(max(abs(f.low_all), abs(f.high_all)) for f in found),
        }
    )
table = pd.DataFrame(rows)
print(table.round(4).to_string(index=False))

# %%
# The decision
# ------------
# Suppose that no group's mean may be further than 0.1 from the overall mean, and that we want to
# be able to say so about people like the held-out ones. The model to take is the one with the
# largest limit whose "at most" is below 0.1.

figure, ax = plt.subplots(figsize=(7, 4), layout="constrained")
ax.errorbar(
    table["limit"], table["extra error"], yerr=table["±"], marker="o", capsize=3, color="#0072B2"
)
ax.set(xlabel="limit on the training rows", ylabel="extra held-out error")
other = ax.twinx()
other.plot(table["limit"], table["at most"], "s--", color="#D55E00")
other.axhline(0.1, color="#D55E00", linewidth=0.8)
other.set_ylabel("upper limit of the largest gap", color="#D55E00")
within = table[table["at most"] <= 0.1]
if len(within):
    ax.axvline(within["limit"].max(), color="black", linewidth=0.8, linestyle=":")
    print(f"take a limit of {within['limit'].max():.3f}")
plt.show()
