"""What a policy wishes for is begun: slots are asked for, and paradigms are switched."""

from __future__ import annotations

from collections.abc import Mapping

from spillway.model.operators import Paradigm
from spillway.simulation.crews import Cores, Crew
from spillway.simulation.jobs import Platform
from spillway.simulation.policies import SegmentWish, Wish
from spillway.simulation.runs import Event, Kind
from spillway.simulation.stages import Stage


def carry_out(
    wish: Wish, stages: Mapping[str, Stage], pool: Crew, cores: Cores, platform: Platform, now: float
) -> list[Event]:
    """Begin what is not so yet, as far as it can be had; what was begun is told."""
    before, after = {}, {}
    owned = {name: stage for name, stage in stages.items() if not stage.topic and stage.crew is not pool}
    total = sum(stage.crew.asked for stage in owned.values()) + pool.asked
    for name, slots in _sizes(wish, owned, pool):
        crew = pool if name is None else stages[name].crew
        most = crew.asked + max(0, platform.slots_most - total)
        granted = max(0, min(slots, most))
        if granted != crew.asked:
            label = name or "shared"
            before[label], after[label] = str(crew.asked), str(granted)
            total += granted - crew.asked
            crew.ask(granted, now)
    switched = _paradigms(wish, stages, now)
    asked = cores.asked
    needed = sum(stage.cores_asked for stage in stages.values() if _ends_in_batches(stage))
    cores.ask(wish.cores if wish.cores is not None else needed, now)
    if cores.asked != asked:
        before["cores"], after["cores"] = str(asked), str(cores.asked)
    events = []
    if switched:
        went = {name: str(stages[name].paradigm) for name in switched}
        to = {name: str(_other(stages[name].paradigm)) for name in switched}
        events.append(Event(now, Kind.SWITCH, tuple(switched), went, to, wish.reason, wish.sentence))
    if after:
        events.append(Event(now, Kind.RESIZE, tuple(after), before, after, wish.reason, wish.sentence))
    return events


def _sizes(wish: Wish, owned: Mapping[str, Stage], pool: Crew) -> list[tuple[str | None, int]]:
    """What is wished for, those that give slots back first: others may have them at once."""
    sizes: list[tuple[str | None, int, int]] = []
    for name, segment in wish.segments.items():
        stage = owned.get(name)
        if stage is not None:
            slots = segment.slots if stage.most is None else min(segment.slots, stage.most)
            sizes.append((name, slots, slots - stage.crew.asked))
    if wish.shared is not None:
        sizes.append((None, wish.shared, wish.shared - pool.asked))
    return [(name, slots) for name, slots, _ in sorted(sizes, key=lambda size: (size[2], size[0] or ""))]


def _paradigms(wish: Wish, stages: Mapping[str, Stage], now: float) -> list[str]:
    """Switches that begin now."""
    switched = []
    for name, segment in wish.segments.items():
        stage = stages.get(name)
        if stage is None or stage.topic:
            continue
        if stage.switch(segment.paradigm, now):
            switched.append(name)
        if segment.paradigm is Paradigm.BATCH or not _ends_in_batches(stage):
            stage.cores_asked = _cores(segment)
    return switched


def _cores(segment: SegmentWish) -> int:
    """Cores of a segment; in batches it needs one at least."""
    return max(1, segment.cores) if segment.paradigm is Paradigm.BATCH else 0


def _ends_in_batches(stage: Stage) -> bool:
    """Whether it is in batches once its switch is over."""
    return (stage.paradigm is Paradigm.BATCH) != stage.switching


def _other(paradigm: Paradigm) -> Paradigm:
    return Paradigm.RECORD if paradigm is Paradigm.BATCH else Paradigm.BATCH
