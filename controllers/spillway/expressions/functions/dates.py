"""Dates: their parts, steps in the calendar, and making them. A timestamp is cut to its day."""

from __future__ import annotations

from collections.abc import Sequence

from spillway.expressions import datetimes, errors
from spillway.expressions.functions.signature import Argument, Function, Signature, of

FUNCTIONS: list[Function] = []

_MONDAY_1969 = -3  # 1969-12-29, the Monday before the first day
_INT_MAX = 2**31 - 1
_WEEKDAYS = ("MO MON MONDAY", "TU TUE TUESDAY", "WE WED WEDNESDAY", "TH THU THURSDAY", "FR FRI FRIDAY")
_DAYS = {
    name: day for day, names in enumerate((*_WEEKDAYS, "SA SAT SATURDAY", "SU SUN SUNDAY")) for name in names.split()
}
DAY_NAMES = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
MONTH_NAMES = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November",
    "December",
)  # fmt: skip


def wrapped(number: int) -> int:
    """The number as Java's int: Spark doesn't check some sums of days and microseconds."""
    return (number + 2**31) % 2**32 - 2**31


def _of_both(result: str, python: str) -> tuple[Signature, Signature]:
    """For a date, and for a timestamp's day."""
    return of("date date", result, python), of("time timestamp", result, python.replace("{0}", "{0} // 86400000000"))


def weekday(days: int) -> int:
    """0 is Monday."""
    return (days - _MONDAY_1969) % 7


def day_of_year(days: int) -> int:
    """From 1."""
    year, _, _ = datetimes.civil_of(days)
    return days - first_of(year, 1) + 1


def first_of(year: int, month: int) -> int:
    """The first day of a month."""
    days = datetimes.days_of(year, month, 1)
    assert days is not None  # noqa: S101 (every month has a first)
    return days


def week_of_year(days: int) -> int:
    """The week of ISO 8601: the week of the year in which its Thursday is."""
    return (day_of_year(days - weekday(days) + 3) - 1) // 7 + 1


def _part(name: str, python: str, what: str, examples: tuple[tuple[str, str], ...], *aliases: str) -> Function:
    return Function(name, _of_both("int", python), what, examples, aliases)


_CIVIL = "dates.datetimes.civil_of({0})"
FUNCTIONS.append(_part("year", f"{_CIVIL}[0]", "The year.", (("year(DATE'2016-07-30')", "2016"),)))
FUNCTIONS.append(
    _part(
        "quarter",
        f"(({_CIVIL}[1] + 2) // 3)",
        "The quarter of the year, 1 to 4.",
        (("quarter(DATE'2016-08-31')", "3"),),
    )
)
FUNCTIONS.append(_part("month", f"{_CIVIL}[1]", "The month, 1 to 12.", (("month(DATE'2016-07-30')", "7"),)))
FUNCTIONS.append(
    _part("day", f"{_CIVIL}[2]", "The day of the month, from 1.", (("day(DATE'2009-07-30')", "30"),), "dayofmonth")
)
FUNCTIONS.append(
    _part(
        "dayofweek", "((dates.weekday({0}) + 1) % 7 + 1)", "The day of the week: 1 is Sunday, 7 Saturday.",
        (("dayofweek(DATE'2009-07-30')", "5"),),
    )
)  # fmt: skip
FUNCTIONS.append(
    _part(
        "weekday", "dates.weekday({0})", "The day of the week: 0 is Monday, 6 Sunday.",
        (("weekday(DATE'2009-07-30')", "3"),),
    )
)  # fmt: skip
FUNCTIONS.append(
    _part(
        "dayofyear", "dates.day_of_year({0})", "The day of the year, from 1.", (("dayofyear(DATE'2016-04-09')", "100"),)
    )
)
FUNCTIONS.append(
    _part(
        "weekofyear", "dates.week_of_year({0})", "The week of the year by ISO 8601: weeks begin on Monday, week 1 has"
        " the year's first Thursday.", (("weekofyear(DATE'2008-02-20')", "8"),),
    )
)  # fmt: skip
FUNCTIONS.append(
    Function(
        "dayname",
        _of_both("string", "dates.DAY_NAMES[dates.weekday({0})][:3]"),
        "The day of the week in three letters, in English.",
        (("dayname(DATE'2008-02-20')", "'Wed'"),),
    )
)
FUNCTIONS.append(
    Function(
        "monthname",
        _of_both("string", f"dates.MONTH_NAMES[{_CIVIL}[1] - 1][:3]"),
        "The month in three letters, in English.",
        (("monthname(DATE'2008-02-20')", "'Feb'"),),
    )
)


