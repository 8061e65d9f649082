"""Functions of a user that hang, each in its way, on the record whose `a` is 1; and a program that calls one."""

from __future__ import annotations

import os
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import programs
from spillway.model.operators import PythonKind
from spillway.runtime.functions import Function
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program
from spillway.runtime.programs.running import Running
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.watch import Watch

Record = dict[str, Any]

TEXT = """
streams: [{{name: events, topic: events, columns: 'a bigint'}}]
operators: [{{name: called, input: events, python: {{function: "m:f", as: {kind}, returns: 'a bigint', {more}}}}}]
outputs: [{{name: r, input: called, topic: r}}]
"""


def spins(record: Record) -> Record:
    """In a loop of Python."""
    while record["a"] == 1:
        pass
    return record


def sleeps(record: Record) -> Record:
    """In one long sleep."""
    time.sleep(1000 * (record["a"] == 1))
    return record


def listens(record: Record) -> Record:
    """For an answer that never comes."""
    if record["a"] == 1:
        near, far = socket.socketpair()
        with near, far:
            near.recv(1)
    return record


def waits(record: Record) -> Record:
    """For a lock that nobody gives back."""
    if record["a"] == 1:
        lock = threading.Lock()
        lock.acquire()
        lock.acquire()
    return record


def tries_again(record: Record) -> Record:
    """After whatever error."""
    while record["a"] == 1:
        try:
            time.sleep(1000)
        except Exception:  # noqa: S112 - as people write it
            continue
    return record


def keeps_everything(record: Record) -> Record:
    """What can't be stopped from within: it catches all there is."""
    while record["a"] == 1:
        try:
            time.sleep(1000)
        except BaseException:  # noqa: S112
            continue
    return record


def backtracks(record: Record) -> Record:
    """In C, holding the GIL: 2 to the 60 ways to split the text."""
    if record["a"] == 1:
        re.match(r"(a|a)*b", "a" * 60)
    return record


def yields(record: Record) -> Iterator[Record]:
    """Between two rows."""
    yield record
    while record["a"] == 1:
        pass


def in_a_batch(batch: Any) -> Any:
    """Somewhere in a batch of many."""
    while 1 in batch.column(0).to_pylist():
        pass
    return batch


def loop(call: Callable[..., Any]) -> Loop:
    """A compiled program with one operator, which calls the function."""
    kind = PythonKind.FLAT_MAP if call is yields else PythonKind.MAP
    spec = programs.spec(TEXT.format(kind=kind, more=f"vectorised: {str(call is in_a_batch).lower()}"))
    (program,) = cutting.cut(spec, {"called": ("called",)}, {"m:f": "d"})
    assert isinstance(program, Program)
    return Loop(program, {"m:f": Function("m:f", call, "d")})


def run(call: Callable[..., Any], values: list[int]) -> Running:
    """What became of records with these values of `a`, offsets counting from 0."""
    running = loop(call).bind()
    running.run["events"](some(values))
    return running


def some(values: list[int]) -> list[programs.Message]:
    """Records with these values of `a`."""
    return programs.messages([{"a": value} for value in values])


# In processes of their own


def watched(call: Callable[..., Any], ledger: Ledger, limit: float, fatal: float) -> None:
    """One batch of two records, noted."""
    Watch(limit, fatal).start()
    ledger.note("called", 3, 0, 2)
    run(call, [0, 1])
    ledger.clear()


def dies(ledger: Ledger) -> None:
    """With a note that stands."""
    ledger.note("counts", 1, 10, 20)
    os._exit(3)
