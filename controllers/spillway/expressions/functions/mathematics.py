"""Roots and angles: what IEEE 754 defines to the last bit, or what is one multiplication.

Exponentials, logarithms, powers and the trigonometric functions are left out: Spark takes those of Java, Python those
of the C library, and they differ in the last bit for one argument in 20 (`exp`) to one in 1000 (`sin`).
"""

from __future__ import annotations

import math

from spillway.expressions.functions.signature import Function, of

FUNCTIONS: list[Function] = []

FUNCTIONS.append(
    Function(
        "sqrt",
        (of("number double", "double", "mathematics.sqrt({0})"),),
        "The square root; NaN for a negative number.",
        (("sqrt(4)", "2.0D"), ("sqrt(-1)", "CAST('NaN' AS double)")),
    )
)


def sqrt(value: float) -> float:
    """The square root; NaN where there is none."""
    return math.nan if value < 0.0 else math.sqrt(value)


FUNCTIONS.append(
    Function(
        "degrees",
        (of("radians double", "double", "mathematics.math.degrees({0})"),),
        "The angle in degrees.",
        (("degrees(3.141592653589793D)", "180.0D"),),
    )
)
FUNCTIONS.append(
    Function(
        "radians",
        (of("degrees double", "double", "mathematics.math.radians({0})"),),
        "The angle in radians.",
        (("radians(180)", "3.141592653589793D"),),
    )
)
FUNCTIONS.append(
    Function("pi", (of("", "double", "mathematics.math.pi"),), "The number pi.", (("pi()", "3.141592653589793D"),))
)
FUNCTIONS.append(
    Function("e", (of("", "double", "mathematics.math.e"),), "Euler's number.", (("e()", "2.718281828459045D"),))
)
