"""Small changes to Python source code that a test suite should notice.

`mutants` lists every change of a file, `mutate` makes one of them. A mutant changes one expression
or statement: a comparison, an arithmetic or Boolean operator, a number, the digits of a number
format, a truth value, the name of an option, ``min`` for ``max``, a returned value. Docstrings,
messages, annotations, decorators, assertions, ``__all__`` and logging are left alone.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

_COMPARISONS: dict[type, tuple[type, ...]] = {
    ast.Lt: (ast.LtE, ast.GtE),
    ast.LtE: (ast.Lt, ast.Gt),
    ast.Gt: (ast.GtE, ast.LtE),
    ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,),
    ast.NotEq: (ast.Eq,),
    ast.Is: (ast.IsNot,),
    ast.IsNot: (ast.Is,),
    ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}
_ARITHMETIC: dict[type, type] = {
    ast.Add: ast.Sub,
    ast.Sub: ast.Add,
    ast.Mult: ast.Div,
    ast.Div: ast.Mult,
    ast.FloorDiv: ast.Mult,
    ast.Mod: ast.Mult,
    ast.Pow: ast.Mult,
    ast.BitAnd: ast.BitOr,
    ast.BitOr: ast.BitAnd,
    ast.LShift: ast.RShift,
    ast.RShift: ast.LShift,
}
_PAIRS = (
    ("min", "max"),
    ("minimum", "maximum"),
    ("argmin", "argmax"),
    ("any", "all"),
    ("floor", "ceil"),
    ("zeros", "ones"),
    ("mean", "sum"),
)
_OTHER_FUNCTION = {a: b for pair in _PAIRS for a, b in (pair, pair[::-1])}
_DROPPED = {"abs", "sqrt", "sorted", "sort"}  # f(x) becomes x

# Arguments that check or promise something and do not change a result.
_PROMISES = {"check_finite", "stacklevel", "strict"}
_NOT_VALUES = {"annotation", "decorator_list", "returns", "type_comment", "ctx"}
_NAME = re.compile(r"[A-Za-z_][\w.-]*")
_OPTIONS = {  # where a text that looks like a name is one
    (ast.Compare, "left"),
    (ast.Compare, "comparators"),
    (ast.Dict, "keys"),
    (ast.Subscript, "slice"),
    (ast.keyword, "value"),
    (ast.arguments, "defaults"),
    (ast.arguments, "kw_defaults"),
}
_DIGITS = re.compile(r"\.(\d+)")
_SMALL = 1e-3  # numbers below are tolerances: doubling one would change nothing worth a test


@dataclass(frozen=True)
class Mutant:
    """One change of one file.

    Parameters
    ----------
    file : str
        Path of the file.
    line : int
        Where the changed expression starts.
    text : str
        That line, without indentation.
    before, after : str
        The changed expression or statement.
    nth : int
        Number of earlier mutants with the same file, text, before and after.
    index : int
        Position in `mutants(source)`.
    first, last : int
        The lines of the statement (of its header, if it has a body).
    """

    file: str
    line: int
    text: str
    before: str
    after: str
    nth: int
    index: int
    first: int
    last: int

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the mutant even if lines were added above it."""
        return self.file, self.text, self.before, self.after

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.before}  ->  {self.after}"


@dataclass(frozen=True)
class _Edit:
    """Put `new` where `old` is: in a field of `parent`, or in the list that the field holds."""

    parent: ast.AST
    name: str
    place: int | None
    old: ast.AST
    new: ast.AST
    statement: ast.stmt
    line: int

    def make(self) -> None:
        if self.place is None:
            setattr(self.parent, self.name, self.new)
        else:
            getattr(self.parent, self.name)[self.place] = self.new


def mutants(source: str, file: str = "") -> list[Mutant]:
    """Every mutant of the source of a file, in the order of the source.

    Examples
    --------
    >>> for mutant in mutants("def half(x): return x / 2 if x > 0 else 0.0"):
    ...     print(mutant.before, "->", mutant.after)
    x / 2 if x > 0 else 0.0 -> None
    x > 0 -> x >= 0
    x > 0 -> x <= 0
    0 -> 1
    0 -> -1
    x / 2 -> x * 2
    2 -> 3
    2 -> 1
    0.0 -> 1.0
    """
    lines = source.splitlines()
    found, seen = [], Counter[tuple[str, str, str, str]]()
    for index, edit in enumerate(_edits(ast.parse(source))):
        first, last = _extent(edit.statement)
        text = lines[edit.line - 1].strip()
        key = (file, text, _shown(edit.old), _shown(edit.new))
        found.append(Mutant(file, edit.line, *key[1:], seen[key], index, first, last))
        seen[key] += 1
    return found


def mutate(source: str, index: int) -> str:
    """The source with one mutant, without comments."""
    tree = ast.parse(source)
    for i, edit in enumerate(_edits(tree)):
        if i == index:
            edit.make()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise IndexError(f"There is no mutant {index}.")


def _edits(tree: ast.Module) -> Iterator[_Edit]:
    for place, statement in enumerate(tree.body):
        yield from _edits_of(tree, "body", place, statement, statement, None)