def _pairs(result: str, python: str) -> tuple[Signature, ...]:
    """For dates and timestamps on both sides."""
    cut = " // 86400000000"
    return tuple(
        of(
            f"end {one}, start {two}", result,
            python.replace("{0}", "{0}" + cut * (one != "date")).replace("{1}", "{1}" + cut * (two != "date")),
        )
        for one in ("date", "timestamp") for two in ("date", "timestamp")
    )  # fmt: skip


def _steps(name: str, sign: str, what: str, examples: tuple[tuple[str, str], ...], *aliases: str) -> Function:
    return Function(
        name,
        (
            of("start date, days int", "date", f"dates.wrapped({{0}} {sign} {{1}})"),
            of("start timestamp, days int", "date", f"dates.wrapped({{0}} // 86400000000 {sign} {{1}})"),
        ),
        f"The date so many days {what}; of a timestamp, its day. What leaves the range of dates wraps around.",
        examples,
        aliases,
    )


FUNCTIONS.append(_steps("date_add", "+", "later", (("date_add(DATE'2016-07-30', 1)", "DATE'2016-07-31'"),), "dateadd"))
FUNCTIONS.append(_steps("date_sub", "-", "earlier", (("date_sub(DATE'2016-07-30', 1)", "DATE'2016-07-29'"),)))
FUNCTIONS.append(
    Function(
        "datediff",
        _pairs("int", "dates.wrapped({0} - {1})"),
        "The number of days from the second to the first; of timestamps, between their days.",
        (("datediff(DATE'2009-07-31', DATE'2009-07-30')", "1"),),
        ("date_diff",),
    )
)


def fitting(days: int | None, what: str) -> int:
    """The days, if they are a date."""
    if days is None or not -_INT_MAX - 1 <= days <= _INT_MAX:
        message = f"{what} is no date"
        raise errors.EvaluationError(message, errors.Condition.INVALID_DATETIME)
    return days


