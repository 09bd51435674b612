"""What the command line prints names options, and nothing that only Python has.

All messages of the package are collected from its source, so that none can change unnoticed.
"""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

import meanparity
from meanparity import audit, baselines, constraints, estimators, kernels, losses, metrics, solvers
from meanparity.cli.app import app
from meanparity.cli.words import in_commands
from meanparity.estimators._price import Price

PACKAGE = Path(meanparity.__file__).parent
# Rooms whose errors are about tables and options; other rooms check parameters that only Python has
OF_TABLES = (
    *("tables/", "audit/auditing", "audit/rows", "audit/checks", "data/columns", "data/delimited"),
    *("data/groups", "data/rows", "persistence/model_files", "files", "exceptions"),
)
UNREACHED = {  # checked by the options themselves
    "model=7 is not known. Pass one of 7.",
    "loss=7 is not known. Pass one of 7.",
    "setting=7 is not known. Pass one of 7.",
}


def text_of(node, constants):
    """The text of an expression, with the first branch of conditions and 7 for what is not text."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part, constants) for part in node.values)
    if isinstance(node, ast.FormattedValue):
        return text_of(node.value, constants)
    if isinstance(node, ast.BinOp):
        return text_of(node.left, constants) + text_of(node.right, constants)
    if isinstance(node, ast.IfExp):
        return text_of(node.body, constants)
    return constants.get(node.id, "7") if isinstance(node, ast.Name) else "7"


def messages():
    """Where each message is, whether it is a warning, and its text."""
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        if name.startswith("cli/"):
            continue
        tree, constants = ast.parse(path.read_text("utf-8")), {}
        for node in tree.body:
            if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
                constants[node.targets[0].id] = text_of(node.value, constants)
        for node in ast.walk(tree):
            raised = node.exc if isinstance(node, ast.Raise) else None
            if isinstance(raised, ast.Call) and raised.args:
                yield f"{name}:{node.lineno}", False, text_of(raised.args[0], constants)
            if isinstance(node, ast.Call) and node.args:
                called = getattr(node.func, "attr", getattr(node.func, "id", ""))
                if called == "warn":
                    yield f"{name}:{node.lineno}", True, text_of(node.args[0], constants)


MESSAGES = list(messages())


def names_of_python():
    """Parameters and classes of the public interface, as they stand in messages."""
    parameters, classes = set(), set()
    for room in (audit, baselines, constraints, estimators, kernels, losses, metrics, solvers):
        for name in room.__all__:
            thing = getattr(room, name)
            if inspect.isclass(thing):
                classes.add(name)
            if callable(thing):
                parameters |= set(inspect.signature(thing).parameters)
    parameters = {name for name in parameters if len(name) > 1}
    bare = {name for name in parameters if "_" in name} | {"alpha", "slack"}
    classes = {name for name in classes if re.search("[a-z][A-Z]", name)}
    return re.compile(
        rf"(?<![\w-])(?:{'|'.join(parameters)})=|(?<![\w-])(?:{'|'.join(bare)})\b(?!-)|"
        rf"\b(?:{'|'.join(classes)})\b|in Python"
    )


PYTHON = names_of_python()


def test_messages_are_found():
    assert len(MESSAGES) > 400
    assert sum(is_warning for _, is_warning, _ in MESSAGES) > 30
    named = [text for _, _, text in MESSAGES if PYTHON.search(text)]
    assert len(named) > 100


def test_no_note_names_anything_of_python():
    for where, is_warning, text in MESSAGES:
        if is_warning:
            shown = in_commands(text)
            assert not PYTHON.search(shown), (where, shown)


@pytest.mark.parametrize("room", OF_TABLES)
def test_no_error_about_a_table_names_anything_of_python(room):
    """Others are about parameters that no command has, such as solvers."""
    for where, _, text in MESSAGES:
        if where.startswith(room) and text not in UNREACHED:
            shown = in_commands(text)
            assert not PYTHON.search(shown), (where, shown)


def test_something_is_always_left():
    for where, _, text in MESSAGES:
        assert in_commands(text) or not text, where


def test_options_that_messages_name_exist():
    from typer.main import get_command

    known = {"--debug", "--install-completion"}
    for command in get_command(app).commands.values():
        known |= {name for option in command.params for name in option.opts}
    for where, _, text in MESSAGES:
        for option in re.findall(r"(?<![\w-])--[a-z][a-z-]*", in_commands(text)):
            assert option in known, (where, option)


@pytest.mark.parametrize(
    "label", ["degree=2", "alpha=1", "missing=0", "max_gap=1", "marital_status=never", "gamma=b"]
)
def test_labels_of_groups_are_no_parameters(label):
    text = f"1 group of fewer than 10 rows: {label} (3 rows). Merge groups."
    assert in_commands(text) == text
    assert in_commands(f"The column '{label[:5]}' is empty.").endswith("is empty.")


@pytest.mark.parametrize(
    ("message", "shown"),
    [
        ("test_size=2.0 is not a share.", "--test-size 2.0 is not a share."),
        ("The fit failed. Pass ParityRidge(alpha=2) instead.", "The fit failed."),
        ("sensitive_features has 9 values. Drop it.", "--sensitive has 9 values. Drop it."),
        ("A. Pass solver=Nystrom(n_components=9). See B.", "A. See B."),
        ("Only Python: solver='dense'", "Only Python: solver='dense'"),
        ("Raise alpha.", None),
    ],
)
def test_examples(message, shown):
    assert in_commands(message) == shown or (shown is None and "--ignore" in in_commands(message))


def test_advice_about_options_of_other_commands_is_left_out():
    text = "1 group of fewer than 10 rows. Merge groups, or pass a smaller min_group_size to the "
    text += "constraint. See the table."
    assert "--min-group-size" in in_commands(text, {"--min-group-size"})
    assert in_commands(text, {"--setting"}) == "1 group of fewer than 10 rows. See the table."
    assert in_commands("Pass --setting kernel.", set()) == "Pass --setting kernel."


def test_parameters_of_commands_are_their_options():
    """Notes know the options of a command by the parameters of its function."""
    from typer.main import get_command

    for name, command in get_command(app).commands.items():
        options = {option for param in command.params for option in param.opts if "--" in option}
        function = command.callback.__wrapped__ if name != "datasets" else command.callback
        named = {f"--{parameter.replace('_', '-')}" for parameter in function.__annotations__}
        assert options <= named, name


def test_advice_about_a_large_price_is_in_the_options_of_the_command():
    constant = Price(0.5, 0.0, 0.4).note("Only a constant is left")
    avoidable, needed = Price(0.5, 0.1, 0.45).note(), Price(0.5, 0.2, 0.25).note()
    fit, compare = {"--model", "--max-gap", "--unfairness", "--exclude-sensitive"}, {"--setting"}
    kernel = "Pass --setting kernel if the methods are linear."
    assert in_commands(constant, compare).endswith(f"keep 40%. {kernel}")
    assert in_commands(constant, fit).endswith("more columns, or --model kernel.")
    assert in_commands(avoidable, compare).endswith(f"closes the gaps. {kernel}")
    limits = "or leave part of the gaps with --max-gap or --unfairness."
    for text in (avoidable, needed, Price(0.5, 0.2).note()):
        assert in_commands(text, fit).endswith(limits)
        assert "features" not in in_commands(text, fit).replace("among the features", "")
