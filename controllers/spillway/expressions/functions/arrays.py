"""Arrays: elements, order, growing and shrinking. Those that see arrays as sets are in `sets`."""

from __future__ import annotations

import itertools
from typing import Any

from spillway.expressions import errors
from spillway.expressions.functions import general, signature
from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []

# Most elements that a function may create: with 100 bytes each, as much memory as the longest text, twice.
MAX_ELEMENTS = 1_000_000


FUNCTIONS.append(
    Function(
        "array",
        (of("value T ...", signature.array_of, "[{all}]", strict=False),),
        "The array of the values, nulls included.",
        (("array(1, NULL, 3)", "array(1, NULL, 3)"),),
    )
)
FUNCTIONS.append(
    Function(
        "size",
        (of("array array", "int", "len({0})"),),
        "The number of elements, nulls included.",
        (("size(array('b', NULL, 'd'))", "3"),),
        ("cardinality",),
    )
)
FUNCTIONS.append(
    Function(
        "array_size",
        (of("array array", "int", "len({0})"),),
        "The number of elements, nulls included.",
        (("array_size(array('b', NULL, 'd'))", "3"),),
    )
)


def _outside(index: int, length: int) -> errors.EvaluationError:
    where = f"index {index} is outside of an array of {length} elements; try_element_at gives null there"
    message = "the first element has index 1, the last -1; 0 is none" if index == 0 else where
    return errors.EvaluationError(message, errors.Condition.INVALID_INDEX)


def element_at(array: list[Any], index: int) -> Any:
    """The element at a position from 1, or from the end; raises where there is none."""
    if index == 0 or abs(index) > len(array):
        raise _outside(index, len(array))
    return array[index - 1 if index > 0 else index]


def try_element_at(array: list[Any], index: int) -> Any:
    """The element at a position from 1, or from the end; None where there is none."""
    if index and abs(index) > len(array):
        return None
    return element_at(array, index)


def get(array: list[Any], index: int) -> Any:
    """The element at a position from 0; None where there is none."""
    return array[index] if 0 <= index < len(array) else None


FUNCTIONS.append(
    Function(
        "element_at",
        (of("array array, index int", signature.element, "arrays.element_at({0}, {1})", nullable=True),),
        "The element at a position: 1 is the first, -1 the last; an error where there is none.",
        (("element_at(array(1, 2, 3), 2)", "2"), ("element_at(array(1, 2, 3), -1)", "3")),
    )
)
FUNCTIONS.append(
    Function(
        "try_element_at",
        (of("array array, index int", signature.element, "arrays.try_element_at({0}, {1})", nullable=True),),
        "The element at a position: 1 is the first, -1 the last; null where there is none; an error for 0.",
        (("try_element_at(array(1, 2, 3), 4)", "CAST(NULL AS int)"),),
    )
)
FUNCTIONS.append(
    Function(
        "get",
        (of("array array, index int", signature.element, "arrays.get({0}, {1})", nullable=True),),
        "The element at a position: 0 is the first; null where there is none.",
        (("get(array(1, 2, 3), 0)", "1"), ("get(array(1, 2, 3), 3)", "CAST(NULL AS int)")),
    )
)


def slice(array: list[Any], start: int, length: int) -> list[Any]:  # noqa: A001 (the name in SQL)
    """So many elements from a position on; negative: from the end."""
    if start == 0 or length < 0:
        message = "slice: the first element is 1, and the length at least 0"
        raise errors.EvaluationError(message)
    begin = start - 1 if start > 0 else len(array) + start
    return array[begin : begin + length] if begin >= 0 else []


FUNCTIONS.append(
    Function(
        "slice",
        (of("array array, start int, length int", signature.first, "arrays.slice({0}, {1}, {2})"),),
        "So many elements from a position on: 1 is the first, -1 the last; empty where the array has none there; an"
        " error for position 0 or a negative length.",
        (("slice(array(1, 2, 3, 4), 2, 2)", "array(2, 3)"), ("slice(array(1, 2, 3, 4), -2, 2)", "array(3, 4)")),
    )
)


def concat(*arrays: list[Any]) -> list[Any]:
    """One after the other."""
    return list(itertools.chain.from_iterable(arrays))


