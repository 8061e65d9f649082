"""Manifests as people write them: YAML with the line of every field, read as kubectl would read it.

What comes in may be anything, so it is read event by event, without recursion, and bounded in size, depth and
number of values (an alias counts as often as it is used, which ends "billion laughs").

Plain scalars mean what they mean to kubectl (YAML 1.1): `yes`, `on` and `y` are true, also as the name of a field.
Only dates stay text.
"""

from __future__ import annotations

import dataclasses
import pathlib
import re
from collections.abc import Iterator
from typing import Any, BinaryIO

import yaml

from spillway.model.errors import Mistake, Path

MAX_BYTES = 3 * 2**20  # etcd takes 1.5 MiB of JSON; a manifest of twice that can't be applied anyhow
MAX_DEPTH = 64
MAX_VALUES = 100_000  # in a file
MAX_DOCUMENTS = 1000  # in a file, empty ones included: three bytes are enough to begin another

_BOOLEANS = {
    **dict.fromkeys(("y", "Y", "yes", "Yes", "YES", "true", "True", "TRUE", "on", "On", "ON"), True),
    **dict.fromkeys(("n", "N", "no", "No", "NO", "false", "False", "FALSE", "off", "Off", "OFF"), False),
}
_NULLS = frozenset(("", "~", "null", "Null", "NULL"))
_INTEGER = re.compile(r"[-+]?(0|[1-9][0-9]*)")
_FLOAT = re.compile(r"[-+]?([0-9]+\.[0-9]*|\.?[0-9]+)([eE][-+]?[0-9]+)?")
_TAGS_OF_PARTS = frozenset(("tag:yaml.org,2002:map", "tag:yaml.org,2002:seq"))
_MAX_DIGITS = 40  # more are no number of ours, and converting millions of digits takes minutes
_NUMBER_OF_OTHER_BASE = re.compile(r"[-+]?0[xob0-9][0-9a-fA-F_]*")


class _Refused(Exception):  # noqa: N818 - control flow within this module
    """The document can't be read on; carries the mistake."""

    def __init__(self, message: str, mark: Any = None) -> None:
        super().__init__(message)
        self.line = mark.line + 1 if mark is not None else 0


@dataclasses.dataclass(frozen=True, slots=True)
class Manifest:
    """One document of a file: its value, where each field stands, and what is wrong with the YAML itself."""

    file: str
    value: object
    lines: dict[Path, int]
    mistakes: tuple[Mistake, ...] = ()

    def line(self, path: Path) -> int:
        """The line of a field, or of the nearest thing around it that is there; 0 where nothing is."""
        while path and path not in self.lines:
            path = path[:-1]
        return self.lines.get(path, 0)


def read(file: str, stream: BinaryIO | None = None) -> list[Manifest]:
    """All documents of a file (or of a stream, named `file`); OSError where it can't be opened."""
    if stream is not None:
        data = stream.read(MAX_BYTES + 1)
    else:
        with pathlib.Path(file).open("rb") as opened:
            data = opened.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        return [_unreadable(file, f"is larger than {MAX_BYTES // 2**20} MiB; the API server would refuse it")]
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        return [_unreadable(file, f"is not UTF-8: byte 0x{data[error.start]:02x} at position {error.start}", line)]
    found: list[Manifest] = []
    try:
        for document in _Composer(file, text).documents():
            found.append(document)  # noqa: PERF402 - what came before a mistake is kept
    except _Refused as refused:
        found.append(_unreadable(file, str(refused), refused.line))
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        problem = getattr(error, "problem", None) or getattr(error, "reason", None) or "can't be read"
        found.append(_unreadable(file, f"is not YAML: {problem}", mark.line + 1 if mark is not None else 0))
    return found


def _unreadable(file: str, message: str, line: int = 0) -> Manifest:
    return Manifest(file, None, {(): line}, (Mistake((), message),))


@dataclasses.dataclass(slots=True)
class _Open:
    """A list or mapping that is being read."""

    value: Any
    path: Path
    anchor: str | None
    size: int  # number of values read before it, to tell how many it holds
    key: str | None = None  # of a mapping: the field whose value comes next

    def place(self) -> Path:
        step = len(self.value) if isinstance(self.value, list) else self.key
        return (*self.path, step) if step is not None else self.path


