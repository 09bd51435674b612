"""
Auditing the predictions of somebody else's model
=================================================

A vendor delivers scores and no model. An audit needs nothing but the scores and the groups: how
large are the gaps, what could chance explain, and are they small enough?

The table is the census income table (Adult), bundled with the package.
"""

# %%
# The scores
# ----------
# Here the vendor is a gradient boosting model that was trained on other people and has never seen
# sex or race. We receive its scores for 4,000 people.

import matplotlib.pyplot as plt
import pandas as pd
from sklearn.ensemble import HistGradientBoostingRegressor

from meanparity.audit import audit, audit_errors
from meanparity.datasets import load_adult
from meanparity.displays import AuditDisplay

adult = load_adult()
X, y = adult.data, adult.target
s = pd.DataFrame(adult.sensitive, columns=["sex", "race"])
vendor = HistGradientBoostingRegressor(random_state=0).fit(X[:8000], y[:8000])
X_new, y_new, s_new = X[8000:12000], y[8000:12000], s[8000:12000]
scores = vendor.predict(X_new)

# %%
# Gaps with their uncertainty
# ---------------------------
# A gap is the distance of a group's mean score from the mean of all. The intervals hold for all
# groups together.

findings = audit(scores, sensitive_features=s_new, within=0.05)
AuditDisplay(findings).plot()
plt.show()

# %%
# Points with an interval that excludes zero are filled; grey points have too few rows to tell.
# The band is what we called negligible beforehand, 0.05.

print(findings)

# %%
# Are the errors equal?
# ---------------------
# Equal means are one question. Another is whether the scores are equally accurate in every group.

errors = audit_errors(y_new, scores, sensitive_features=s_new)
print(errors.to_frame()[["group", "size", "mean", "low_all", "high_all", "too_few_rows"]].round(3))

# %%
# The decision
# ------------
# No group's gap is shown to be within 0.05, and five differ from zero by more than chance
# explains, all groups considered. The squared errors are largest where scores are high: they are
# a second question, and a model that equalises means does not answer it. The vendor's scores can
# be corrected without the model: see the example on gradient boosting.
