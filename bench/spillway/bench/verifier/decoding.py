"""Messages to rows, and rows to what messages hold, after the tables of docs/explanation/programs.md.

Written for this purpose on the standard library's json, column by column, with none of the job's own code. A value that
the table doesn't have raises `BadValueError`: the record is a dead letter.
"""

from __future__ import annotations

import base64
import binascii
import datetime
import json
import math
from collections.abc import Callable, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from typing import Any

from spillway.bench.verifier.relations import UnverifiableError
from spillway.model.types import Column, ColumnType, Kind, Schema

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_BITS = {Kind.INT: 31, Kind.BIGINT: 63}
_AS_THEY_ARE, _PLAIN = frozenset({Kind.STRING, Kind.INT, Kind.BIGINT}), frozenset({str, int})  # most of what there is
_SPECIAL = {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}
# Without a zone a text is in UTC; other ways that a cast reads (year alone, region names) would need a cast of our own.
_TIME_TEXT = 10  # characters of a date: everything longer has a time


class BadValueError(Exception):
    """No record of its stream."""


def parsed(data: bytes | None) -> dict[str, Any]:
    """The JSON object of a message; numbers with a fraction or an exponent as Decimal."""
    try:
        found = _decode((data or b"").decode())
    except (ValueError, RecursionError) as error:
        raise BadValueError(str(error)) from None
    if not isinstance(found, dict):
        raise BadValueError(repr(found)[:40])
    return found


def _no_constant(text: str) -> Any:
    raise BadValueError(text)


# Made once: `json.loads` with such arguments makes one for each text, which takes longer than to read it.
_decode = json.JSONDecoder(parse_float=Decimal, parse_constant=_no_constant).decode


def value(found: Any, kind: ColumnType) -> Any:
    """What a row has for what JSON held."""
    if found is None:
        return None
    match kind.kind:
        case Kind.BOOLEAN if isinstance(found, bool):
            return found
        case Kind.STRING if isinstance(found, str):
            return found
        case Kind.INT | Kind.BIGINT if _is_number(found):
            return _whole(found, _BITS[kind.kind])
        case Kind.DOUBLE if isinstance(found, str) and found in _SPECIAL:
            return _SPECIAL[found]
        case Kind.DOUBLE if _is_number(found):
            number = float(found) if abs(found) < Decimal("1.8e308") else math.inf
            return number if math.isfinite(number) else _refuse(found)
        case Kind.DECIMAL if _is_number(found) or isinstance(found, str):
            return _decimal(found, kind)
        case Kind.BINARY if isinstance(found, str):
            return _binary(found)
        case Kind.DATE if isinstance(found, str):
            return _moment(found).date().toordinal() - EPOCH.toordinal()
        case Kind.TIMESTAMP if isinstance(found, str):
            return micros(_moment(found))
        case Kind.TIMESTAMP if _is_number(found):
            return int((Decimal(found) * 1000).to_integral_value())
        case Kind.ARRAY if isinstance(found, list) and kind.element is not None:
            return [value(item, kind.element) for item in found]
    return _refuse(found)


def _refuse(found: Any) -> Any:
    raise BadValueError(repr(found)[:60])


def _is_number(found: Any) -> bool:
    return isinstance(found, int | Decimal) and not isinstance(found, bool)


def _whole(found: int | Decimal, bits: int) -> int:
    if isinstance(found, Decimal):
        # Looked at before it is written out: 1e999999999 is a short text, and a number of a gigabyte.
        if found.adjusted() > 20 or found != found.to_integral_value():
            _refuse(found)
        found = int(found)
    return found if -(2**bits) <= found < 2**bits else _refuse(found)


def _decimal(found: Any, kind: ColumnType) -> Decimal:
    try:
        number = Decimal(found)
        if not number.is_finite() or number.adjusted() >= kind.precision - kind.scale + 1:
            _refuse(found)
        fitted = number.quantize(Decimal(1).scaleb(-kind.scale), ROUND_HALF_UP)
    except InvalidOperation:
        return _refuse(found)  # type: ignore[no-any-return]
    return fitted if len(fitted.as_tuple().digits) <= kind.precision or fitted == 0 else _refuse(found)


def _binary(found: str) -> bytes:
    try:
        return base64.b64decode(found, validate=True)
    except (binascii.Error, ValueError):
        return _refuse(found)  # type: ignore[no-any-return]


def _moment(found: str) -> datetime.datetime:
    try:
        moment = datetime.datetime.fromisoformat(found)
    except ValueError:
        if not any(sign in found for sign in "0123456789"):
            _refuse(found)
        message = f"the text {found!r} as a time: only ISO 8601 is read here, and a cast may read more"
        raise UnverifiableError(message) from None
    if not found[:4].isdecimal() or len(found) < _TIME_TEXT:
        message = f"the text {found!r} as a time: only ISO 8601 is read here, and a cast may read more"
        raise UnverifiableError(message)
    return moment if moment.tzinfo else moment.replace(tzinfo=datetime.UTC)


