"""Works on ranges in this process, with clients and programs that stay warm from one to the next.

Spark keeps the processes that it runs Python in, so what is made here once serves all batches that come after. One
thread at a time may work.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Sequence

from confluent_kafka import Consumer, KafkaException

from spillway.model.errors import RetryError
from spillway.runtime import clients, functions
from spillway.runtime.batch import combining, ranges
from spillway.runtime.batch.ranges import Order, Range, Result, Tools
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.slots.caution import Caution
from spillway.runtime.slots.outputs import Outputs
from spillway.runtime.slots.replicas import Replicas

# Programs that stay compiled. A job has a few; two plans of it are alive while a program changes.
_PROGRAMS = 64


class _Clients:
    """What one cluster is talked to with."""

    def __init__(self, access: Access) -> None:
        self._access = access
        self.consumer: Consumer = clients.restorer(access, "batch")
        self.outputs = Outputs(access)
        self._emitters: dict[int, Emitter] = {}
        self._known: set[tuple[str, str]] = set()

    def emitter(self, batch: int) -> Emitter:
        """One that sends so many bytes at once."""
        if batch not in self._emitters:
            self._emitters[batch] = Emitter(self._access, batch)
        return self._emitters[batch]

    def know(self, order: Order, emitter: Emitter) -> None:
        """Have them look for the topics before there is anything to read or to send."""
        program = order.program
        if (order.names.prefix, program.id) in self._known:
            return
        try:
            clients.know(self.consumer, order.topic)
            emitter.know(*(order.names.edge(edge.reader) for edge in program.edges))
            emitter.know(*(output.topic for output in program.outputs))
        except KafkaException as error:
            message = f"no broker says where {order.topic!r} and what comes of it are: {error.args[0].str()}"
            raise RetryError(message) from None
        self._known.add((order.names.prefix, program.id))

    def close(self) -> None:
        """What was not sent is not to be sent: the range is worked on again, maybe while this is still on its way."""
        for emitter in self._emitters.values():
            emitter.abandon()
        self.consumer.close()


class _Kept:
    """What a process keeps."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self._loops: dict[tuple[str, frozenset[str]], Loop] = {}
        self._clients: dict[Access, _Clients] = {}
        self._replicas: dict[tuple[str, str], Replicas] = {}  # by job and program

    def tools(self, order: Order, caution: Caution | None = None) -> Tools:
        """Everything that an order needs; raises what is wrong with its functions or topics."""
        loop = self._loop(order)
        if order.access not in self._clients:
            self._clients[order.access] = _Clients(order.access)
        found = self._clients[order.access]
        most = found.outputs.limits(order.program)
        emitter = found.emitter(found.outputs.batch(output.topic for output in order.program.outputs))
        found.know(order, emitter)
        replicas = self._replica(order, loop, found.consumer)
        return Tools(loop, found.consumer, emitter, most, caution or Caution(None, ()), replicas)

    def _replica(self, order: Order, loop: Loop, consumer: Consumer) -> Replicas | None:
        """The tables that are looked up, just as the order says; one that was read further is read anew."""
        if not order.program.states:
            return None
        key = order.names.prefix, order.program.id
        found = self._replicas.get(key) or Replicas(loop)
        if not found.upto(consumer, order.tables):
            found = Replicas(loop)
            found.upto(consumer, order.tables)
        self._replicas[key] = found
        return found

    def drop(self, access: Access) -> None:
        """Clients with which something went wrong are not used again."""
        self._replicas.clear()  # one that was being read may have a part of a message
        found = self._clients.pop(access, None)
        if found is not None:
            found.close()

    def _loop(self, order: Order) -> Loop:
        program = order.program
        together = combining.together(program, order.aims)
        known = program.id, together
        if known not in self._loops:
            if len(self._loops) >= _PROGRAMS:
                self._loops.clear()
            loaded = {name: functions.load(name, order.code) for name, _ in program.digests}
            self._loops[known] = Loop(program, loaded, together=together)
        return self._loops[known]


@functools.cache
def _kept() -> _Kept:
    return _Kept()


def warm(order: Order) -> None:
    """Make everything that an order needs, so that its first range is as fast as any."""
    kept = _kept()
    with kept.lock:
        try:
            kept.tools(order)
        except BaseException:
            kept.drop(order.access)
            raise


def some(order: Order, given: Sequence[Range], caution: Caution | None = None) -> list[Result]:
    """Work on ranges of different partitions; with care, where an earlier process ended at one of them."""
    kept = _kept()
    with kept.lock:
        try:
            return ranges.work(order, given, kept.tools(order, caution))
        except BaseException:
            kept.drop(order.access)
            raise


def one(order: Order, given: Range) -> Result:
    """Work on one."""
    (result,) = some(order, [given])
    return result
