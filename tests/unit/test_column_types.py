"""Types and schemas: read as Spark reads them, with messages that name the way out."""

from __future__ import annotations

import re

import pytest

from spillway.model import types
from spillway.model.types import Column, Schema

READ = {
    "a boolean": ("boolean", types.BOOLEAN),
    "bool, as SQL has it": ("bool", types.BOOLEAN),
    "an int": ("int", types.INT),
    "integer, as SQL has it": ("integer", types.INT),
    "long, as Java has it": ("long", types.BIGINT),
    "a bigint in capitals": ("BIGINT", types.BIGINT),
    "a decimal without digits": ("decimal", types.decimal(10, 0)),
    "a decimal with a precision alone": ("decimal(5)", types.decimal(5, 0)),
    "a decimal with a scale": ("decimal(10,2)", types.decimal(10, 2)),
    "a decimal with spaces": (" Decimal ( 38 , 38 ) ", types.decimal(38, 38)),
    "dec and numeric are decimals": ("numeric(3,1)", types.decimal(3, 1)),
    "an array": ("array<string>", types.array(types.STRING)),
    "arrays in an array": ("ARRAY<array<decimal(4,2)>>", types.array(types.array(types.decimal(4, 2)))),
}

REFUSED = {
    "nothing at all": ("", "a type is missing at the end"),
    "a misspelt type": ("strng", "unknown type 'strng', did you mean 'string'?"),
    "a misspelt type in capitals": ("BIGIN", "unknown type 'BIGIN', did you mean 'bigint'?"),
    "a type of Spark that is not here": ("float", "type 'float' is not supported: use double"),
    "a map": ("map<string,int>", "type 'map' is not supported: bring the entries into columns of their own"),
    "something behind the type": ("int int", "unexpected 'int' after int"),
    "an array of nothing": ("array", "expected '<' after array"),
    "an array that does not end": ("array<int", "expected '>' after array<int"),
    "no precision": ("decimal()", "the precision of decimal must be a whole number, found ')'"),
    "a precision of zero": ("decimal(0,0)", "precision is 1 to 38, scale at most the precision"),
    "a precision beyond 38": ("decimal(39,0)", "precision is 1 to 38"),
    "a scale beyond the precision": ("decimal(2,3)", "scale at most the precision"),
    "a precision of many digits": (f"decimal({'9' * 5000})", "the precision of decimal must be a whole number"),
    "digits of another script": ("decimal(\u0663,\u0661)", "the precision of decimal must be a whole number"),
    "a negative scale": ("decimal(3,-1)", "the scale of decimal must be a whole number, found '-'"),
    "arrays nested very deep": ("array<" * 5000 + "int" + ">" * 5000, "arrays are nested more than 8 deep"),
}  # fmt: skip

WRONG_SCHEMAS = {
    "nothing at all": ("", "no columns"),
    "only spaces": (" \t\n", "no columns"),
    "a name without a type": ("a", "a type is missing at the end"),
    "a comma at the end": ("a int,", "a column is missing at the end"),
    "a comma too many": ("a int,,b int", "expected the name of a column (letters, digits, _), found ','"),
    "no comma between columns": ("a int b int", "expected ',' after column 'a', found 'b'"),
    "a name that begins with a digit": ("1a int", "expected the name of a column (letters, digits, _), found '1'"),
    "a name beyond ASCII": ("größe int", "unknown type 'ö'"),
    "a name in quotes": ("`a` int", "expected the name of a column (letters, digits, _), found '`'"),
    "a name of 129 letters": ("a" * 129 + " int", "expected the name of a column"),
    "a column that is there twice": ("a int, b int, a int", "column 'a' is there twice"),
    "columns that differ in case only": ("a int, A int", "'a' and 'A' differ in case only"),
    "a thousand columns and one": (", ".join(f"c{i} int" for i in range(1001)), "more than 1000 columns"),
    "a type that nobody knows, in the middle": ("a int, b strng, c int", "unknown type 'strng'"),
}


@pytest.mark.parametrize("sentence", READ)
def test_a_type_is_read_as_spark_reads_it(sentence: str) -> None:
    text, kind = READ[sentence]
    assert types.parse_type(text) == kind
    assert types.parse_type(str(kind)) == kind


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_is_no_type_is_refused_in_words(sentence: str) -> None:
    text, words = REFUSED[sentence]
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        types.parse_type(text)
    assert len(str(raised.value)) < 200


@pytest.mark.parametrize("name", types._ABSENT)  # noqa: SLF001 - the table is what is tested
def test_every_type_that_only_spark_has_names_a_way_out(name: str) -> None:
    with pytest.raises(ValueError, match=f"type '{name}' is not supported: (use|bring)"):
        types.parse_type(name)


@pytest.mark.parametrize("sentence", WRONG_SCHEMAS)
def test_what_is_no_schema_is_refused_in_words(sentence: str) -> None:
    text, words = WRONG_SCHEMAS[sentence]
    with pytest.raises(ValueError, match=re.escape(words)) as raised:
        types.parse_schema(text)
    assert len(str(raised.value)) < 200


def test_a_schema_has_its_columns_in_order() -> None:
    schema = types.parse_schema("b int, a string,\n  c: array<double>")
    assert schema == Schema((Column("b", types.INT), Column("a", types.STRING), Column("c", types.array(types.DOUBLE))))
    assert schema.names == ("b", "a", "c")
    assert str(schema) == "b int, a string, c array<double>"
    assert len(schema) == len(list(schema)) == 3


def test_a_schema_gives_the_type_of_a_column_by_its_exact_name() -> None:
    schema = types.parse_schema("Price decimal(10,2)")
    assert schema.get("Price") == types.decimal(10, 2)
    assert schema.get("price") is None


def test_the_names_of_types_are_free_as_names_of_columns() -> None:
    assert types.parse_schema("date date, array array<int>, decimal decimal(3,1)").names == ("date", "array", "decimal")


def test_a_thousand_columns_are_allowed() -> None:
    assert len(types.parse_schema(", ".join(f"c{i} int" for i in range(1000)))) == 1000
