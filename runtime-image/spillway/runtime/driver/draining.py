"""Where edges end that are to be read to their end: looked up once nobody writes to them any more in the old form."""

from __future__ import annotations

from collections.abc import Callable, Collection

from spillway.controllers.protocol.values import Partition
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.positions import Positions


class Ends:
    """The ends of partitions that are asked for, each as it was after that."""

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._asked: dict[Partition, object] = {}  # with what tells one time of asking from another
        self.known: dict[Partition, int] = {}

    def ask(self, places: Collection[Partition], topic: Callable[[Partition], str], positions: Positions) -> None:
        """From now on these are asked for, and no others; who is asked for again is looked up again."""
        for place in self._asked.keys() - set(places):
            del self._asked[place]
            self.known.pop(place, None)
        new = sorted(set(places) - self._asked.keys())
        if not new:
            return
        time = object()
        self._asked |= dict.fromkeys(new, time)
        wanted = [(place, topic(place)) for place in new]

        def told(found: dict[Partition, int]) -> None:
            self.known |= {place: end for place, end in found.items() if self._asked.get(place) is time}

        self._hands.do(lambda: positions.ends(wanted), told)
