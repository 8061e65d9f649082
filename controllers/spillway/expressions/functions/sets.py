"""Arrays as sets: distinct elements, union, intersection, difference. Null is an element, NaN equals itself."""

from __future__ import annotations

from typing import Any

from spillway.expressions.functions import signature
from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []


def _hashable(value: Any) -> Any:
    """The value as something that a set holds: lists as tuples, NaN as a mark."""
    if isinstance(value, list):
        return tuple(map(_hashable, value))
    return "NaN" if isinstance(value, float) and value != value else value


def _one_zero(value: Any) -> Any:
    """Spark gives 0.0 for -0.0 in these functions; only array_distinct of plain doubles leaves it."""
    if isinstance(value, list):
        return [_one_zero(item) for item in value]
    return value + 0.0 if isinstance(value, float) else value


def _distinct(array: list[Any]) -> list[Any]:
    """Each element once, where it is first."""
    seen: dict[Any, Any] = {}
    for item in array:
        seen.setdefault(_hashable(item), item)
    return list(seen.values())


def distinct(array: list[Any]) -> list[Any]:
    """Each element once, where it is first."""
    return _distinct([_one_zero(item) if isinstance(item, list) else item for item in array])


def union(one: list[Any], other: list[Any]) -> list[Any]:
    """The elements of both, each once."""
    return _distinct(_one_zero(one + other))


def intersect(one: list[Any], other: list[Any]) -> list[Any]:
    """The elements of one that are in the other, each once."""
    keys = set(map(_hashable, other))
    return _distinct(_one_zero([item for item in one if _hashable(item) in keys]))


def without(one: list[Any], other: list[Any]) -> list[Any]:
    """The elements of one that are not in the other, each once."""
    keys = set(map(_hashable, other))
    return _distinct(_one_zero([item for item in one if _hashable(item) not in keys]))


def overlap(one: list[Any], other: list[Any]) -> bool | None:
    """Whether they share an element that is not null; None where they don't, but a null might be it."""
    keys = {_hashable(item) for item in other if item is not None}
    if any(item is not None and _hashable(item) in keys for item in one):
        return True
    return None if one and other and (None in one or None in other) else False


FUNCTIONS.append(
    Function(
        "array_distinct",
        (of("array array", signature.first, "sets.distinct({0})"),),
        "The array with each element once, in the order in which they come first.",
        (("array_distinct(array(1, 2, 3, NULL, 3))", "array(1, 2, 3, NULL)"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_union",
        (of("one array<T>, other array<T>", signature.first, "sets.union({0}, {1})", tight=True),),
        "The elements of both arrays, each once.",
        (("array_union(array(1, 2, 3), array(1, 3, 5))", "array(1, 2, 3, 5)"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_intersect",
        (of("one array<T>, other array<T>", signature.first, "sets.intersect({0}, {1})", tight=True),),
        "The elements of the first array that are in the second, each once.",
        (("array_intersect(array(1, 2, 3), array(1, 3, 5))", "array(1, 3)"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_except",
        (of("one array<T>, other array<T>", signature.first, "sets.without({0}, {1})", tight=True),),
        "The elements of the first array that are not in the second, each once.",
        (("array_except(array(1, 2, 2, 3), array(1, 3, 5))", "array(2)"),),
    )
)
FUNCTIONS.append(
    Function(
        "arrays_overlap",
        (of("one array<T>, other array<T>", "boolean", "sets.overlap({0}, {1})", nullable=True, tight=True),),
        "Whether the arrays share an element that is not null; null where they don't, but one of them has a null and"
        " neither is empty.",
        (("arrays_overlap(array(1, 2, 3), array(3, 4, 5))", "true"), ("arrays_overlap(array(1), array(2))", "false")),
    )
)
