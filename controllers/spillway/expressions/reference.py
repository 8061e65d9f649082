"""The reference of all functions as Markdown, made of the same entries that the compiler uses."""

from __future__ import annotations

from spillway.expressions.functions import registry
from spillway.expressions.functions.signature import Function, Parameter, Signature
from spillway.model.types import ColumnType

_INTRODUCTION = """\
Unless it says otherwise, a function is null when one of its arguments is. `T` is any type, the same for all arguments
of a call (numbers are widened to it); `numeric` is int, bigint, decimal or double.
"""

# What the templates know and the type alone doesn't say.
_OPEN = {"any": "any", "array": "array", "numeric": "numeric", "integral": "int or bigint", "decimal": "decimal"}


def expression_reference() -> str:
    """One table per group: the calls of each function, what it means, an example."""
    parts = [_INTRODUCTION]
    for title, modules in registry.GROUPS.items():
        functions = sorted((f for module in modules for f in module.FUNCTIONS), key=lambda function: str(function.name))
        parts.append(f"## {title}\n\n| function | meaning | example |\n|---|---|---|\n" + "".join(map(_row, functions)))
    return "\n".join(parts)


def _row(function: Function) -> str:
    calls = "<br>".join(f"`{_cell(_call(function, signature))}`" for signature in _shown(function))
    also = f" Also called {', '.join(f'`{alias}`' for alias in function.aliases)}." if function.aliases else ""
    examples = "<br>".join(f"`{_cell(sql)}` → `{_cell(value)}`" for sql, value in function.examples)
    return f"| {calls} | {_cell(function.meaning)}{also} | {examples} |\n"


def _shown(function: Function) -> list[Signature]:
    """The signatures that accept something."""
    return [signature for signature in function.signatures if signature.python]


def _call(function: Function, signature: Signature) -> str:
    parameters = ", ".join(map(_parameter, signature.parameters)) + (", …" if signature.variadic else "")
    return f"{function.name}({parameters}) → {_result(signature)}"


def _parameter(parameter: Parameter) -> str:
    accepts = parameter.accepts
    text = f"{parameter.name} {accepts if isinstance(accepts, ColumnType) else _OPEN.get(accepts, accepts)}"
    return f"{text} literal" if parameter.literal else text


def _result(signature: Signature) -> str:
    if isinstance(signature.result, ColumnType):
        return str(signature.result)
    said = str(signature.result.__doc__).removesuffix(".")
    return said[0].lower() + said[1:]


def _cell(text: str) -> str:
    """The text inside of a table, where | would end the cell."""
    return text.replace("|", "\\|").replace("\n", " ")
