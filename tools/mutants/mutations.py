"""Small changes to Python source code that a test suite should notice.

`mutants` lists every change of a file, `mutate` makes one of them. A mutant changes one expression
or statement: a comparison, an arithmetic or Boolean operator, a number, the digits of a number
format, a truth value, the name of an option, ``min`` for ``max``, a returned value. Docstrings,
messages, annotations, decorators, assertions, ``__all__`` and logging are left alone, and so are
the numbers of rows that are held at a time (`_BLOCKS`, `_IN_BLOCKS`) and arrays without elements.
Whether a comparison with a tolerance is strict makes no difference that a test could be about, and
an index of 0 becomes 1, but not -1, which is the same place in the many arrays of one column.
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
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

# Constants that say how many rows or numbers are held at a time. Whatever their values, results are
# the same up to rounding, and only memory and speed differ: expressions of them are left alone.
_BLOCKS = {
    "AT_ONCE",
    "BLOCK",
    "BLOCK_NUMBERS",
    "_BATCH_BYTES",
    "_BATCH_ROWS",
    "_BLOCK",
    "_COMPARED_ROWS",
    "_FAN_IN",
    "_GRAM_ROWS",
    "_SMALL_PRODUCT",
    "_TILE",
}
_IN_BLOCKS = {"row_blocks", "gen_batches"}  # functions whose second argument is such a number

# Arguments that check or promise something and do not change a result, and looks of a figure.
_PROMISES = {"check_finite", "stacklevel", "strict"}
_LOOKS = {"capsize", "dpi", "figsize", "fontsize", "linewidth", "markersize", "zorder"}
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
_TOLERANCES = {"cut", "eps", "rounding", "tiny", "tol"}  # names of others, besides constants


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
        The lines that a test has to reach to notice the change: those of the statement (of its
        header, if it has a body), of the function if it is a default, of the class if it is
        an attribute.
    names : tuple of str
        The constants of the module that the statement defines: what uses them may notice.
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
    names: tuple[str, ...] = ()

    @property
    def key(self) -> tuple[str, str, str, str]:
        """What names the mutant even if lines were added above it."""
        return self.file, self.text, self.before, self.after

    def __str__(self) -> str:
        return f"{self.file}:{self.line}  {self.before}  ->  {self.after}"


@dataclass(frozen=True)
class _Around:
    """Where an edit is.

    In a statement, which may be an attribute of a class, or be in a function, in a module with
    constants that are tolerances. `string_line` is the line of the f-string around it: up to Python
    3.11 the nodes inside have wrong lines.
    """

    statement: ast.stmt
    tolerances: frozenset[str]
    attribute_of: ast.ClassDef | None = None
    in_function: bool = False
    is_index: bool = False
    string_line: int | None = None

    def inside(self, node: ast.AST) -> _Around:
        """The same for a node."""
        found = self
        if isinstance(node, ast.stmt):
            found = replace(found, statement=node)
        if isinstance(node, ast.JoinedStr) and self.string_line is None:
            found = replace(found, string_line=node.lineno)
        return found

    def below(self, node: ast.AST, field: str) -> _Around:
        """The same for a field of a node."""
        is_slice = isinstance(node, ast.Subscript) and field == "slice"
        is_index = is_slice or (self.is_index and isinstance(node, ast.Tuple))
        if is_index != self.is_index:
            return replace(self, is_index=is_index)
        if isinstance(node, ast.ClassDef) and field == "body":
            return replace(self, attribute_of=node)
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and field == "body":
            return replace(self, attribute_of=None, in_function=True)
        return self

    def is_tolerance(self, node: ast.AST) -> bool:
        """Whether a node is a number that differences are compared with."""
        return _is_tolerance(node) or (isinstance(node, ast.Name) and node.id in self.tolerances)

    def extent(self) -> tuple[int, int]:
        """First and last line that a test has to reach."""
        statement: ast.stmt = self.statement
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            return _lines(statement)
        if self.attribute_of is not None:
            return _lines(self.attribute_of)
        body = getattr(statement, "body", None)
        if body:
            return statement.lineno, max(statement.lineno, body[0].lineno - 1)
        return _lines(statement)

    def names(self) -> tuple[str, ...]:
        """The names that a statement of the module defines."""
        if self.in_function or self.attribute_of is not None:
            return ()
        match self.statement:
            case ast.Assign(targets=targets):
                found = [node for target in targets for node in ast.walk(target)]
            case ast.AnnAssign(target=target):
                found = [target]
            case _:
                return ()
        return tuple(node.id for node in found if isinstance(node, ast.Name))


@dataclass(frozen=True)
class _Edit:
    """Put `new` where `old` is: in a field of `parent`, or in the list that the field holds."""

    parent: ast.AST
    name: str
    place: int | None
    old: ast.AST
    new: ast.AST
    around: _Around
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
        first, last = edit.around.extent()
        text = lines[edit.line - 1].strip()
        key = (file, text, _shown(edit.old), _shown(edit.new))
        names = edit.around.names()
        found.append(Mutant(file, edit.line, *key[1:], seen[key], index, first, last, names))
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
    small = (s for s in tree.body if isinstance(s, ast.Assign) and _is_tolerance(s.value))
    names = frozenset(ast.unparse(target) for s in small for target in s.targets)
    for place, statement in enumerate(tree.body):
        yield from _edits_of(tree, "body", place, statement, _Around(statement, names))


def _edits_of(
    parent: ast.AST, name: str, place: int | None, node: ast.AST, around: _Around
) -> Iterator[_Edit]:
    """The edits of a node of a statement and of all below it."""
    if _left_alone(node) or _is_block_size(parent, name, place, node):
        return
    around = around.inside(node)
    line = getattr(node, "lineno", around.statement.lineno)
    line = line if around.string_line is None else around.string_line
    for new in _replacements(parent, name, node, around):
        yield _Edit(parent, name, place, node, new, around, line)
    for field, value in ast.iter_fields(node):
        if field in _NOT_VALUES:
            continue
        below = around.below(node, field)
        if isinstance(value, ast.AST):
            yield from _edits_of(node, field, None, value, below)
        elif isinstance(value, list):
            for i, child in enumerate(value):
                if isinstance(child, ast.AST):
                    yield from _edits_of(node, field, i, child, below)


def _left_alone(node: ast.AST) -> bool:
    match node:
        case ast.Raise() | ast.Assert() | ast.Import() | ast.ImportFrom():
            return True
        case ast.Expr(value=ast.Constant()):  # docstrings
            return True
        case ast.keyword(arg=name):
            return name in _PROMISES | _LOOKS
        case ast.Assign(targets=[ast.Name(id="__all__")]):
            return True
        case ast.If(test=ast.Name(id="TYPE_CHECKING")):
            return True
        case ast.Call(func=ast.Name(id="warn" | "cast" | "TypeVar" | "NewType")):
            return True
        case ast.Call(func=ast.Attribute(value=ast.Name(id=receiver))):
            return receiver in {"warnings", "logging", "logger", "_logger", "_LOG"}
    return False


def _is_block_size(parent: ast.AST, name: str, place: int | None, node: ast.AST) -> bool:
    """Whether a node says how many rows or numbers are held at a time."""
    if isinstance(parent, ast.Call) and name == "args" and place == 1:
        function = parent.func
        return isinstance(function, ast.Name) and function.id in _IN_BLOCKS
    if isinstance(node, ast.Assign):
        return _mentions_blocks(node.targets[0])
    return isinstance(node, ast.BinOp | ast.Call) and _mentions_blocks(node)


def _mentions_blocks(node: ast.AST) -> bool:
    """Whether a name, or arithmetic with names, is about blocks."""
    match node:
        case ast.Name(id=name):
            return name in _BLOCKS
        case ast.BinOp(left=left, right=right):
            return _mentions_blocks(left) or _mentions_blocks(right)
        case ast.Call(func=ast.Name(id="min" | "max"), args=arguments):
            return any(map(_mentions_blocks, arguments))
    return False


def _is_tolerance(node: ast.AST) -> bool:
    match node:
        case ast.Constant(value=float(value)):
            return 0 < value < _SMALL
        case ast.Name(id=name) | ast.Attribute(attr=name):
            return name in _TOLERANCES
    return False


def _replacements(parent: ast.AST, name: str, node: ast.AST, around: _Around) -> Iterator[ast.AST]:
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
                others = _COMPARISONS[type(operator)]
                if len(others) > 1 and any(map(around.is_tolerance, ast.walk(node))):
                    others = others[1:]
                for other in others:
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
            values = _other_constants(parent, name, node.value)
            one_only = around.is_index and node.value == 0
            yield from map(ast.Constant, values[:1] if one_only else values)


def _other_calls(call: ast.Call) -> Iterator[ast.expr]:
    function = call.func
    if isinstance(function, ast.Name):
        called = function.id
        if called in {"min", "max", "any", "all"}:
            yield _with_function(call, ast.Name(_OTHER_FUNCTION[called]))
    elif isinstance(function, ast.Attribute):
        called = function.attr
        if called in _OTHER_FUNCTION and not _is_empty_array(call):
            yield _with_function(call, ast.Attribute(function.value, _OTHER_FUNCTION[called]))
    else:
        return
    if called in _DROPPED and len(call.args) == 1:
        yield call.args[0]


def _is_empty_array(call: ast.Call) -> bool:
    """Whether an array of zeros or ones has no elements: ``np.zeros((n, 0))``."""
    if not call.args or getattr(call.func, "attr", "") not in {"zeros", "ones"}:
        return False
    shape = call.args[0]
    sides = shape.elts if isinstance(shape, ast.Tuple) else [shape]
    return any(isinstance(side, ast.Constant) and side.value == 0 for side in sides)


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


def _lines(node: ast.stmt) -> tuple[int, int]:
    return node.lineno, node.end_lineno or node.lineno


def _shown(node: ast.AST) -> str:
    return " ".join(ast.unparse(node).split())
