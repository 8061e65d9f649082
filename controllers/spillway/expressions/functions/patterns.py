"""Functions with regular expressions; the pattern is a literal of the subset that `regexes` describes."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Iterator, Sequence

from spillway.expressions.functions import regexes
from spillway.expressions.functions.signature import Argument, Function, of

FUNCTIONS: list[Function] = []

_REPLACEMENT = re.compile(r"\$(\d)(?!\d)|[^$\\]", re.ASCII)


def _pattern(arguments: Sequence[Argument]) -> str:
    return regexes.objection(arguments[1].value)


def _pattern_of_something(arguments: Sequence[Argument]) -> str:
    return regexes.objection(arguments[1].value, repeated=True)


def _split_pattern(arguments: Sequence[Argument]) -> str:
    return _pattern_of_something(arguments) if arguments[1].value else ""


def _pattern_and_group(arguments: Sequence[Argument]) -> str:
    if found := _pattern(arguments):
        return found
    groups = regexes.compiled(str(arguments[1].value)).groups
    group = arguments[2].value if len(arguments) > 2 else 1
    if isinstance(group, int) and 0 <= group <= groups:
        return ""
    return f"group {group} is asked for, the pattern has {groups}; 0 is the whole match"


def _pattern_of_something_and_group(arguments: Sequence[Argument]) -> str:
    return _pattern_of_something(arguments) or _pattern_and_group(arguments)


def _pattern_and_replacement(arguments: Sequence[Argument]) -> str:
    if found := _pattern_of_something(arguments):
        return found
    text = str(arguments[2].value)
    groups = regexes.compiled(str(arguments[1].value)).groups
    rest = _REPLACEMENT.sub(lambda match: "" if int(match[1] or 0) <= groups else "$", text)
    return f"replacement {text!r}: $n is a group of the pattern; \\ and other $ are not in the subset" if rest else ""


def regexp_like(text: str, pattern: str) -> bool:
    """Whether the pattern is somewhere in the text."""
    return regexes.compiled(pattern).search(text) is not None


FUNCTIONS.append(
    Function(
        "regexp_like",
        (of("text string, pattern string literal", "boolean", "patterns.regexp_like({0}, {1})", check=_pattern),),
        "Whether the pattern matches somewhere in the text; `^…$` asks for the whole text.",
        (("regexp_like('Spark 4', '[0-9]')", "true"), ("regexp_like('Spark', '^S.*k$')", "true")),
        ("rlike", "regexp"),
    )
)


def regexp_extract(text: str, pattern: str, group: int = 1) -> str:
    """A group of the first match; empty where there is none."""
    match = regexes.compiled(pattern).search(text)
    return (match[group] or "") if match else ""


FUNCTIONS.append(
    Function(
        "regexp_extract",
        (
            of(
                "text string, pattern string literal", "string", "patterns.regexp_extract({0}, {1})",
                check=_pattern_and_group,
            ),
            of(
                "text string, pattern string literal, group int literal", "string",
                "patterns.regexp_extract({0}, {1}, {2})", check=_pattern_and_group,
            ),
        ),
        "A group (by default the first, 0 is the whole) of the first match; empty where nothing matches.",
        (("regexp_extract('100-200', '([0-9]+)-([0-9]+)', 2)", "'200'"), ("regexp_extract('a', '(b)')", "''")),
    )
)  # fmt: skip


def regexp_extract_all(text: str, pattern: str, group: int = 1) -> list[str]:
    """A group of every match."""
    return [match[group] or "" for match in regexes.compiled(pattern).finditer(text)]


FUNCTIONS.append(
    Function(
        "regexp_extract_all",
        (
            of(
                "text string, pattern string literal", "array<string>", "patterns.regexp_extract_all({0}, {1})",
                check=_pattern_of_something_and_group,
            ),
            of(
                "text string, pattern string literal, group int literal", "array<string>",
                "patterns.regexp_extract_all({0}, {1}, {2})", check=_pattern_of_something_and_group,
            ),
        ),
        "A group (by default the first, 0 is the whole) of every match.",
        (("regexp_extract_all('1-2, 3-4', '([0-9])-([0-9])', 2)", "array('2', '4')"),),
    )
)  # fmt: skip


def regexp_substr(text: str, pattern: str) -> str | None:
    """The first match, or None."""
    match = regexes.compiled(pattern).search(text)
    return (match[0] or None) if match else None


FUNCTIONS.append(
    Function(
        "regexp_substr",
        (
            of(
                "text string, pattern string literal", "string", "patterns.regexp_substr({0}, {1})",
                nullable=True, check=_pattern,
            ),
        ),
        "The first match; null where nothing matches, or only nothing.",
        (("regexp_substr('Spark 4', '[0-9]')", "'4'"), ("regexp_substr('Spark', '[0-9]')", "CAST(NULL AS string)")),
    )
)  # fmt: skip


def regexp_count(text: str, pattern: str) -> int:
    """How many matches."""
    return sum(1 for _ in regexes.compiled(pattern).finditer(text))


FUNCTIONS.append(
    Function(
        "regexp_count",
        (
            of(
                "text string, pattern string literal",
                "int",
                "patterns.regexp_count({0}, {1})",
                check=_pattern_of_something,
            ),
        ),
        "The number of matches.",
        (("regexp_count('banana', 'an')", "2"), ("regexp_count('abc', 'x')", "0")),
    )
)


@functools.lru_cache(maxsize=512)
def _filled(replacement: str) -> Callable[[re.Match[str]], str]:
    parts = re.split(r"\$(\d)", replacement)
    if len(parts) == 1:
        return lambda match: replacement

    def fill(match: re.Match[str]) -> str:
        return "".join((match[int(part)] or "") if index % 2 else part for index, part in enumerate(parts))

    return fill


def regexp_replace(text: str, pattern: str, replacement: str) -> str:
    """Every match replaced."""
    return regexes.compiled(pattern).sub(_filled(replacement), text)


FUNCTIONS.append(
    Function(
        "regexp_replace",
        (
            of(
                "text string, pattern string literal, replacement string literal", "string",
                "patterns.regexp_replace({0}, {1}, {2})", check=_pattern_and_replacement,
            ),
        ),
        "The text with every match replaced; `$1` in the replacement is a group of the match.",
        (
            ("regexp_replace('100-200', '[0-9]+', 'num')", "'num-num'"),
            ("regexp_replace('John Smith', '([a-zA-Z]+) ([a-zA-Z]+)', '$2 $1')", "'Smith John'"),
        ),
    )
)  # fmt: skip


def _pieces(text: str, pattern: re.Pattern[str], limit: int) -> Iterator[str]:
    begin = 0
    count = 1
    for match in pattern.finditer(text):
        if count == limit:
            break
        yield text[begin : match.start()]
        begin = match.end()
        count += 1
    yield text[begin:]


# What means something else than itself in a pattern.
_SPECIAL = frozenset("\\.[]{}()*+?^$|")


def split(text: str, pattern: str, limit: int = -1) -> list[str]:
    """The pieces between matches; the last of so many takes the rest."""
    if pattern and _SPECIAL.isdisjoint(pattern):  # a blank, a comma: a tenth of the time
        return text.split(pattern, limit - 1 if limit > 0 else -1)
    if not pattern:
        count = len(text) if limit <= 0 or limit > len(text) else limit
        return [*text[: count - 1], text[count - 1 :]] if text else [""]
    return list(_pieces(text, regexes.compiled(pattern), limit))


FUNCTIONS.append(
    Function(
        "split",
        (
            of(
                "text string, pattern string literal", "array<string>", "patterns.split({0}, {1})",
                check=_split_pattern,
            ),
            of(
                "text string, pattern string literal, limit int", "array<string>", "patterns.split({0}, {1}, {2})",
                check=_split_pattern,
            ),
        ),
        "The pieces of the text between the matches of the pattern, empty ones too; a positive limit is the most"
        " pieces, the last with the rest; an empty pattern gives the characters.",
        (
            ("split('a1b2', '[0-9]')", "array('a', 'b', '')"),
            ("split('a,b,c', ',', 2)", "array('a', 'b,c')"),
            ("split('abc', '')", "array('a', 'b', 'c')"),
        ),
    )
)  # fmt: skip
