"""What was decided, and why: the last decisions, and the topic that has them for longer.

A tick decides five times a second, mostly to do nothing. Only news is recorded: what asks for a change, and what has
another reason than the last of its kind.
"""

from __future__ import annotations

import collections
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any

import msgspec

from spillway.controllers import explain, provisioning, tick
from spillway.controllers.explain import Explained
from spillway.controllers.switching import verdicts
from spillway.controllers.topics import Names
from spillway.model.observation import DECISIONS

_encode = msgspec.json.Encoder().encode
# The same plan again, with costs of a little later, is no news; nor is it that more has to be looked at.
_QUIET = (provisioning.Reason.STEADY, provisioning.Reason.REVIEW, provisioning.Reason.LOOKING)


class Recorder:
    """Keeps decisions that are news.

    Attributes:
        decisions: the last ones, as they are told.
        switches: how many of them switched something, by paradigm and reason.
    """

    def __init__(self, names: Names, send: Callable[[str, bytes], None]) -> None:
        """`send` gets a topic and a value."""
        self._topic, self._send = names.decisions, send
        self._last: dict[str, tuple[str, ...]] = {}
        self.decisions: collections.deque[dict[str, Any]] = collections.deque(maxlen=DECISIONS)
        self.switches: collections.Counter[tuple[str, str]] = collections.Counter()

    def take(self, decision: tick.Decision, at: float) -> None:
        """All parts of a tick."""
        provision = decision.provision
        if provision.reason not in _QUIET:
            self.record("provisioning", provision, at, (str(provision.reason), str(provision.slots)))
        self.record("switching", decision.switch, at, more=_switched(decision.switch))
        moves = tuple(map(str, decision.assignment.moves))
        self.record("assignment", decision.assignment, at, (str(decision.assignment.reason), *moves))

    def record(
        self,
        part: str,
        decision: Explained,
        at: float,
        key: tuple[str, ...] | None = None,
        more: Mapping[str, Any] = MappingProxyType({}),
    ) -> None:
        """One decision, and `more` about it, unless it is as the last of its part was: by its reason, or its key."""
        key = key or (str(decision.reason),)
        if self._last.get(part) == key:
            return
        self._last[part] = key
        found = {"at": at, "part": part, **explain.data(decision), **more}
        self.decisions.append(found)
        if to := more.get("to"):
            self.switches[to, str(decision.reason)] += 1
        self._send(self._topic, _encode(found))


def _switched(switch: verdicts.Decision) -> dict[str, Any]:
    """What a switch is of, and where to, for programs; nothing where nothing is switched."""
    if switch.to is None:
        return {}
    return {"action": str(switch.action), "operators": list(switch.operators), "to": str(switch.to)}
