"""A program at work on one partition of its input: buffers of what goes out, counts, dead letters.

    running = loop.bind(states, partitions)
    running.run["events"](messages)                    # a topic of the user: messages of one partition, in order
    running.run["counts.main"](offset, rows, first)    # an edge: rows of one frame, the first of them at this index

What goes out waits in `edges` (a list for each partition of the edge, or one list where it has no key: rows as
`frames` wants them) and `outputs` (`(offset, index, timestamp, key, value)`, value None for a delete). The loop
appends to these very lists: who has sent what is in them clears them, and never replaces them.

A row on which an operator raises is a dead letter, and is no row of what this operator gives. Each row is judged alone:
whatever else was made of the same record goes on, because in a program of its own it would. Of an update, the new row
is judged; of the old one nothing is said, it had its letter when it came.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Callable, Mapping, Sequence
from types import CodeType, FrameType
from typing import Any

from spillway.model.errors import SpillwayError
from spillway.runtime.programs.text import Owner

Row = tuple[Any, ...]
Rows = list[Row]
Clock = Callable[[], int]
Taken = tuple[int | None, tuple[str, ...], Row | None]  # event time, columns and values of a row

# A timed record takes three times as long as another one: two readings of the clock for each operator. 1 in 64 costs
# about 4 % of a short loop; 1 in 8 would cost 30 %, and with fewer an operator's time would be known later.
SAMPLED = 64


@dataclasses.dataclass(frozen=True, slots=True)
class Letter:
    """A row on which something raised: with it, the operator can be asked again.

    Attributes:
        port: where the record came in that it was made of.
        offset, index: the position of that record.
        operator: what raised; the port itself where the message is no record.
        error: the kind of the error and what it says.
        line: number and text of the generated line.
        timestamp: event time of the row; of a message, when it was written.
        columns: those that the operator takes; of a message, key and value.
        row: their values, as they went into the operator; None where it was not one row that was wrong.
        into: the partition of the edge that the row would have gone to, had a batch not added it up before it was sent.
    """

    port: str
    offset: int
    index: int
    operator: str
    error: str
    line: tuple[int, str]
    timestamp: int | None = None
    columns: tuple[str, ...] = ()
    row: Row | None = None
    into: int | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Count:
    """What one place of a program has seen.

    Attributes:
        records_in, records_out: records, or updates, since the start; a dead letter counts as one that came in.
        errors: records on which it raised.
        timed: how many of them have been timed.
        seconds: what those took.
    """

    records_in: int
    records_out: int
    errors: int
    timed: int
    seconds: float


def clock_cost(clock: Clock) -> int:
    """What one reading of the clock takes, in its own units: the least of some, one right after the other."""
    readings = [clock() for _ in range(100)]
    return min(later - sooner for sooner, later in itertools.pairwise(readings))


def _said(error: BaseException) -> str:
    """What an error says, if it can."""
    try:
        return str(error) if isinstance(error, SpillwayError) else f"{type(error).__name__}: {error}"
    except Exception:
        return f"{type(error).__name__}, which can't say what it is about"


@functools.lru_cache(1024)
def _compiled(source: str) -> CodeType:
    return compile(source, "<row>", "eval")


def _value(found: tuple[str, FrameType] | None) -> Any:
    """What some source gives within a frame."""
    return None if found is None else eval(_compiled(found[0]), {}, found[1].f_locals)  # noqa: S307 - of our own names


class Running:
    """What `Loop.bind` gives. The generated code calls `refused`, and so does who makes frames."""

    def __init__(
        self,
        *,
        source: tuple[str, Sequence[Owner], Sequence[str]],
        places: Mapping[str, tuple[str, ...]],
        counting: frozenset[str],
        buffers: Mapping[str, int],
        outputs: Mapping[str, int],
        states: Mapping[str, Any],
        clock: Clock,
        sampled: int,
    ) -> None:
        """What the code is bound to.

        Args:
            source: the file of the generated code, whose each line is and what it works on, and its lines.
            places: everything that has figures, and the places that it reads.
            counting: those that count what goes out of them; ports count what comes in.
            buffers: by edge, how many partitions its rows are kept apart for.
            outputs: by name, the bytes that a message of each may have.
            states: table objects by the name of their operator.
            clock: in nanoseconds.
            sampled: of so many records, one is timed.
        """
        self._file, self._owners, self._lines = source
        self._places, self._counting = places, counting
        self.edges: dict[str, list[Rows]] = {label: [[] for _ in range(n)] for label, n in buffers.items()}
        self.outputs: dict[str, Rows] = {name: [] for name in outputs}
        self.most = dict(outputs)
        self.letters: list[Letter] = []
        self.states = states
        self.run: dict[str, Callable[..., None]] = {}
        self.port = ""
        self.waiting: dict[str, Rows] = {}
        self.clock = clock
        self.numbers = {name: i for i, name in enumerate(places)}
        self.counted = [0] * len(places)
        self.spent = [0] * len(places)
        self.passes = [0] * len(places)
        self.ticks = [sampled - 1]
        self._errors: dict[str, int] = {}
        self._cost = clock_cost(clock)

    def refused(
        self,
        error: BaseException,
        offset: int,
        index: int,
        operator: str = "",
        given: Taken | None = None,
        into: int | None = None,
    ) -> None:
        """A row raised: write its letter. Operator and row are found where nobody says them.

        Whatever it was: a function that exits, or a library that panics, would else end the worker, and every next one
        that takes the partition. Only a person's interrupt is not about the row.
        """
        self.overlooked(error)
        number, found = self._where(error)
        # One object may be raised again and again: its trace would grow, and tell of the first row.
        error.__traceback__ = None
        timestamp, columns, row = given or found
        text = self._lines[number - 1].strip() if number else ""
        operator = operator or (self._owners[number - 1][0] if number else self.port)
        self._errors[operator] = self._errors.get(operator, 0) + 1
        self.letters.append(
            Letter(self.port, offset, index, operator, _said(error), (number, text), timestamp, columns, row, into)
        )

    @staticmethod
    def overlooked(error: BaseException) -> None:
        """An old row raised, as it did when it was new; what is no error goes on."""
        if isinstance(error, KeyboardInterrupt):
            raise error

    def _where(self, error: BaseException) -> tuple[int, Taken]:
        """The line of the program that raised, or called what raised, and the row that it worked on.

        Only a row that raises pays for this: its values are still in the variables of the code.
        """
        number, columns = 0, tuple[str, ...]()
        row: tuple[str, FrameType] | None = None
        time: tuple[str, FrameType] | None = None
        trace = error.__traceback__
        while trace is not None:
            if trace.tb_frame.f_code.co_filename == self._file:
                number = trace.tb_lineno or number
                _, given = self._owners[number - 1]
                if given is not None:
                    columns, row = given.columns, (given.row, trace.tb_frame)
                    time = time if given.time is None else (given.time, trace.tb_frame)
            trace = trace.tb_next
        return number, (_value(time), columns, _value(row))

    def counts(self) -> dict[str, Count]:
        """What each port, operator, edge and output has seen since the start."""
        found: dict[str, Count] = {}
        for name, sources in self._places.items():
            number, errors = self.numbers[name], self._errors.get(name, 0)
            counted = self.counted[number]
            came = sum(found[source].records_out for source in sources) if sources else counted
            out = counted if sources and name in self._counting else came - errors
            spent = max(0, self.spent[number] - self.passes[number] * self._cost)
            found[name] = Count(came, out, errors, self.passes[number], spent * 1e-9)
        return found
