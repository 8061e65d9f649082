"""Slots without data: they join, prepare, take over, release and report as the protocol says, and process nothing.

What they leave out: records, state and commits. A position is wherever the partition was started, so nothing is ever
flushed or committed, and a stand-in that is silent keeps no fence from succeeding.
"""

from __future__ import annotations

import threading
import time
import uuid
from collections.abc import Collection

from spillway.controllers.protocol import effects, log, messages, owner, slot
from spillway.controllers.protocol.values import Partition
from spillway.controllers.topics import Names
from spillway.runtime import control, telemetry
from spillway.runtime.clients import Access
from spillway.runtime.control import ControlLog
from spillway.runtime.emitter import Emitter
from spillway.runtime.telemetry import Place, Report


class StandIn:
    """One slot, in a thread; `cannot` are hashes of programs that it can't run."""

    def __init__(self, access: Access, names: Names, name: str, *, address: str = "") -> None:
        self.name, self.address = name, address
        self.cannot: Collection[str] = ()
        self.leaving = self.mute = False
        self.slot: slot.Slot | None = None
        self.problem: BaseException | None = None
        self._access, self._names = access, names
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._guarded, daemon=True)
        self._thread.start()

    @property
    def works(self) -> dict[Partition, str]:
        """The partitions that it has, and what it runs on them."""
        return {place: work.program for place, work in self.slot.works.items()} if self.slot else {}

    def end(self) -> None:
        """As by a hard kill: nothing is given back."""
        self._ended.set()
        self._thread.join()
        if self.problem is not None:
            raise self.problem

    def _guarded(self) -> None:
        try:
            self._run()
        except BaseException as problem:
            self.problem = problem

    def _run(self) -> None:
        reader, self._emitter = ControlLog(self._access, self._names), Emitter(self._access)
        state, process, began, told = reader.restored(), str(uuid.uuid4()), time.monotonic(), 0.0
        self._write(messages.Join(self.name, process))
        while not self._ended.is_set():
            for _, message in reader.read(0.02):
                state, counted = log.read(state, message)
                if self.slot is None:
                    self.slot = slot.joined(state, message, process)
                else:
                    self._step(*slot.hear(self.slot, message, counted))
            self._emitter.serve()
            if self.slot is not None and not self.mute and time.monotonic() - told > 0.1:
                told = time.monotonic()
                self._emitter.send(self._names.telemetry, 0, None, telemetry.encode(self._report(told - began)))
        reader.close()
        self._emitter.flush(1)

    def _step(self, after: slot.Slot, asked: slot.Effects) -> None:
        self.slot = after
        for effect in asked:
            match effect:
                case effects.Append(message):
                    self._write(message)
                case effects.Warm(partition, epoch, program):
                    problem = f"{self.name} can't run it" if program in self.cannot else ""
                    self._write(owner.prepared(partition, epoch, after.me, problem).message)
                case effects.ReadBack(partition, epoch):
                    self._step(*slot.told(self.slot, partition, lambda w, e=epoch: owner.read_back(w, e, 0, after.me)))  # type: ignore[misc]
                case effects.Restart():
                    self._ended.set()  # fenced: this life is over

    def _write(self, message: messages.Any) -> None:
        self._emitter.send(*control.record(self._names, message))

    def _report(self, up: float) -> Report:
        assert self.slot is not None
        places = tuple(
            Place(p.segment, p.number, w.epoch, w.program, w.processes, w.position, w.committed, 0, up * 0.1)
            for p, w in self.slot.works.items()
        )
        me = self.slot.me
        return Report(
            telemetry.VERSION, me.slot, me.incarnation, "", time.time(), up, places=places, leaving=self.leaving,
            address=self.address,
        )  # fmt: skip
