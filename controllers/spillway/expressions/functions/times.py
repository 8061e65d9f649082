"""Timestamps: parts, units, numbers since 1970, and texts of a pattern. All in UTC, the session's time zone."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from spillway.expressions import arithmetic, datetimes, errors
from spillway.expressions.functions import dates, numbers
from spillway.expressions.functions.signature import Argument, Function, of

FUNCTIONS: list[Function] = []

_SECOND = 1_000_000
_MINUTE = 60 * _SECOND
_HOUR = 60 * _MINUTE
_DAY = datetimes.DAY
_UNITS = {"MICROSECOND": 1, "MILLISECOND": 1000, "SECOND": _SECOND, "MINUTE": _MINUTE, "HOUR": _HOUR}
_UNITS |= {"DAY": _DAY, "DD": _DAY}
_MONTH_SECONDS = 31 * 86400  # of months_between: as in Hive, every month has 31 days

FUNCTIONS.append(
    Function(
        "hour",
        (of("time timestamp", "int", "({0} // 3600000000 % 24)"),),
        "The hour, 0 to 23.",
        (("hour(TIMESTAMP'2018-02-14 12:58:59')", "12"),),
    )
)
FUNCTIONS.append(
    Function(
        "minute",
        (of("time timestamp", "int", "({0} // 60000000 % 60)"),),
        "The minute, 0 to 59.",
        (("minute(TIMESTAMP'2009-07-30 12:58:59')", "58"),),
    )
)
FUNCTIONS.append(
    Function(
        "second",
        (of("time timestamp", "int", "({0} // 1000000 % 60)"),),
        "The whole second, 0 to 59.",
        (("second(TIMESTAMP'2018-02-14 12:58:59.9')", "59"),),
    )
)


def date_trunc(unit: str, micros: int) -> int | None:
    """The beginning of the unit; None for another unit."""
    name = unit.upper()
    if name in _UNITS:
        return numbers.fitting_bigint(micros - micros % _UNITS[name])
    days = dates.trunc(micros // _DAY, unit)
    return None if days is None else numbers.fitting_bigint(days * _DAY)


def is_unit(unit: str) -> bool:
    """Whether `date_trunc` knows the unit."""
    return unit.upper() in _UNITS or dates.is_unit(unit)


# Spark makes a timestamp of a date first, which one of the year 300 000 is no more.
_MIDNIGHT = "times.numbers.fitting_bigint({0} * 86400000000)"


def _unit(arguments: Sequence[Argument]) -> str:
    """A literal that is no unit is a mistake; Spark wouldn't even evaluate the time for it."""
    unit = arguments[0]
    known = not unit.literal or unit.value is None or is_unit(str(unit.value))
    return "" if known else f"{unit.value!r} is no unit of date_trunc, such as DAY, HOUR or MONTH"


FUNCTIONS.append(
    Function(
        "date_trunc",
        (
            of("unit string, time timestamp", "timestamp", "times.date_trunc({0}, {1})", nullable=True, check=_unit),
            of(
                "unit string, date date",
                "timestamp",
                f"times.date_trunc({{0}}, {_MIDNIGHT.format('{1}')})",
                nullable=True,
                check=_unit,
            ),
        ),
        "The beginning of the timestamp's unit: YEAR (YYYY, YY), QUARTER, MONTH (MM, MON), WEEK, DAY (DD), HOUR,"
        " MINUTE, SECOND, MILLISECOND or MICROSECOND, in any case; null for another unit.",
        (
            ("date_trunc('HOUR', TIMESTAMP'2015-03-05 09:32:05.359')", "TIMESTAMP'2015-03-05 09:00:00'"),
            ("date_trunc('week', DATE'2015-03-05')", "TIMESTAMP'2015-03-02 00:00:00'"),
        ),
    )
)


def months_between(end: int, start: int, *, rounded: bool = True) -> float:
    """Months with a fraction; whole ones between equal days and between last days of months."""
    (days1, within1), (days2, within2) = divmod(end, _DAY), divmod(start, _DAY)
    (year1, month1, day1), (year2, month2, day2) = datetimes.civil_of(days1), datetimes.civil_of(days2)
    months = float((year1 - year2) * 12 + month1 - month2)
    if day1 == day2 or (dates.last_day(days1) == days1 and dates.last_day(days2) == days2):
        return months
    seconds = (day1 - day2) * 86400 + within1 // _SECOND - within2 // _SECOND
    found = months + seconds / _MONTH_SECONDS
    if not rounded:
        return found
    scaled = found * 1e8
    whole = scaled // 1
    return (whole + (scaled - whole >= 0.5)) / 1e8


_MONTHS = "times.months_between({0}, {1})"
_MONTHS_OF_DATES = f"times.months_between({_MIDNIGHT.format('{0}')}, {_MIDNIGHT.format('{1}')})"
FUNCTIONS.append(
    Function(
        "months_between",
        (
            of("end timestamp, start timestamp", "double", _MONTHS),
            of("end date, start date", "double", _MONTHS_OF_DATES),
            of(
                "end timestamp, start timestamp, rounded boolean", "double",
                _MONTHS.replace(")", ", rounded={2})"),
            ),
            of("end date, start date, rounded boolean", "double", _MONTHS_OF_DATES[:-1] + ", rounded={2})"),
        ),
        "The months from the second to the first: whole between equal days of the month and between last days,"
        " otherwise with a fraction of 31 days, rounded to 8 digits unless the third argument is false.",
        (
            ("months_between(TIMESTAMP'1997-02-28 10:30:00', TIMESTAMP'1996-10-30 00:00:00')", "3.94959677D"),
            ("months_between(DATE'2020-02-29', DATE'2020-01-31')", "1.0D"),
        ),
    )
)  # fmt: skip


