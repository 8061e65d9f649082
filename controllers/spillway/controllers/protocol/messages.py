"""The messages of the control log. `wire` says how they are written, `log` what they mean together."""

from __future__ import annotations

from typing import Annotated

import msgspec

from spillway.controllers.protocol.values import (
    Count,
    Holding,
    Member,
    Name,
    Owner,
    Partition,
    Range,
    Reach,
    Text,
)
from spillway.model.operators import Paradigm

Seconds = Annotated[float, msgspec.Meta(ge=0, le=1e6)]
# A plan and its predecessor stand in one snapshot, which is one message of a megabyte at the most.
LONGEST_SPEC = 300_000


class Message(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="kind", tag=str.lower):
    """What all messages have in common: they are values, and say their kind."""

    def __str__(self) -> str:
        fields = ", ".join(f"{name} {getattr(self, name)}" for name in self.__struct_fields__)
        return f"{type(self).__name__}({fields})"


class FromLeader(Message, frozen=True):
    """A message that only a leader writes.

    Attributes:
        leader: the number under which it leads; everyone ignores what a lower one writes.
    """

    leader: Count


class Lead(FromLeader, frozen=True):
    """A driver starts to lead. Of two that ask for the same number the first leads, and the other asks again.

    Attributes:
        driver: one life of a driver, unlike any other.
    """

    driver: Name


class Join(Message, frozen=True, omit_defaults=True):
    """A process starts to work as a slot. It becomes the slot's next incarnation; any earlier one is dead to all.

    Attributes:
        slot: the slot, which keeps its name over restarts.
        process: one life of a process, by which it finds its own message.
        why: why the life before this one ended, for people; empty if it is not known, or there was none.
    """

    slot: Name
    process: Name
    why: Text = ""


class Fenced(FromLeader, frozen=True):
    """A slot's life is over: its transactional id has been fenced.

    Should it be alive, it learns that from here, also if it never has anything to commit; then it begins another life.

    Attributes:
        owner: the slot, and which life of it.
    """

    owner: Owner


