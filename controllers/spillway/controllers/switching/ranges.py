"""Which operators switch together (DO 4.3, Eq. 8), over a graph instead of a chain.

The paper, for a chain: with λ_m the records that operator m makes of one, and p the switch point, the range is
{p … q} for the first q with ∏_{m=p-1..q} λ_m < 1. There the burst is no larger than it was before operator p-1, and
what follows has no more to do than usual.

For a graph the product becomes a volume that flows from p, relative to what goes into the operators that p reads:

- into p: λ_{p-1}; the mean where p reads several operators; 1 where it reads a stream, which multiplies nothing;
- out of m: λ_m times what goes into m; every reader gets all of it;
- into m: the sum of what comes from operators of the range. Branches that were small add up where they meet.

A reader is in the range when it reads an operator of the range, may run in batches, and what goes into it is not < 1.
Without branches that is Eq. 8, q included. The smallest range is the best one: what is left out reports its own queue
if it jams all the same. So an operator whose λ is unknown ends its branch, too.

One thing is added where it is measured. Eq. 8 takes an operator along because the burst reaches it, whether or not it
could do with it; and in batches each record waits for its batch. So who has a queue of its own, and can do what will
come to it record by record with `ROOM` to spare, stays, and so does all that is behind it. On chains of four operators
with costs as they are measured here (`bench.models D8`), Eq. 8 alone has a latency within 5 % of the best set's in
about 8 of 10 cases, and with this in more than 9.

The queue stands in front of a segment; so a range starts at the head of p's segment, and takes along what lies between.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from spillway.controllers.switching.measurements import MOST, Node, Observation, sound
from spillway.model.operators import Paradigm

# Of what an operator can do record by record. Capacities are off by 5 %, and rates by as much; who has less to spare
# would be the next to jam.
ROOM = 0.1


def switch_range(observation: Observation, point: str) -> tuple[str, ...]:
    """The operators that go to batches together, in topological order; empty if the point itself can't."""
    nodes = observation.by_name
    start = _start(nodes, point)
    if not all(nodes[name].may_batch for name in start):
        return ()
    into = {point: _before(nodes, point)}
    chosen = {*start}
    carrying = {point}
    for node in observation.nodes:
        if node.name not in start:
            sources = [name for name in dict.fromkeys(node.reads) if name in carrying]
            volume = sum(into[name] * _selectivity(nodes[name], unknown=0.0) for name in sources)
            into[node.name] = min(volume, MOST)  # no product may become infinite
            if not sources or not node.may_batch or into[node.name] < 1:
                continue
            if _can_do(observation, node, point, into):
                continue
            carrying.add(node.name)
            chosen.add(node.name)
    return tuple(node.name for node in observation.nodes if node.name in chosen)


def running(observation: Observation) -> tuple[tuple[str, ...], ...]:
    """The ranges that run in batches now and may come back: batch operators that are connected with one another.

    What is pinned to batches stays there, and connects nothing.
    """
    batch = [n for n in observation.nodes if n.paradigm is Paradigm.BATCH and n.pinned is not Paradigm.BATCH]
    group = {node.name: node.name for node in batch}
    for node in batch:
        for name in node.reads:
            if name in group:
                old, new = group[name], group[node.name]
                group = {member: new if of == old else of for member, of in group.items()}
    return tuple(
        tuple(name for name, of in group.items() if of == representative)
        for representative in dict.fromkeys(group.values())
    )


def heads(observation: Observation, names: Iterable[str]) -> tuple[str, ...]:
    """Of these operators those in front of which a queue stands."""
    nodes = observation.by_name
    return tuple(name for name in names if nodes[name].is_head)


def _can_do(observation: Observation, node: Node, point: str, into: Mapping[str, float]) -> bool:
    """Whether an operator is known to have time for what the burst brings it: V of the point, times the volume."""
    at, here = observation.measured.get(point), observation.measured.get(node.name)
    if at is None or here is None or not node.is_head or into[point] <= 0:
        return False
    comes = at.rate * into[node.name] / into[point]
    return sound(comes) and sound(here.record_capacity) and comes <= (1 - ROOM) * here.record_capacity


def _start(nodes: dict[str, Node], point: str) -> set[str]:
    """The point and all that lies between it and the head of its segment."""
    head = nodes[point].head or point
    found, left = {point}, [point]
    while left:
        name = left.pop()
        if name != head:
            new = [r for r in nodes[name].reads if r in nodes and (nodes[r].head or r) == head and r not in found]
            found.update(new)
            left += new
    return found


def _before(nodes: dict[str, Node], point: str) -> float:
    """The volume that goes into the point: λ_{p-1}; 1 in front of a stream, or where it is unknown."""
    before = [_selectivity(nodes[name], unknown=1.0) for name in nodes[point].reads if name in nodes]
    return sum(before) / len(before) if before else 1.0


def _selectivity(node: Node, unknown: float) -> float:
    return node.selectivity if node.selectivity is not None and sound(node.selectivity) else unknown
