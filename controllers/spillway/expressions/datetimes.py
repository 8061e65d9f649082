"""Dates and timestamps as texts: what Spark reads and what it writes, in years too that types of Python lack."""

from __future__ import annotations

import datetime
import re
import zoneinfo

DAY = 86_400_000_000  # microseconds
_ERA = 146_097 * DAY  # the calendar repeats every 400 years
_FIRST, _LAST = -719_000 * DAY, 2_932_000 * DAY  # within the years 1 to 9999 that Python's types have
_INT_MAX = 2**31 - 1
_BIGINT_MAX = 2**63 - 1

# What Spark ignores around numbers, dates and timestamps: ASCII white space and control characters.
BLANKS = "".join(map(chr, range(0x21))) + "\x7f"

_DATE = re.compile(r"([+-]?)(\d{4,7})(?:-(\d{1,2})(?:-(\d{1,2})(?:[ T].*)?)?)?", re.ASCII | re.DOTALL)
_TIMESTAMP = re.compile(
    r"([+-]?)(\d{4,6})(?:-(\d{1,2})(?:-(\d{1,2})"
    r"(?:[ T](\d{1,2})(?::(\d{1,2})(?::(\d{1,2})(?:\.(\d*))?([^\d.].*)?)?)?)?)?)?",
    re.ASCII | re.DOTALL,
)
_OFFSET = re.compile(r"([+-])(\d{1,2})(?::?([0-5]\d)(?::?([0-5]\d))?)?", re.ASCII)
_MAX_OFFSET = 18 * 3600  # Java's limit

# Java's old three-letter names; Spark still reads them.
_SHORT = {
    "EST": "-05:00", "HST": "-10:00", "MST": "-07:00", "ACT": "Australia/Darwin", "AET": "Australia/Sydney",
    "AGT": "America/Argentina/Buenos_Aires", "ART": "Africa/Cairo", "AST": "America/Anchorage",
    "BET": "America/Sao_Paulo", "BST": "Asia/Dhaka", "CAT": "Africa/Harare", "CNT": "America/St_Johns",
    "CST": "America/Chicago", "CTT": "Asia/Shanghai", "EAT": "Africa/Addis_Ababa", "ECT": "Europe/Paris",
    "IET": "America/Indiana/Indianapolis", "IST": "Asia/Kolkata", "JST": "Asia/Tokyo", "MIT": "Pacific/Apia",
    "NET": "Asia/Yerevan", "NST": "Pacific/Auckland", "PLT": "Asia/Karachi", "PNT": "America/Phoenix",
    "PRT": "America/Puerto_Rico", "PST": "America/Los_Angeles", "SST": "Pacific/Guadalcanal",
    "VST": "Asia/Ho_Chi_Minh",
}  # fmt: skip


def days_of(year: int, month: int, day: int) -> int | None:
    """Days since 1970-01-01 in the calendar that was always Gregorian; None where there is no such day."""
    if not 1 <= month <= 12 or not 1 <= day <= 31:
        return None
    # The calendar repeats every 400 years, which are 146 097 days.
    era, within = divmod(year - 1, 400)
    try:
        return datetime.date(within + 1, month, day).toordinal() + era * 146_097 - 719_163
    except ValueError:
        return None


def civil_of(days: int) -> tuple[int, int, int]:
    """Year, month and day of a number of days since 1970-01-01."""
    era, within = divmod(days + 719_162, 146_097)
    date = datetime.date.fromordinal(within + 1)
    return date.year + 400 * era, date.month, date.day


def date_of(text: str) -> int | None:
    """The date that Spark reads: `[+-]yyyy[-m[-d[ anything]]]`, or None."""
    match = _DATE.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    sign, year, month, day = match.groups()
    days = days_of(int(sign + year), int(month or 1), int(day or 1))
    return days if days is None or -_INT_MAX - 1 <= days <= _INT_MAX else None


