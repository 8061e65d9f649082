"""The values with which functions are tried: the edges of every type, and literals by the name of a parameter."""

from __future__ import annotations

import decimal
import random
from typing import Any

from spillway.model import types
from spillway.model.types import ColumnType, Kind

_DAY = 86_400_000_000
_INT, _LONG = 2**31, 2**63

# Leap days, ends of months and years, weeks around New Year, years 1, 1582, 1600, 9999, and before 1970.
_DAYS = [0, 1, -1, 59, 60, 365, 789, 11016, 11017, 18321, 18322, 19782, 19783, 19789, 19790, 20454, 20453, -719162]
_DAYS += [2932896, -135140, -141428, 47541, 20089, 20088, 20087, 20086, 20085, 20084, 20083, -25508, 10957, 18261]

_STRINGS = ["", " ", "  ", "a", "A", "b", "abc", "ABC", "Spark SQL", " padded  ", "a,b,,c", ",", ".", "a.b.c", "aaa"]
_STRINGS += [
    "aa",
    "ß",
    "İstanbul",
    "ΑΣ",
    "ΑΣ ΣΑ",
    "ὈΔΥΣΣΕΎΣ",
    "ﬁx",
    "ǆ ǅ",
    "e\u0301",
    "é",
    "😀",
    "a😀b",
    "\ud7ff\ue000",
]
_STRINGS += ["\U0010ffff", "\t x \n", "\u00a0x\u00a0", "\x00", "0", "-1", "12", "007", "%", "_", "a_c", "100%", "\\"]
_STRINGS += ["a\\b", "O'Neil", "2024-02-29", "x" * 3000, "banana", "an", "\r\n", "line\n", "line\r\nnext", "\u2028"]
_STRINGS += ["\u0131 I", "Kelvin \u212a", "\u019b\u0264 \ua7cb", "hello world", "HELLO wORLD", "日本語", "a\tb", "true"]
_STRINGS += ["NULL", "ab" * 40, "ŉ", "ﬀ"]

_INTS = [0, 1, -1, 2, 3, -2, 7, 10, 31, 32, 63, 64, 100, 255, 256, -255, 1000, 2024, 65535, 2**30, 123456789]
_INTS += [_INT - 1, -_INT, -_INT + 1, _INT - 2]
_BIGINTS = [0, 1, -1, 2, 5, -7, 10, 63, 100, _INT, -_INT - 1, 2**53, 2**53 + 1, -(2**53) - 1, 10**18, 86400]
_BIGINTS += [_LONG - 1, -_LONG, -_LONG + 1, 1700000000, 1700000000123, 1700000000123456, -62135596800, 253402300799]
_DOUBLES = [0.0, -0.0, 1.0, -1.0, 0.5, -0.5, 1.5, 2.5, -2.5, 0.1, 1e-5, 3.14159, 2.675, 1e15, 1e16, 123456.789, 1e17]
_DOUBLES += [-1e18, 9.3e18, 1e22, 1e300, -1e308, 5e-324, 2.2250738585072014e-308, float("nan"), float("inf")]
_DOUBLES += [float("-inf"), 100.0, 10.0, 2.0, 8.0, 3.0, 0.3, 45.0, -3.7, 2147483648.0, 9223372036854775807.0]
_DOUBLES += [1.7976931348623157e308, 4503599627370497.5, 0.49999999999999994]
_BINARIES = [b"", b"\x00", b"abc", b"\xff\xfe", bytes(range(256)), b" a ", b"a" * 100, "é😀".encode(), b"\x80\x81"]
_TIMESTAMPS = [day * _DAY for day in _DAYS] + [day * _DAY + _DAY - 1 for day in _DAYS]
_TIMESTAMPS += [1, -1, 1700000000123456, 1709210096987654, -1234567, 999999, 1000000, -62135596800000000]
_TIMESTAMPS += [253402300799999999]

_POOLS: dict[Kind, list[Any]] = {
    Kind.BOOLEAN: [True, False],
    Kind.INT: _INTS,
    Kind.BIGINT: _BIGINTS,
    Kind.DOUBLE: _DOUBLES,
    Kind.STRING: _STRINGS,
    Kind.BINARY: _BINARIES,
    Kind.DATE: _DAYS,
    Kind.TIMESTAMP: _TIMESTAMPS,
}
# Whole numbers that are positions, lengths, counts: most of them within the texts and arrays that they meet.
SMALL = [-7, -4, -3, -2, -1, 0, 1, 2, 3, 4, 5, 6, 8, 9, 13, 40]
SMALL_NAMES = frozenset({"position", "count", "part_number", "start", "index"})

