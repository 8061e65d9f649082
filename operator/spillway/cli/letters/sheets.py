"""Dead letters on a terminal, and as JSON."""

from __future__ import annotations

import datetime
import json
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import msgspec

from spillway.cli import terminal
from spillway.model.types import Kind
from spillway.runtime.codecs import values
from spillway.runtime.letters import Letter, LetterError
from spillway.runtime.replays.ledger import Group, Noted
from spillway.runtime.replays.routes import Route

_LONGEST = 300  # characters of a row: beyond, -o json has it
_DAY = len("2026-11-18 ")


def moment(millis: int) -> str:
    """A time as ISO 8601 has it, in UTC."""
    found = datetime.datetime.fromtimestamp(millis / 1000, datetime.UTC)
    return found.isoformat(sep=" ", timespec="seconds").removesuffix("+00:00")


def groups(found: Sequence[Group], examples: Mapping[int, Letter]) -> Iterator[str]:
    """Letters by operator and error, each group with its newest one: lines, which a pipe gets whole."""
    for group in found:
        first, last = moment(group.first), moment(group.last)
        same_day = last.removeprefix(first[:_DAY]) if first[:_DAY] == last[:_DAY] else last
        when = f"at {first}" if first == last else f"{first} to {same_day}"
        yield f"{_named(group.operator)}  {letters(group.letters)}, {when} UTC"
        shown = next((offset for offset in group.examples if offset in examples), None)
        yield f"  {_error(group.error if shown is None else examples[shown].error)}"
        if shown is not None:
            yield _dim(f"  {shown}: {_short(examples[shown])}")


def each(noted: Iterable[Noted], found: Mapping[int, Letter]) -> Iterator[str]:
    """Every letter with its row."""
    for letter in noted:
        yield f"{letter.offset}: {_named(letter.operator)}  {_error(letter.error)}"
        came = f"{_short(found[letter.offset])}  " if letter.offset in found else ""
        yield _dim(f"  {came}({moment(letter.at)} UTC)")


def letters(count: int) -> str:
    """So many letters, in words."""
    return f"{count} letter{'s' * (count != 1)}"


def routes(found: Iterable[tuple[int, Route]]) -> Iterator[str]:
    """What a replay would do with letters, by what that is."""
    by_sentence: dict[tuple[bool, str], list[int]] = {}
    for offset, route in found:
        by_sentence.setdefault((not route.leads, route.sentence), []).append(offset)
    for (stays, sentence), offsets in sorted(by_sentence.items(), key=lambda item: (item[0][0], -len(item[1]))):
        verdict = terminal.style("stay open", "yellow", sys.stdout) if stays else "go back"
        yield f"{letters(len(offsets))} {verdict} (such as {offsets[-1]}): {terminal.clean(sentence)}"


def group_data(group: Group, examples: Mapping[int, Letter]) -> dict[str, Any]:
    """A group as JSON."""
    shown = [letter_data(offset, examples[offset]) for offset in group.examples if offset in examples]
    return {
        "operator": group.operator,
        "error": group.error,
        "letters": group.letters,
        "first": _iso(group.first),
        "last": _iso(group.last),
        "examples": shown,
    }


def letter_data(offset: int, letter: Letter, at: int | None = None) -> dict[str, Any]:
    """A letter as JSON: all of it."""
    when = {} if at is None else {"at": _iso(at)}
    found: dict[str, Any] = msgspec.to_builtins(letter)
    return {"letter": offset, **when, **{name: value for name, value in found.items() if name != "kind"}}


def _iso(millis: int) -> str:
    return moment(millis).replace(" ", "T") + "Z"


def _short(letter: Letter) -> str:
    """Where it came from, and its row, on one line."""
    where = f"{letter.topic}/{letter.partition}@{letter.offset}"
    text = terminal.clean(f"{where}  {_row(letter)}")
    return text if len(text) <= _LONGEST else f"{text[:_LONGEST]}…"


def _row(letter: Letter) -> str:
    try:
        given = letter.values()
    except LetterError as error:
        return f"({error})"
    if letter.is_message:
        return str(given["value"] or b"", "utf-8", "backslashreplace") if given["value"] is not None else "(empty)"
    types = dict(letter.columns)
    shown = {name: _value(types[name], value) for name, value in given.items()}
    return json.dumps(shown, ensure_ascii=False, default=str)


def _value(kind: str, value: Any) -> Any:
    if value is None:
        return None
    try:
        match kind:
            case Kind.TIMESTAMP:
                return values.timestamp_text(value)
            case Kind.DATE:
                return values.date_text(value)
    except (ValueError, TypeError, OverflowError):  # nobody can say that a letter holds what its columns say
        pass
    return value


def _error(error: str) -> str:
    lines = error.splitlines()
    return terminal.clean(lines[0]) if lines else ""


def _named(operator: str) -> str:
    return terminal.style(terminal.clean(operator), "bold", sys.stdout)


def _dim(text: str) -> str:
    return terminal.style(text, "dim", sys.stdout)
