"""The key that `spillway produce` gives a record."""

from __future__ import annotations

import pytest
import typer

from spillway.cli import produce


@pytest.mark.parametrize(
    ("value", "columns", "key"),
    {
        "no key was asked for": ("to be", [], None),
        "text is itself": ('{"ad_id": "a-1", "n": 2}', ["ad_id"], b"a-1"),
        "a number is its digits": ('{"ad_id": "a-1", "n": 2}', ["n"], b"2"),
        "several are an object": ('{"b": 1, "a": "x"}', ["a", "b"], b'{"a": "x", "b": 1}'),
        "text that looks like an object is one": ('{"a": "{"}', ["a"], b'{"a": "{"}'),
        "nothing is an object, not a text": ('{"a": null}', ["a"], b'{"a": null}'),
    }.values(),
)
def test_the_key_is_what_outputs_of_jobs_would_have(value: str, columns: list[str], key: bytes | None) -> None:
    assert produce.keyed(value.encode(), columns, 1) == key


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("to be", "line 7 is no JSON object"),
        ("[1]", "line 7 is no JSON object"),
        ('{"b": 1}', "line 7 has no field 'a'"),
    ],
)
def test_a_record_without_its_key_is_refused_with_its_line(value: str, problem: str) -> None:
    with pytest.raises(typer.BadParameter, match=problem):
        produce.keyed(value.encode(), ["a"], 7)
