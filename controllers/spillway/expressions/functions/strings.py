"""Text: case, length, cutting, joining, filling.

Spark counts in code points, as Python does. Its case mapping is that of Unicode 17 (ICU), Python's that of Unicode 14
or later: the code points that got a mapping in between are listed here, so that every version of Python agrees.
"""

from __future__ import annotations

from collections.abc import Sequence

from spillway.expressions import errors
from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []

# Longest text that a function may build, in bytes: Spark gives up somewhere below 2 GiB, depending on its memory;
# a worker of 1 GiB has to give up earlier, and no record that fits into Kafka needs more.
MAX_BYTES = 64 * 1024 * 1024

_YOUNG_UPPER = (
    "\ua7dc\ua7cb\u1c89\ua7cc\ua7ce\ua7d2\ua7d4\ua7da"
    + "".join(map(chr, range(0x10D50, 0x10D66)))
    + "".join(map(chr, range(0x16EA0, 0x16EB9)))
)
_YOUNG_LOWER = (
    "\u019b\u0264\u1c8a\ua7cd\ua7cf\ua7d3\ua7d5\ua7db"
    + "".join(map(chr, range(0x10D70, 0x10D86)))
    + "".join(map(chr, range(0x16EBB, 0x16ED4)))
)
_UPPER = str.maketrans(_YOUNG_LOWER, _YOUNG_UPPER)
_LOWER = str.maketrans(_YOUNG_UPPER, _YOUNG_LOWER)


def upper(text: str) -> str:
    """Upper case, with the special cases of Unicode (ß becomes SS)."""
    return text.upper() if text.isascii() else text.upper().translate(_UPPER)


FUNCTIONS.append(
    Function(
        "upper",
        (of("text string", "string", "({0}.upper() if {0}.isascii() else strings.upper({0}))"),),
        "The text in upper case, independent of language: `ß` becomes `SS`.",
        (("upper('Spark')", "'SPARK'"), ("upper('straße')", "'STRASSE'")),
        ("ucase",),
    )
)


def lower(text: str) -> str:
    """Lower case, with the special cases of Unicode (Σ at the end of a word becomes ς)."""
    return text.lower() if text.isascii() else text.lower().translate(_LOWER)


FUNCTIONS.append(
    Function(
        "lower",
        (of("text string", "string", "({0}.lower() if {0}.isascii() else strings.lower({0}))"),),
        "The text in lower case, independent of language: `Σ` at the end of a word becomes `ς`.",
        (("lower('SPARK')", "'spark'"), ("lower('ΟΔΟΣ')", "'οδος'")),
        ("lcase",),
    )
)


def initcap(text: str) -> str:
    """Each word with a capital; only a space separates words."""
    words = []
    for word in text.split(" "):
        head = word[:1]
        words.append(head.title().translate(_UPPER) + lower(word)[len(lower(head)) :])
    return " ".join(words)


FUNCTIONS.append(
    Function(
        "initcap",
        (of("text string", "string", "strings.initcap({0})"),),
        "The text with a capital at the beginning of each word and small letters elsewhere; only spaces end a word.",
        (("initcap('sPark sql')", "'Spark Sql'"), ("initcap('o''neil-smith')", "'O''neil-smith'")),
    )
)

FUNCTIONS.append(
    Function(
        "length",
        (of("text string", "int", "len({0})"), of("bytes binary", "int", "len({0})")),
        "The number of characters (code points, trailing spaces included) of a text, or of bytes of a binary.",
        (("length('Spark ')", "6"), ("length('a😀')", "2"), ("length(X'00FF')", "2")),
        ("char_length", "character_length", "len"),
    )
)


FUNCTIONS.append(
    Function(
        "octet_length",
        (of("text string", "int", "len({0}.encode())"), of("bytes binary", "int", "len({0})")),
        "The number of bytes, of a text in UTF-8.",
        (("octet_length('é')", "2"), ("octet_length(X'00FF')", "2")),
    )
)
FUNCTIONS.append(
    Function(
        "bit_length",
        (of("text string", "int", "len({0}.encode()) * 8"), of("bytes binary", "int", "len({0}) * 8")),
        "The number of bits, of a text in UTF-8.",
        (("bit_length('é')", "16"),),
    )
)


def _trim(name: str, method: str, what: str, examples: tuple[tuple[str, str], ...]) -> Function:
    return Function(
        name,
        (of("text string", "string", f"{{0}}.{method}(' ')"),),
        f"The text without the spaces {what}; other white space stays.",
        examples,
    )


FUNCTIONS.append(_trim("trim", "strip", "at both ends", (("trim('  a b ')", "'a b'"),)))
FUNCTIONS.append(_trim("ltrim", "lstrip", "at its beginning", (("ltrim('  a ')", "'a '"),)))
FUNCTIONS.append(_trim("rtrim", "rstrip", "at its end", (("rtrim('  a ')", "'  a'"),)))
FUNCTIONS.append(
    Function(
        "btrim",
        (
            of("text string", "string", "{0}.strip(' ')"),
            of("text string, characters string", "string", "{0}.strip({1})"),
        ),
        "The text without the spaces, or without any of the given characters, at both ends.",
        (("btrim('  a ')", "'a'"), ("btrim('xyaxy', 'xy')", "'a'")),
    )
)


