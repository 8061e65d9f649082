"""Spark's hash functions, bit by bit: Murmur3 with 32 bits and xxHash with 64, of values of any type.

The hash of a value is the seed for the next one; a null leaves the seed as it is. Murmur3's tail is Spark's own: each
byte that is left over counts, with its sign, as a whole word.
"""

from __future__ import annotations

import functools
import struct
from collections.abc import Callable, Sequence
from typing import Any

from spillway.expressions.functions.signature import Function, of
from spillway.model import types
from spillway.model.types import ColumnType, Kind

FUNCTIONS: list[Function] = []

_M32 = 0xFFFFFFFF
_M64 = 0xFFFFFFFFFFFFFFFF
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5
_SEED = 42
_LONG_DIGITS = 18  # decimals up to here are hashed as a long

Mix = Callable[[int, int], int]  # value, seed
MixBytes = Callable[[bytes, int], int]


def _turn32(value: int, by: int) -> int:
    return (value << by | value >> (32 - by)) & _M32


def _turn(value: int, by: int) -> int:
    return (value << by | value >> (64 - by)) & _M64


def _word32(word: int, seed: int) -> int:
    word = _turn32(word * 0xCC9E2D51 & _M32, 15) * 0x1B873593 & _M32
    return (_turn32(seed ^ word, 13) * 5 + 0xE6546B64) & _M32


def _finish32(value: int, length: int) -> int:
    value ^= length
    value = (value ^ value >> 16) * 0x85EBCA6B & _M32
    value = (value ^ value >> 13) * 0xC2B2AE35 & _M32
    return value ^ value >> 16


def _int32(value: int, seed: int) -> int:
    return _finish32(_word32(value & _M32, seed), 4)


def _long32(value: int, seed: int) -> int:
    return _finish32(_word32(value >> 32 & _M32, _word32(value & _M32, seed)), 8)


def _bytes32(data: bytes, seed: int) -> int:
    whole = len(data) // 4
    for word in struct.unpack_from(f"<{whole}I", data):
        seed = _word32(word, seed)
    for byte in data[whole * 4 :]:
        seed = _word32((byte - 256 if byte > 127 else byte) & _M32, seed)
    return _finish32(seed, len(data))


def _finish64(value: int) -> int:
    value = (value ^ value >> 33) * _P2 & _M64
    value = (value ^ value >> 29) * _P3 & _M64
    return value ^ value >> 32


def _int64(value: int, seed: int) -> int:
    mixed = (seed + _P5 + 4 ^ (value & _M32) * _P1) & _M64
    return _finish64((_turn(mixed, 23) * _P2 + _P3) & _M64)


def _word64(word: int, seed: int) -> int:
    return (_turn(seed ^ _turn(word * _P2 & _M64, 31) * _P1 & _M64, 27) * _P1 + _P4) & _M64


def _long64(value: int, seed: int) -> int:
    return _finish64(_word64(value & _M64, (seed + _P5 + 8) & _M64))


def _bytes64(data: bytes, seed: int) -> int:
    at = 0
    if len(data) >= 32:
        lanes = [(seed + _P1 + _P2) & _M64, (seed + _P2) & _M64, seed, (seed - _P1) & _M64]
        for at in range(0, len(data) - 31, 32):
            words = struct.unpack_from("<4Q", data, at)
            lanes = [_turn((v + w * _P2) & _M64, 31) * _P1 & _M64 for v, w in zip(lanes, words, strict=True)]
        at += 32
        mixed = sum(_turn(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True)) & _M64
        for lane in lanes:
            mixed = ((mixed ^ _turn(lane * _P2 & _M64, 31) * _P1 & _M64) * _P1 + _P4) & _M64
    else:
        mixed = (seed + _P5) & _M64
    mixed = (mixed + len(data)) & _M64
    words = struct.unpack_from(f"<{(len(data) - at) // 8}Q", data, at)
    for word in words:
        mixed = _word64(word, mixed)
    at += len(words) * 8
    if len(data) - at >= 4:
        mixed = (_turn((mixed ^ struct.unpack_from("<I", data, at)[0] * _P1) & _M64, 23) * _P2 + _P3) & _M64
        at += 4
    for byte in data[at:]:
        mixed = _turn((mixed ^ byte * _P5) & _M64, 11) * _P1 & _M64
    return _finish64(mixed)


def _double(value: float) -> int:
    """The bits, with one zero and one NaN."""
    if value != value:
        return 0x7FF8000000000000
    return int.from_bytes(struct.pack("<d", value), "little") if value else 0


@functools.cache
def _hasher(kind: ColumnType, integer: Mix, long: Mix, data: MixBytes) -> Callable[[Any, int], int]:
    """How a value of the type changes the seed."""
    if kind.kind is Kind.ARRAY and kind.element:
        inner = _hasher(kind.element, integer, long, data)
        return lambda value, seed: functools.reduce(
            lambda found, item: found if item is None else inner(item, found), value, seed
        )
    if kind.kind is Kind.DECIMAL:
        scale = kind.scale
        if kind.precision <= _LONG_DIGITS:
            return lambda value, seed: long(int(value.scaleb(scale)), seed)
        return lambda value, seed: data(_two(value), seed)
    if kind.kind is Kind.STRING:
        return lambda value, seed: data(value.encode(), seed)
    if kind.kind is Kind.DOUBLE:
        return lambda value, seed: long(_double(value), seed)
    if kind.kind is Kind.BINARY:
        return data
    return long if kind.kind in (Kind.BIGINT, Kind.TIMESTAMP) else integer


def _two(value: Any) -> bytes:
    """The digits as the shortest two's complement, as Java's BigInteger writes it."""
    sign, digits, _ = value.as_tuple()
    number = functools.reduce(lambda found, digit: found * 10 + digit, digits, 0)
    number = -number if sign else number
    bits = (number if number >= 0 else -number - 1).bit_length()
    return int(number).to_bytes(bits // 8 + 1, "big", signed=True)


@functools.cache
def _hashers(names: tuple[str, ...], *mixers: Any) -> list[Callable[[Any, int], int]]:
    return [_hasher(types.NULL if name == "void" else types.parse_type(name), *mixers) for name in names]


def murmur3(values: Sequence[Any], names: tuple[str, ...]) -> int:
    """The function `hash` of values of these types."""
    seed = _SEED
    for value, change in zip(values, _hashers(names, _int32, _long32, _bytes32), strict=True):
        if value is not None:
            seed = change(value, seed)
    return seed - (1 << 32) if seed >> 31 else seed


def xxhash64(values: Sequence[Any], names: tuple[str, ...]) -> int:
    """The function `xxhash64` of values of these types."""
    seed = _SEED
    for value, change in zip(values, _hashers(names, _int64, _long64, _bytes64), strict=True):
        if value is not None:
            seed = change(value, seed)
    return seed - (1 << 64) if seed >> 63 else seed


FUNCTIONS.append(
    Function(
        "hash",
        (of("value any ...", "int", "hashing.murmur3(({all}), {types})", strict=False),),
        "The 32-bit hash (Murmur3, seed 42) of the values, which depends on their types; nulls are skipped.",
        (("hash('Spark', array(123), 2)", "-1321691492"),),
    )
)
FUNCTIONS.append(
    Function(
        "xxhash64",
        (of("value any ...", "bigint", "hashing.xxhash64(({all}), {types})", strict=False),),
        "The 64-bit hash (xxHash, seed 42) of the values, which depends on their types; nulls are skipped.",
        (("xxhash64('Spark', array(123), 2)", "5602566077635097486L"),),
    )
)
