"""Arrays in order: sorted, their least and greatest element, joined to a text, and sequences of numbers."""

from __future__ import annotations

from typing import Any

from spillway.expressions import errors
from spillway.expressions.functions import arrays, general, signature
from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []


def join(array: list[str | None], delimiter: str, null: str | None = None) -> str:
    """The elements with the delimiter in between; nulls are left out or replaced."""
    return delimiter.join(
        item for item in (null if element is None else element for element in array) if item is not None
    )


FUNCTIONS.append(
    Function(
        "array_join",
        (
            of("array array<string>, delimiter string", "string", "orders.join({0}, {1})"),
            of("array array<string>, delimiter string, null string literal", "string", "orders.join({0}, {1}, {2})"),
        ),
        "The elements joined by the delimiter; nulls are left out, or replaced by the third argument.",
        (
            ("array_join(array('hello', NULL, 'world'), ' ')", "'hello world'"),
            ("array_join(array('hello', NULL, 'world'), ' ', ',')", "'hello , world'"),
        ),
    )
)


def largest(array: list[Any]) -> Any:
    """The greatest element that is not null."""
    return max((item for item in array if item is not None), key=general.sortable, default=None)


def smallest(array: list[Any]) -> Any:
    """The least element that is not null."""
    return min((item for item in array if item is not None), key=general.sortable, default=None)


FUNCTIONS.append(
    Function(
        "array_max",
        (of("array array", signature.element, "orders.largest({0})", nullable=True),),
        "The greatest element; nulls are skipped, NaN is greater than every number; null where there is none.",
        (("array_max(array(1, 20, NULL, 3))", "20"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_min",
        (of("array array", signature.element, "orders.smallest({0})", nullable=True),),
        "The least element; nulls are skipped; null where there is none.",
        (("array_min(array(1, 20, NULL, 3))", "1"),),
    )
)


def ordered(array: list[Any], ascending: bool = True, *, nulls_first: bool) -> list[Any]:
    """The elements in order."""
    found = sorted((item for item in array if item is not None), key=general.sortable, reverse=not ascending)
    nulls = [None] * (len(array) - len(found))
    return nulls + found if nulls_first else found + nulls


FUNCTIONS.append(
    Function(
        "sort_array",
        (
            of("array array", signature.first, "orders.ordered({0}, nulls_first=True)"),
            of(
                "array array, ascending boolean literal", signature.first,
                "orders.ordered({0}, {1}, nulls_first={1})",
            ),
        ),
        "The elements in ascending order, nulls first, or, with false, in descending order, nulls last.",
        (("sort_array(array('b', 'd', NULL, 'a'))", "array(NULL, 'a', 'b', 'd')"),),
    )
)  # fmt: skip
FUNCTIONS.append(
    Function(
        "array_sort",
        (of("array array", signature.first, "orders.ordered({0}, nulls_first=False)"),),
        "The elements in ascending order, nulls last.",
        (("array_sort(array('b', NULL, 'a'))", "array('a', 'b', NULL)"),),
    )
)


def sequence(start: int, stop: int, step: int | None = None) -> list[int]:
    """From start to stop, both included."""
    by = (1 if start <= stop else -1) if step is None else step
    if (by == 0 and start != stop) or (by > 0 and start > stop) or (by < 0 and start < stop):
        message = f"sequence: {stop} is not reached from {start} in steps of {by}"
        raise errors.EvaluationError(message)
    if by and (stop - start) // by >= arrays.MAX_ELEMENTS:
        message = f"sequence: more than {arrays.MAX_ELEMENTS} elements"
        raise errors.EvaluationError(message)
    return list(range(start, stop + (1 if by > 0 else -1), by)) if by else [start]


FUNCTIONS.append(
    Function(
        "sequence",
        (
            of("first int, last int", "array<int>", "orders.sequence({0}, {1})"),
            of("first bigint, last bigint", "array<bigint>", "orders.sequence({0}, {1})"),
            of("first int, last int, step int", "array<int>", "orders.sequence({0}, {1}, {2})"),
            of("first bigint, last bigint, step bigint", "array<bigint>", "orders.sequence({0}, {1}, {2})"),
        ),
        "The whole numbers from first to last, both included, in steps (by default 1, or -1 downwards); an error where"
        " the steps don't lead there, or beyond a million elements.",
        (("sequence(1, 5)", "array(1, 2, 3, 4, 5)"), ("sequence(5, 1, -2)", "array(5, 3, 1)")),
    )
)
