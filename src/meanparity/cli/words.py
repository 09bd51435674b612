"""Messages of the package in the words of the command line."""

from __future__ import annotations

import re

# What a message advises in Python, and what does the same on the command line
_ADVICE = (
    (r" \([^()]* in Python\)", ""),
    (
        r"pass a smaller min_group_size to the constraint\.",
        "pass a smaller --min-group-size to omit this note.",
    ),
    (r"Pass a smaller max_gap\b", "Pass a smaller --max-gap"),
    (
        r"Raise alpha if it is small compared with the kernel values, scale features or y that are "
        r"large compared with their spread, and leave out a pool that repeats the training rows\.",
        "Leave out columns that repeat others (--ignore) and a pool that repeats the rows.",
    ),
    (
        r"Raise alpha\.",
        "Leave out columns in which they are unlike the others (--ignore), or pass --model linear.",
    ),
    (r"more features \([^()]*\) or a kernel\.", "more columns, or --model kernel."),
    (r"above slack=([\d.]+):", r"above the \1 that it was set to:"),
    (r" Raise slack, or use another oracle, such as trees\.", ""),
    (
        r"A constraint can also make them a group of their own \(missing='group'\) or leave them "
        r"out of the comparison \(missing='ignore'\)\.",
        "Or pass --missing group to make them a group, or --missing ignore to leave them out of "
        "the comparison.",
    ),
)


def in_commands(message: str) -> str:
    r"""Return a message in one line, with options in place of parameters.

    Examples
    --------
    >>> in_commands("Pass --strict (strict=True in Python) to refuse\n them.")
    'Pass --strict to refuse them.'
    """
    text = " ".join(message.split())
    for pattern, replacement in _ADVICE:
        text = re.sub(pattern, replacement, text)
    return text
