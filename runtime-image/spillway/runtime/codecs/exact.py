"""Values as JSON that come back exactly as they were, whatever they are: what output topics write loses types.

| value | written as |
|---|---|
| null, boolean, whole number, text, list | themselves |
| date, timestamp | whole numbers, as in rows: days and microseconds since 1970 |
| double | a number with a point or an exponent; `{"double": "NaN"}`, `"Infinity"`, `"-Infinity"` |
| decimal | `{"decimal": "12.50"}`, with all its digits |
| binary | `{"binary": "…"}`, in base64 |
| text that no UTF-8 can hold (half a surrogate pair) | `{"text": "…"}`, base64 of UTF-8 that lets surrogates pass |
| anything else | `{"shown": "…"}`: for people; there is no way back |

A row has no objects, so an object with one of these names is no value of its own.
"""

from __future__ import annotations

import base64
import binascii
import math
from decimal import Decimal, InvalidOperation
from typing import Any

from spillway.expressions import arithmetic
from spillway.runtime.codecs.values import CodecError, special

_LONGEST = 1_000  # characters of what can only be shown


def written(value: Any) -> Any:
    """What JSON can hold of a value."""
    kind = type(value)
    if value is None or kind is bool or (kind is int and arithmetic.BIGINT_MIN <= value <= arithmetic.BIGINT_MAX):
        return value
    if kind is str:
        return value if _is_sound(value) else {"text": _base64(value.encode("utf-8", "surrogatepass"))}
    if kind is float:
        return value if math.isfinite(value) else {"double": special(value)}
    if kind is Decimal:
        return {"decimal": str(value)}
    if kind is bytes:
        return {"binary": _base64(value)}
    if kind is list or kind is tuple:
        return [written(item) for item in value]
    return {"shown": _shown(value)}


def read(value: Any) -> Any:
    """The value; raises CodecError for what can't be one."""
    if isinstance(value, list):
        return [read(item) for item in value]
    if not isinstance(value, dict):
        return value
    try:
        ((kind, text),) = value.items()
        match kind:
            case "double" if text in ("NaN", "Infinity", "-Infinity"):
                return float(text)
            case "decimal":
                return Decimal(text)
            case "binary":
                return base64.b64decode(text, validate=True)
            case "text":
                return base64.b64decode(text, validate=True).decode("utf-8", "surrogatepass")
    except (ValueError, TypeError, binascii.Error, InvalidOperation) as error:
        message = f"a value of a letter can't be read: {error}"
        raise CodecError(message) from None
    message = f"a value of a letter was written as {str(value)[:40]}, which is for people only"
    raise CodecError(message)


def _is_sound(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _shown(value: Any) -> str:
    """What it looks like; an object of a user may not even be able to say that."""
    try:
        text = repr(value)
    except Exception:
        text = f"a {type(value).__name__} that can't be shown"
    return text[:_LONGEST].encode("utf-8", "backslashreplace").decode()
