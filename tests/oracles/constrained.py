"""Any constrained problem, naively: every notion spelled out row by row, one dense KKT system."""

from __future__ import annotations

import numpy as np


def kkt(K, n, Y, C, targets, alpha, *, weights=None, fit_intercept=False):
    """Values at all points of the minimiser of Σ u(y − g)² + λ‖g‖² subject to Cᵀg = t.

    K is the kernel matrix of all N points, the first n of which are training rows; C has one row a
    point. The minimiser lies in the span of the kernel functions of all points (the representer
    theorem), so the stationarity in their coefficients w, in the intercept and in the multipliers
    is one square system, solved by numpy.linalg.lstsq.
    """
    N, q, m = len(K), C.shape[1], Y.shape[1]
    u = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    rows = K[:n]
    system, rhs = np.zeros((N + q + 1, N + q + 1)), np.zeros((N + q + 1, m))
    system[:N, :N] = rows.T @ (u[:, None] * rows) + alpha * K
    system[:N, N : N + q] = K @ C
    system[N : N + q, :N] = C.T @ K
    rhs[:N] = rows.T @ (u[:, None] * Y)
    rhs[N : N + q] = targets
    if fit_intercept:
        system[:N, -1] = rows.T @ u
        system[-1, :N] = u @ rows
        system[-1, -1] = u.sum()
        rhs[-1] = u @ Y
    scale = np.sqrt(np.abs(np.diag(system))) + (np.diag(system) == 0)
    solution = np.linalg.lstsq(system / np.outer(scale, scale), rhs / scale[:, None], rcond=1e-15)
    solution = solution[0] / scale[:, None]
    return K @ solution[:N] + fit_intercept * solution[-1]


def conditions(
    sensitive,
    *,
    control=None,
    weights=None,
    intersectional=True,
    numbers=(),
    degree=1,
    missing="error",
):
    """C: one column for every group and for every power of a number, row by row.

    `sensitive` maps names to lists, None is a missing value; `numbers` names those that are
    numbers. Redundant columns are left in.
    """
    names = list(sensitive)
    n = len(sensitive[names[0]])
    u = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    control = {} if control is None else control
    strata = [tuple(column[i] for column in control.values()) for i in range(n)]
    categories = [name for name in names if name not in numbers]
    if intersectional:
        sets = [categories] if categories else []
    else:
        sets = [[name] for name in categories]
    columns = []
    for stratum in sorted(set(strata), key=str):
        if missing == "ignore" and None in stratum:
            continue
        here = [i for i in range(n) if strata[i] == stratum]
        domains = [here]
        for columns_of_set in sets:
            label = {i: tuple(sensitive[name][i] for name in columns_of_set) for i in here}
            known = [i for i in here if missing != "ignore" or None not in label[i]]
            groups = sorted({label[i] for i in known}, key=str)
            members = [[i for i in known if label[i] == group] for group in groups]
            columns += [difference(n, u, member, known) for member in members]
            if intersectional:
                domains = members
        for name in numbers:
            for domain in domains:
                known = [i for i in domain if sensitive[name][i] is not None]
                if missing == "group":
                    unknown = [i for i in domain if sensitive[name][i] is None]
                    columns.append(difference(n, u, unknown, domain))
                values = np.array([sensitive[name][i] for i in known], dtype=float)
                for power in range(1, degree + 1):
                    columns.append(covariance(n, u, known, values, power))
    return np.stack([column for column in columns if np.abs(column).any()], axis=1)


def quadratic_conditions(sensitive, *, control, weights, missing="error"):
    """C of zero covariance with all products of two sensitive values, row by row.

    Text is one indicator for each value; a missing number is 0 and has an indicator.
    """
    n = len(next(iter(sensitive.values())))
    u = np.ones(n) if weights is None else np.asarray(weights, dtype=float)
    control = {} if control is None else control
    strata = [tuple(column[i] for column in control.values()) for i in range(n)]
    encoded = [np.ones(n)]
    for column in sensitive.values():
        numbers = all(value is None or isinstance(value, float) for value in column)
        if numbers:
            known = np.array([value is not None for value in column], dtype=float)
            values = np.array([0.0 if value is None else value / 50 - 0.8 for value in column])
            encoded += [values * known, 1 - known]
        else:
            encoded += [
                np.array([value == level for value in column], dtype=float)
                for level in sorted(set(column), key=str)
            ]
    unknown = [any(column[i] is None for column in sensitive.values()) for i in range(n)]
    columns = []
    for stratum in sorted(set(strata), key=str):
        if missing == "ignore" and None in stratum:
            continue
        here = [i for i in range(n) if strata[i] == stratum]
        here = [i for i in here if not (missing == "ignore" and unknown[i])]
        for i, first in enumerate(encoded):
            for second in encoded[i:]:
                columns.append(_centred(n, u, here, first * second))
    columns = [column for column in columns if np.abs(column).max() > 1e-12]
    return np.stack(columns, axis=1)


def _centred(n, u, rows, values):
    column = np.zeros(n)
    if len(rows) and u[rows].sum() > 0:
        share = u[rows] / u[rows].sum()
        column[rows] = share * (values[rows] - share @ values[rows])
    return column


def difference(n, u, member, everybody):
    """Weights of: mean over some rows less mean over more of them."""
    column = np.zeros(n)
    if u[member].sum() > 0:
        column[member] += u[member] / u[member].sum()
        column[everybody] -= u[everybody] / u[everybody].sum()
    return column


def covariance(n, u, rows, values, power):
    """Weights of the covariance with a power of values on some rows."""
    column = np.zeros(n)
    share = u[rows]
    if share.sum() > 0 and len(rows):
        share = share / share.sum()
        values = (values - values.mean()) / (values.std() or 1.0)
        column[rows] = share * (values**power - share @ values**power)
    return column