def _since(name: str, unit: int, what: str, examples: tuple[tuple[str, str], ...]) -> Function:
    return Function(
        name,
        (of("time timestamp", "bigint", f"({{0}} // {unit})" if unit > 1 else "{0}"),),
        f"The {what} since 1970-01-01T00:00Z, rounded down.",
        examples,
    )


FUNCTIONS.append(_since("unix_seconds", _SECOND, "seconds", (("unix_seconds(TIMESTAMP'1970-01-01 00:00:01Z')", "1L"),)))
FUNCTIONS.append(
    _since("unix_millis", 1000, "milliseconds", (("unix_millis(TIMESTAMP'1970-01-01 00:00:01Z')", "1000L"),))
)
FUNCTIONS.append(
    _since("unix_micros", 1, "microseconds", (("unix_micros(TIMESTAMP'1970-01-01 00:00:01Z')", "1000000L"),))
)
FUNCTIONS.append(
    Function(
        "unix_timestamp",
        (
            of("time timestamp", "bigint", "times.arithmetic.quotient({0}, 1000000)"),
            of("date date", "bigint", f"({_MIDNIGHT.format('{0}')} // 1000000)"),
        ),
        "The seconds since 1970-01-01T00:00Z, rounded towards zero. (Without an argument it would be the clock: not"
        " supported.)",
        (("unix_timestamp(TIMESTAMP'2016-04-08 00:00:00')", "1460073600L"),),
        ("to_unix_timestamp",),
    )
)


def seconds_of(value: Decimal) -> int:
    """Microseconds of seconds with at most six digits after the point; raises where there are more."""
    micros = arithmetic.EXACT.scaleb(value, 6)
    if micros != micros.to_integral_value():
        message = f"timestamp_seconds: {value} has more than six digits after the point"
        raise errors.EvaluationError(message)
    return numbers.fitting_bigint(int(micros))


FUNCTIONS.append(
    Function(
        "timestamp_seconds",
        (
            of("seconds bigint", "timestamp", "times.numbers.fitting_bigint({0} * 1000000)"),
            of("seconds decimal", "timestamp", "times.seconds_of({0})"),
        ),
        "The timestamp so many seconds after 1970-01-01T00:00Z; an error where it has none, or for a decimal with more"
        " than six digits after the point.",
        (("timestamp_seconds(1230219000)", "TIMESTAMP'2008-12-25 15:30:00Z'"),),
    )
)
FUNCTIONS.append(
    Function(
        "timestamp_millis",
        (of("millis bigint", "timestamp", "times.numbers.fitting_bigint({0} * 1000)"),),
        "The timestamp so many milliseconds after 1970-01-01T00:00Z; an error where it has none.",
        (("timestamp_millis(1230219000123)", "TIMESTAMP'2008-12-25 15:30:00.123Z'"),),
    )
)
FUNCTIONS.append(
    Function(
        "timestamp_micros",
        (of("micros bigint", "timestamp", "{0}"),),
        "The timestamp so many microseconds after 1970-01-01T00:00Z.",
        (("timestamp_micros(1230219000123123)", "TIMESTAMP'2008-12-25 15:30:00.123123Z'"),),
    )
)


def make_timestamp(year: int, month: int, day: int, hour: int, minute: int, second: Decimal) -> int:
    """The timestamp; raises where there is no such moment. Second 60 is the next minute, without a fraction."""
    days = datetimes.days_of(year, month, day)
    micros = dates.wrapped(int(second.scaleb(6)))  # Spark keeps 32 bits of it: 4294.967296 is the second 0
    if days is None or not (0 <= hour < 24 and 0 <= minute < 60 and 0 <= micros <= 60 * _SECOND):
        message = f"make_timestamp: {year}-{month}-{day} {hour}:{minute}:{second} is no timestamp"
        raise errors.EvaluationError(message, errors.Condition.INVALID_DATETIME)
    return numbers.fitting_bigint(days * _DAY + hour * _HOUR + minute * _MINUTE + micros)


FUNCTIONS.append(
    Function(
        "make_timestamp",
        (
            of(
                "year int, month int, day int, hour int, minute int, second decimal(16,6)", "timestamp",
                "times.make_timestamp({0}, {1}, {2}, {3}, {4}, {5})",
            ),
        ),
        "The timestamp of its parts; an error where there is no such moment. The second is a decimal of at most six"
        " digits after the point; 60 is the beginning of the next minute.",
        (("make_timestamp(2014, 12, 28, 6, 30, 45.887)", "TIMESTAMP'2014-12-28 06:30:45.887'"),),
    )
)  # fmt: skip


def to_timestamp(text: str) -> int:
    """The timestamp of a text, as in a CAST."""
    micros = datetimes.timestamp_of(text)
    if micros is None:
        message = f"to_timestamp: {text[:40]!r} is no timestamp"
        raise errors.EvaluationError(message, errors.Condition.INVALID_CAST)
    return micros


FUNCTIONS.append(
    Function(
        "to_timestamp",
        (
            of("text string", "timestamp", "times.to_timestamp({0})"),
            of("date date", "timestamp", "times.numbers.fitting_bigint({0} * 86400000000)"),
            of("time timestamp", "timestamp", "{0}"),
        ),
        "The timestamp, as `CAST(… AS timestamp)`: of a text `yyyy-m-d h:m:s.fraction zone`, of which all from the"
        " month on may be missing; an error for another text.",
        (("to_timestamp('2016-12-31 00:12:00')", "TIMESTAMP'2016-12-31 00:12:00'"),),
    )
)