def timestamp_of(text: str) -> int | None:
    """The timestamp that Spark reads: `[+-]yyyy[-m[-d[ h[:m[:s[.fraction][zone]]]]]]`, or None.

    A time alone would be one of today, in Spark; here it is no timestamp, since a value must not depend on the clock.
    """
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    if match is None:
        return None
    sign, year, month, day, hour, minute, second, fraction, zone = match.groups()
    days = days_of(int(sign + year), int(month or 1), int(day or 1))
    hours, minutes, seconds = int(hour or 0), int(minute or 0), int(second or 0)
    if days is None or hours > 23 or minutes > 59 or seconds > 59:
        return None
    micros = days * DAY + (hours * 3600 + minutes * 60 + seconds) * 1_000_000
    micros += int(fraction[:6].ljust(6, "0")) if fraction else 0
    if zone is not None:
        offset = _offset(zone.strip(BLANKS), micros)
        if offset is None:
            return None
        micros -= offset
    return micros if -_BIGINT_MAX - 1 <= micros <= _BIGINT_MAX else None


def has_region(text: str) -> bool:
    """Whether the text names a zone by its region, whose rules may differ between machines."""
    match = _TIMESTAMP.fullmatch(text.strip(BLANKS))
    return bool(match and match[9] and "/" in match[9])


def _offset(zone: str, local: int) -> int | None:
    """The offset of a zone in microseconds, at a local time, or None where there is no such zone."""
    # Spark also reads +h:mm and +hh:m.
    zone = re.sub(r"([+-])(\d):", r"\g<1>0\2:", zone, count=1)
    zone = re.sub(r"([+-])(\d\d):(\d)$", r"\1\2:0\3", zone, count=1)
    zone = _SHORT.get(zone, zone)
    if zone in {"Z", "UTC", "GMT", "UT"}:
        return 0
    for prefix in ("UTC", "GMT", "UT"):
        if zone.startswith((f"{prefix}+", f"{prefix}-")):
            zone = zone[len(prefix) :]
            break
    if zone[:1] in {"+", "-"}:
        return _fixed(zone)
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9~/._+-]+", zone):
        return None
    try:
        rules = zoneinfo.ZoneInfo(zone)
    except (ValueError, OSError, zoneinfo.ZoneInfoNotFoundError):
        return None
    # Far from now the rules repeat with the calendar: before all of them, and after the last change.
    while local < _FIRST:
        local += _ERA
    while local > _LAST:
        local -= _ERA
    offset = (datetime.datetime(1970, 1, 1, tzinfo=rules) + datetime.timedelta(microseconds=local)).utcoffset()
    return None if offset is None else offset // datetime.timedelta(microseconds=1)


def _fixed(zone: str) -> int | None:
    """The offset of +h, +hh, +hhmm, +hh:mm, +hhmmss, +hh:mm:ss in microseconds."""
    match = _OFFSET.fullmatch(zone)
    if match is None:
        return None
    sign, hours, minutes, seconds = match.groups()
    if (len(hours) == 1 and minutes) or (seconds and zone.count(":") == 1):
        return None
    total = int(hours) * 3600 + int(minutes or 0) * 60 + int(seconds or 0)
    if total > _MAX_OFFSET:
        return None
    return (-total if sign == "-" else total) * 1_000_000


def date_text(days: int) -> str:
    """A date as Spark writes it: four digits of the year, more only with a sign."""
    year, month, day = civil_of(days)
    return f"{year_text(year)}-{month:02}-{day:02}"


def year_text(year: int) -> str:
    """A year as Java's formatter writes it: 0044, -0044, +12000."""
    return f"{year:+}" if year > 9999 else f"{year:04}" if year >= 0 else f"-{-year:04}"


def timestamp_text(micros: int) -> str:
    """A timestamp as Spark writes it, in UTC, the fraction without zeros at its end."""
    days, within = divmod(micros, DAY)
    seconds, fraction = divmod(within, 1_000_000)
    minutes, second = divmod(seconds, 60)
    text = f"{date_text(days)} {minutes // 60:02}:{minutes % 60:02}:{second:02}"
    return f"{text}.{fraction:06}".rstrip("0") if fraction else text
