"""Generated expressions against what a person would write by hand: `python -m spillway.bench.expressions`.

Each pair computes the same over the same rows, one call for each row, in turn A B B A, so that a machine that slows
down slows down both. Printed: nanoseconds per row, and the ratio (generated / by hand) as median, 10 % and 90 %.
"""

from __future__ import annotations

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from spillway.expressions import check, check_condition
from spillway.expressions.compiler import compile_condition, compile_row
from spillway.model import types

SCHEMA = types.parse_schema("event_type string, price double, quantity int, name string, amount int, country string")
ROWS = 2000  # fit into the cache: the cost of the expression is measured, not that of memory
ROUNDS = 60
Row = Sequence[Any]


def is_view(row: Row) -> bool:
    """`event_type = 'view'`."""
    return bool(row[0] == "view")


def total(row: Row) -> tuple[float | None]:
    """`price * quantity`."""
    price, quantity = row[1], row[2]
    return (None if price is None or quantity is None else price * quantity,)


def clean(row: Row) -> tuple[str | None]:
    """`upper(trim(name))`."""
    name = row[3]
    return (None if name is None else name.strip(" ").upper(),)


def size(row: Row) -> tuple[str]:
    """`case when amount > 100 then 'big' when amount > 10 then 'middle' else 'small' end`."""
    amount = row[4]
    if amount is None:
        return ("small",)
    found = "big" if amount > 100 else "middle" if amount > 10 else "small"
    return (found,)


def is_wanted(row: Row) -> bool:
    """`amount between 10 and 100 and country in ('DE', 'FR')`."""
    amount = row[4]
    return amount is not None and 10 <= amount <= 100 and row[5] in ("DE", "FR")


BY_HAND: tuple[Callable[[Row], Any], ...] = (is_view, total, clean, size, is_wanted)


def generated(by_hand: Callable[[Row], Any]) -> Callable[[Row], Any]:
    """What the text in the docstring compiles to: a filter where the hand-written one gives a bool."""
    text = (by_hand.__doc__ or "").strip("`.")
    if by_hand.__name__.startswith("is_"):
        return compile_condition(check_condition(text, SCHEMA), SCHEMA)
    return compile_row([check(text, SCHEMA)], SCHEMA)


def rows() -> list[Row]:
    """Rows as streams have them; one value in fifty is null."""
    dice = random.Random(1)  # noqa: S311 (reproducible, no secret)

    def maybe(value: Any) -> Any:
        return None if dice.random() < 0.02 else value

    return [
        (
            maybe(dice.choice(["view", "click", "purchase"])),
            maybe(dice.random() * 100),
            maybe(dice.randrange(10)),
            maybe(dice.choice(["  Ada ", "Grace", " Barbara Liskov"])),
            maybe(dice.randrange(200)),
            maybe(dice.choice(["DE", "FR", "IT", "NL"])),
        )
        for _ in range(ROWS)
    ]


def timed(function: Callable[[Row], Any], data: list[Row]) -> float:
    """Nanoseconds per row."""
    start = time.perf_counter_ns()
    for row in data:
        function(row)
    return (time.perf_counter_ns() - start) / len(data)


def compared(one: Callable[[Row], Any], other: Callable[[Row], Any], data: list[Row]) -> list[tuple[float, float]]:
    """Times of both, in turn A B B A."""
    found = []
    for _ in range(ROUNDS):
        first, second = timed(one, data), timed(other, data)
        third, fourth = timed(other, data), timed(one, data)
        found.append(((first + fourth) / 2, (second + third) / 2))
    return found


def main() -> None:
    """Print a line for each expression."""
    data = rows()
    for by_hand in BY_HAND:
        ours = generated(by_hand)
        if [ours(row) for row in data] != [by_hand(row) for row in data]:
            message = f"{by_hand.__name__} computes something else"
            raise SystemExit(message)
        times = compared(ours, by_hand, data)
        ratios = sorted(one / other for one, other in times)
        low, middle, high = ratios[len(ratios) // 10], statistics.median(ratios), ratios[-len(ratios) // 10]
        cost = statistics.median(one for one, _ in times)
        text = (by_hand.__doc__ or "").strip("`.")
        sys.stdout.write(f"{middle:5.2f}  ({low:.2f}-{high:.2f})  {cost:6.0f} ns  {text}\n")


if __name__ == "__main__":
    main()
