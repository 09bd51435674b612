"""Messages of the package in the words of the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Set

# Options with whose wrong values a message begins, under the names of parameters
_OPTIONS = (
    *("confidence", "degree", "loss", "max_gap", "min_cell", "min_group_size", "missing", "model"),
    *("setting", "shares", "test_size", "unfairness", "weight_kind", "within"),
)
# What a message advises in Python, and what does the same on the command line
_ADVICE: tuple[tuple[str, str | Callable[[re.Match[str]], str]], ...] = (
    (r" \([^()]* in Python\)", ""),
    (rf"^({'|'.join(_OPTIONS)})=", lambda found: f"--{found[1].replace('_', '-')} "),
    (r"^shares and sensitive_features name", "--shares and the sensitive column name"),
    (r"the units of y_pred\b", "the units of the audited column"),
    (r"meets max_gap already", "meets --max-gap already"),
    (r"at most max_gap=", "at most "),
    (r"K \+ alpha·I has an", "with its penalty it has an"),
    (r"\bweighted by sample_weight\b", "weighted"),
    (r"^alpha=(\S+) is negligible", r"The penalty \1 is negligible"),
    (
        r"Raise alpha \([^()]*\), use fewer groups or more features, or MeanParity\([^()]*\)\.",
        "Use fewer groups, or pass --loss squared.",
    ),
    (
        r"scale the features, for instance with StandardScaler, or raise alpha\.",
        "leave out columns with extreme values (--ignore).",
    ),
    (r"weight_kind='(\w+)'", r"--weight-kind \1"),
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
    (
        r"Raise max_iter or alpha, or scale the features\.",
        "Pass --loss squared, or leave out columns with extreme values (--ignore).",
    ),
    # of sentences with options of several commands, the command keeps its own
    (
        r"more features \([^()]*\) or a kernel\.",
        "more columns, or --model kernel. Pass --setting kernel if the methods are linear.",
    ),
    (
        r"Add the sensitive columns to the features(?: if they are not among them)?, .*try another "
        r"kernel, or leave part of the gaps with max_gap or unfairness\.",
        "Try --model kernel if the model is linear, keep the sensitive columns among the features "
        "(no --exclude-sensitive), or leave part of the gaps with --max-gap or --unfairness. "
        "Pass --setting kernel if the methods are linear.",
    ),
    (
        r"add the sensitive columns to the features if they are not among them, or leave part of "
        r"the gaps with max_gap or unfairness\.",
        "keep the sensitive columns among the features (no --exclude-sensitive), or leave part of "
        "the gaps with --max-gap or --unfairness.",
    ),
    (r"above slack=([\d.]+):", r"above the \1 that it was set to:"),
    (
        r"A constraint can also make them a group of their own \(missing='group'\) or leave them "
        r"out of the comparison \(missing='ignore'\)\.",
        "Or pass --missing group to make them a group, or --missing ignore to leave them out of "
        "the comparison.",
    ),
    *(
        (rf"(?<!['\"=])\b{name}\b(?![='\"])", option)
        for name, option in (
            ("sensitive_features", "--sensitive"),
            ("control_features", "--control"),
            ("sample_weight", "--weight"),
        )
    ),
)
# Names that only Python has. Labels of groups, such as black=1, have plain values.
_NAMES = (
    *("alpha", "slack", "max_gap", "max_iter", "min_group_size", "n_components", "parity_on"),
    *("sample_weight", "sensitive_features", "control_features", "sensitive_columns"),
    *("drop_sensitive", "weight_scope", "weight_kind", "pos_label", "y_pred", "y_true", "to_numpy"),
    *("uses_control", "needs_rows", "from_weights", "sensitive_features_pool", "target_values"),
    *("mean_parity_gap", "max_mean_gap", "from_predictions", "read_all", "read_csv", "set_config"),
)
_PARAMETERS = (
    *("about", "bounds", "budget", "columns", "constraint", "continuous", "correction", "cv"),
    *("degree", "device", "error", "estimator", "focus", "gamma", "gammas", "groups", "intercept"),
    *("kernel", "landmarks", "loss", "metric", "missing", "model", "optimizer", "params", "pool"),
    *("pooling", "precision", "quantile", "scale", "scoring", "shares", "solver", "strict", "tol"),
    *("transform", "unseen", "variant", "encoding", "decimal", "delimiter", "ignored"),
)
_VALUE = r"(?:['\"\[({]|True\b|False\b|None\b|\.\.\.|[A-Z]\w*\()"
_PYTHON = re.compile(
    rf"(?<![\w'\"-])(?:(?:{'|'.join(_NAMES)})\b(?!['\"]|=\d)|(?:{'|'.join(_PARAMETERS)})={_VALUE}|"
    r"(?:Parity|Mean|Residual|Covariance|Linear)[A-Z]\w+|(?:Pool|Nystrom|Dense|Roles|Layout)\()"
)


_OPTION = re.compile(r"(?<![\w-])--[a-z][a-z-]*")


def in_commands(message: str, known: Set[str] | None = None) -> str:
    r"""Return a message in one line, with options in place of parameters.

    A sentence after the first, which says what is wrong, is left out if it still names something
    of Python alone, or an option that is not known to the command.

    Examples
    --------
    >>> in_commands("Pass --strict (strict=True in Python) to refuse\n them.")
    'Pass --strict to refuse them.'
    >>> in_commands("The fit is approximate. Pass solver='dense' for the exact one.")
    'The fit is approximate.'
    """
    text = " ".join(message.split())
    for pattern, replacement in _ADVICE:
        text = re.sub(pattern, replacement, text)
    sentences = re.split(r"(?<=[.!?]) (?=[A-Z])", text)
    kept = [
        sentence
        for at, sentence in enumerate(sentences)
        if at == 0
        or (
            not _PYTHON.search(sentence)
            and (known is None or set(_OPTION.findall(sentence)) <= known)
        )
    ]
    return " ".join(kept)
