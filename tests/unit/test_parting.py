"""`Released` is said once all that a partition has done is stored, also what it has done ahead of its position."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Owner, Partition
from spillway.runtime.slots.parting import Parting

P = Partition("words", 3)
RELEASED = messages.Released(P, 7, Owner("w0.0", 1), 812)


def test_it_is_said_at_once_where_all_is_stored() -> None:
    said: list[Any] = []
    parting = Parting(said.append)
    parting.say(RELEASED)

    assert parting.look({P: _place(changed=False)}, lambda _: False) == {}
    assert said == [RELEASED]
    parting.look({}, lambda _: False)
    assert said == [RELEASED]


def test_what_is_not_stored_yet_is_stored_first() -> None:
    said: list[Any] = []
    parting = Parting(said.append)
    parting.say(RELEASED)
    place = _place(changed=True)

    assert parting.look({P: place}, lambda _: False) == {place: None}
    place.changed = False
    assert parting.look({P: place}, lambda _: True) == {}
    assert said == []
    assert parting.look({P: place}, lambda _: False) == {}
    assert said == [RELEASED]


class _Place(SimpleNamespace):
    __hash__ = object.__hash__  # type: ignore[assignment]


def _place(*, changed: bool) -> Any:
    return _Place(changed=changed)