# The types that a family is tried with.
CONCRETE = {
    "integral": (types.INT, types.BIGINT),
    "decimal": tuple(types.decimal(*digits) for digits in ((10, 2), (38, 18), (38, 0), (5, 5), (3, 0))),
    "numeric": (types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2)),
    "array": (types.array(types.INT), types.array(types.STRING), types.array(types.array(types.DOUBLE))),
    "any": (
        types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2), types.decimal(38, 18), types.STRING,
        types.BINARY, types.DATE, types.TIMESTAMP, types.array(types.INT), types.array(types.array(types.INT)),
    ),
}  # fmt: skip
GENERIC = (
    types.BOOLEAN, types.INT, types.BIGINT, types.DOUBLE, types.decimal(10, 2), types.STRING, types.BINARY, types.DATE,
    types.TIMESTAMP, types.array(types.INT), types.array(types.DOUBLE),
)  # fmt: skip
# Of these T has to be widened: what the arguments are, in turn.
MIXED = ((types.INT, types.BIGINT), (types.BIGINT, types.DOUBLE), (types.decimal(10, 2), types.INT))

_PATTERNS = ["", "a", "[0-9]+", ",", "\\.", ".", ".*", "^a", "b$", "$", "^", "a|b", "(?i)SPARK", "[^a-z]", "\\s+"]
_PATTERNS += ["\\w*", "(?:ab){1,3}", "x*", "a??", "[\\d,.-]", "(?:a|bc){0,2}", "\\D", ".$", "\n$", "é", "😀", "[😀-😂]"]
_PATTERNS += ["^\\s*$", "l.n", "A|", "[\\\\a]", "\\W", "a{2}", "(a)(b)", "[]]", "a+?b", "a|ab|b"]
_GROUPS = ["(a)", "(.)(.)", "(\\w+) (\\w+)", "((?:a|b){1,2})", "([^,]*),", "^(.*)$", "()", "(a+?)(a*)", "(?i)(s)p"]
_DATE_PATTERNS = ["yyyy-MM-dd HH:mm:ss", "yyyy-MM-dd HH:mm:ss.SSSSSS", "M/d/yyyy", "EEE, d MMM yyyy", "EEEE MMMM"]
_DATE_PATTERNS += ["hh:mm a", "h:m:s", "D", "DDD", "yyyy'T'HH", "SSS", "S", "yyyyMMdd", "''", "'it''s'", "H 'o''clock'"]
_DATE_PATTERNS += ["E EE", "é", "SSSS"]

Key = tuple[str, str] | str  # function and parameter, or a parameter of any function

LITERALS: dict[Key, list[Any]] = {
    ("locate", "start"): [-1, 0, 1, 2, 5],
    ("translate", "by"): ["", "xy", "😀b", "\\0z"],
    "pattern": _PATTERNS,
    ("regexp_extract", "pattern"): _GROUPS,
    ("regexp_extract_all", "pattern"): _GROUPS,
    ("date_format", "pattern"): _DATE_PATTERNS,
    ("from_unixtime", "pattern"): _DATE_PATTERNS,
    "group": [0, 1],
    "replacement": ["", "-", "$0$0", "a$0b"],
    "places": [-40, -37, -3, -2, -1, 0, 1, 2, 3, 8, 17, 18, 37],
    "ascending": [True, False],
    ("array_join", "null"): ["", "?", "😀"],
}

_YEARS = [0, 1, -1, 1970, 2000, 2023, 2024, 9999, 10000, 5881580, 5881581, -5877641, -5877642, 294247, 294248]
_TIMES = ["2024-02-29", "2024-2-9", "2023-02-29", "2024", "2024-13-01", " 2024-01-01 ", "2024-01-01 10:00", "x", ""]
_TIMES += ["2024-01-01T23:59:59.123456Z", "2024-01-01 10:00:00+02:00", "0000-01-01", "10000-01-01", "+12345-01-01"]
_TIMES += ["-0001-12-31", "1582-10-10", "1970-01-01 00:00:60", "2024-01-01 24:00:00", "2024-01-01 1:2:3.1", "20240101"]
_TIMES += ["2024-01-01T10:00:00 UTC", "9999-12-31 23:59:59.999999", "2024-1-1 10", "1900-02-29"]
_WORDS = ["", "a", "kitten", "sitting", "😀", "é", "ab" * 20, "flaw", "lawn"]
_BASE64 = ["", "U3Bhcms=", "U3Bhcms", "U3Bhcm", "U3Bhc", "U3Bh c\nms=", "=", "U3==", "U3=", "U3=a=", "U3B=", "U3B=="]
_BASE64 += ["U3B=x", "é", "U", "U3Bh====", "U3B=\n=", "YWJj", "++//", "-_-_", "QQ==\n", "QR=="]
_SECONDS = ["0", "59", "59.999999", "60", "60.000001", "61", "-1", "0.000001", "-0.5", "1.5"]
_NAMED_UNITS = ["year", "YYYY", "yy", "quarter", "QUARTER", "month", "Mon", "MM", "week", "day", "DD", "hour", "minute"]

