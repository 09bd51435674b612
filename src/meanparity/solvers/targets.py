"""The least objective of any loss as a function of the values of its functionals.

``V(z) = min { J(g) : Cᵀg = Hz }`` is a smooth function of few unknowns, so that a budget of gaps is
a small problem; see `meanparity.tradeoff.loss_budgets`. The columns of H span the values that the
functionals can have, which are fewer than the functionals if the functions have few columns. For
gaps of scores, z are inner products with orthonormal representers. For gaps of responses, which
are not linear in the function, H is the identity.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.linalg import block_diag

from meanparity._typing import FloatArray
from meanparity.solvers.features import KernelFeatures
from meanparity.solvers.minimisation import Minimisation, Minimiser
from meanparity.solvers.solution import Run
from meanparity.solvers.spaces import FunctionSpace

_TOLERANCE = 1e-14  # relative decrease of the objective at which a minimisation stops


@dataclass(frozen=True, eq=False)
class AtTargets:
    """The minimiser for one choice of targets.

    Parameters
    ----------
    position : (r,) array
        z, from which the values of the functionals follow.
    objective : float
        V(z).
    slope : (r,) array
        The derivatives of V.
    minimiser : Minimiser
        The function.
    """

    position: FloatArray
    objective: float
    slope: FloatArray
    minimiser: Minimiser


@dataclass(frozen=True, eq=False)
class TargetValues:
    """V for one problem, with everything that does not depend on the position.

    Parameters
    ----------
    minimisation : Minimisation
        The problem; for gaps of responses, with the pool among its rows.
    space : FunctionSpace or None
        The functions that meet the constraint; None for gaps of responses, whose functions depend
        on the scores.
    features : KernelFeatures or None
        The features, if the functions are linear in features of landmarks.
    """

    minimisation: Minimisation
    space: FunctionSpace | None
    features: KernelFeatures | None = None

    @classmethod
    def from_minimisation(cls, minimisation: Minimisation) -> TargetValues:
        """Prepare a problem."""
        if minimisation.is_linear_programme:
            raise ValueError(
                "Quantile regression without a penalty is a linear programme, for which budgets "
                "are not supported. Pass a positive alpha, which may be tiny."
            )
        settings = replace(minimisation.settings, tol=_TOLERANCE)
        if minimisation.on_response:
            newton = replace(minimisation, settings=replace(settings, optimizer="newton"))
            return cls(newton.over_all_rows(), None)
        minimisation = replace(minimisation, settings=settings)
        return cls(minimisation, minimisation.space(minimisation.problem))

    @property
    def conditions(self) -> FloatArray:
        """What the functionals have to be at parity: (q,)."""
        return np.asarray(self.minimisation.problem.targets[:, 0])

    @cached_property
    def held(self) -> FloatArray:
        """H, which takes positions to values of the functionals: (q, r)."""
        return np.eye(len(self.conditions)) if self.space is None else self.space.held

    @cached_property
    def units(self) -> FloatArray:
        """Takes functionals to gaps: (R, q)."""
        problem = self.minimisation.problem
        parts = (part.units for part in (problem.functionals, problem.pool) if len(part))
        dense = (u.toarray() if hasattr(u, "toarray") else u for u in parts)
        return np.asarray(block_diag(*dense))

    def free(self, earlier: Run) -> AtTargets:
        """The free minimiser, from the run that found it."""
        found = self.minimisation.free(earlier)
        if self.space is None:
            z = self._functionals_of(found)
        else:
            z = self.space.inner_products(found.coef)
        return AtTargets(z, found.objective, np.zeros(len(z)), found)

    def parity(self, free: AtTargets) -> AtTargets:
        """The minimiser that meets the conditions, or is closest to them in least squares."""
        found = self.at(self.conditions if self.space is None else self.space.plane.tau, free)
        assert found is not None  # fit has found it
        return found

    def at(self, position: FloatArray, near: AtTargets) -> AtTargets | None:
        """The minimiser for a position, (r,), from a nearby one; None if it was not found."""
        start = near.minimiser
        if self.space is None:
            found = self.minimisation.toward(position[:, None], start)
            if not found.run.converged:
                return None
        else:
            problem, space = self.minimisation.problem, self.space.with_inner_products(position)
            found = self.minimisation.end(problem, "constrained", start.run, space=space)
        return AtTargets(position, found.objective, 2 * self.held.T @ found.multipliers, found)

    def functionals(self, found: AtTargets) -> FloatArray:
        """Values of the functionals, from those of a minimiser: (q,)."""
        return self._functionals_of(found.minimiser)

    def _functionals_of(self, found: Minimiser) -> FloatArray:
        """Values of the functionals, (q,)."""
        problem, compared = self.minimisation.problem, self.minimisation.compared
        values = ((problem.functionals, found.fitted), (problem.pool, found.pool))
        return np.concatenate([part.apply(compared(v))[:, 0] for part, v in values if len(part)])

    def function(self, found: AtTargets) -> tuple[FloatArray, FloatArray]:
        """Coefficients, (p, 1), and the constant, (1,), of a minimiser in the basis of the fit."""
        coef, intercept = found.minimiser.coef, np.array([found.minimiser.intercept])
        if self.features is None:
            return coef, intercept
        theta, origin = self.minimisation.function_basis.as_columns(coef)
        return self.features.whitening @ theta, intercept - origin @ theta
