"""What people who wait for a model see: which step is under way, and how far it has come."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

_BAR = 10  # characters
_ENOUGH = 1 / 3  # of the pieces have to be done before anything is said about the time left


class Steps:
    """Messages about steps of which all are known beforehand.

    Parameters
    ----------
    names : sequence of str
        The steps, in their order.
    progress : callable
        Receives the messages.

    Examples
    --------
    >>> steps = Steps(["fitting", "predicting"], print)
    >>> steps("fitting")
    step 1 of 2: fitting
    >>> steps("predicting: 250 of 1,000 rows")
    step 2 of 2: predicting: 250 of 1,000 rows
    """

    def __init__(self, names: Sequence[str], progress: Callable[[str], None]) -> None:
        self.names, self.progress = list(names), progress

    def __call__(self, message: str) -> None:
        """Report a message that begins with the name of a step."""
        number = 1 + self.names.index(message.partition(":")[0])
        self.progress(f"step {number} of {len(self.names)}: {message}")


def in_pieces(
    name: str, total: int, what: str, progress: Callable[[str], None]
) -> Callable[[int], None]:
    """A function that reports how many pieces of a step are done.

    All pieces have to be about the same amount of work. Steps are not: which of them takes longest
    depends on the table, so that nothing is said about the time that all of them take together.

    Examples
    --------
    >>> done = in_pieces("selecting the width", 4, "widths", print)
    selecting the width: ░░░░░░░░░░ 0 of 4 widths
    >>> done(1)
    selecting the width: ██░░░░░░░░ 1 of 4 widths
    """
    start = time.monotonic()

    def report(done: int) -> None:
        filled = _BAR * done // total
        left = ""
        if _ENOUGH <= done / total < 1:
            seconds = (time.monotonic() - start) * (total - done) / done
            about = f"about {seconds:.0f} s" if seconds >= 1 else "less than 1 s"
            left = f", {about} left in this step"
        bar = "█" * filled + "░" * (_BAR - filled)
        progress(f"{name}: {bar} {done} of {total} {what}{left}")

    report(0)
    return report