SPECIAL: dict[Key, list[Any]] = {
    "limit": [-1, 0, 1, 2, 3, 100],
    "times": [-1, 0, 1, 2, 3, 17],
    "length": [-_INT, -1, 0, 1, 2, 3, 5, 8, 40],
    "code": [0, 1, -1, 65, 128, 255, 256, 321, _LONG - 1, -_LONG, 0x1F600],
    "by": [0, 1, -1, 5, 31, 32, 33, 63, 64, 65, _INT - 1, -_INT],
    ("replace", "by"): ["", "x", "abc", "😀"],
    ("translate", "characters"): ["", "ab", "aab", "😀x", "a\u0301"],
    "buckets": [0, -1, 1, 5, 10, _LONG - 1, 100],
    "low": [0.0, 1.0, 10.0, -5.0, float("nan"), float("inf")],
    "high": [0.0, 10.0, -10.0, 100.0, 1e300, float("-inf")],
    ("factorial", "number"): [-1, 0, 1, 5, 20, 21],
    ("sha2", "bits"): [0, 224, 256, 384, 512, 1, -1],
    ("unbase64", "text"): _BASE64,
    ("unhex", "text"): ["", "0", "F", "ff", "FFF", "g", "0x1F", " 1", "é", "\u0661", "\uff11"],
    ("soundex", "text"): ["Miller", "Robert", "Rupert", "Ashcraft", "Tymczak", "Pfister", "", "1a", "éa", "aé", "HWH"],
    ("levenshtein", "one"): _WORDS,
    ("levenshtein", "other"): _WORDS,
    "first": [0, 1, 5, -3, 10, 100, -100],
    "last": [0, 1, 5, -3, 10, 7, -20],
    ("sequence", "step"): [1, 2, -1, 0, -4, _INT - 1, -_INT],
    "days": [0, 1, -1, 30, 365, -366, _INT - 1, -_INT],
    "months": [0, 1, -1, 12, -13, 24, 1200, _INT - 1, -_INT],
    "unit": [*_NAMED_UNITS, "second", "millisecond", "MICROSECOND", "x", "", " year", "DECADE"],
    "name": ["MO", "tue", "Wednesday", "TH", "fri", "SA", "Sunday", "x", "", "MOND"],
    ("make_date", "year"): [*_YEARS, _INT - 1, -_INT],
    ("make_timestamp", "year"): [*_YEARS, _INT - 1, -_INT],
    "month": [0, 1, 2, 12, 13, -1],
    "day": [0, 1, 28, 29, 30, 31, 32, -1],
    "hour": [0, 1, 23, 24, -1],
    "minute": [0, 59, 60, -1],
    "second": [decimal.Decimal(text).quantize(decimal.Decimal("0.000001")) for text in _SECONDS],
    ("to_date", "text"): _TIMES,
    ("to_timestamp", "text"): _TIMES,
}


def pool(kind: ColumnType) -> list[Any]:
    """The edge values of a type, without null."""
    if kind.kind is Kind.DECIMAL:
        return _decimals(kind.precision, kind.scale)
    if kind.kind is Kind.ARRAY and kind.element:
        inner = pool(kind.element)
        dice = random.Random(str(kind))  # noqa: S311 (reproducible, no secret)
        few = [*inner[:6], None]
        arrays: list[Any] = [[], [None], [inner[0]], [None, None], inner[:3], inner[2::-1], inner[:2] * 2]
        arrays += [[dice.choice(inner) for _ in range(dice.randrange(1, 6))] for _ in range(6)]
        return arrays + [[dice.choice(few) for _ in range(dice.randrange(2, 9))] for _ in range(16)]
    return _POOLS[kind.kind]


def _decimals(precision: int, scale: int) -> list[decimal.Decimal]:
    """Zeros, ones, halves at every digit, the limits, and digits in all places, which rounding to 34 would touch."""
    whole = [
        0,
        1,
        -1,
        2,
        15,
        -15,
        25,
        35,
        50,
        -50,
        49,
        99,
        100,
        149,
        150,
        12345,
        *(10**at // 2 for at in range(3, 36, 4)),
    ]
    digits = "1234567890" * 4
    whole += [int(digits[:precision]), -int(digits[:precision]), -(10**precision - 5000), 10**precision - 5001]
    found = [number for number in whole if abs(number) < 10**precision]
    found += [10**precision - 1, 1 - 10**precision]
    return [decimal.Decimal((int(number < 0), tuple(map(int, str(abs(number)))), -scale)) for number in found]
