"""The Python side of a Spark task: works on the ranges that it is given, with clients and programs that stay warm.

Spark keeps the processes that it runs Python in, so what is made here once serves all batches that come after. A
process works on one task at a time.
"""

from __future__ import annotations

import functools
import pickle
from collections.abc import Iterable, Iterator

import pyarrow as pa
from confluent_kafka import Consumer

from spillway.runtime import clients, functions
from spillway.runtime.batch import ranges
from spillway.runtime.batch.ranges import Order, Range
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter
from spillway.runtime.programs.compiler import Loop

RESULT = "result binary"  # the schema of what a task gives: pickled results

# Programs that stay compiled. A job has a few; two plans of it are alive while a program changes.
_PROGRAMS = 64


class _Made:
    """What a process keeps."""

    def __init__(self) -> None:
        self._loops: dict[str, Loop] = {}
        self._clients: dict[Access, tuple[Consumer, Emitter]] = {}
        self._known: set[str] = set()

    def loop(self, order: Order) -> Loop:
        """The compiled program."""
        program = order.program
        if program.id not in self._loops:
            if len(self._loops) >= _PROGRAMS:
                self._loops.clear()
            loaded = {name: functions.load(name, order.code) for name, _ in program.digests}
            self._loops[program.id] = Loop(program, loaded)
        return self._loops[program.id]

    def clients(self, access: Access, topic: str) -> tuple[Consumer, Emitter]:
        """A consumer that knows a topic, and a producer."""
        if access not in self._clients:
            self._clients[access] = clients.restorer(access, "batch"), Emitter(access)
        if topic not in self._known:
            self._known.add(topic)
            clients.know(self._clients[access][0], topic)
        return self._clients[access]


@functools.cache
def _made() -> _Made:
    return _Made()


def worker(text: bytes, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Work on the ranges whose numbers come in; `text` is the pickled order with all ranges of the intent."""
    order, given = pickle.loads(text)  # noqa: S301 - from our own driver
    for batch in batches:
        for number in batch.column(0).to_pylist():
            yield pa.RecordBatch.from_pydict({"result": [pickle.dumps(one(order, given[number]))]})


def one(order: Order, given: Range) -> ranges.Result:
    """Work on one range."""
    made = _made()
    consumer, emitter = made.clients(order.access, order.topic)
    return ranges.work(order, made.loop(order), given, consumer, emitter)


def packed(order: Order, given: list[Range]) -> bytes:
    """What `worker` is handed."""
    return pickle.dumps((order, given))