class _Composer:
    """Builds values from the events of one file."""

    def __init__(self, file: str, text: str) -> None:
        self.file = file
        self.values = 0
        self.begun = 0
        self.events: Iterator[Any] = yaml.parse(text, Loader=getattr(yaml, "CSafeLoader", yaml.SafeLoader))
        self.start()

    def start(self) -> None:
        """Begin a document."""
        self.open: list[_Open] = []
        self.root: Any = None
        self.lines: dict[Path, int] = {}
        self.anchors: dict[str, tuple[Any, int]] = {}
        self.mistakes: list[Mistake] = []

    def documents(self) -> Iterator[Manifest]:
        """Each document in turn; empty ones are left out."""
        for event in self.events:
            kind = type(event)
            if kind is yaml.ScalarEvent:
                self.scalar(event)
            elif kind is yaml.MappingStartEvent:
                self.enter({}, event)
            elif kind is yaml.SequenceStartEvent:
                self.enter([], event)
            elif kind in (yaml.SequenceEndEvent, yaml.MappingEndEvent):
                self.leave()
            elif kind is yaml.AliasEvent:
                self.alias(event)
            elif kind is yaml.DocumentStartEvent:
                self.begun += 1
                if self.begun > MAX_DOCUMENTS:
                    message = f"holds more than {MAX_DOCUMENTS} documents"
                    raise _Refused(message, event.start_mark)
                self.start()
            elif kind is yaml.DocumentEndEvent and (self.root is not None or self.mistakes):
                yield Manifest(self.file, self.root, self.lines, tuple(self.mistakes))

    def count(self, event: Any, values: int = 1) -> None:
        self.values += values
        if self.values > MAX_VALUES:
            message = f"holds more than {MAX_VALUES} values once its aliases are written out"
            raise _Refused(message, event.start_mark)

    def enter(self, value: Any, event: Any) -> None:
        self.count(event)
        if event.tag is not None and event.tag not in _TAGS_OF_PARTS:
            raise _tagged(event)
        if len(self.open) >= MAX_DEPTH:
            message = f"is nested more than {MAX_DEPTH} deep"
            raise _Refused(message, event.start_mark)
        path = self.put(value, event)
        self.open.append(_Open(value, path, event.anchor, self.values))

    def leave(self) -> None:
        closed = self.open.pop()
        if closed.anchor:
            self.anchors[closed.anchor] = (closed.value, self.values - closed.size + 1)

    def alias(self, event: Any) -> None:
        if event.anchor not in self.anchors:
            message = f"alias *{event.anchor} has no anchor before it"
            raise _Refused(message, event.start_mark)
        value, size = self.anchors[event.anchor]
        self.count(event, size)
        self.put(value, event)

    def scalar(self, event: Any) -> None:
        self.count(event)
        plain = event.implicit[0] and event.style in (None, "")
        if event.tag is not None and event.tag != "tag:yaml.org,2002:str":
            raise _tagged(event)
        inside = self.open[-1] if self.open else None
        if inside is not None and isinstance(inside.value, dict) and inside.key is None:
            self.field(inside, event, plain=plain)
            return
        value = _plain(event) if plain else event.value
        if event.anchor:
            self.anchors[event.anchor] = (value, 1)
        self.put(value, event)

    def field(self, inside: _Open, event: Any, *, plain: bool) -> None:
        """The name of a field comes before its value."""
        key = event.value
        if plain and key == "<<":
            message = "merge keys (<<) are not supported; write the fields out"
            raise _Refused(message, event.start_mark)
        path = (*inside.path, key)
        if plain and key in _BOOLEANS:
            read_as = str(_BOOLEANS[key]).lower()
            if key not in ("true", "false"):
                text = f"YAML reads the bare name {key!r} as {read_as}, and so does kubectl"
                self.mistakes.append(Mistake(path, text))
                self.lines[path] = event.start_mark.line + 1
            key = read_as
        if key in inside.value:
            self.mistakes.append(Mistake(path, f"is there twice, first in line {self.lines.get(path, 0)}"))
        self.lines[path] = event.start_mark.line + 1
        inside.key = key

    def put(self, value: Any, event: Any) -> Path:
        """Give a value its place; returns the path to it."""
        if not self.open:
            self.root = value
            self.lines[()] = event.start_mark.line + 1
            return ()
        inside = self.open[-1]
        if isinstance(inside.value, dict) and inside.key is None:
            message = "a list or mapping can't be the name of a field"
            raise _Refused(message, event.start_mark)
        path = inside.place()
        self.lines.setdefault(path, event.start_mark.line + 1)
        if isinstance(inside.value, list):
            inside.value.append(value)
        else:
            inside.value[inside.key] = value
            inside.key = None
        return path


def _tagged(event: Any) -> _Refused:
    return _Refused(f"tag {event.tag[:60]!r} is not allowed; write the value without it", event.start_mark)


def _plain(event: Any) -> object:
    """What an unquoted scalar means."""
    text: str = event.value
    if text in _NULLS:
        return None
    if text in _BOOLEANS:
        return _BOOLEANS[text]
    if len(text) <= _MAX_DIGITS:
        if _INTEGER.fullmatch(text):
            return int(text)
        if _NUMBER_OF_OTHER_BASE.fullmatch(text):
            message = f"write the number {text!r} in decimal digits, or in quotes if it is text"
            raise _Refused(message, event.start_mark)
        if _FLOAT.fullmatch(text):
            return float(text)
    return text
