"""Makes Python functions of checked expressions: the record paradigm without the loop around it.

What a program of many operators generates uses `source.Scope` directly; these are for a single operator, for tests,
and to see what an expression becomes (`row.__spillway_source__`).
"""

from __future__ import annotations

import itertools
import linecache
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from spillway.expressions import source, terms
from spillway.expressions.expression import Expression
from spillway.model.types import Schema

Row = Sequence[Any]

_numbers = itertools.count(1)


def compile_row(expressions: Sequence[Expression], schema: Schema) -> Callable[[Row], tuple[Any, ...]]:
    """A function from the values of a row, in the order of the schema, to the values of the expressions."""
    scope = source.Scope()
    variables = _variables(schema)
    values = "".join(f"{scope.value(expression.term, variables)}, " for expression in expressions)
    function: Callable[[Row], tuple[Any, ...]] = _function(
        "row", f"({values})", [expression.term for expression in expressions], schema, scope
    )
    return function


def compile_condition(expression: Expression, schema: Schema) -> Callable[[Row], bool]:
    """A function from the values of a row to whether the condition is true (False where it is false or null)."""
    scope = source.Scope()
    condition = scope.condition(expression.term, _variables(schema))
    result = f"True if {condition} else False"
    function: Callable[[Row], bool] = _function("condition", result, [expression.term], schema, scope)
    return function


def _variables(schema: Schema) -> dict[str, str]:
    # The prefix keeps the name of a column from being a word of Python or the name of a module.
    return {column.name: f"c_{column.name}" for column in schema}


def _function(name: str, result: str, used: Iterable[terms.Term], schema: Schema, scope: source.Scope) -> Any:
    """Compile a function of one row; a traceback shows its lines."""
    needed = {column for term in used for column in terms.columns(term)}
    lines = [f"def {name}(row):"]
    lines += [f"    c_{column.name} = row[{i}]" for i, column in enumerate(schema) if column.name in needed]
    lines += [f"    return {result}", ""]
    text = "\n".join(lines)
    file = f"<spillway expression {next(_numbers)}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = scope.namespace()
    # Generated from the tree: of what the user wrote, only values of literals are in it, as Python writes them.
    with warnings.catch_warnings():
        # Python's compiler warns people of `1 is None`; here that is a literal in a template, and right.
        warnings.simplefilter("ignore", SyntaxWarning)
        code = compile(text, file, "exec")
    exec(code, namespace)  # noqa: S102
    function = namespace[name]
    function.__spillway_source__ = text
    return function
