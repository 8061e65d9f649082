"""Functions of any type: nulls, choices, order."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from spillway.expressions.functions import signature
from spillway.expressions.functions.signature import Argument, Function, of

FUNCTIONS: list[Function] = []

# `_t` holds a value from the test to the use right behind it: nothing is evaluated in between, so that the same name
# serves calls within calls. It also keeps Python from warning about `1 is None`.


def _coalesce(sources: Sequence[str]) -> str:
    *tested, last = sources
    return "(" + "".join(f"_t if (_t := {source}) is not None else " for source in tested) + last + ")"


FUNCTIONS.append(
    Function(
        "coalesce",
        (of("value T ...", signature.first, _coalesce, strict=False),),
        "The first value that is not null; those behind it are not evaluated.",
        (("coalesce(NULL, 1, NULL)", "1"), ("coalesce(1, 1 div 0)", "1L")),
    )
)
FUNCTIONS.append(
    Function(
        "nvl",
        (of("value T, otherwise T", signature.first, _coalesce, strict=False),),
        "The value, or the other one where it is null.",
        (("nvl(NULL, 'x')", "'x'"), ("nvl('a', 'x')", "'a'")),
        ("ifnull",),
    )
)
FUNCTIONS.append(
    Function(
        "nvl2",
        (
            of(
                "value any, present T, absent T",
                signature.second,
                "({1} if (_t := {0}) is not None else {2})",
                strict=False,
            ),
        ),
        "The second value where the first is not null, otherwise the third.",
        (("nvl2(NULL, 2, 1)", "1"), ("nvl2(7, 2, 1)", "2")),
    )
)
FUNCTIONS.append(
    Function(
        "if",
        (of("condition boolean, then T, otherwise T", signature.second, "({1} if {0} else {2})", strict=False),),
        "The second value where the condition is true, the third where it is false or null; only one is evaluated.",
        (("if(1 < 2, 'a', 'b')", "'a'"), ("if(NULL, 'a', 'b')", "'b'")),
    )
)
FUNCTIONS.append(
    Function(
        "isnull",
        (of("value any", "boolean", "((_t := {0}) is None)", strict=False),),
        "Whether the value is null; never null itself.",
        (("isnull(1)", "false"), ("isnull(NULL)", "true")),
    )
)
FUNCTIONS.append(
    Function(
        "isnotnull",
        (of("value any", "boolean", "((_t := {0}) is not None)", strict=False),),
        "Whether the value is not null; never null itself.",
        (("isnotnull(1)", "true"), ("isnotnull(NULL)", "false")),
    )
)
FUNCTIONS.append(
    Function(
        "isnan",
        (of("number double", "boolean", "((_t := {0}) is not None and _t != _t)", strict=False),),
        "Whether the number is NaN; false for null.",
        (("isnan(CAST('NaN' AS double))", "true"), ("isnan(NULL)", "false")),
    )
)
FUNCTIONS.append(
    Function(
        "nanvl",
        (
            of(
                "number double, otherwise double", "double",
                "(_t if (_t := {0}) is None or _t == _t else {1})", strict=False,
            ),
        ),
        "The number, or the other one where it is NaN; the other one is evaluated only then.",
        (("nanvl(CAST('NaN' AS double), 123D)", "123.0D"), ("nanvl(1D, 2D)", "1.0D")),
    )
)  # fmt: skip


def sortable(value: Any) -> Any:
    """A key for Spark's order: NaN above all numbers, null before all elements of an array, the zeros equal."""
    if isinstance(value, float):
        return (value != value, 0.0 if value != value else value)
    if isinstance(value, list):
        return [(item is not None, None if item is None else sortable(item)) for item in value]
    return value


def equal(one: Any, other: Any) -> bool:
    """Whether two values that are not null are equal as Spark's `=` has it: NaN is itself."""
    if isinstance(one, float):
        return bool(one == other) or (one != one and other != other)
    if isinstance(one, list):
        return bool(sortable(one) == sortable(other))
    return bool(one == other)


def nullif(value: Any, other: Any) -> Any:
    """The value, which is not null, or None where it equals the other one."""
    if isinstance(value, float) or isinstance(other, float):
        other = other if other is None else float(other)
        return None if other is not None and equal(float(value), other) else value
    return None if other is not None and equal(value, other) else value


def _comparable(arguments: Sequence[Argument]) -> str:
    kinds = [argument.type for argument in arguments]
    return "" if signature.common_type(kinds) else f"{kinds[0]} and {kinds[1]} have no common type: write a CAST"


# The other one is not evaluated where the value is null.
_NULLIF = "(None if (_t := {0}) is None else general.nullif(_t, {1}))"
FUNCTIONS.append(
    Function(
        "nullif",
        (
            of("value numeric, other numeric", signature.first, _NULLIF, strict=False, check=_comparable),
            of("value T, other T", signature.first, _NULLIF, strict=False),
        ),
        "Null where the two are equal, otherwise the first, which keeps its type.",
        (("nullif(2, 2)", "CAST(NULL AS int)"), ("nullif(2, 3L)", "2")),
    )
)
FUNCTIONS.append(
    Function(
        "nullifzero",
        (of("number numeric", signature.first, "({0} or None)", nullable=True),),
        "Null where the number is zero, otherwise the number.",
        (("nullifzero(0)", "CAST(NULL AS int)"), ("nullifzero(7)", "7")),
    )
)
FUNCTIONS.append(
    Function(
        "equal_null",
        (of("one T, other T", "boolean", "general.equal_null({0}, {1})", strict=False),),
        "Whether the two are equal, null being equal to null; never null itself.",
        (("equal_null(NULL, NULL)", "true"), ("equal_null(1, NULL)", "false")),
    )
)


def equal_null(one: Any, other: Any) -> bool:
    """Whether two values are equal; null is equal to null."""
    return one is other if one is None or other is None else equal(one, other)


def _given(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def greatest(*values: Any) -> Any:
    """The greatest that is not null; the first of equal ones."""
    return max(_given(values), key=sortable, default=None)


def least(*values: Any) -> Any:
    """The least that is not null; the first of equal ones."""
    return min(_given(values), key=sortable, default=None)


FUNCTIONS.append(
    Function(
        "greatest",
        (of("value T, value T ...", signature.first, "general.greatest({all})", strict=False),),
        "The greatest of the values that are not null; null if all are; NaN is greater than every number.",
        (("greatest(10, 9, NULL, 4)", "10"), ("greatest('a', 'B')", "'a'")),
    )
)
FUNCTIONS.append(
    Function(
        "least",
        (of("value T, value T ...", signature.first, "general.least({all})", strict=False),),
        "The least of the values that are not null; null if all are.",
        (("least(10, 9, NULL, 4)", "4"), ("least('a', 'B')", "'B'")),
    )
)
