"""Switches that a person asks for: which segments they are about, and whether that is possible. Pure."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from spillway.controllers import explain
from spillway.controllers.explain import Alternative, Reasons
from spillway.controllers.protocol import messages
from spillway.model.execution import Mode
from spillway.model.operators import Paradigm
from spillway.runtime.driver.observation import VERSION, SwitchAnswer, SwitchOrder
from spillway.runtime.driver.steering import Batches


class Reason(Reasons):
    """Why segments are switched that nobody had decided about."""

    ORDERED = "Ordered", "Somebody asked for it."
    SPARK_GONE = "SparkGone", "Spark is gone, so what ran in batches runs record by record until it is back."
    SPARK_BACK = "SparkBack", "Spark is warm again, so what ran in batches goes back there."


@dataclasses.dataclass(frozen=True, slots=True)
class Switched:
    """A switch that was not decided by measured benefit, as decisions are told."""

    reason: Reason
    sentence: str
    operators: tuple[str, ...]
    to: Paradigm
    inputs: explain.Inputs = ()
    alternatives: tuple[Alternative, ...] = ()

    @property
    def more(self) -> dict[str, Any]:
        """What it is of, and where to, for programs."""
        action = "ToBatch" if self.to is Paradigm.BATCH else "ToRecord"
        return {"action": action, "operators": list(self.operators), "to": str(self.to)}


def answer(
    order: SwitchOrder,
    plan: messages.Plan | None,
    known: Mapping[str, Batches],
    cannot: Mapping[str, str],
    mode: Mode,
    standby: str,
) -> tuple[SwitchAnswer, tuple[str, ...]]:
    """What becomes of an order, and the segments that change.

    `cannot` says by segment why it never runs in batches, `standby` what is wrong with Spark; empty if it is warm.
    """

    def refused(sentence: str) -> tuple[SwitchAnswer, tuple[str, ...]]:
        return SwitchAnswer(VERSION, False, (), order.to, sentence), ()

    to = Paradigm(order.to)
    if plan is None:
        return refused("nothing is planned yet; ask again in a moment")
    of = {operator: segment for segment in plan.segments for operator in segment.operators}
    if unknown := [name for name in order.operators if name not in of]:
        return refused(f"there is no operator {unknown[0]!r}; there are {', '.join(sorted(of))}")
    segments = list(dict.fromkeys(of[name].name for name in order.operators))
    for name in segments:
        batches = known.get(name)
        if batches is not None and batches.pinned not in (Paradigm.AUTO, to):
            return refused(f"{name!r} is pinned to {batches.pinned}; take `paradigm` out of the manifest")
        if to is Paradigm.BATCH and name in cannot:
            return refused(f"{name!r} can't run in batches: {cannot[name]}")
        if to is Paradigm.BATCH and standby:
            return refused(f"batches can't begin: {standby}")
    if mode is Mode.ADVISE:
        return refused("policy.mode is advise, so nothing is switched; set it to apply")
    change = tuple(name for name in segments if (known[name].runs if name in known else Paradigm.RECORD) is not to)
    operators = tuple(o for segment in plan.segments if segment.name in change for o in segment.operators)
    if not change:
        return refused(f"{', '.join(segments)} {'run' if len(segments) > 1 else 'runs'} so already")
    verb = "would move" if order.dry_run else "moves" if len(operators) == 1 else "move"
    sentence = f"{', '.join(operators)} {verb} to {'batches' if to is Paradigm.BATCH else 'record by record'}"
    if to is Paradigm.BATCH and known[change[0]].line is None:
        sentence += "; nobody has measured yet how fast batches are"
    return SwitchAnswer(VERSION, not order.dry_run, operators, order.to, sentence), change
