"""What all parts share: strict, frozen, camelCase outside, and every broken rule reported at once."""

from __future__ import annotations

import json
from typing import Annotated, Any, ClassVar

import pydantic
import pytest

from spillway.model import parts
from spillway.model.parts import Part, Rule


class Bounds(Part):
    """A part with rules of its own."""

    low_end: int = pydantic.Field(1, description="Least.")
    high_end: int = pydantic.Field(2, description="Most.")
    rules: ClassVar[tuple[Rule, ...]] = (
        Rule("self.lowEnd <= self.highEnd", "low before high", lambda b: b.low_end <= b.high_end, "lowEnd"),
        Rule("self.highEnd != 13", "not thirteen", lambda b: b.high_end != 13),
        Rule("self == oldSelf", "checked elsewhere"),
    )


class Outer(Part):
    """A part around it."""

    bounds: Bounds = pydantic.Field(Bounds(), description="Both.")


def broken(value: dict[str, Any]) -> list[tuple[tuple[int | str, ...], str]]:
    with pytest.raises(pydantic.ValidationError) as raised:
        Outer.model_validate_json(json.dumps({"bounds": value}))
    return [(error["loc"], error["msg"]) for error in raised.value.errors()]


def test_a_broken_rule_points_at_its_field() -> None:
    assert broken({"lowEnd": 3}) == [(("bounds", "lowEnd"), "low before high")]


def test_a_rule_without_a_field_points_at_the_part() -> None:
    assert broken({"highEnd": 13}) == [(("bounds",), "not thirteen")]


def test_all_broken_rules_are_reported_at_once() -> None:
    assert broken({"lowEnd": 20, "highEnd": 13}) == [
        (("bounds", "lowEnd"), "low before high"),
        (("bounds",), "not thirteen"),
    ]


def test_rules_that_hold_say_nothing() -> None:
    assert Outer.model_validate_json('{"bounds": {"lowEnd": 2}}').bounds == Bounds(low_end=2)


def test_every_rule_stands_in_the_schema_as_the_api_server_reads_it() -> None:
    assert Bounds.model_json_schema()["x-kubernetes-validations"] == [
        {"rule": "self.lowEnd <= self.highEnd", "message": "low before high"},
        {"rule": "self.highEnd != 13", "message": "not thirteen"},
        {"rule": "self == oldSelf", "message": "checked elsewhere"},
    ]


def test_fields_are_camel_case_outside() -> None:
    assert Bounds().model_dump() == {"lowEnd": 1, "highEnd": 2}


@pytest.mark.parametrize("value", ["1", 1.0, 1.5, True, None])
def test_nothing_is_converted_quietly(value: object) -> None:
    assert [path for path, _ in broken({"lowEnd": value})] == [("bounds", "lowEnd")]


def test_unknown_fields_are_refused() -> None:
    assert [path for path, _ in broken({"low": 1})] == [("bounds", "low")]


def test_a_part_can_not_be_changed() -> None:
    with pytest.raises(pydantic.ValidationError, match="frozen"):
        Bounds().low_end = 2  # type: ignore[misc]


NAMES = {
    "a name": (
        parts.Name,
        ["a", "a1", "my-name", "a" * 50],
        ["", "1a", "-a", "a-", "A", "a_b", "a.b", "ä", "a" * 51, "a\n"],
    ),
    "a column": (
        parts.ColumnName,
        ["a", "_", "userId", "USER_ID_2", "a" * 128],
        ["", "1a", "a-b", "a b", "a.b", "ä", "a" * 129, "a\n"],
    ),
    "a topic": (
        parts.Topic,
        ["t", "my.topic", "My_topic-2", "x" * 249],
        ["", ".", "..", "../x", "a b", "a/b", "tö", "x" * 250, "t\n"],
    ),
    "an object": (
        parts.ObjectName,
        ["a", "a.b-c", "1a", "a" * 253],
        ["", "-a", "a-", "A", "a_b", "a" * 254, "a\n"],
    ),
}  # fmt: skip


@pytest.mark.parametrize("what", NAMES)
def test_names_are_taken_and_refused_here_and_by_the_schema_alike(what: str) -> None:
    kind, right, wrong = NAMES[what]
    adapter: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(kind)
    schema = adapter.json_schema()
    # What the API server does with pattern and length, by a validator that knows only those.
    bounds = pydantic.Field(pattern=schema["pattern"], max_length=schema["maxLength"])
    server: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(Annotated[str, bounds])

    def takes(adapter: pydantic.TypeAdapter[str], text: str) -> bool:
        try:
            adapter.validate_python(text)
        except pydantic.ValidationError:
            return False
        return True

    assert [text for text in right if not takes(adapter, text) or not takes(server, text)] == []
    assert [text for text in wrong if takes(adapter, text) or takes(server, text)] == []


@pytest.mark.parametrize("what", NAMES)
def test_a_refused_name_is_shown_with_what_a_right_one_looks_like(what: str) -> None:
    kind, _, _ = NAMES[what]
    adapter: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(kind)
    with pytest.raises(pydantic.ValidationError) as raised:
        adapter.validate_python("two words")
    message = raised.value.errors()[0]["msg"]
    assert message.startswith(("'two words' is not the name of ", "'two words' is not a name"))
    assert "; use " in message


def test_a_message_shows_only_the_beginning_of_a_long_text() -> None:
    adapter: pydantic.TypeAdapter[str] = pydantic.TypeAdapter(parts.Topic)
    with pytest.raises(pydantic.ValidationError) as raised:
        adapter.validate_python(" " * 249)
    assert len(raised.value.errors()[0]["msg"]) < 200
