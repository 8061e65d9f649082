"""Where a letter goes back to: its row passes the operator that failed and what is behind it, in this job alone.

Never to the topic that its record came from, which others read, and whose other readers in the job have seen it.

- The head of a segment gets it as a frame on the edge of the segment, on the partition that the letter came from.
- Everything else has no state of its own: who replays runs it, from that operator on, and sends what comes out.
- A row of a table can't go back. Whether it is still the row of its key, nobody can tell: an operator behind would add
  a row that was replaced or deleted since, and never take it back again.

A letter is judged by the programs of now. If the operator takes other columns than it did, the row does not fit.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable

from spillway.controllers.explain import Reasons
from spillway.model.types import Schema
from spillway.runtime.letters import Letter, LetterError
from spillway.runtime.programs.program import MAIN, Port, Program
from spillway.runtime.programs.rest import rest


class Reason(Reasons):
    """What can be done with a letter."""

    EDGE = "Edge", "The row goes to the edge of its segment, as a frame."
    HERE = "Here", "The row is run from its operator on, and what comes out is sent."
    GONE = "Gone", "The job has no such operator any more."
    TABLE = "Table", "It is the row of a table, which may have changed since; write it into the table's topic again."
    COMBINED = "Combined", "It is about rows that were added up before; the records themselves are not known."
    INCOMPLETE = "Incomplete", "The letter does not have the whole row."
    COLUMNS = "Columns", "The operator takes other columns now than when it failed."


@dataclasses.dataclass(frozen=True, slots=True)
class Route:
    """The decision.

    Attributes:
        reason: where it goes, or why it can't.
        sentence: the same of this letter, for people.
        program: with `EDGE`, the program of the segment; with `HERE`, what is to be run.
        port: where the row comes in.
    """

    reason: Reason
    sentence: str
    program: Program | None = None
    port: Port | None = None

    @property
    def leads(self) -> bool:
        """Whether the letter can be replayed."""
        return self.program is not None


def route(letter: Letter, programs: Iterable[Program]) -> Route:
    """What to do with a letter, given the programs that the job has now."""
    # Its own one first. A message that several segments read has a letter of each, and goes back to that one alone.
    known = sorted(programs, key=lambda program: program.name != letter.program)
    known = [program for program in known if program.name == letter.program or not letter.is_message]
    found = next((program for program in known if _has(program, letter.operator)), None)
    if found is None:
        return Route(Reason.GONE, f"the job has no {letter.operator!r} any more")
    if letter.updates:
        return Route(
            Reason.TABLE,
            f"{letter.operator!r} failed on the row of a table, which may have changed since; write the row into its"
            " topic again, and the new update passes everything",
        )
    if tuple(name for name, _ in letter.columns) == ("key", "states"):
        return Route(Reason.COMBINED, f"{letter.operator!r} failed on states that a batch had combined")
    try:
        letter.values()
    except LetterError as error:
        return Route(Reason.INCOMPLETE, f"the row can't be had from the letter: {error}")
    return _of_message(letter, found) if letter.is_message else _of_row(letter, found)


def _of_message(letter: Letter, program: Program) -> Route:
    port = next(port for port in program.ports if port.label == letter.operator)
    return Route(Reason.HERE, f"the message is decoded again, as one of {port.name!r}", program, port)


def _of_row(letter: Letter, program: Program) -> Route:
    for port in program.ports:
        is_edge = port.source is None and not port.combined
        if is_edge and port.into == letter.operator and port.side == letter.side:
            partition = letter.partition if letter.into is None else letter.into
            sentence = f"a frame to segment {program.name!r}, partition {partition}"
            return _fitting(letter, Route(Reason.EDGE, sentence, program, port))
    part = rest(program, letter.operator)
    if part is None:
        return Route(Reason.GONE, f"{letter.operator!r} takes no rows any more")
    port = part.ports[0]
    step = next((step for step in part.steps if step.name == letter.operator), None)
    if letter.side != MAIN or (step is not None and step.takes_updates):
        return Route(Reason.TABLE, f"{letter.operator!r} takes rows of a table, which may have changed since")
    return _fitting(letter, Route(Reason.HERE, f"run from {letter.operator!r} on", part, port))


def _fitting(letter: Letter, route_: Route) -> Route:
    """The route, unless the row has not what is taken at its end."""
    assert route_.port is not None  # noqa: S101 - it leads somewhere
    if route_.port.updates:
        return Route(Reason.TABLE, f"{letter.operator!r} takes rows of a table, which may have changed since")
    missing = _missing(letter, route_.port.schema)
    if not missing:
        return route_
    return Route(Reason.COLUMNS, f"{letter.operator!r} takes {missing} now, which the letter does not have")


def _missing(letter: Letter, schema: Schema) -> str:
    if letter.timestamp is None:
        return "an event time"
    known = dict(letter.columns)
    return ", ".join(f"{c.name} {c.type}" for c in schema if known.get(c.name) != str(c.type))


def _has(program: Program, label: str) -> bool:
    labels = {step.name for step in program.steps} | {edge.label for edge in program.edges}
    return label in labels.union((way.label for way in program.outputs), (port.label for port in program.ports))
