"""
Choosing a limit on the frontier
================================

Placeholder.
"""

import matplotlib.pyplot as plt

plt.plot([0, 1])
plt.show()
