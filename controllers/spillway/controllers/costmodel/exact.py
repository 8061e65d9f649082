"""Numbers without rounding: what people write is decimal, and every decision is made on exact fractions of it.

Why not floats: 500000 / (500000 / 15) < 15 is true for them, so the inner loop of Algorithm 3 would never end on the
paper's own example; and 0.1 is a little more than a tenth, so a capacity that is exactly used up would be a bottleneck
or not by luck. A relative tolerance would move the problem: whoever sits on its edge is decided by rounding again, and
"one slot less is not enough" would hold only nearly.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Iterable
from fractions import Fraction

Number = float | Fraction  # what is measured or written, or computed without rounding

# Rates are carried on from node to node as multiples of 1/RATE_GRID records per second, rounded down. Without it, the
# rate behind an overloaded node is a quotient, and a sum of quotients has the digits of all of them: a graph of 50
# overloaded nodes would need numbers of 2^50 digits. 10^-60 keeps what people write exact (0.0003 for 15 operators in
# a row); one grid for all rates keeps the order of any two; and down means that no bottleneck is ever made up.
RATE_GRID = 10**60


def exact(value: Number) -> Fraction:
    """The number that somebody wrote: 0.1 is a tenth, not the binary fraction next to it."""
    return _decimal(value) if isinstance(value, float) else Fraction(value)


@functools.lru_cache(maxsize=16384)  # costs are asked for again and again, and to read a decimal takes 3 us
def _decimal(value: float) -> Fraction:
    return Fraction(repr(value))  # the shortest decimal that means this float


def approximate(value: Fraction) -> float:
    """The nearest float, for people and for JSON; infinite when it is too large for one."""
    try:
        return float(value)
    except OverflowError:
        return math.inf


def on_grid(value: Fraction) -> Fraction:
    """The value, or what is next below it among the multiples of 1/RATE_GRID."""
    return Fraction(value.numerator * RATE_GRID // value.denominator, RATE_GRID)


def total(values: Iterable[Fraction]) -> Fraction:
    """The sum, over one common denominator: reduced once and not at every step, which is most of the time of a sum."""
    terms = tuple(values)
    common = math.lcm(*(term.denominator for term in terms))
    return Fraction(sum(term.numerator * (common // term.denominator) for term in terms), common)


def check(value: Number, what: str, *, above_zero: bool = False) -> None:
    """Refuse what is not a number of its kind, before it gets into a formula."""
    finite = not isinstance(value, float) or math.isfinite(value)  # a fraction may be larger than any float
    if not finite or value < 0 or (above_zero and value == 0):
        meaning = "a number above 0" if above_zero else "a number that is 0 or more"
        message = f"{what} is {value}; it must be {meaning}, and finite"
        raise ValueError(message)
