"""The examples of the reference, through our own parser and compiler; Spark is asked about them elsewhere."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from spillway.expressions import compiler, expression
from spillway.expressions.functions import registry
from spillway.model.types import Schema

EXAMPLES = sorted({example for function in registry.FUNCTIONS.values() for example in function.examples})


def shown(value: Any) -> str:
    """What tells values apart that Python calls equal: types, zeros, digits after the point; and NaN is itself."""
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    return str(value.as_tuple()) if isinstance(value, Decimal) else repr(value)


@pytest.mark.parametrize(("sql", "value"), EXAMPLES, ids=[sql for sql, _ in EXAMPLES])
def test_an_example_is_true(sql: str, value: str) -> None:
    both = [expression.check(text, Schema()) for text in (sql, value)]
    one, other = compiler.compile_row(both, Schema())(())
    assert shown(one) == shown(other)
    assert both[0].type == both[1].type
