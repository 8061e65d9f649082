"""Updates of tables: what operators without a state make of them."""

from __future__ import annotations

from typing import Any

Row = tuple[Any, ...]
Update = tuple[int, Row | None, Row | None]  # (event time, old, new); no old row: an insert, no new row: a delete


def passed(timestamp: int, old: Row | None, new: Row | None) -> list[Update]:
    """The update that a filter or a select lets through, given what it made of both rows (None: not passed).

    A row that no longer passes is deleted, one that passes now is inserted (SDF Definitions 71 and 72). An update of
    which nothing can be seen any more goes no further: here a filter and a select save all that comes behind them.
    """
    return [] if old == new else [(timestamp, old, new)]
