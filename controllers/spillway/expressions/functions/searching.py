"""Text in text: where it is, how often, what is between, and what replaces it."""

from __future__ import annotations

import functools

from spillway.expressions import errors
from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []

FUNCTIONS.append(
    Function(
        "contains",
        (
            of("text string, part string", "boolean", "({1} in {0})"),
            of("bytes binary, part binary", "boolean", "({1} in {0})"),
        ),
        "Whether the part is in the text; an empty part always is.",
        (("contains('Spark SQL', 'SQL')", "true"), ("contains('Spark', 'spark')", "false")),
    )
)
FUNCTIONS.append(
    Function(
        "startswith",
        (
            of("text string, part string", "boolean", "{0}.startswith({1})"),
            of("bytes binary, part binary", "boolean", "{0}.startswith({1})"),
        ),
        "Whether the text begins with the part.",
        (("startswith('Spark SQL', 'Spark')", "true"), ("startswith('Spark', '')", "true")),
    )
)
FUNCTIONS.append(
    Function(
        "endswith",
        (
            of("text string, part string", "boolean", "{0}.endswith({1})"),
            of("bytes binary, part binary", "boolean", "{0}.endswith({1})"),
        ),
        "Whether the text ends with the part.",
        (("endswith('Spark SQL', 'SQL')", "true"), ("endswith('Spark', 'K')", "false")),
    )
)
FUNCTIONS.append(
    Function(
        "instr",
        (of("text string, part string", "int", "({0}.find({1}) + 1)"),),
        "The position (from 1) of the first occurrence of the part in the text, 0 if there is none; 1 for an empty"
        " part.",
        (("instr('Spark SQL', 'SQL')", "7"), ("instr('Spark', 'x')", "0")),
    )
)


def locate(part: str, text: str, start: int = 1) -> int:
    """The position of the part at or after the start, from 1; 0 if there is none."""
    if start < 1:
        return 0
    return text.find(part, start - 1) + 1 if part else 1


FUNCTIONS.append(
    Function(
        "locate",
        (
            of("part string, text string", "int", "searching.locate({0}, {1})"),
            of("part string, text string, start int literal", "int", "searching.locate({0}, {1}, {2})"),
        ),
        "The position (from 1) of the first occurrence of the part in the text at or after start, 0 if there is none or"
        " start is below 1; 1 for an empty part.",
        (("locate('a', 'banana')", "2"), ("locate('a', 'banana', 3)", "4"), ("locate('x', 'banana')", "0")),
        ("position",),
    )
)


def replace(text: str, part: str, by: str = "") -> str:
    """All occurrences of the part replaced; an empty part replaces nothing."""
    return text.replace(part, by) if part else text


FUNCTIONS.append(
    Function(
        "replace",
        (
            of("text string, part string", "string", "searching.replace({0}, {1})"),
            of("text string, part string, by string", "string", "searching.replace({0}, {1}, {2})"),
        ),
        "The text with all occurrences of the part replaced, or removed; an empty part replaces nothing.",
        (("replace('ABCabc', 'abc', 'DEF')", "'ABCDEF'"), ("replace('ABCabc', 'abc')", "'ABC'")),
    )
)


def split_part(text: str, delimiter: str, number: int) -> str:
    """The part with that number; beyond the last it is empty."""
    if number == 0:
        message = "split_part: the number of the part is 0; the first part has 1, the last -1"
        raise errors.EvaluationError(message, errors.Condition.INVALID_INDEX)
    parts = text.split(delimiter) if delimiter else [text]
    index = number - 1 if number > 0 else len(parts) + number
    return parts[index] if 0 <= index < len(parts) else ""


FUNCTIONS.append(
    Function(
        "split_part",
        (of("text string, delimiter string, part_number int", "string", "searching.split_part({0}, {1}, {2})"),),
        "The part with this number (1 is the first, -1 the last) of the text split at the delimiter, which is no"
        " pattern; empty where there is none; an error for 0; an empty delimiter splits nothing.",
        (("split_part('11.12.13', '.', 3)", "'13'"), ("split_part('a,b', ',', -2)", "'a'")),
    )
)


