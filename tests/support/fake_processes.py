"""Processes that only say whether they run, and a clock that somebody sets."""

from __future__ import annotations

import itertools
from datetime import timedelta
from pathlib import Path

from spillway.local.upkeep import Kept
from spillway.local.workers import Workers

_numbers = itertools.count(1000)


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


class FakeProcess:
    """Ends when it is asked to, unless it is `stubborn`."""

    def __init__(self, *, stubborn: bool = False) -> None:
        self.pid = next(_numbers)
        self.code: int | None = None
        self.stubborn = stubborn
        self.asked = False

    def end(self, code: int) -> None:
        self.code = code

    def running(self) -> bool:
        return self.code is None

    def exit_code(self) -> int | None:
        return self.code

    def ask_to_end(self) -> None:
        self.asked = True
        if self.code is None and not self.stubborn:
            self.code = 0

    def stop(self, patience: timedelta) -> None:
        self.ask_to_end()
        self.kill()

    def kill(self) -> None:
        if self.code is None:
            self.code = 137

    def log_tail(self, lines: int = 20) -> str:
        return "Traceback …\nValueError: wrong"


class Started:
    """Starts processes of a kind; has all that were started."""

    def __init__(self) -> None:
        self.all: list[tuple[int, FakeProcess]] = []

    def one(self, number: int = 0) -> FakeProcess:
        self.all.append((number, FakeProcess()))
        return self.all[-1][1]

    def last(self, number: int = 0) -> FakeProcess:
        return [process for n, process in self.all if n == number][-1]


class FakeParts:
    """In the place of `local.parts.Parts`: a driver at an address, and workers, none of which does anything."""

    def __init__(self, client: object, clock: Clock, folder: Path) -> None:
        self.client = client
        self.drivers, self.crew = Started(), Started()
        self.driver = Kept(self.drivers.one, clock)
        self.workers = Workers(self.crew.one, clock)
        self._folder = folder

    def log(self, what: str) -> Path:
        return self._folder / f"{what}.log"
