"""Keys as bytes: one encoding for equal values, the same on every machine and in every version.

A key is the tuple of its values. Its bytes are the msgpack array of them, which is canonical because msgspec writes
every value in its shortest form; a decimal, whose digits after the point say nothing about its value, becomes an
extension that holds its shortest plain text (1.00 and 1.0 are both `1`).

| value | written as |
|---|---|
| null, boolean | nil, true, false |
| int, bigint, date, timestamp | integer |
| string, binary | str, bin |
| decimal | extension 1: `-12.5` |

Columns of a key have the same types wherever the key is used, so nothing has to say that 1 is a bigint here and a
timestamp there. Doubles and arrays are no keys, as `spillway.expressions.relations` has it.

Changelogs are compacted by these bytes and edges partitioned by them: another encoding would need another topic.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from typing import Any

import msgspec

from spillway.expressions import arithmetic
from spillway.model.types import ColumnType, Kind

Key = tuple[Any, ...]

_DECIMAL = 1  # the code of the extension

_pack = msgspec.msgpack.Encoder().encode


def encode(key: Sequence[Any]) -> bytes:
    """The bytes of a key whose types nobody has told."""
    return _pack([_extension(value) if isinstance(value, Decimal) else value for value in key])


def encoder(types: Iterable[ColumnType]) -> Callable[[Sequence[Any]], bytes]:
    """The same for keys of these types: without decimals, msgspec alone."""
    return encode if any(type_.kind is Kind.DECIMAL for type_ in types) else _pack


def decoder(types: Iterable[ColumnType]) -> Callable[[bytes], Key]:
    """The way back: decimals get as many digits after the point as their column has."""
    units = {i: Decimal(1).scaleb(-type_.scale) for i, type_ in enumerate(types) if type_.kind is Kind.DECIMAL}
    unpack = msgspec.msgpack.Decoder(list[Any], ext_hook=_value).decode
    if not units:
        return lambda key: tuple(unpack(key))

    def decode(key: bytes) -> Key:
        values = unpack(key)
        for i, unit in units.items():
            if values[i] is not None:
                values[i] = values[i].quantize(unit, context=arithmetic.EXACT)
        return tuple(values)

    return decode


def partition(key: bytes, partitions: int) -> int:
    """Where the records of a key are, among so many partitions of an internal edge."""
    return zlib.crc32(key) % partitions


def _extension(value: Decimal) -> msgspec.msgpack.Ext:
    text = f"{value:f}"
    if "." in text:
        text = text.rstrip("0").rstrip(".")
    return msgspec.msgpack.Ext(_DECIMAL, b"0" if not value else text.encode())


def _value(code: int, data: memoryview) -> Decimal:
    if code != _DECIMAL:
        message = f"a key holds an extension {code}, which this version does not know"
        raise ValueError(message)
    return Decimal(bytes(data).decode())