def month_end(days: int) -> int:
    """The last day of the month, which for the last dates of all is none."""
    year, month, _ = datetimes.civil_of(days)
    return first_of(year + month // 12, month % 12 + 1) - 1


def last_day(days: int) -> int:
    """The last day of the month."""
    return wrapped(month_end(days))


def add_months(days: int, months: int) -> int:
    """The same day so many months later, or the last one of a month that is too short."""
    year, month, day = datetimes.civil_of(days)
    years, index = divmod(year * 12 + month - 1 + months, 12)
    begin = first_of(years, index + 1)
    return fitting(min(begin + day - 1, month_end(begin)), f"{datetimes.date_text(days)} and {months} months")


FUNCTIONS.append(
    Function(
        "add_months",
        (
            of("start date, months int", "date", "dates.add_months({0}, {1})"),
            of("start timestamp, months int", "date", "dates.add_months({0} // 86400000000, {1})"),
        ),
        "The date so many months later, on the same day, or on the last of a month that is too short; an error outside"
        " of the range of dates.",
        (
            ("add_months(DATE'2016-08-31', 1)", "DATE'2016-09-30'"),
            ("add_months(DATE'2016-02-29', 12)", "DATE'2017-02-28'"),
        ),
    )
)
FUNCTIONS.append(
    Function(
        "last_day",
        _of_both("date", "dates.last_day({0})"),
        "The last day of the month.",
        (("last_day(DATE'2009-01-12')", "DATE'2009-01-31'"),),
    )
)


def next_day(days: int, name: str) -> int:
    """The first day after the date that has the name."""
    wanted = _DAYS.get(name.upper())
    if wanted is None:
        message = f"next_day: {name[:40]!r} is no day of the week in English, such as MO, MON or MONDAY"
        raise errors.EvaluationError(message)
    return wrapped(days + 1 + (wanted - weekday(days + 1)) % 7)


FUNCTIONS.append(
    Function(
        "next_day",
        (
            of("start date, name string", "date", "dates.next_day({0}, {1})"),
            of("start timestamp, name string", "date", "dates.next_day({0} // 86400000000, {1})"),
        ),
        "The first later date with this day of the week (two or three letters, or the whole English name, in any case);"
        " an error for another name.",
        (("next_day(DATE'2015-01-14', 'TU')", "DATE'2015-01-20'"),),
    )
)


def trunc(days: int, unit: str) -> int | None:
    """The first day of the week, month, quarter or year; None for another unit."""
    name = unit.upper()
    if name == "WEEK":
        return wrapped(days - weekday(days))
    year, month, _ = datetimes.civil_of(days)
    if name in ("MON", "MONTH", "MM"):
        return first_of(year, month)
    if name == "QUARTER":
        return first_of(year, (month - 1) // 3 * 3 + 1)
    return first_of(year, 1) if name in ("YEAR", "YYYY", "YY") else None


_TRUNCATED = frozenset({"WEEK", "MON", "MONTH", "MM", "QUARTER", "YEAR", "YYYY", "YY"})


def is_unit(unit: str) -> bool:
    """Whether `trunc` knows the unit."""
    return unit.upper() in _TRUNCATED


def _unit(arguments: Sequence[Argument]) -> str:
    """A literal that is no unit is a mistake; Spark wouldn't even evaluate the date for it."""
    unit = arguments[1]
    known = not unit.literal or unit.value is None or is_unit(str(unit.value))
    return "" if known else f"{unit.value!r} is no unit: {', '.join(sorted(_TRUNCATED))}"


FUNCTIONS.append(
    Function(
        "trunc",
        (
            of("date date, unit string", "date", "dates.trunc({0}, {1})", nullable=True, check=_unit),
            of(
                "time timestamp, unit string",
                "date",
                "dates.trunc({0} // 86400000000, {1})",
                nullable=True,
                check=_unit,
            ),
        ),
        "The first day of the date's unit: YEAR (YYYY, YY), QUARTER, MONTH (MM, MON) or WEEK, in any case; null for"
        " another unit.",
        (
            ("trunc(DATE'2019-08-04', 'week')", "DATE'2019-07-29'"),
            ("trunc(DATE'2009-02-12', 'MM')", "DATE'2009-02-01'"),
        ),
    )
)


def make_date(year: int, month: int, day: int) -> int:
    """The date; raises where there is no such day."""
    return fitting(datetimes.days_of(year, month, day), f"{year}-{month}-{day}")


FUNCTIONS.append(
    Function(
        "make_date",
        (of("year int, month int, day int", "date", "dates.make_date({0}, {1}, {2})"),),
        "The date of year, month and day; an error where there is no such day.",
        (("make_date(2013, 7, 15)", "DATE'2013-07-15'"),),
    )
)
FUNCTIONS.append(
    Function(
        "unix_date",
        (of("date date", "int", "{0}"),),
        "The number of days since 1970-01-01.",
        (("unix_date(DATE'1970-01-02')", "1"),),
    )
)
FUNCTIONS.append(
    Function(
        "date_from_unix_date",
        (of("days int", "date", "{0}"),),
        "The date so many days after 1970-01-01.",
        (("date_from_unix_date(1)", "DATE'1970-01-02'"),),
    )
)


def to_date(text: str) -> int:
    """The date that a text begins with, as in a CAST."""
    days = datetimes.date_of(text)
    if days is None:
        message = f"to_date: {text[:40]!r} is no date"
        raise errors.EvaluationError(message, errors.Condition.INVALID_CAST)
    return days


FUNCTIONS.append(
    Function(
        "to_date",
        (
            of("text string", "date", "dates.to_date({0})"),
            of("date date", "date", "{0}"),
            of("time timestamp", "date", "({0} // 86400000000)"),
        ),
        "The date, as `CAST(… AS date)`: of a text `yyyy[-m[-d]]`, of a timestamp its day in UTC; an error for"
        " another text.",
        (("to_date('2009-07-30 04:17:52')", "DATE'2009-07-30'"), ("to_date('2016-2')", "DATE'2016-02-01'")),
    )
)