def micros(moment: datetime.datetime) -> int:
    """Microseconds since 1970."""
    gone = moment - EPOCH
    return (gone.days * 86_400 + gone.seconds) * 1_000_000 + gone.microseconds


def shown_time(value: int) -> str:
    """A timestamp as messages have it: no, three or six digits of the second."""
    moment = EPOCH + datetime.timedelta(microseconds=value)
    digits = "seconds" if value % 1_000_000 == 0 else "milliseconds" if value % 1000 == 0 else "microseconds"
    return moment.replace(tzinfo=None).isoformat(timespec=digits) + "Z"


def shown(value: Any, kind: ColumnType) -> Any:
    """A value as JSON has it, once parsed by `canonical`."""
    if value is None:
        return None
    match kind.kind:
        case Kind.DOUBLE:
            value = float(value)
            if math.isfinite(value):
                return value
            return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"
        case Kind.TIMESTAMP:
            return shown_time(value)
        case Kind.DATE:
            return datetime.date.fromordinal(value + EPOCH.toordinal()).isoformat()
        case Kind.BINARY:
            return base64.b64encode(value).decode()
        case Kind.DECIMAL:
            return Decimal(value).normalize() + 0
        case Kind.ARRAY if kind.element is not None:
            return tuple(shown(item, kind.element) for item in value)
    return value


def canonical(found: Any, kind: ColumnType) -> Any:
    """What JSON held of an output, so that equal values are equal; other types than the column's stay as they are."""
    if found is None or (kind.kind in _AS_THEY_ARE and type(found) in _PLAIN):
        return found
    if kind.kind is Kind.DOUBLE and _is_number(found):
        return float(found)
    if kind.kind is Kind.DECIMAL and _is_number(found):
        return Decimal(found).normalize() + 0
    if kind.kind is Kind.ARRAY and isinstance(found, list) and kind.element is not None:
        return tuple(canonical(item, kind.element) for item in found)
    if isinstance(found, dict | list):
        return json.dumps(found, default=str)
    # True is 1 to Python, and is none to whoever reads the topic.
    return ("boolean", found) if isinstance(found, bool) and kind.kind is not Kind.BOOLEAN else found


def objects_of(schema: Schema) -> Callable[[bytes], tuple[Any, ...] | None]:
    """From an output message to its columns; to None where it is not one JSON object of just these, in their order."""
    names, kinds = schema.names, tuple(column.type for column in schema)

    def object_of(data: bytes) -> tuple[Any, ...] | None:
        try:
            found = parsed(data)
        except BadValueError:
            return None
        return tuple(map(canonical, found.values(), kinds)) if tuple(found) == names else None

    return object_of


def key_text(values: Sequence[Any], columns: Sequence[Column]) -> str:
    """A message key: the text of its only column, else the JSON object of all, without spaces."""
    written = [_key_value(v, column.type) for v, column in zip(values, columns, strict=True)]
    if len(columns) == 1 and written[0] is not None:
        (text,) = (one if isinstance(one, str) else json_text(one) for one in written)
        if columns[0].type.kind is not Kind.STRING or not text.startswith("{"):
            return text
    pairs = (f"{json_text(column.name)}:{json_text(one)}" for column, one in zip(columns, written, strict=True))
    return "{" + ",".join(pairs) + "}"


def _key_value(value: Any, kind: ColumnType) -> Any:
    # As decimals stand in messages: with all digits of their scale.
    return value if kind.kind is Kind.DECIMAL else shown(value, kind)


def json_text(value: Any) -> str:
    """A value of a key as JSON."""
    if isinstance(value, Decimal):
        return f"{value:f}"
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def key_values(data: bytes | None, columns: Sequence[Column]) -> tuple[Any, ...]:
    """From the key of a table's empty message to the values of its key columns."""
    if data is None:
        raise BadValueError("an empty message without a key")  # noqa: EM101 - never shown: it makes a dead letter
    if len(columns) > 1 or data[:1] == b"{":
        found = parsed(data)
        return tuple(value(found.get(column.name), column.type) for column in columns)
    try:
        text = data.decode()
        plain = columns[0].type.kind in {Kind.STRING, Kind.DATE, Kind.TIMESTAMP, Kind.BINARY, Kind.DECIMAL}
        return (value(text if plain else json.loads(text, parse_float=Decimal), columns[0].type),)
    except ValueError as error:
        raise BadValueError(str(error)) from None
