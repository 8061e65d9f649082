"""All functions of the subset, by name and by alias, and the names that their templates use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType, ModuleType

from spillway.expressions.functions import (
    arrays,
    bits,
    dates,
    encodings,
    formats,
    general,
    hashing,
    mathematics,
    numbers,
    orders,
    patterns,
    rounding,
    searching,
    sets,
    signature,
    strings,
    times,
)
from spillway.expressions.functions.signature import Argument, Call, Function, Parameter, Signature

__all__ = ["FUNCTIONS", "GROUPS", "NAMESPACE", "Argument", "Call", "Function", "Parameter", "Signature", "signature"]

# The groups of the reference, in its order: title and modules. A template calls what it needs by the module's name.
GROUPS: Mapping[str, tuple[ModuleType, ...]] = MappingProxyType(
    {
        "Any type": (general,),
        "Text": (strings, searching),
        "Patterns": (patterns,),
        "Encodings and hashes": (encodings, hashing),
        "Numbers": (numbers, rounding, mathematics, bits),
        "Dates and timestamps": (dates, times, formats),
        "Arrays": (arrays, orders, sets),
    }
)
NAMESPACE: Mapping[str, ModuleType] = MappingProxyType(
    {module.__name__.rpartition(".")[2]: module for modules in GROUPS.values() for module in modules}
)


def _by_name(functions: Iterable[Function]) -> Mapping[str, Function]:
    found: dict[str, Function] = {}
    for function in functions:
        for name in (function.name, *function.aliases):
            if found.setdefault(name, function) is not function:
                message = f"function {name!r} is there twice"
                raise ValueError(message)
    return MappingProxyType(found)


FUNCTIONS: Mapping[str, Function] = _by_name(
    function for modules in GROUPS.values() for module in modules for function in module.FUNCTIONS
)
