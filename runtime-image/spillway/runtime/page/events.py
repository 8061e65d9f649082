"""Server-sent events, and which decisions are new. Pure.

`event: NAME`, `data: JSON` on one line, and an empty line; a line that begins with a colon is a comment, which keeps
connections open that somebody on the way would close.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from spillway.controllers import explain, tick
from spillway.controllers.switching.verdicts import Verdict

KIND = "text/event-stream"
# Browsers connect again by themselves; after so many milliseconds.
BEGIN = b"retry: 1000\n\n"
# While there is nothing to tell. A page does not hear comments, and has to tell a driver that decides nothing from a
# connection that is dead.
HEART_BEAT = b": still here\nevent: beat\ndata: {}\n\n"


def event(name: str, data: bytes) -> bytes:
    """An event; `data` is JSON, which has no line breaks."""
    return b"event: %s\ndata: %s\n\n" % (name.encode(), data)


class News:
    """Which decisions were not seen before."""

    def __init__(self) -> None:
        self._last: Mapping[str, Any] | None = None

    def among(self, decisions: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
        """Those behind the last one that was seen; all of them if that is gone."""
        found: list[Mapping[str, Any]] = []
        for decision in reversed(decisions):
            if decision is self._last:
                break
            found.append(decision)
        if decisions:
            self._last = decisions[-1]
        return found[::-1]


def deciding(decision: tick.Decision) -> dict[str, Any]:
    """What is decided now, whether that is news or not: about paradigms, and about sizes."""
    switch = decision.switch
    return {
        "switching": {
            **explain.data(switch),
            "action": str(switch.action),
            "point": switch.point,
            "verdicts": [_verdict(one) for one in switch.verdicts],
        },
        "provisioning": explain.data(decision.provision),
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    return {**explain.data(verdict), "action": str(verdict.action), "point": verdict.point}
