"""Regression whose predictions have the same mean in every sensitive group, in closed form."""

from importlib import import_module as _import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from meanparity.constraints import CovarianceParity, LinearParity, MeanParity, ResidualParity
    from meanparity.data import Pool
    from meanparity.estimators import (
        ParityAdjusted,
        ParityKernelClassifier,
        ParityKernelRegressor,
        ParityKernelRidge,
        ParityKernelRidgeCV,
        ParityRidge,
        ParityRidgeCV,
        SmallestLoss,
    )
    from meanparity.exceptions import ParityWarning
    from meanparity.solvers import (
        LBFGS,
        ConjugateGradient,
        Dense,
        Newton,
        Nystrom,
        Primal,
        Spectral,
    )
    from meanparity.statistics import Statistics

__all__ = [
    "LBFGS",
    "ConjugateGradient",
    "CovarianceParity",
    "Dense",
    "LinearParity",
    "MeanParity",
    "Newton",
    "Nystrom",
    "ParityAdjusted",
    "ParityKernelClassifier",
    "ParityKernelRegressor",
    "ParityKernelRidge",
    "ParityKernelRidgeCV",
    "ParityRidge",
    "ParityRidgeCV",
    "ParityWarning",
    "Pool",
    "Primal",
    "ResidualParity",
    "SmallestLoss",
    "Spectral",
    "Statistics",
]
__version__ = "0.1.0"

# names are imported when they are used, so that the command line starts without NumPy
_HOMES = ("estimators", "constraints", "solvers", "statistics", "data", "exceptions")


def __getattr__(name: str) -> Any:
    if name in __all__:
        for home in _HOMES:
            module = _import_module(f"meanparity.{home}")
            if name in getattr(module, "__all__", ()) or (home == "exceptions"):
                globals()[name] = found = getattr(module, name)
                return found
    raise AttributeError(f"module 'meanparity' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, "__version__"])