FUNCTIONS.append(
    Function(
        "concat",
        (
            of("text string ...", "string", "''.join(({all}))"),
            of("bytes binary ...", "binary", "b''.join(({all}))"),
            of("array array<T> ...", signature.first, "arrays.concat({all})"),
        ),
        "Texts, binaries or arrays, one after the other; null if one of them is null.",
        (("concat('Spark', 'SQL')", "'SparkSQL'"), ("concat(array(1), array(2, 3))", "array(1, 2, 3)")),
    )
)
FUNCTIONS.append(
    Function(
        "reverse",
        (of("text string", "string", "{0}[::-1]"), of("array array", signature.first, "{0}[::-1]")),
        "The characters (code points) of a text or the elements of an array, from last to first.",
        (("reverse('Spark')", "'krapS'"), ("reverse(array(2, 1))", "array(1, 2)")),
    )
)


def flatten(arrays: list[list[Any] | None]) -> list[Any] | None:
    """The elements of the arrays; None if one of them is."""
    return None if None in arrays else list(itertools.chain.from_iterable(filter(None, arrays)))


FUNCTIONS.append(
    Function(
        "flatten",
        (of("arrays array<array<T>>", signature.element, "arrays.flatten({0})", nullable=True),),
        "The elements of the arrays in the array, in one; null if one of them is null.",
        (("flatten(array(array(1, 2), array(3)))", "array(1, 2, 3)"),),
    )
)


def position(array: list[Any], value: Any) -> int:
    """Where the value is first, from 1; 0 if it is not there."""
    return next((at for at, item in enumerate(array, 1) if item is not None and general.equal(item, value)), 0)


def contains(array: list[Any], value: Any) -> bool | None:
    """Whether the value is there; None where it isn't, but a null is."""
    if position(array, value):
        return True
    return None if None in array else False


FUNCTIONS.append(
    Function(
        "array_contains",
        (of("array array<T>, value T", "boolean", "arrays.contains({0}, {1})", nullable=True),),
        "Whether the value is in the array; null where it is not, but a null is.",
        (("array_contains(array(1, 2, 3), 2)", "true"), ("array_contains(array(1, NULL), 2)", "CAST(NULL AS boolean)")),
    )
)
FUNCTIONS.append(
    Function(
        "array_position",
        (of("array array<T>, value T", "bigint", "arrays.position({0}, {1})", tight=True),),
        "Where the value is in the array first, from 1; 0 if it is not there.",
        (("array_position(array(312, 773, 708), 708)", "3L"), ("array_position(array(1), 2)", "0L")),
    )
)


def remove(array: list[Any], value: Any) -> list[Any]:
    """The array without the elements that equal the value."""
    return [item for item in array if item is None or not general.equal(item, value)]


FUNCTIONS.append(
    Function(
        "array_remove",
        (of("array array<T>, value T", signature.first, "arrays.remove({0}, {1})", tight=True),),
        "The array without the elements that equal the value; nulls stay.",
        (("array_remove(array(1, 2, NULL, 2), 2)", "array(1, NULL)"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_compact",
        (of("array array", signature.first, "[_e for _e in {0} if _e is not None]"),),
        "The array without its nulls.",
        (("array_compact(array(1, NULL, 2))", "array(1, 2)"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_append",
        (
            of(
                "array array<T>, value T",
                signature.first,
                "(None if (_t := {0}) is None else arrays.append(_t, {1}))",
                strict=False,
                tight=True,
            ),
        ),
        "The array with the value, also a null, behind it; null if the array is.",
        (("array_append(array('b', 'd'), 'c')", "array('b', 'd', 'c')"),),
    )
)
FUNCTIONS.append(
    Function(
        "array_prepend",
        (
            of(
                "array array<T>, value T",
                signature.first,
                "(None if (_t := {0}) is None else arrays.prepend(_t, {1}))",
                strict=False,
                tight=True,
            ),
        ),
        "The array with the value, also a null, before it; null if the array is.",
        (("array_prepend(array('b', 'd'), 'c')", "array('c', 'b', 'd')"),),
    )
)


def append(array: list[Any], value: Any) -> list[Any]:
    """The array and the value."""
    return [*array, value]


def prepend(array: list[Any], value: Any) -> list[Any]:
    """The value and the array."""
    return [value, *array]


def repeat(value: Any, count: int | None) -> list[Any] | None:
    """The value so many times."""
    if count is None:
        return None
    if count > MAX_ELEMENTS:
        message = f"the array would have more than {MAX_ELEMENTS} elements"
        raise errors.EvaluationError(message)
    return [value] * count


FUNCTIONS.append(
    Function(
        "array_repeat",
        (of("value T, count int", signature.array_of, "arrays.repeat({0}, {1})", strict=False),),
        "The array with the value, also a null, so many times; empty where count is not positive; an error beyond a"
        " million.",
        (("array_repeat('123', 2)", "array('123', '123')"),),
    )
)
