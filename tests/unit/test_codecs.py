"""Messages of the user's topics: what is read, what is refused and why, and what is written."""

from __future__ import annotations

import math
from decimal import Decimal
from typing import Any

import pytest

from programs import Message, decoder, encoder, keyer
from spillway.model import types
from spillway.model.kafka import Format, Stream, Table
from spillway.runtime.codecs.values import CodecError

NOON = 1_772_366_400_123_000  # 2026-03-01T12:00:00.123Z


def read(kind: str, value: str) -> Any:
    stream = Stream(name="s", topic="s", columns=f"x {kind}")
    _, (found,) = decoder(stream)(Message(0, b'{"y": [{}], "x": ' + value.encode() + b"}"))
    return found


@pytest.mark.parametrize(
    ("kind", "value", "found"),
    [
        ("boolean", "true", True),
        ("int", "-2147483648", -(2**31)),
        ("int", "5.0", 5),
        ("bigint", "9223372036854775807", 2**63 - 1),
        ("bigint", "1e3", 1000),
        ("bigint", "0e9999", 0),
        ("double", "1", 1.0),
        ("double", "1.25", 1.25),
        ("double", '"-Infinity"', -math.inf),
        ("decimal(10,2)", "19.90", Decimal("19.90")),
        ("decimal(10,2)", '"19.9"', Decimal("19.90")),
        ("decimal(10,2)", "7", Decimal("7.00")),
        ("decimal(10,2)", "0.005", Decimal("0.01")),
        ("decimal(38,0)", "12345678901234567890123456789012345678", Decimal("12345678901234567890123456789012345678")),
        ("string", '"é\\n"', "é\n"),
        ("binary", '"AP8="', b"\x00\xff"),
        ("date", '"2026-03-01"', 20_513),
        ("timestamp", '"2026-03-01T12:00:00.123Z"', NOON),
        ("timestamp", '"2026-03-01 13:00:00.123+01:00"', NOON),
        ("timestamp", '"2026-03-01T12:00:00.123"', NOON),
        ("timestamp", '"2026-03-01T12:00:00.123000999Z"', NOON),
        ("timestamp", "1772366400123", NOON),
        ("timestamp", "1772366400123.0625", NOON + 62),
        ("timestamp", '"+12026-03-01"', (20_513 + 25 * 146_097) * 86_400_000_000),
        ("array<timestamp>", "[1772366400123, null]", [NOON, None]),
        ("array<array<decimal(3,1)>>", "[[1.25], [], null]", [[Decimal("1.3")], [], None]),
        ("array<double>", '[1, "NaN"]', [1.0, math.nan]),
        ("int", "null", None),
        ("array<int>", "null", None),
    ],
)
def test_a_value_is_read(kind: str, value: str, found: Any) -> None:
    assert repr(read(kind, value)) == repr(found)


@pytest.mark.parametrize(
    ("kind", "value", "why"),
    [
        ("boolean", '"true"', "expected boolean, found the text 'true'"),
        ("int", "2147483648", "expected int, found the number 2147483648"),
        ("int", "5.5", "expected int, found the number 5.5"),
        ("int", "true", "expected int, found the boolean True"),
        ("bigint", "9223372036854775808", "expected bigint, found the number"),
        ("bigint", "1e999999999", "expected bigint, found the number"),
        ("bigint", '"5"', "expected bigint, found the text '5'"),
        ("double", "1e400", "expected double, found the number"),
        ("double", '"inf"', "expected double, found the text 'inf'"),
        ("decimal(4,2)", "100", "does not fit decimal(4,2)"),
        ("decimal(4,2)", '"NaN"', "expected decimal(4,2)"),
        ("decimal(4,2)", '"x"', "expected decimal(4,2), found the text 'x'"),
        ("decimal(4,2)", "1e999999999", "decimal(4,2)"),
        ("string", "5", "expected string, found the number 5"),
        ("binary", '"%"', "expected binary (base64), found the text '%'"),
        ("date", '"1 March"', "expected date, found the text '1 March'"),
        ("date", "20513", "expected date, found the number 20513"),
        ("timestamp", '"12:30"', "expected timestamp, found the text '12:30'"),
        ("timestamp", "99999999999999999", "expected timestamp, found the number"),
        ("array<int>", '{"a": 1}', "expected array<int>, found an object"),
        ("array<int>", '[1, "x"]', "expected int, found the text 'x'"),
    ],
)
def test_what_is_no_value_is_refused_with_the_column(kind: str, value: str, why: str) -> None:
    with pytest.raises(CodecError) as refused:
        read(kind, value)

    assert str(refused.value).startswith("column 'x': ")
    assert why in str(refused.value)


@pytest.mark.parametrize(
    ("content", "why"),
    [
        (None, "the message is empty; a record is one JSON object"),
        (b"[1]", "holds list, not one JSON object"),
        (b"null", "holds NoneType, not one JSON object"),
    ],
)
def test_what_is_no_object_is_refused(content: bytes | None, why: str) -> None:
    with pytest.raises(CodecError, match=why):
        decoder(Stream(name="s", topic="s", columns="x int"))(Message(0, content))


@pytest.mark.parametrize("content", [b"", b"{", b'{"x": 1', b'{"x": "\\ud800"}', b'{"x": "\xff"}', b"[" * 100_000])
def test_what_is_no_json_raises(content: bytes) -> None:
    with pytest.raises((ValueError, RecursionError)):
        decoder(Stream(name="s", topic="s", columns="x string"))(Message(0, content))