def substring_index(text: str, delimiter: str, count: int) -> str:
    """What stands before so many delimiters, or, for a negative count, behind them."""
    if not delimiter or count == 0:
        return ""
    at = -1
    if count > 0:
        for _ in range(count):
            at = text.find(delimiter, at + 1)
            if at < 0:
                return text
        return text[:at]
    at = len(text) + 1
    for _ in range(-count):
        # One position to the left, not one delimiter: occurrences overlap, as in Spark.
        at = text.rfind(delimiter, 0, at + len(delimiter) - 1)
        if at < 0:
            return text
    return text[at + len(delimiter) :]


FUNCTIONS.append(
    Function(
        "substring_index",
        (of("text string, delimiter string, count int", "string", "searching.substring_index({0}, {1}, {2})"),),
        "The text before the count-th delimiter, or, for a negative count, after the count-th from the end; the whole"
        " text where there are fewer; empty for 0 or an empty delimiter.",
        (("substring_index('www.apache.org', '.', 2)", "'www.apache'"), ("substring_index('a.b.c', '.', -1)", "'c'")),
    )
)


@functools.lru_cache(maxsize=256)
def _mapping(characters: str, by: str) -> dict[int, str]:
    mapping: dict[int, str] = {}
    for index, character in enumerate(characters):
        mapping.setdefault(ord(character), by[index : index + 1])
    return mapping


def translate(text: str, characters: str, by: str) -> str:
    """Each of the characters replaced by the one at its place, or removed where there is none."""
    return text.translate(_mapping(characters, by))


FUNCTIONS.append(
    Function(
        "translate",
        (of("text string, characters string, by string literal", "string", "searching.translate({0}, {1}, {2})"),),
        "The text with each of the characters replaced by the one at the same place of the third argument, or removed"
        " where that is shorter; the first mention of a character counts.",
        (("translate('AaBbCc', 'abc', '123')", "'A1B2C3'"), ("translate('banana', 'an', 'o')", "'booo'")),
    )
)


def find_in_set(text: str, listed: str) -> int:
    """The place of the text in a list separated by commas, from 1; 0 if it is not there or has a comma itself."""
    if "," in text:
        return 0
    parts = listed.split(",")
    return parts.index(text) + 1 if text in parts else 0


FUNCTIONS.append(
    Function(
        "find_in_set",
        (of("text string, listed string", "int", "searching.find_in_set({0}, {1})"),),
        "The place (from 1) of the text in a list separated by commas; 0 if it is not there or contains a comma.",
        (("find_in_set('ab', 'abc,b,ab,c')", "3"), ("find_in_set('a,b', 'a,b')", "0")),
    )
)


def levenshtein(one: str, other: str) -> int:
    """How many characters to insert, remove or change to come from one to the other."""
    before = list(range(len(other) + 1))
    for index, character in enumerate(one, 1):
        line = [index]
        for place, against in enumerate(other):
            line.append(min(line[place] + 1, before[place + 1] + 1, before[place] + (character != against)))
        before = line
    return before[-1]


FUNCTIONS.append(
    Function(
        "levenshtein",
        (of("one string, other string", "int", "searching.levenshtein({0}, {1})"),),
        "The number of characters to insert, remove or change to turn one text into the other; its work grows with the"
        " product of the lengths.",
        (("levenshtein('kitten', 'sitting')", "3"),),
    )
)

_SOUNDEX = dict(zip("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "01230127022455012623017202", strict=True))


def soundex(text: str) -> str:
    """The code of an English word's sound; a text that doesn't begin with a letter A to Z stays as it is."""
    head = text[:1].upper() if text[:1].isascii() else ""
    if head not in _SOUNDEX:
        return text
    code, last = head, _SOUNDEX[head]
    for character in text[1:]:
        digit = _SOUNDEX.get(character.upper()) if character.isascii() else None
        if digit is None:
            last = "0"
        elif digit != "7":
            if digit not in ("0", last):
                code += digit
                if len(code) == 4:
                    break
            last = digit
    return code.ljust(4, "0")


FUNCTIONS.append(
    Function(
        "soundex",
        (of("text string", "string", "searching.soundex({0})"),),
        "The Soundex code of an English word; a text that begins with no letter A to Z stays as it is.",
        (("soundex('Miller')", "'M460'"),),
    )
)