def _edits_of(
    parent: ast.AST,
    name: str,
    place: int | None,
    node: ast.AST,
    statement: ast.stmt,
    string_line: int | None,
) -> Iterator[_Edit]:
    """The edits of a node of a statement and of all below it.

    `string_line` is the line of the f-string around it: up to Python 3.11 the nodes inside an
    f-string have wrong lines.
    """
    if _left_alone(node) or (isinstance(node, ast.keyword) and node.arg in _PROMISES):
        return
    if isinstance(node, ast.stmt):
        statement = node
    if isinstance(node, ast.JoinedStr) and string_line is None:
        string_line = node.lineno
    line = getattr(node, "lineno", statement.lineno) if string_line is None else string_line
    for new in _replacements(parent, name, node):
        yield _Edit(parent, name, place, node, new, statement, line)
    for field, value in ast.iter_fields(node):
        if field in _NOT_VALUES:
            continue
        if isinstance(value, ast.AST):
            yield from _edits_of(node, field, None, value, statement, string_line)
        elif isinstance(value, list):
            for i, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _edits_of(node, field, i, child, statement, string_line)


def _left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # docstrings
            return True
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="warn" | "cast" | "TypeVar" | "NewType")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=receiver))):
            return receiver in {"warnings", "logging", "logger", "_logger", "_LOG"}
    return False


def _replacements(parent: ast.AST, name: str, node: ast.AST) -> Iterator[ast.AST]:
    """What may stand instead of a node."""
    if isinstance(parent, ast.Return) and not _is_none(node):
        yield ast.Constant(None)
    if _is_condition(parent, name):
        match node:
            case ast.Name() | ast.Attribute() | ast.Call() | ast.Subscript() | ast.NamedExpr():
                yield ast.UnaryOp(ast.Not(), node)
    match node:
        case ast.Compare():
            for i, operator in enumerate(node.ops):
                for other in _COMPARISONS[type(operator)]:
                    ops = [*node.ops[:i], other(), *node.ops[i + 1 :]]
                    yield ast.Compare(node.left, ops, node.comparators)
        case ast.BinOp() if type(node.op) in _ARITHMETIC and not _joins(node.left, node.right):
            yield ast.BinOp(node.left, _ARITHMETIC[type(node.op)](), node.right)
        case ast.AugAssign() if type(node.op) in _ARITHMETIC and not _joins(node.value):
            yield ast.AugAssign(node.target, _ARITHMETIC[type(node.op)](), node.value)
        case ast.BoolOp():
            word = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield ast.BoolOp(word, node.values)
        case ast.UnaryOp(op=ast.Not() | ast.Invert()):
            yield node.operand
        case ast.UnaryOp(op=ast.USub()) if not isinstance(node.operand, ast.Constant):
            yield node.operand
        case ast.Break():
            yield ast.Continue()
        case ast.Continue():
            yield ast.Break()
        case ast.Call():
            yield from _other_calls(node)
        case ast.JoinedStr(values=[ast.Constant(value=str(text))]) if name == "format_spec":
            if digits := _DIGITS.search(text):
                more = f"{text[: digits.start(1)]}{int(digits[1]) + 1}{text[digits.end(1) :]}"
                yield ast.JoinedStr([ast.Constant(more)])
        case ast.Constant():
            yield from map(ast.Constant, _other_constants(parent, name, node.value))


def _other_calls(call: ast.Call) -> Iterator[ast.expr]:
    function = call.func
    if isinstance(function, ast.Name):
        called = function.id
        if called in {"min", "max", "any", "all"}:
            yield _with_function(call, ast.Name(_OTHER_FUNCTION[called]))
    elif isinstance(function, ast.Attribute):
        called = function.attr
        if called in _OTHER_FUNCTION:
            yield _with_function(call, ast.Attribute(function.value, _OTHER_FUNCTION[called]))
    else:
        return
    if called in _DROPPED and len(call.args) == 1:
        yield call.args[0]


def _with_function(call: ast.Call, function: ast.expr) -> ast.Call:
    return ast.Call(function, call.args, call.keywords)


def _other_constants(parent: ast.AST, name: str, value: Any) -> tuple[Any, ...]:
    if isinstance(value, bool):
        return (not value,)
    if isinstance(value, int):
        return value + 1, value - 1
    if isinstance(value, float):
        return (value + 1.0,) if abs(value) < _SMALL else (2 * value, value / 2)
    if isinstance(value, str) and (type(parent), name) in _OPTIONS and _NAME.fullmatch(value):
        return ("x_" + value,)  # another first letter, as NumPy looks at nothing else
    return ()


def _is_condition(parent: ast.AST, name: str) -> bool:
    if isinstance(parent, ast.comprehension):
        return name == "ifs"
    return isinstance(parent, ast.If | ast.IfExp | ast.While) and name == "test"


def _joins(*sides: ast.expr) -> bool:
    """Whether an operator joins texts, sequences or types instead of numbers."""
    for side in sides:
        match side:
            case ast.JoinedStr() | ast.List() | ast.Tuple() | ast.ListComp() | ast.Dict():
                return True
            case ast.Constant(value=str() | None):
                return True
            case ast.Name(id="list" | "tuple" | "str" | "int" | "float"):
                return True
            case ast.IfExp() if _joins(side.body, side.orelse):
                return True
            case ast.BinOp() if _joins(side.left, side.right):
                return True
    return False


def _is_none(node: ast.AST) -> bool:
    return isinstance(node, ast.Constant) and node.value is None


def _extent(statement: ast.stmt) -> tuple[int, int]:
    """First and last line of a statement, or of its header."""
    body = getattr(statement, "body", None)
    if body:
        return statement.lineno, max(statement.lineno, body[0].lineno - 1)
    return statement.lineno, statement.end_lineno or statement.lineno


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())
