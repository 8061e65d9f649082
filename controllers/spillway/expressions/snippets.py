"""Pieces of Python source: how tightly they hold together, so that they get parentheses only where they need them."""

from __future__ import annotations

import ast
import functools
import re

from spillway.expressions import terms

# From loose to tight; what is looser than its surroundings gets parentheses.
CHOICE, OR, AND, NOT, COMPARE, SUM, ATOM = range(7)


def repeated(source: terms.Source, count: int) -> list[bool]:
    """Which arguments the template has more than once."""
    marks = [f"\x00{index}\x00" for index in range(count)]
    text = source(marks) if callable(source) else source.format(*marks, t="", k="")
    return [text.count(mark) > 1 for mark in marks]


def is_folded(source: str) -> bool:
    """Whether Python's compiler makes a literal of the source: it has neither names nor calls."""
    parts = ast.walk(ast.parse(source, mode="eval"))
    return source != "None" and not any(isinstance(part, ast.Name | ast.Call | ast.List) for part in parts)


@functools.lru_cache(maxsize=4096)
def level(source: str) -> int:
    """How tightly a source holds together, by what Python itself makes of it."""
    if closes(source):
        return ATOM
    match ast.parse(source, mode="eval").body:
        case ast.IfExp() | ast.Lambda() | ast.Tuple():
            return CHOICE
        case ast.Name() | ast.Call() | ast.Attribute() | ast.Subscript() | ast.List() | ast.ListComp() | ast.Constant():
            return ATOM
        case ast.BoolOp(op=op):
            return OR if isinstance(op, ast.Or) else AND
        case ast.UnaryOp(op=ast.Not()):
            return NOT
        case ast.Compare():
            return COMPARE
        case _:
            return SUM


_STRINGS = re.compile(r"""'(?:[^'\\]|\\.)*'|"(?:[^"\\]|\\.)*\"""", re.DOTALL)


def closes(source: str) -> bool:
    """Whether the source is in parentheses: the first one is closed by the last character."""
    if not source.startswith("(") or not source.endswith(")"):
        return False
    depth = 0
    bare = _STRINGS.sub("", source)
    for index, character in enumerate(bare):
        depth += (character == "(") - (character == ")")
        if not depth:
            return index == len(bare) - 1
    return False


def stripped(source: str) -> tuple[str, int]:
    """Without the parentheses around everything, where nothing else needs them."""
    inner = source[1:-1]
    try:
        body = ast.parse(inner, mode="eval").body
    except SyntaxError:
        return source, ATOM
    return (source, ATOM) if isinstance(body, ast.Tuple | ast.GeneratorExp) else (inner, level(inner))