class Segment(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """A segment as it is planned.

    Attributes:
        name: its head, the operator that takes its input.
        operators: all of them, the head first.
        program: the hash of what it runs.
        paradigm: record by record, or in batches.
        partitions: of its input.
        parallelism: slots, or executor cores.
        frame: b_out, records in a frame of its outputs.
        deadlines: by output that is read, seconds after its first record at which a frame leaves at the latest.
        whole: where it is a part of a segment that was split for batches, the operators of that segment, its head
            first: they are one program again when it comes back. Empty where nothing was split.
    """

    name: Name
    operators: Annotated[tuple[Name, ...], msgspec.Meta(min_length=1, max_length=1000)]
    program: Name
    paradigm: Paradigm
    partitions: Count
    parallelism: Count
    frame: Annotated[int, msgspec.Meta(ge=1, le=2**31)] = 1
    deadlines: Annotated[tuple[tuple[Name, Seconds], ...], msgspec.Meta(max_length=1000)] = ()
    whole: Annotated[tuple[Name, ...], msgspec.Meta(max_length=1000)] = ()


class Plan(FromLeader, frozen=True):
    """What is to run from now on; moves lead there, one partition after the other.

    It has all that a program is made of, so that whoever reads the log can make it, also when the spec has changed.

    Attributes:
        number: counts plans up, so that an old one is told from a new one.
        spec: the accepted spec, as JSON.
        width: how many partitions each edge has.
        digests: of the user's functions, by reference.
        topics: the identities of the user's topics that are read, by name: all positions are positions in these.
        segments: all of them.
    """

    number: Count
    spec: Annotated[str, msgspec.Meta(max_length=LONGEST_SPEC)]
    width: Count
    segments: Annotated[tuple[Segment, ...], msgspec.Meta(max_length=1000)]
    digests: Annotated[tuple[tuple[Name, Name], ...], msgspec.Meta(max_length=1000)] = ()
    topics: Annotated[tuple[tuple[Name, Name], ...], msgspec.Meta(max_length=1000)] = ()

    def __str__(self) -> str:
        return f"Plan(leader {self.leader}, number {self.number}, {len(self.segments)} segments)"


class Prepare(FromLeader, frozen=True):
    """A move begins: the heir compiles the program and restores the state ahead, while the owner goes on.

    Attributes:
        partition: what moves.
        epoch: of this try to move; higher than any that was named for the partition before.
        heir: who gets it; None to have it rest without an owner.
        program: the hash of what the heir is to run.
    """

    partition: Partition
    epoch: Count
    heir: Owner | None
    program: Name


class Prepared(Message, frozen=True):
    """The heir is ready, or can't be.

    Attributes:
        partition: what moves.
        epoch: of the try.
        heir: who says so.
        problem: why it can't, for people; empty if it is ready.
    """

    partition: Partition
    epoch: Count
    heir: Owner
    problem: Text = ""


class Release(FromLeader, frozen=True):
    """The owner is asked to stop at a record boundary, to flush and to commit.

    Attributes:
        partition: what moves.
        epoch: of the try to move that it shall make room for.
    """

    partition: Partition
    epoch: Count


class Released(Message, frozen=True):
    """The owner has stopped; all that it emitted is acknowledged, and its state and position are committed.

    Attributes:
        partition: what moves.
        epoch: of the try to move that it makes room for.
        owner: who has stopped.
        cut: the input offset at which the next owner starts.
    """

    partition: Partition
    epoch: Count
    owner: Owner
    cut: Count


class Cancel(FromLeader, frozen=True):
    """The move is off: the heir forgets what it prepared, the owner goes on, also if it has stopped already.

    It counts only if it stands in the log before `Released`; after that there is no way back, only onwards.

    Attributes:
        partition: what stays.
        epoch: of the try that is given up.
        reason: why, out of a closed set.
    """

    partition: Partition
    epoch: Count
    reason: Name


class Assign(FromLeader, frozen=True):
    """A partition gets an owner.

    Attributes:
        partition: what.
        epoch: under which the owner works; its frames carry it.
        owner: who.
        program: the hash of what it runs.
        start: the first input offset that it processes.
        takeover: nobody released it: the heir first puts markers on its output edges, and has a barrier to pass.
    """

    partition: Partition
    epoch: Count
    owner: Owner
    program: Name
    start: Count
    takeover: bool


class Intent(FromLeader, frozen=True):
    """What the batch engine is about to run. Once this stands in the log, exactly this is done, by whoever leads.

    Attributes:
        number: of the intent; higher than any before.
        owner: the engine that holds the partitions.
        program: the hash of what it runs; while a program changes, not all partitions of a segment have the same.
        ranges: what it reads.
        combined: whether rows of the same key are combined over all ranges; else frames have positions as ever.
        tables: how far the tables are read that its records look rows up in, so that they find the same ones again.
    """

    number: Count
    owner: Owner
    program: Name
    ranges: Annotated[tuple[Range, ...], msgspec.Meta(min_length=1, max_length=10_000)]
    combined: bool
    tables: Annotated[tuple[Reach, ...], msgspec.Meta(max_length=10_000)] = ()


class Done(FromLeader, frozen=True):
    """All outputs of an intent are acknowledged, and its input positions are committed.

    Attributes:
        number: of the intent.
    """

    number: Count


class Snapshot(Message, frozen=True):
    """What the log says up to an offset, so that all before that can be deleted.

    Anyone may write one, also a leader that has been replaced: what the log says up to an offset doesn't change.

    Attributes:
        upto: the offset of the first message that is not in it.
        leader: the highest number of a leader.
        driver: who leads.
        plans: the last plan, and those whose programs are still somewhere.
        members: who is which slot.
        holdings: who has which partition.
        intents: those that are open.
        intent: the highest number of an intent.
    """

    upto: Count
    leader: Count
    driver: Annotated[str, msgspec.Meta(max_length=253)]
    plans: tuple[Plan, ...]
    members: tuple[tuple[Name, Member], ...]
    holdings: tuple[tuple[Partition, Holding], ...]
    intents: tuple[Intent, ...]
    intent: Count


Any = Lead | Join | Fenced | Plan | Prepare | Prepared | Release | Released | Cancel | Assign | Intent | Done | Snapshot
