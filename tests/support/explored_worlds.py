"""The worlds that are explored: small enough to be seen whole, each for what can happen in it."""

from __future__ import annotations

from explored_config import Config
from spillway.controllers.protocol.rules import Rules

# Every state of these is seen in each run of the tests.
WHOLE = {
    "any fault of one process, without a move": Config(records=(2,), moves=0),
    "a move, and a slot that is wrongly suspected": Config(
        records=(1,), moves=1, kinds=("slot suspected",), changes=False, swift=True
    ),
    "a change of the program, and a slot that is followed while it lives": Config(
        records=(1,), moves=1, kinds=("slot doubles",), slots=1
    ),
    "a move of the only slot, which is wrongly suspected": Config(
        records=(1,), moves=1, kinds=("slot suspected",), slots=1
    ),
    "a move, and a driver that dies or is followed while it lives": Config(
        records=(1,), moves=1, kinds=("driver dies", "driver doubles")
    ),
    "two faults of drivers": Config(
        records=(1,), moves=0, faults=2, kinds=("driver dies", "driver doubles"), slots=1, engine=True, begin="batch"
    ),
    "a move that fails or takes too long, and a slot that dies": Config(
        records=(1,), moves=1, late=1, kinds=("slot dies",), swift=True, changes=False
    ),
    "frames of several records, and a slot that dies": Config(
        records=(3,), moves=0, frame=2, kinds=("slot dies",), slots=1
    ),
    "two edge partitions, and readers that die": Config(
        records=(1,), moves=0, edges=2, readers=True, slots=1, kinds=("reader dies", "slot dies")
    ),
    "two partitions, and a slot that dies": Config(records=(1, 1), moves=0, kinds=("slot dies",), swift=True),
    "two moves, one after the other": Config(records=(1, 1), moves=2, faults=0, limit=1, swift=True, changes=False),
    "between record and batch, and any process that dies": Config(
        records=(2,), moves=1, engine=True, slots=1, batch=1, swift=True,
        kinds=("slot dies", "driver dies", "task again"),
    ),
    "intents over two partitions, and drivers that leave them open": Config(
        records=(1, 1), moves=0, engine=True, begin="batch", slots=1,
        kinds=("driver dies", "task again"),
    ),
}  # fmt: skip

# Each rule, and the world without it.
WITHOUT = {
    "order": Config(records=(2,), moves=0, kinds=("slot dies",), slots=1, order=False),
    "flush": Config(records=(2,), moves=0, kinds=("slot dies",), slots=1, keep=Rules(flush=False)),
    "fence": Config(
        records=(1,), moves=0, faults=2, kinds=("slot doubles",), slots=1, swift=True, watch=False,
        keep=Rules(fence=False),
    ),
    "tell": Config(records=(1,), moves=1, kinds=("slot suspected",), slots=1, keep=Rules(tell=False)),
    "lead": Config(records=(0, 0), moves=2, limit=1, kinds=("driver doubles",), keep=Rules(lead=False)),
    "epoch": Config(
        records=(1,), moves=1, kinds=("slot doubles",), slots=1, swift=True, keep=Rules(epoch=False)
    ),
    "marker": Config(
        records=(1,), moves=1, kinds=("slot doubles",), slots=1, swift=True, keep=Rules(marker=False)
    ),
    "position": Config(records=(1,), moves=0, kinds=("slot dies",), slots=1, keep=Rules(position=False)),
    "barrier": Config(
        records=(1,), moves=1, kinds=("slot doubles",), slots=1, swift=True, keep=Rules(barrier=False)
    ),
    "barrier, when combining": Config(
        records=(2,), moves=0, kinds=("slot suspected",), engine=True, slots=1, swift=True, keep=Rules(barrier=False)
    ),
    "finish": Config(
        records=(1,), moves=0, kinds=("driver dies",), engine=True, slots=1, begin="batch", keep=Rules(finish=False)
    ),
    "retain": Config(
        records=(1,), moves=1, kinds=("slot doubles",), slots=1, swift=True, readers=True, retain=False
    ),
    "together": Config(records=(1,), moves=0, kinds=("reader dies",), slots=1, readers=True, together=False),
}  # fmt: skip

# Too large to be seen whole: `make fuzz` sees their beginnings, and random ways lead through them.
LARGE = {
    "any fault and a move": Config(records=(2,), engine=True, late=1),
    "any two faults": Config(records=(2,), faults=2, moves=0, frame=2),
    "two partitions, any fault, a move": Config(records=(1, 1), moves=1, engine=True),
    "two partitions in batches, any two faults": Config(
        records=(2, 1), faults=2, moves=1, engine=True, begin="batch", batch=1
    ),
    "two edge partitions with readers, any two faults": Config(records=(2,), faults=2, edges=2, readers=True),
}
WIDE = {
    "three slots": Config(
        records=(4, 3, 3), slots=3, edges=2, faults=6, moves=5, late=3, engine=True, frame=3, batch=2, readers=True
    ),
    "batches": Config(records=(4, 3), faults=8, moves=4, late=3, engine=True, frame=2, batch=3, begin="batch"),
    "new programs in batches": Config(
        records=(3, 3), slots=1, faults=4, moves=4, engine=True, begin="batch", kinds=("driver dies", "driver doubles"),
    ),
    "one slot": Config(records=(5,), slots=1, faults=9, moves=5, late=2, frame=3),
    "zombies": Config(
        records=(3, 3), faults=8, moves=4, engine=True,
        kinds=("slot doubles", "slot suspected", "driver doubles", "task again"),
    ),
}  # fmt: skip
