"""Switches that a person asks for: which segments they are about, and whether that is possible. Pure.

To batches go exactly the operators that were named: where that is a part of a segment, it is split there. Back comes
every segment of which one is named, as a whole.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Collection, Mapping
from typing import Any

from spillway.controllers import explain
from spillway.controllers.explain import Alternative, Reasons
from spillway.controllers.protocol import messages
from spillway.model.execution import Mode
from spillway.model.observation import VERSION, SwitchAnswer, SwitchOrder
from spillway.model.operators import Paradigm
from spillway.runtime.driver import splitting
from spillway.runtime.driver.steering import Batches


class Reason(Reasons):
    """Why segments are switched that nobody had decided about."""

    ORDERED = "Ordered", "Somebody asked for it."
    SPARK_GONE = "SparkGone", "Spark is gone, so what ran in batches runs record by record until it is back."
    SPARK_BACK = "SparkBack", "Spark is warm again, so what ran in batches goes back there."


@dataclasses.dataclass(frozen=True, slots=True)
class Switched:
    """A switch that was not decided by measured benefit, as decisions are told.

    `parts` says by segment which of its operators go to batches.
    """

    reason: Reason
    sentence: str
    operators: tuple[str, ...]
    to: Paradigm
    parts: Mapping[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)
    inputs: explain.Inputs = ()
    alternatives: tuple[Alternative, ...] = ()

    @property
    def more(self) -> dict[str, Any]:
        """What it is of, and where to, for programs."""
        action = "ToBatch" if self.to is Paradigm.BATCH else "ToRecord"
        return {"action": action, "operators": list(self.operators), "to": str(self.to)}


# Why some operators of a segment can't run in batches, or nothing; and which would, with the stream that they read.
Judge = Callable[[str, Collection[str]], tuple[str, tuple[str, ...]]]


def answer(
    order: SwitchOrder,
    plan: messages.Plan | None,
    known: Mapping[str, Batches],
    judge: Judge,
    mode: Mode,
    standby: str,
) -> tuple[SwitchAnswer, Mapping[str, tuple[str, ...]]]:
    """What becomes of an order; and the segments that change, each with its operators that are to be in batches.

    `judge` says which operators can run in batches, `standby` what is wrong with Spark; empty if it is warm.
    """

    def refused(sentence: str) -> tuple[SwitchAnswer, Mapping[str, tuple[str, ...]]]:
        return SwitchAnswer(VERSION, False, (), order.to, sentence), {}

    to = Paradigm(order.to)
    if plan is None:
        return refused("nothing is planned yet; ask again in a moment")
    inside = splitting.inside(plan)
    of = {operator: name for name, (operators, _) in inside.items() for operator in operators}
    if unknown := [name for name in order.operators if name not in of]:
        return refused(f"there is no operator {unknown[0]!r}; there are {', '.join(sorted(of))}")
    change: dict[str, tuple[str, ...]] = {}
    moving: list[str] = []
    segments = list(dict.fromkeys(of[name] for name in order.operators))
    for name in segments:
        (operators, planned), batches = inside[name], known.get(name)
        there = (planned or frozenset(operators)) if batches and batches.runs is Paradigm.BATCH else frozenset[str]()
        then = there | ({*order.operators} & {*operators}) if to is Paradigm.BATCH else frozenset[str]()
        asked = tuple(one for one in operators if one in then)
        why, asked = judge(name, asked) if to is Paradigm.BATCH else ("", asked)
        if to is Paradigm.RECORD and batches is not None and batches.pinned is Paradigm.BATCH:
            return refused(f"{name!r} is pinned to {batches.pinned}; take `paradigm` out of the manifest")
        if why:
            return refused(why)
        if to is Paradigm.BATCH and standby:
            return refused(f"batches can't begin: {standby}")
        then = frozenset(asked)
        if not then == there == planned:
            change[name] = asked
            moving += [one for one in operators if one in then ^ (there | planned)] or asked
    if mode is Mode.ADVISE:
        return refused("policy.mode is advise, so nothing is switched; set it to apply")
    if not change:
        return refused(f"{', '.join(segments)} {'run' if len(segments) > 1 else 'runs'} so already")
    verb = "would move" if order.dry_run else "moves" if len(moving) == 1 else "move"
    sentence = f"{', '.join(moving)} {verb} to {'batches' if to is Paradigm.BATCH else 'record by record'}"
    for name, asked in change.items():
        operators, planned = inside[name]
        rest = [one for one in operators if one not in asked]
        if asked and rest:
            sentence += f"; split there: {', '.join(asked)} | {', '.join(rest)}"
        elif planned and planned < {*operators}:
            sentence += f"; one program again: {', '.join(operators)}"
    first = known.get(next(iter(change)))
    if to is Paradigm.BATCH and (first is None or first.line is None):
        sentence += "; nobody has measured yet how fast batches are"
    return SwitchAnswer(VERSION, not order.dry_run, tuple(moving), order.to, sentence), change
