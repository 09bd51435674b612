"""What displays share: colours, how a model is read, and the scale of its predictions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sklearn.utils.validation import check_is_fitted

from meanparity._typing import FloatArray
from meanparity.estimators._report import require_tradeoff
from meanparity.tradeoff.functions import FittedFunction
from meanparity.tradeoff.loss_tradeoff import coded
from meanparity.tradeoff.tradeoff import Tradeoff

# Okabe and Ito's colours, which colour-blind readers can distinguish, without the yellow, which is
# hard to see as a line on white. Line styles change when the colours run out.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#000000")
STYLES: list[dict[str, Any]] = [
    {"color": colour, "linestyle": line} for line in ("-", "--", ":", "-.") for colour in COLOURS
]
ENDS = {0.0: "parity on the training rows (u = 0)", 1.0: "unconstrained (u = 1)"}


@dataclass(frozen=True)
class Response:
    """The scale of the response, which is that of the score unless a loss has a link function.

    Parameters
    ----------
    tradeoff : Tradeoff
        Its functions predict scores.
    loss : Loss or None
        None for squared error.
    classes : (2,) array or None
        The two classes of a classifier.
    """

    tradeoff: Tradeoff
    loss: Any
    classes: Any

    @classmethod
    def from_tradeoff(cls, tradeoff: Tradeoff) -> Response:
        loss, classes = (getattr(tradeoff, name, None) for name in ("loss", "classes"))
        return cls(tradeoff, loss, classes)

    @property
    def _has_link(self) -> bool:
        return self.loss is not None and not self.loss.is_identity

    @property
    def gaps_are_of_scores(self) -> bool:
        """Whether the gaps of the tradeoff are on another scale than the response."""
        return self._has_link and not getattr(self.tradeoff, "on_response", False)

    @property
    def name(self) -> str:
        """What the axis calls the scale."""
        if self.classes is not None:
            if self._has_link:
                return f"Predicted probability of {self.classes[1]}"
            return "Decision function (score)"
        return "Prediction (scale of the response)" if self._has_link else "Prediction"

    def predict(self, function: FittedFunction, X: Any) -> FloatArray:
        """Predictions on the scale of the response: (n,), or (n, m) for several outputs."""
        scores = function.predict(X)
        response: FloatArray = scores if self.loss is None else self.loss.response(scores)
        return response

    def outcomes(self, y: Any) -> Any:
        """Outcomes on the scale of the response; classes become 0 and 1."""
        if self.classes is None:
            return y
        if not self._has_link:
            raise ValueError(
                "before='response' would compare classes with the decision function, which is on "
                "another scale. Pass before='free', or use loss='logistic'."
            )
        return coded(y, self.classes)


def fitted_tradeoff(estimator: Any) -> tuple[Tradeoff, float | None]:
    """The tradeoff of a fitted estimator, and its own position, None if it is not on the dial."""
    check_is_fitted(estimator)
    if not hasattr(estimator, "tradeoff_") and not hasattr(estimator, "unfairness_"):
        raise TypeError(
            f"{type(estimator).__name__} has no tradeoff_. Pass an estimator of meanparity. For a "
            "pipeline, pass pipeline[-1] and the rows pipeline[:-1].transform(X); for a search, "
            "pass its best_estimator_."
        )
    return require_tradeoff(estimator), estimator.unfairness_


def fitted_function(estimator: Any) -> FittedFunction:
    """The function that a fitted estimator predicts with."""
    function: FittedFunction = estimator._function
    return function
