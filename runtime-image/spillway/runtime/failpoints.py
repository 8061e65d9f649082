"""Named steps at which tests end, or stop, a process: whatever dies after whichever step, nothing may be lost.

    failpoints.reached("committed")     in the code, right after the step

In production `reached` does nothing, and nothing that is configured, sent or written can change that: tests put a
function of their own there, in processes of their own. A step that a type checker doesn't find in the lists below is
an error, and the tests fail if a step of the lists is never come by, so the lists are what is promised.

A call costs 50 to 90 ns. A slot makes three for each batch of messages that it takes, which are up to 500 when it is
busy, and some for each commit and each message of the control log: less than a thousandth of its time.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, get_args

Slot = Literal[
    # A life begins and ends.
    "joining",  # `Join` is handed to the client
    "joined",  # and read back
    "initialised",  # the transactional id is its own
    "gone",  # it was fenced, or replaced, and has dropped what it had
    "drained",  # it was asked to end, and has stored all that it processed
    # The loop.
    "polled",  # messages are there, and not processed
    "processed",  # and what came of them is not handed to the client
    "sent",  # but not acknowledged
    "reported",  # telemetry
    "heard",  # a message of the control log was carried out
    # Partitions come and go.
    "assigned",  # a partition is ours, and what is missing is being read
    "taken",  # it is read from its position on
    "stopped",  # no further record is processed
    "flushed",  # and what waited is handed to the client
    "dropped",  # somebody else has it
    "replicas loaded",
    "restore begun",  # as far as a changelog reaches while somebody else has the partition
    "restored ahead",
    "warmed",  # `Prepared` is handed to the client
    "restored",
    # Takeovers.
    "marked",  # the markers are handed to the client
    "edges read back",
    "read back",  # and the barrier is known
    # Commits.
    "snapshot taken",
    "acknowledged",  # all that was sent before the snapshot has arrived
    "transaction begun",
    "rows sent",
    "positions sent",
    "committed",
    "stored",  # the loop knows
    "released",  # `Released` is handed to the client
    "trimming",
    "trimmed",
]

Driver = Literal[
    "Lead written",  # that is, handed to the client
    "led",  # it has read it, and it counts
    "Plan written",
    "Assign written",
    "Prepare written",
    "Release written",
    "fenced",  # an owner can commit no more, and nobody has been told
    "Fenced written",
    "positions read",
]

Engine = Literal[
    "engine ready",  # its identity is its own, and nobody knows of it
    "Prepared written",
    "Released written",
    "Intent written",
    "batch begun",  # it is being run
    "batch ran",  # brokers have what came of it, and nobody was told
    "batch committed",
    "Done written",
    "batch marked",  # the markers of a takeover are handed to the client
    "batch read back",
]

SLOT: tuple[Slot, ...] = get_args(Slot)
DRIVER: tuple[Driver, ...] = get_args(Driver)
ENGINE: tuple[Engine, ...] = get_args(Engine)


def nothing(_: Slot | Driver | Engine) -> None:
    """What production does at each of them."""


reached: Callable[[Slot | Driver | Engine], None] = nothing
