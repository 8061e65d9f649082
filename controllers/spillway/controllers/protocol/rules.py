"""The rules that keep moves right, each by name, so that tests can show what goes wrong without it."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass(frozen=True, slots=True)
class Rules:
    """Which rules are kept: in production all of them, always.

    This is a seam for the explorer in the tests. It is an argument that no caller outside of the tests passes, and no
    field of any message, plan or setting, so that nothing that is written, sent or configured can take a rule out.

    Attributes:
        flush: an offset is committed only after all outputs of what lies below it are acknowledged.
        fence: a takeover fences the victim's transactional id before it reads the committed offset.
        tell: a fence is told in the log, so that who has nothing to commit learns of it too.
        lead: what a lower leader writes into the control log is ignored by everyone.
        epoch: per input partition, a reader skips frames of an older epoch than it has seen.
        marker: after a takeover the heir puts an empty frame of its epoch on every partition of its output edges.
        position: per origin, a reader skips what it has.
        barrier: an heir neither releases nor combines before it has passed all that its predecessors have emitted.
        finish: an open intent is run again with its exact ranges before its partitions move on.
    """

    flush: bool = True
    fence: bool = True
    tell: bool = True
    lead: bool = True
    epoch: bool = True
    marker: bool = True
    position: bool = True
    barrier: bool = True
    finish: bool = True


ALL = Rules()