def test_missing_fields_are_null_and_further_ones_are_skipped() -> None:
    decode = decoder(Stream(name="s", topic="s", columns="a int, b string"))

    assert decode(Message(0, b'{"c": {"a": 1}, "b": "x"}', time=5)) == (5000, (None, "x"))


def test_the_event_time_is_that_of_the_column_or_of_the_message() -> None:
    decode = decoder(Stream(name="s", topic="s", columns="at timestamp", timestamp="at"))

    assert decode(Message(0, b'{"at": 7}', time=5)) == (7000, (7000,))
    with pytest.raises(CodecError, match="column 'at' is null, and it is the event time"):
        decode(Message(0, b"{}"))


def test_a_raw_message_is_its_one_column() -> None:
    text = decoder(Stream(name="s", topic="s", columns="line string", format=Format.RAW))
    data = decoder(Stream(name="s", topic="s", columns="line binary", format=Format.RAW))

    assert text(Message(0, "é".encode()))[1] == ("é",)
    assert text(Message(0, None))[1] == (None,)
    assert data(Message(0, b"\xff"))[1] == (b"\xff",)
    with pytest.raises(UnicodeDecodeError):
        text(Message(0, b"\xff"))


def test_the_key_of_a_message_can_be_a_column() -> None:
    decode = decoder(Stream(name="s", topic="s", columns="x int", key_column="k"))

    assert decode(Message(0, b'{"x": 1, "k": "no"}', b"yes"))[1] == (1, "yes")
    assert decode(Message(0, b'{"x": 1}'))[1] == (1, None)


TABLE = Table(name="t", topic="t", columns="v string, a string, b int", key=("b", "a"))
SINGLE = Table(name="t", topic="t", columns="a string, v int", key=("a",))


def test_a_table_gives_the_key_and_the_new_row() -> None:
    assert decoder(TABLE)(Message(0, b'{"v": "x", "a": "k", "b": 3}', b"whatever", time=2)) == (
        2000,
        (None, "k", 3),
        ("x", "k", 3),
    )


def test_an_empty_message_deletes_by_its_key() -> None:
    assert decoder(TABLE)(Message(0, None, b'{"b":3,"a":"k"}', time=2)) == (2000, (None, "k", 3), None)
    assert decoder(SINGLE)(Message(0, None, b"k")) == (0, ("k", None), None)
    assert decoder(SINGLE)(Message(0, None, b'{"a":null}')) == (0, (None, None), None)


def test_a_delete_without_a_key_or_with_a_wrong_one_is_refused() -> None:
    with pytest.raises(CodecError, match="without a key deletes nothing; the key is a"):
        decoder(SINGLE)(Message(0, None))
    with pytest.raises(CodecError, match="column 'b': expected int"):
        decoder(TABLE)(Message(0, None, b'{"b":"3","a":"k"}'))
    with pytest.raises(CodecError, match="key column 'a'"):
        decoder(Table(name="t", topic="t", columns="a bigint", key=("a",)))(Message(0, None, b"x"))


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("boolean", False, "false"),
        ("bigint", 2**63 - 1, "9223372036854775807"),
        ("double", 0.1, "0.1"),
        ("double", math.nan, '"NaN"'),
        ("double", -math.inf, '"-Infinity"'),
        ("decimal(10,2)", Decimal("19.90"), "19.90"),
        ("decimal(20,10)", Decimal("0E-10"), "0.0000000000"),
        ("string", 'a"\u2028\x00', '"a\\"\u2028\\u0000"'),
        ("binary", b"\x00\xff", '"AP8="'),
        ("date", 20_513, '"2026-03-01"'),
        ("date", 99_999_999, '"+275760-09-12"'),
        ("timestamp", NOON, '"2026-03-01T12:00:00.123Z"'),
        ("timestamp", NOON - 123_000, '"2026-03-01T12:00:00Z"'),
        ("timestamp", NOON + 1, '"2026-03-01T12:00:00.123001Z"'),
        ("timestamp", -1, '"1969-12-31T23:59:59.999999Z"'),
        ("array<double>", [1.5, math.inf, None], '[1.5,"Infinity",null]'),
        ("array<array<date>>", [[20_513], None], '[["2026-03-01"],null]'),
        ("array<int>", [], "[]"),
        ("string", None, "null"),
    ],
)
def test_a_value_is_written(kind: str, value: Any, text: str) -> None:
    assert encoder(types.parse_schema(f"x {kind}"))((value,)).decode() == f'{{"x":{text}}}'


def test_an_object_has_all_columns_in_their_order() -> None:
    assert encoder(types.parse_schema("class int, b string"))((1, None)) == b'{"class":1,"b":null}'


@pytest.mark.parametrize(
    ("columns", "values", "key"),
    [
        ("a string", ("k é",), "k é"),
        ("a string", ("",), ""),
        ("a string", (None,), '{"a":null}'),
        ("a string", ("{x",), '{"a":"{x"}'),
        ("a bigint", (-5,), "-5"),
        ("a boolean", (True,), "true"),
        ("a decimal(10,2)", (Decimal("1.50"),), "1.50"),
        ("a timestamp", (NOON,), "2026-03-01T12:00:00.123Z"),
        ("a bigint", (None,), '{"a":null}'),
        ("a string, b timestamp", ("k", NOON), '{"a":"k","b":"2026-03-01T12:00:00.123Z"}'),
    ],
)
def test_the_key_of_a_message_is_a_text_or_an_object(columns: str, values: tuple[Any, ...], key: str) -> None:
    assert keyer(types.parse_schema(columns))(values).decode() == key
