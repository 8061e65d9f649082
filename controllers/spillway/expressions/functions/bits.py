"""Bits of whole numbers: shifts, counts."""

from __future__ import annotations

from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []


def _signed(value: int, bits: int) -> int:
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


def shiftleft(value: int, by: int, bits: int) -> int:
    """As Java: the distance counts modulo the bits, what leaves on the left is lost."""
    return _signed(value << (by & bits - 1), bits)


def shiftrightunsigned(value: int, by: int, bits: int) -> int:
    """As Java's >>>: zeros come in on the left."""
    return _signed((value & (1 << bits) - 1) >> (by & bits - 1), bits)


FUNCTIONS.append(
    Function(
        "shiftleft",
        (
            of("number int, by int", "int", "bits.shiftleft({0}, {1}, 32)"),
            of("number bigint, by int", "bigint", "bits.shiftleft({0}, {1}, 64)"),
        ),
        "The bits moved to the left, modulo 32 (int) or 64 (bigint) places.",
        (("shiftleft(2, 1)", "4"), ("shiftleft(1, 33)", "2")),
    )
)
FUNCTIONS.append(
    Function(
        "shiftright",
        (
            of("number int, by int", "int", "({0} >> ({1} & 31))"),
            of("number bigint, by int", "bigint", "({0} >> ({1} & 63))"),
        ),
        "The bits moved to the right, the sign stays.",
        (("shiftright(4, 1)", "2"), ("shiftright(-1, 5)", "-1")),
    )
)
FUNCTIONS.append(
    Function(
        "shiftrightunsigned",
        (
            of("number int, by int", "int", "bits.shiftrightunsigned({0}, {1}, 32)"),
            of("number bigint, by int", "bigint", "bits.shiftrightunsigned({0}, {1}, 64)"),
        ),
        "The bits moved to the right, zeros come in on the left.",
        (("shiftrightunsigned(-1, 28)", "15"),),
    )
)
FUNCTIONS.append(
    Function(
        "bit_count",
        (
            of("number bigint", "int", "({0} & 0xFFFFFFFFFFFFFFFF).bit_count()"),
            of("flag boolean", "int", "int({0})"),
        ),
        "The number of bits that are set, in 64 bits.",
        (("bit_count(7)", "3"), ("bit_count(-1)", "64"), ("bit_count(true)", "1")),
    )
)
