"""A job in memory whose dead letters are put back."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import programs
from spillway.controllers.topics import Names
from spillway.runtime import letters
from spillway.runtime.frames import Origin, Position
from spillway.runtime.functions import Function
from spillway.runtime.letters import Letter
from spillway.runtime.programs.program import Port, Program
from spillway.runtime.programs.running import Running
from spillway.runtime.replays import routes
from spillway.runtime.replays.routes import Route
from spillway.runtime.replays.works import Works
from spillway.runtime.task import Send

NAMES = Names("")  # so its topics are called as `programs.Job` calls them


class LetterJob(programs.Job):
    """Keeps each letter as the message that a task sends."""

    written: list[bytes]

    def _take(self, program: Program, running: Running, origin: Origin) -> None:
        if not hasattr(self, "written"):
            self.written = []
        self.written += [letters.encode(one, program, origin.partition, NAMES) for one in running.letters]
        super()._take(program, running, origin)

    def read(self) -> list[Letter]:
        """All letters, read back."""
        found = [letters.decode(data) for data in getattr(self, "written", [])]
        return [letter for letter in found if isinstance(letter, Letter)]

    def routed(self) -> list[tuple[Letter, Route]]:
        """Where each letter goes."""
        return [(letter, routes.route(letter, self.programs)) for letter in self.read()]

    def replay(self, load: Callable[[str], Function]) -> list[Send]:
        """Put everything back that can be, and let it flow to its end."""
        routed, self.written = self.routed(), []
        works = Works(NAMES, self.partitions, "identity", load, self._fill)
        self.topics = {name: content for name, content in self.topics.items() if not name.startswith("edge.")}
        sends = [
            send
            for number, (letter, route) in enumerate(routed)
            if route.leads
            for send in works.again(letter, number, route, Position(0, number), 0)
        ]
        self.deliver(sends)
        for name in list(self.topics):
            self.topics[name] = self.topics[name] if name.startswith("edge.") else {}
        for program in self.programs:
            self._work(program)
        return sends

    def deliver(self, sends: Sequence[Send]) -> None:
        """Frames into edges, messages into outputs."""
        outputs: dict[str, str] = {out.topic: out.name for program in self.programs for out in program.outputs}
        for send in sends:
            if send.topic in outputs:
                self.outputs[outputs[send.topic]].append((send.key, send.value))
            elif send.topic.startswith("edge."):
                self.topics.setdefault(send.topic, {}).setdefault(send.partition, []).append(send.value)

    def _fill(self, port: Port, run: Callable[[list[Any]], None]) -> None:
        assert port.source is not None
        for found in self.topics[port.source.topic].values():
            run(list(found))
