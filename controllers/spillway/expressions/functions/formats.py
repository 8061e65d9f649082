"""Timestamps and dates as texts of a pattern, in the letters of Java whose result depends on no language."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Sequence

from spillway.expressions import datetimes
from spillway.expressions.functions import dates
from spillway.expressions.functions.signature import Argument, Function, of

FUNCTIONS: list[Function] = []

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = datetimes.DAY

# A quoted text, a run of one letter, or a character that stands for itself.
_LETTERS = re.compile(r"'(?:[^']|'')*'|([A-Za-z])\1*|[^A-Za-z'\[\]{}#]")


def _year(micros: int) -> str:
    return datetimes.year_text(datetimes.civil_of(micros // _DAY)[0])


def _civil(index: int, width: int) -> Callable[[int], str]:
    return lambda micros: str(datetimes.civil_of(micros // _DAY)[index]).zfill(width)


def _clock(unit: int, modulus: int, width: int) -> Callable[[int], str]:
    return lambda micros: str(micros // unit % modulus).zfill(width)


def _twelve(width: int) -> Callable[[int], str]:
    return lambda micros: str((micros // _HOUR - 1) % 12 + 1).zfill(width)


def _day_name(letters: int | None) -> Callable[[int], str]:
    return lambda micros: dates.DAY_NAMES[dates.weekday(micros // _DAY)][:letters]


def _month_name(letters: int | None) -> Callable[[int], str]:
    return lambda micros: dates.MONTH_NAMES[datetimes.civil_of(micros // _DAY)[1] - 1][:letters]


_PARTS: dict[str, Callable[[int], str]] = {
    "yyyy": _year,
    "M": _civil(1, 0), "MM": _civil(1, 2), "MMM": _month_name(3), "MMMM": _month_name(None),
    "d": _civil(2, 0), "dd": _civil(2, 2),
    "D": lambda micros: str(dates.day_of_year(micros // _DAY)),
    "DDD": lambda micros: str(dates.day_of_year(micros // _DAY)).zfill(3),
    "E": _day_name(3), "EE": _day_name(3), "EEE": _day_name(3), "EEEE": _day_name(None),
    "H": _clock(_HOUR, 24, 0), "HH": _clock(_HOUR, 24, 2), "h": _twelve(0), "hh": _twelve(2),
    "m": _clock(_MINUTE, 60, 0), "mm": _clock(_MINUTE, 60, 2),
    "s": _clock(_SECOND, 60, 0), "ss": _clock(_SECOND, 60, 2),
    "a": lambda micros: "AM" if micros // _HOUR % 24 < 12 else "PM",
}  # fmt: skip
_PARTS |= {"S" * digits: _clock(10 ** (6 - digits), 10**digits, digits) for digits in range(1, 7)}


@functools.lru_cache(maxsize=256)
def _pieces(pattern: str) -> tuple[Callable[[int], str] | str, ...]:
    """The pattern in pieces; raises ValueError where it is outside the subset."""
    found: list[Callable[[int], str] | str] = []
    at = 0
    while at < len(pattern):
        match = _LETTERS.match(pattern, at)
        if match is None or (match[1] and match[0] not in _PARTS):
            piece = match[0] if match else pattern[at]
            message = f"pattern {pattern!r}: {piece!r} is not in the subset; it has {', '.join(sorted(_PARTS))}"
            raise ValueError(message)
        if match[1]:
            found.append(_PARTS[match[0]])
        else:
            found.append(match[0][1:-1].replace("''", "'") or "'" if match[0][0] == "'" else match[0])
        at = match.end()
    return tuple(found)


def _pattern(place: int) -> Callable[[Sequence[Argument]], str]:
    def check(arguments: Sequence[Argument]) -> str:
        try:
            _pieces(str(arguments[place].value))
        except ValueError as error:
            return str(error)
        return ""

    return check


def date_format(micros: int, pattern: str) -> str:
    """The moment as a text of the pattern."""
    return "".join([piece if isinstance(piece, str) else piece(micros) for piece in _pieces(pattern)])


_FORMATS = (
    " The pattern is a literal of yyyy, M to MMMM, d, dd, D, DDD, E to EEEE, H, HH, h, hh, m, mm, s, ss, S to SSSSSS,"
    " a, punctuation, and text in ' '; names are English."
)
FUNCTIONS.append(
    Function(
        "date_format",
        (
            of("time timestamp, pattern string literal", "string", "formats.date_format({0}, {1})", check=_pattern(1)),
            of(
                "date date, pattern string literal", "string", "formats.date_format({0} * 86400000000, {1})",
                check=_pattern(1),
            ),
        ),
        "The timestamp or date as a text of the pattern, in UTC." + _FORMATS,
        (
            ("date_format(TIMESTAMP'2016-04-08 13:10:15', 'yyyy-MM-dd HH:mm')", "'2016-04-08 13:10'"),
            ("date_format(DATE'2016-04-08', 'EEE, d MMM yyyy')", "'Fri, 8 Apr 2016'"),
        ),
    )
)  # fmt: skip
FUNCTIONS.append(
    Function(
        "from_unixtime",
        (
            of("seconds bigint", "string", "formats.from_unixtime({0}, 'yyyy-MM-dd HH:mm:ss')"),
            of(
                "seconds bigint, pattern string literal", "string", "formats.from_unixtime({0}, {1})", check=_pattern(1)
            ),
        ),
        "The moment so many seconds after 1970-01-01T00:00Z as a text, by default `yyyy-MM-dd HH:mm:ss`." + _FORMATS,
        (("from_unixtime(0)", "'1970-01-01 00:00:00'"), ("from_unixtime(86399, 'HH:mm')", "'23:59'")),
    )
)


def from_unixtime(seconds: int, pattern: str) -> str:
    """The moment as a text of the pattern."""
    return date_format((seconds * _SECOND + 2**63) % 2**64 - 2**63, pattern)
