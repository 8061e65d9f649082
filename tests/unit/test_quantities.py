"""Durations and amounts of memory: what people write, what it is worth, and how it is written back."""

from __future__ import annotations

import datetime
import re
from typing import Annotated

import pydantic
import pytest

from spillway.model import quantities
from spillway.model.quantities import Duration, MemorySize

DURATIONS = {
    "nanoseconds are the smallest": ("7400ns", 7_400),
    "microseconds": ("3us", 3_000),
    "milliseconds": ("500ms", 500_000_000),
    "seconds": ("10s", 10_000_000_000),
    "minutes": ("5m", 300_000_000_000),
    "hours": ("1h", 3_600_000_000_000),
    "no time at all": ("0s", 0),
    "a fraction of a second": ("1.5s", 1_500_000_000),
    "nine digits after the point": ("0.000000001s", 1),
    "less than a nanosecond is nothing": ("0.4ns", 0),
    "zeros in front": ("007ms", 7_000_000),
}
MEMORY = {
    "bytes have no unit": ("1024", 1024),
    "a kibibyte": ("1Ki", 1024),
    "a gibibyte": ("1Gi", 2**30),
    "a tebibyte": ("1Ti", 2**40),
    "a kilobyte is a thousand": ("1k", 1000),
    "a gigabyte is a thousand million": ("2G", 2 * 10**9),
}
NO_DURATION = [
    "", "5", "s", "5 s", " 5s", "5s ", "5S", "5d", "-5s", "+5s", "1e3s", "1.s", ".5s", "1,5s", "1h30m",
    "\u0665s", "5s\n", "9" * 10 + "s", "1." + "0" * 10 + "s",
]  # fmt: skip
NO_MEMORY = ["", "Gi", "1 Gi", "1GB", "1gi", "1K", "-1Gi", "1.5Gi", "1e9", "0x10", "\u0661Gi", "9" * 13]

WRITTEN = {
    "the largest unit that leaves no rest": (Duration, "60000ms", "1m"),
    "a rest keeps the smaller unit": (Duration, "90s", "90s"),
    "nothing has the smallest unit": (Duration, "0h", "0ns"),
    "a fraction becomes a smaller unit": (Duration, "1.5s", "1500ms"),
    "too many digits become a fraction again": (Duration, "1000000.000001ms", "1000.000000001s"),
    "powers of two where they fit": (MemorySize, "1048576", "1Mi"),
    "bytes where they do not": (MemorySize, "1000", "1000"),
    "powers of ten where bytes have too many digits": (MemorySize, "1000000001k", "1000000001k"),
}


@pytest.mark.parametrize("sentence", DURATIONS)
def test_a_duration_is_worth_so_many_nanoseconds(sentence: str) -> None:
    text, nanoseconds = DURATIONS[sentence]
    assert Duration.parse(text).amount == nanoseconds


@pytest.mark.parametrize("sentence", MEMORY)
def test_an_amount_of_memory_is_worth_so_many_bytes(sentence: str) -> None:
    text, size = MEMORY[sentence]
    assert MemorySize.parse(text).amount == size


@pytest.mark.parametrize("text", NO_DURATION)
def test_what_is_no_duration_is_refused_with_an_example_of_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not a duration; write a number and a unit .* such as 500ms"):
        Duration.parse(text)


@pytest.mark.parametrize("text", NO_MEMORY)
def test_what_is_no_amount_of_memory_is_refused_with_an_example_of_one(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not an amount of memory; write a whole number .* such as 512Mi"):
        MemorySize.parse(text)


@pytest.mark.parametrize("sentence", WRITTEN)
def test_a_quantity_is_written_as_people_would(sentence: str) -> None:
    kind, given, written = WRITTEN[sentence]
    value = kind.parse(given)
    assert str(value) == written
    assert kind.parse(written) == value


def test_a_message_shows_only_the_ends_of_a_long_text() -> None:
    with pytest.raises(ValueError, match=r"is not a duration") as raised:
        Duration.parse("x" * 10_000)
    assert len(str(raised.value)) < 200


def test_durations_are_ordered_by_their_length_not_by_their_text() -> None:
    texts = ["9ms", "10ms", "1s", "59s", "1m", "1h"]
    assert sorted(map(Duration.parse, reversed(texts))) == list(map(Duration.parse, texts))


def test_equal_amounts_are_equal_however_they_were_written() -> None:
    assert Duration.parse("60s") == Duration.parse("1m")
    assert hash(Duration.parse("60s")) == hash(Duration.parse("1m"))
    assert MemorySize.parse("1Gi") == MemorySize.parse("1024Mi")


def test_a_duration_is_no_amount_of_memory() -> None:
    quantities_of_nothing: set[object] = {Duration(0), MemorySize(0)}
    assert len(quantities_of_nothing) == 2
    with pytest.raises(TypeError):
        assert Duration(0) < MemorySize(1)  # type: ignore[operator]


def test_a_duration_speaks_the_units_of_clocks_formulas_and_people() -> None:
    duration = Duration.parse("1500ms")
    assert duration.timedelta == datetime.timedelta(seconds=1.5)
    assert (duration.seconds, duration.milliseconds) == (1.5, 1500.0)
    assert Duration.parse("1999ns").timedelta == datetime.timedelta(microseconds=1)


@pytest.mark.parametrize("kind", [Duration, MemorySize])
def test_the_pattern_for_the_api_server_refuses_what_parse_refuses(kind: type[Duration | MemorySize]) -> None:
    schema = pydantic.TypeAdapter(kind).json_schema()
    right = [text for text, _ in (DURATIONS if kind is Duration else MEMORY).values()]
    wrong = NO_DURATION if kind is Duration else NO_MEMORY
    # RE2 has no `$` before a last newline, so \Z is what it means there.
    pattern = re.compile(schema["pattern"].replace("$", r"\Z"))
    assert all(pattern.search(text) and len(text) <= schema["maxLength"] for text in right)
    assert [text for text in wrong if pattern.search(text)] == []


BOUNDED: pydantic.TypeAdapter[Duration] = pydantic.TypeAdapter(Annotated[Duration, quantities.Between("1ms", "1h")])


@pytest.mark.parametrize("text", ["1ms", "1.5ms", "60m", "1h"])
def test_bounds_belong_to_what_they_allow(text: str) -> None:
    assert BOUNDED.validate_python(text) == Duration.parse(text)


@pytest.mark.parametrize("text", ["0s", "999us", "61m", "24h"])
def test_out_of_bounds_is_said_with_both_bounds_and_the_value(text: str) -> None:
    with pytest.raises(pydantic.ValidationError) as raised:
        BOUNDED.validate_python(text)
    assert raised.value.errors()[0]["msg"] == f"must be between 1ms and 1h, is {Duration.parse(text)}"


@pytest.mark.parametrize("value", [500, 0.5, True, None, [], {"s": 1}])
def test_a_quantity_without_a_text_is_refused_in_words(value: object) -> None:
    with pytest.raises(pydantic.ValidationError) as raised:
        BOUNDED.validate_python(value)
    assert raised.value.errors()[0]["msg"].startswith(f"{value!r} is not a duration; write")


def test_a_parsed_quantity_is_taken_as_it_is_and_goes_out_as_text() -> None:
    value = Duration.parse("90s")
    assert BOUNDED.validate_python(value) is value
    assert BOUNDED.dump_python(value, mode="json") == "90s"
