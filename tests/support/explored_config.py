"""What the explorer explores."""

from __future__ import annotations

import dataclasses

from spillway.controllers.protocol import rules
from spillway.controllers.protocol.rules import Rules

FAULTS = ("slot dies", "slot doubles", "slot suspected", "driver dies", "driver doubles", "task again", "reader dies")


@dataclasses.dataclass(frozen=True)
class Config:
    """What is explored.

    Attributes:
        records: by input partition, how many there are.
        slots: of workers.
        edges: partitions of the edge that all write to.
        faults: how many of them may happen.
        kinds: of faults that may happen.
        moves: how often something else is wanted.
        late: tries to move that take too long, or fail.
        engine: whether partitions may move to the batch engine.
        combine: whether its intents combine.
        batch: most records of one partition in an intent.
        frame: most records in one frame.
        changes: whether each move changes the program too, and may change nothing else.
        readers: whether readers store what they have, and die.
        begin: in whose slot the partitions begin.
        limit: partitions on the move at once.
        swift: whether a driver reads messages at once; for what doesn't hang on its delay, and with one driver only.
        watch: whether it is checked where takeovers and successors start; without it, what comes of it is seen.
        keep: the rules of the protocol.
        order: rule of the world: of what a dead producer sent to one partition, a prefix arrives.
        together: rule of the world: a reader stores its table and what it knows of origins in one transaction.
        retain: rule of the world: frames stay until their reader has stored and their owner has committed them.
    """

    records: tuple[int, ...] = (2,)
    slots: int = 2
    edges: int = 1
    faults: int = 1
    kinds: tuple[str, ...] = FAULTS
    moves: int = 1
    late: int = 0
    engine: bool = False
    combine: bool = True
    batch: int = 2
    frame: int = 1
    changes: bool = True
    readers: bool = False
    begin: str = "w0"
    limit: int = 2
    swift: bool = False
    watch: bool = True
    keep: Rules = rules.ALL
    order: bool = True
    together: bool = True
    retain: bool = True
