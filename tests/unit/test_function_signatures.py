"""Which signature fits a call, and what its arguments become."""

from __future__ import annotations

import pytest

from spillway.expressions.functions import registry, signature
from spillway.expressions.functions.signature import Argument
from spillway.model import types


def call(name: str, *kinds: str) -> signature.Call | None:
    arguments = [Argument(types.NULL if kind == "void" else types.parse_type(kind)) for kind in kinds]
    return registry.FUNCTIONS[name].resolve(arguments)


@pytest.mark.parametrize(
    ("one", "other", "wide"),
    [
        ("int", "bigint", "bigint"),
        ("bigint", "double", "double"),
        ("decimal(38,18)", "double", "double"),
        ("int", "decimal(10,2)", "decimal(12,2)"),
        ("bigint", "decimal(5,5)", "decimal(25,5)"),
        ("decimal(10,2)", "decimal(8,6)", "decimal(14,6)"),
        ("array<int>", "array<double>", "array<double>"),
    ],
)
def test_numbers_widen_to_what_holds_both(one: str, other: str, wide: str) -> None:
    left, right = types.parse_type(one), types.parse_type(other)
    assert signature.wider(left, right) == signature.wider(right, left) == types.parse_type(wide)


@pytest.mark.parametrize(
    ("one", "other"), [("string", "int"), ("date", "timestamp"), ("bigint", "decimal(38,30)"), ("array<int>", "int")]
)
def test_nothing_else_widens(one: str, other: str) -> None:
    assert signature.wider(types.parse_type(one), types.parse_type(other)) is None


def test_the_first_signature_that_fits_wins() -> None:
    results = {kind: call("abs", kind) for kind in ("int", "bigint", "decimal(5,2)", "double")}
    assert {kind: str(found.result) for kind, found in results.items() if found} == {kind: kind for kind in results}


def test_all_t_of_a_call_have_one_type() -> None:
    found = call("array_contains", "array<int>", "double")
    assert found
    assert [str(kind) for kind in found.parameters] == ["array<double>", "double"]
    assert call("array_contains", "array<int>", "string") is None
    assert call("array_contains", "int", "int") is None


def test_a_bare_null_takes_the_type_of_its_parameter_where_all_signatures_agree() -> None:
    found = call("substring", "void", "int")
    assert found
    assert found.parameters[0] == types.STRING
    assert call("abs", "void") is None  # int, bigint, decimal or double?


def test_decimals_are_not_mixed_where_spark_does_not_widen_them() -> None:
    assert call("array_union", "array<decimal(5,2)>", "array<decimal(5,2)>")
    assert call("array_union", "array<decimal(5,2)>", "array<int>") is None


def test_a_literal_is_asked_for_and_looked_at() -> None:
    function = registry.FUNCTIONS["regexp_like"]
    text, pattern = Argument(types.STRING), Argument(types.STRING, literal=True, value="[a-z]+")
    found = function.resolve([text, pattern])
    assert found
    assert not found.objection
    assert function.resolve([text, text]) is None
    refused = function.resolve([text, Argument(types.STRING, literal=True, value="(?<=a)b")])
    assert refused
    assert "(?: )" in refused.objection


def test_the_type_of_a_rounded_decimal_follows_the_places() -> None:
    places = Argument(types.INT, literal=True, value=1)
    found = registry.FUNCTIONS["round"].resolve([Argument(types.decimal(10, 3)), places])
    assert found
    assert found.result == types.decimal(9, 1)


def test_a_template_gets_its_arguments_and_types() -> None:
    found = call("hash", "int", "string")
    assert found
    assert found.source(["a", "b"]) == "hashing.murmur3((a, b, ), ('int', 'string'))"


def test_names_and_aliases_are_unique_and_lower_case() -> None:
    assert all(name == name.lower() for name in registry.FUNCTIONS)
    functions = {id(function): function for function in registry.FUNCTIONS.values()}.values()
    assert len(registry.FUNCTIONS) == sum(1 + len(function.aliases) for function in functions)
    assert all(function.examples for function in functions)
