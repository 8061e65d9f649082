"""A driver that decides nothing: it runs what it is told, each operator on slots of its own.

That is what profiling needs (`spillway profile`): what a slot does is then what one operator does, and how many slots,
how large frames and how much load are for the profile to say. Everything else is as with any other driver: the same
log, the same moves, the same slots.

A slot stays with its operator as long as that may have it, so that an operator that gets one more slot moves nothing
but the partitions that go there.
"""

from __future__ import annotations

import collections
from collections.abc import Collection, Mapping, Sequence

import msgspec

from spillway.controllers import assignment
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol import knowledge, log, messages
from spillway.controllers.protocol.values import Owner, Partition
from spillway.model.execution import Policy
from spillway.model.observation import VERSION, Deployed, Deployment
from spillway.runtime.driver import steering
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.steering import Batches
from spillway.runtime.driver.steersman import Steersman

UNDIRECTED = Deployed(VERSION, None, "this driver decides itself; start one with --directed")


class Directed(Steersman):
    """Steers as it is told.

    Attributes:
        deployment: what it was told last; None before that.
    """

    def __init__(self, hands: Hands) -> None:
        super().__init__(hands)
        self.deployment: Deployment | None = None
        self._there: tuple[Slot, ...] = ()

    def direct(self, deployment: Deployment) -> None:
        """Run this from now on. Any thread may say so."""
        self.deployment = deployment

    def think(
        self,
        seen: Seen,
        me: knowledge.Leader,
        loads: Mapping[Partition, float | None],
        slots: tuple[Collection[Owner], Collection[Owner], int | None],
        batches: Mapping[str, Batches],
        policy: Policy,
    ) -> None:
        """Deal the slots that there are."""
        asked = self.deployment
        if asked is None:
            return
        there = tuple(sorted(owner.slot for owner in steering.owners(me, *slots) if not owner.draining))
        self._there = there
        owned = steering.current(me, there)
        self.owners = dealt(loads, shared_out(asked.tasks, there, owned), owned)

    def retuned(self, now: float) -> messages.Plan | None:
        """The plan with the frames that were asked for; None if it has those."""
        if self._plan is None or self.deployment is None:
            return None
        found = framed(self._plan, self.deployment)
        return found if found != self._plan else None

    def deployed(self, state: log.State, seen: Seen) -> Deployed:
        """How far what was asked for is carried out."""
        asked = self.deployment
        if asked is None:
            return Deployed(VERSION, None, "nothing was asked for yet")
        return Deployed(VERSION, asked, missing(asked, state, seen, self.owners, self._there))


def shared_out(
    tasks: Mapping[str, int], there: Sequence[Slot], owned: Mapping[Partition, Slot]
) -> dict[str, tuple[Slot, ...]]:
    """Which slots are whose; who has most of an operator keeps it, then free ones are dealt out in their order."""
    taken: set[Slot] = set()
    found: dict[str, list[Slot]] = {}
    for name, count in tasks.items():
        held = collections.Counter(slot for place, slot in owned.items() if place.segment == name)
        mine = sorted(held.keys() & set(there) - taken, key=lambda slot: (-held[slot], slot))[:count]
        found[name] = mine
        taken.update(mine)
    free = [slot for slot in there if slot not in taken]
    for name, count in tasks.items():
        lacks = count - len(found[name])
        found[name] += free[:lacks]
        free = free[lacks:]
    return {name: tuple(slots) for name, slots in found.items()}


def dealt(
    places: Collection[Partition], slots: Mapping[str, Sequence[Slot]], owned: Mapping[Partition, Slot]
) -> dict[Partition, Slot]:
    """Who has what: the partitions of an operator as evenly over its slots as can be, with the fewest moves."""
    found: dict[Partition, Slot] = {}
    for name, mine in slots.items():
        of = dict.fromkeys((place for place in places if place.segment == name), 1.0)
        now = {place: owned[place] for place in of if place in owned}
        found |= assignment.decide(of, map(assignment.Owner, mine), now, margin=0.0).owners
    return found


def framed(plan: messages.Plan, asked: Deployment) -> messages.Plan:
    """The plan with these frames, and one deadline for all edges."""
    segments = []
    for one in plan.segments:
        sources = dict.fromkeys(one.operators, asked.deadline)
        segments.append(
            msgspec.structs.replace(one, frame=asked.frames.get(one.name, 1), deadlines=tuple(sorted(sources.items())))
        )
    return msgspec.structs.replace(plan, segments=tuple(segments))


def missing(
    asked: Deployment, state: log.State, seen: Seen, owners: Mapping[Partition, Slot], there: Sequence[Slot]
) -> str:
    """What is not yet as it was asked for; empty if all is."""
    plan = state.plan
    if plan is None:
        return "there is no plan yet"
    segments = {one.name: one for one in plan.segments}
    if segments.keys() != asked.tasks.keys():
        return f"tasks are given for {', '.join(asked.tasks)}, and the job has {', '.join(segments)}"
    wanted = sum(asked.tasks.values())
    if len(there) < wanted:
        return f"{len(there)} slots are there, and {wanted} are asked for: start more workers"
    if framed(plan, asked).segments != plan.segments:
        return "frames are not as asked for yet"
    for name, one in segments.items():
        places = [Partition(name, number) for number in range(one.partitions)]
        if len({owners[place] for place in places if place in owners}) != min(asked.tasks[name], one.partitions):
            return f"the slots of {name} are not dealt out yet"
        for place in places:
            owner, told = state.owner(place), seen.places.get(place)
            if owner is None or owner.slot != owners[place].name or told is None or not told.working:
                return f"{place} does not work on {owners[place].name} yet"
    return ""