def substring(text: str, position: int, length: int = 2**31 - 1) -> str:
    """From a position counted from 1, or from the end when negative; 0 means 1."""
    start = position - 1 if position > 0 else len(text) + position if position else 0
    end = start + length
    return text[max(start, 0) : end] if end > 0 else ""


FUNCTIONS.append(
    Function(
        "substring",
        (
            of("text string, position int", "string", "strings.substring({0}, {1})"),
            of("text string, position int, length int", "string", "strings.substring({0}, {1}, {2})"),
        ),
        "The part of the text from a position on: 1 is the first character, 0 the same, -1 the last; what lies before"
        " the text counts into the length.",
        (
            ("substring('Spark SQL', 5)", "'k SQL'"),
            ("substring('Spark SQL', -3)", "'SQL'"),
            ("substring('Spark SQL', -11, 4)", "'Sp'"),
            ("substring('Spark SQL', 0, 2)", "'Sp'"),
        ),
        ("substr",),
    )
)
FUNCTIONS.append(
    Function(
        "left",
        (of("text string, count int", "string", "{0}[:max({1}, 0)]"),),
        "The first characters of the text; empty where count is not positive.",
        (("left('Spark', 3)", "'Spa'"), ("left('Spark', -1)", "''")),
    )
)


def right(text: str, count: int) -> str:
    """The last characters."""
    return text[-count:] if count > 0 else ""


FUNCTIONS.append(
    Function(
        "right",
        (of("text string, count int", "string", "strings.right({0}, {1})"),),
        "The last characters of the text; empty where count is not positive.",
        (("right('Spark', 3)", "'ark'"), ("right('Spark', 0)", "''")),
    )
)


def _sized(count: int, unit: int) -> None:
    if count * unit > MAX_BYTES:
        message = f"the text would have more than {MAX_BYTES} bytes"
        raise errors.EvaluationError(message)


def repeat(text: str, times: int) -> str:
    """The text so many times."""
    _sized(times, len(text))
    return text * times


FUNCTIONS.append(
    Function(
        "repeat",
        (of("text string, times int", "string", "strings.repeat({0}, {1})"),),
        "The text so many times; empty where times is not positive; an error beyond 64 MiB.",
        (("repeat('ab', 3)", "'ababab'"), ("repeat('ab', -1)", "''")),
    )
)
FUNCTIONS.append(
    Function(
        "space",
        (of("count int", "string", "strings.repeat(' ', {0})"),),
        "So many spaces; empty where count is not positive.",
        (("space(3)", "'   '"),),
    )
)


def lpad(text: str, length: int, pad: str = " ") -> str:
    """Filled on the left, or cut, to the length."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    _sized(missing, 1)
    return (pad * (missing // len(pad) + 1))[:missing] + text


def rpad(text: str, length: int, pad: str = " ") -> str:
    """Filled on the right, or cut, to the length."""
    missing = length - len(text)
    if missing <= 0 or not pad:
        return text[: max(length, 0)]
    _sized(missing, 1)
    return text + (pad * (missing // len(pad) + 1))[:missing]


def _padded(name: str, side: str, examples: tuple[tuple[str, str], ...]) -> Function:
    return Function(
        name,
        (
            of("text string, length int", "string", f"strings.{name}({{0}}, {{1}})"),
            of("text string, length int, pad string", "string", f"strings.{name}({{0}}, {{1}}, {{2}})"),
        ),
        f"The text filled on the {side} with spaces, or with pad, up to the length; a longer text is cut on the right;"
        " an empty pad fills nothing; an error beyond 64 MiB.",
        examples,
    )


FUNCTIONS.append(_padded("lpad", "left", (("lpad('7', 3, '0')", "'007'"), ("lpad('Spark', 3)", "'Spa'"))))
FUNCTIONS.append(_padded("rpad", "right", (("rpad('ab', 5, 'xyz')", "'abxyz'"), ("rpad('Spark', 3)", "'Spa'"))))


def concat_ws(separator: str | None, *parts: str | Sequence[str | None] | None) -> str | None:
    """The texts and the elements of the arrays that are not null, with the separator in between."""
    if separator is None:
        return None
    found: list[str] = []
    for part in parts:
        if isinstance(part, str):
            found.append(part)
        elif part is not None:
            found += [text for text in part if text is not None]
    return separator.join(found)


FUNCTIONS.append(
    Function(
        "concat_ws",
        (
            of("separator string", "string", "strings.concat_ws({0})", strict=False),
            of("separator string, text string ...", "string", "strings.concat_ws({all})", strict=False),
            of("separator string, texts array<string> ...", "string", "strings.concat_ws({all})", strict=False),
        ),
        "The texts, or the elements of the arrays, joined by a separator; nulls are left out; null only if the"
        " separator is null.",
        (
            ("concat_ws('-', 'a', CAST(NULL AS string), 'b')", "'a-b'"),
            ("concat_ws(',', array('x', NULL, 'y'))", "'x,y'"),
        ),
    )
)
