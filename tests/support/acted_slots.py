"""A slot that only acts: a real process that talks through the real pipe, and does what a script says.

The script of slot `w0.0` stands in `w0.0.json` in the folder that would have the user's code: a list of lives, each a
list of steps. The last life is played again and again. What each life was started with is added to `w0.0.lives`.

    ["join"]                    reports that it works on two partitions
    ["restore"]                 reports that it does not work on them yet
    ["note", "counts", 3, 5, 9] notes these messages
    ["clear"]                   clears the note
    ["exit", 3]                 ends at once, with this exit code
    ["raise", "words"]          raises an error of ours
    ["kill"], ["fault"]         is killed, or faults
    ["hang"]                    never comes back from C, and holds the GIL
    ["backtrack"]               the same within a user's function that a program has called
    ["half"]                    tells half of a large message, and stops there
    ["wait"]                    tells nothing more, but runs
    ["serve"]                   reports and answers until it is stopped, then ends in order
    ["linger"]                  the same, but ends only when it is killed
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import signal
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path
from typing import Any

from spillway.model.errors import RetryError
from spillway.runtime import telemetry
from spillway.runtime.slots.ledger import Ledger
from spillway.runtime.slots.messages import Answer, Ask, Stop, Told
from spillway.runtime.slots.settings import Settings
from spillway.runtime.telemetry import Flow, Latency, Place, Report

EVERY = 0.02
OUTPUT = Latency(2, 1, 30.0, tuple(int(bound in (2.828, 32.0)) for bound in (*telemetry.BUCKETS, 0)))


class SceneError(RetryError):
    """What a script raises."""


def write(folder: Path, slot: str, *lives: list[list[Any]]) -> None:
    """The script of a slot."""
    (folder / f"{slot}.json").write_text(json.dumps(lives))


def lives(folder: Path, slot: str) -> list[dict[str, Any]]:
    """What each life so far was started with: its process, and its suspects."""
    file = folder / f"{slot}.lives"
    return [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


def run(settings: Settings, pipe: Connection) -> None:
    """Play one life."""
    assert settings.code is not None
    folder = settings.code
    number = len(lives(folder, settings.slot))
    with (folder / f"{settings.slot}.lives").open("a") as file:
        file.write(json.dumps({"pid": os.getpid(), "suspects": settings.suspects}) + "\n")
    script = json.loads((folder / f"{settings.slot}.json").read_text())
    actor = Actor(settings, pipe, number)
    for name, *values in script[min(number, len(script) - 1)]:
        getattr(actor, f"do_{name}")(*values)


class Actor:
    """One life of a slot."""

    def __init__(self, settings: Settings, pipe: Connection, number: int) -> None:
        self._settings, self._pipe, self._number = settings, pipe, number
        self._began = time.monotonic()
        self._working = True
        self._ledger = settings.ledger or Ledger()

    def report(self, *, leaving: bool = False) -> None:
        """The same counts, whenever it is."""
        places = tuple(
            Place("counts", number, 1, "program", self._working, 10, 5, 15, 0.5, 7, 700, 3) for number in range(2)
        )
        self._pipe.send(
            Told(
                Report(
                    version=telemetry.VERSION,
                    slot=self._settings.slot,
                    incarnation=self._number,
                    process=str(os.getpid()),
                    at=time.time(),
                    up=time.monotonic() - self._began,
                    busy=1.0,
                    cpu=0.25,
                    memory=2**20,
                    places=places,
                    flows={"counts": {"counts": Flow(10, 8, 2, 1, 0.5)}},
                    latency={"result": OUTPUT},
                    letters=2,
                    leaving=leaving,
                    address=self._settings.address,
                )
            )
        )

    def do_join(self) -> None:
        self._working = True
        self.report()

    def do_restore(self) -> None:
        self._working = False
        self.report()

    def do_note(self, segment: str, number: int, start: int, stop: int) -> None:
        self._ledger.note(segment, number, start, stop)

    def do_clear(self) -> None:
        self._ledger.clear()

    def do_exit(self, code: int) -> None:
        os._exit(code)

    def do_raise(self, words: str) -> None:
        raise SceneError(words)

    def do_bug(self) -> None:
        raise ZeroDivisionError

    def do_kill(self) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def do_fault(self) -> None:
        ctypes.string_at(0)

    def do_hang(self) -> None:
        re.match(r"(a|a)*b", "a" * 60)

    def do_backtrack(self) -> None:
        import stuck  # with programs and all that they need, which only this step pays for

        running = stuck.loop(stuck.backtracks).bind()
        self.report()  # that took long, but it does not hang yet
        running.run["events"](stuck.some([0, 1, 2]))

    def do_half(self) -> None:
        os.write(self._pipe.fileno(), (1_000_000).to_bytes(4, "big") + b"half")
        self.do_hang()

    def do_wait(self) -> None:
        time.sleep(1000)

    def do_serve(self) -> None:
        self._serve(stops=True)

    def do_linger(self) -> None:
        self._serve(stops=False)

    def _serve(self, *, stops: bool) -> None:
        while True:
            try:
                self.report()
                if self._pipe.poll(EVERY):
                    match self._pipe.recv():
                        case Stop(seconds) if stops:
                            self.report(leaving=True)
                            sys.stderr.write(f"{self._settings.slot} stops within {seconds:g} s\n")
                            return
                        case Ask() as ask:
                            self._answer(ask)
            except (EOFError, OSError):
                return

    def _answer(self, ask: Ask) -> None:
        """It has the keys of its name, no others; `bad` is none, and on `silence` it says nothing."""
        key = ask.key.get("campaign_id")
        if key == "bad":
            self._pipe.send(Answer(ask.number, found=True, problem="no key of mine"))
        elif key != "silence":
            mine = key == self._settings.slot
            rows = ({"campaign_id": str(key), "views": self._number},) if mine else ()
            self._pipe.send(Answer(ask.number, found=mine, rows=rows))
