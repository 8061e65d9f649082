"""One life of a slot that owns all of word count, as a process of its own: `lone_slot.py BOOTSTRAP PREFIX LIFE END`.

It prints `working` once it owns everything, and goes on until it is killed; with END `idle`, until nothing has come
for a while, and then it commits and ends. With END `forgetful` it does the same without the tables of its predecessor.
"""

from __future__ import annotations

import sys
import time

import yaml

import programs
from spillway.controllers.topics import Names
from spillway.model import kafka
from spillway.runtime import commits
from spillway.runtime.clients import Access
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.slot import Slot
from spillway.runtime.task import Task

WIDTH, SOURCES = 3, 2
IDLE = 2.0


def loops(prefix: str) -> list[Loop]:
    """Of word count, on topics of its own: one that makes words of lines, and one that counts."""
    text = (programs.EXAMPLES / "word-count.yaml").read_text()
    own = text.replace("topic: lines", f"topic: {prefix}lines").replace("word-counts", f"{prefix}counts")
    spec = programs.spec(yaml.safe_load(own)["spec"])
    return [Loop(program) for program in cutting.cut(spec, programs.together(spec))]


def main(bootstrap: str, prefix: str, life: int, end: str) -> None:
    """Take over from the life before, and work."""
    if end == "forgetful":
        Task.load = lambda *_: None  # type: ignore[method-assign]
    access = Access(kafka.Kafka(bootstrap_servers=(bootstrap,)))
    if life:
        commits.fence(access, commits.identity(prefix, "slot", life - 1))
    slot = Slot(access, Names(prefix), WIDTH, f"{prefix}group", commits.identity(prefix, "slot", life))
    for loop in loops(prefix):
        reads_edge = any(port.source is None for port in loop.program.ports)
        for partition in range(WIDTH if reads_edge else SOURCES):
            slot.own(loop, partition, life + 1, takeover=life > 0)
    sys.stdout.write("working\n")
    sys.stdout.flush()
    last = time.monotonic()
    while end == "never" or time.monotonic() - last < IDLE:
        if slot.step(0.1):
            last = time.monotonic()
    slot.drain(20)
    slot.close()


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4])
