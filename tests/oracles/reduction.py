"""Agarwal et al.'s reduction, one row and one threshold at a time."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linprog


class LoopedReduction:
    """Agarwal et al. on the augmented data: a classification for each row and threshold."""

    def __init__(self, X, y, codes, slack, thresholds, max_iter=50):
        self.X, self.y, self.codes, self.theta = X, y, codes, thresholds
        self.slack, self.bound, self.max_iter = slack, 1 / slack, max_iter
        self.groups = sorted(set(codes.tolist()))
        self.half = (thresholds[1] - thresholds[0]) / 2
        self.label, self.weight = {}, {}
        for i in range(len(y)):
            for j, theta in enumerate(thresholds):
                rise = (theta + self.half - y[i]) ** 2 - (theta - self.half - y[i]) ** 2
                self.label[i, j], self.weight[i, j] = int(rise < 0), abs(rise)
        size = len(self.weight) / sum(self.weight.values())
        self.weight = {key: value * size for key, value in self.weight.items()}
        self.design = np.column_stack([X, np.ones(len(X))])
        self.coefs, self.errors, self.gammas, self.calls = [], [], [], 0

    def decisions(self, coef):
        values = self.design @ coef
        return {
            (i, j): int(values[i] - theta >= 0)
            for i in range(len(values))
            for j, theta in enumerate(self.theta)
        }

    def error(self, decisions):
        total = sum(self.weight[key] * abs(self.label[key] - h) for key, h in decisions.items())
        return total / len(decisions)

    def gamma(self, decisions):
        gamma = {}
        for j in range(len(self.theta)):
            column_ = [decisions[i, j] for i in range(len(self.y))]
            overall = sum(column_) / len(column_)
            for g in self.groups:
                inside = [h for h, code in zip(column_, self.codes, strict=True) if code == g]
                gap = sum(inside) / len(inside) - overall
                gamma["+", g, j], gamma["-", g, j] = gap, -gap
        return gamma

    def signed(self, prices):
        m, n = len(self.theta), len(self.y)
        share = {g: np.sum(self.codes == g) / (n * m) for g in self.groups}
        difference = {
            (g, j): prices["+", g, j] - prices["-", g, j] for g in self.groups for j in range(m)
        }
        signed = {}
        for i in range(n):
            for j in range(m):
                g = self.codes[i].item()
                adjust = sum(difference[h, j] for h in self.groups) * m
                adjust -= difference[g, j] / share[g]
                signed[i, j] = self.weight[i, j] * (2 * self.label[i, j] - 1) + adjust
        return signed

    def best(self, prices):
        signed, targets = self.signed(prices), []
        for i in range(len(self.y)):
            costs = []
            for candidate in range(len(self.theta)):  # predict the middle above this threshold
                cost = 0.0
                for j in range(len(self.theta)):
                    wanted, reached = signed[i, j] > 0, j <= candidate
                    cost += abs(signed[i, j]) * (wanted != reached)
                costs.append(cost)
            least = min(costs)
            first = next(c for c, cost in enumerate(costs) if cost <= least + 1e-12 * abs(least))
            targets.append(self.theta[first] + self.half)
        coef = np.linalg.lstsq(self.design, np.array(targets), rcond=None)[0]
        self.calls += 1
        decisions = self.decisions(coef)
        error, gamma = self.error(decisions), self.gamma(decisions)
        value = error + sum(prices[key] * gamma[key] for key in prices)
        known = [
            e + sum(prices[key] * g[key] for key in prices)
            for e, g in zip(self.errors, self.gammas, strict=True)
        ]
        if known and value >= min(known) - 1e-12:
            return int(np.argmin(known))
        self.coefs.append(coef)
        self.errors.append(error)
        self.gammas.append(gamma)
        return len(self.errors) - 1

    def gap(self, mixture, prices, tolerance):
        keys = list(prices)
        toll = self.slack * sum(
            abs(prices["+", g, j] - prices["-", g, j])
            for g in self.groups
            for j in range(len(self.theta))
        )

        def value(error, gamma):
            return error + sum(prices[key] * gamma[key] for key in keys) - toll

        error = sum(w * e for w, e in zip(mixture, self.errors, strict=False))
        gamma = {
            key: sum(w * g[key] for w, g in zip(mixture, self.gammas, strict=False)) for key in keys
        }
        here = low = value(error, gamma)
        worst = max(gamma.values())
        high = error if worst < self.slack else error + self.bound * (worst - self.slack)
        for multiple in (1.0, 2.0, 5.0, 10.0):
            best = self.best({key: multiple * price for key, price in prices.items()})
            low = min(low, value(self.errors[best], self.gammas[best]))
            if max(here - low, high - here) > tolerance + 1e-12:
                break
        return max(here - low, high - here)

    def programme(self):
        keys, n = list(self.gammas[0]), len(self.errors)
        A = np.array([[*(g[key] - self.slack for g in self.gammas), -1.0] for key in keys])
        found = linprog(
            [*self.errors, self.bound],
            A_ub=A,
            b_ub=np.zeros(len(keys)),
            A_eq=[[1.0] * n + [0.0]],
            b_eq=[1.0],
        )
        prices = dict(zip(keys, (-found.ineqlin.marginals).tolist(), strict=True))
        return found.x[:-1].tolist(), prices

    def run(self):
        """The weights of the mixture, one for each of `coefs`."""
        keys = [(sign, g, j) for sign in "+-" for g in self.groups for j in range(len(self.theta))]
        self.best(dict.fromkeys(keys, 0.0))
        logits, rate, total = dict.fromkeys(keys, 0.0), 2 / self.bound, dict.fromkeys(keys, 0.0)
        counts, history, checked, last = {}, [], 5, np.inf
        gradient_gaps, solved, programme = [], 0, (np.inf, [])
        for t in range(self.max_iter):
            size = 1 + sum(np.exp(v) for v in logits.values())
            prices = {key: self.bound * np.exp(v) / size for key, v in logits.items()}
            total = {key: total[key] + prices[key] for key in keys}
            best = self.best(prices)
            if t == 0:
                losses = [
                    self.weight[key] * abs(self.label[key] - h)
                    for key, h in self.decisions(self.coefs[best]).items()
                ]
                tolerance = 0.5 * np.std(losses, ddof=1) / np.sqrt(len(losses))
            counts[best] = counts.get(best, 0) + 1
            average = [counts.get(i, 0) / (t + 1) for i in range(max(counts) + 1)]
            mean_prices = {key: value / (t + 1) for key, value in total.items()}
            gradient_gaps.append(self.gap(average, mean_prices, tolerance))
            if t > 0 and solved != len(self.errors):
                solved = len(self.errors)
                mixture, prices_of = self.programme()
                programme = self.gap(mixture, prices_of, tolerance), mixture
            use_gradient = gradient_gaps[-1] < programme[0]
            history.append((gradient_gaps[-1], average) if use_gradient else programme)
            if history[-1][0] < tolerance:
                break
            if t >= checked * 1.6:
                if min(gradient_gaps) > 0.8 * last:
                    rate *= 0.8
                checked, last = t, min(gradient_gaps)
            gamma = self.gammas[best]
            logits = {key: logits[key] + rate * (gamma[key] - self.slack) for key in keys}
        least = min(gap for gap, _ in history)
        return [mixture for gap, mixture in history if gap <= least + 1e-12][-1]

    def predict(self, X, mixture):
        """The mean of the mixture."""
        result = np.zeros(len(X))
        for weight, coef in zip(mixture, self.coefs, strict=False):
            for i, row in enumerate(np.column_stack([X, np.ones(len(X))])):
                reached = sum(int(row @ coef - theta >= 0) for theta in self.theta)
                result[i] += weight * (self.theta[max(reached - 1, 0)] + self.half)
        return result
