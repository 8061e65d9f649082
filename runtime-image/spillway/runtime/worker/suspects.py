"""Messages at which slots of this worker have died, for those that come after them. See `slots.ledger`."""

from __future__ import annotations

from spillway.runtime.slots.settings import Suspect

# The newest so many are kept: a record that kills has been written away after three deaths, and is no one's concern
# once it is committed. More would only be read by slots that never meet them.
MOST = 100


class Suspects:
    """What the slots of one worker are suspicious of."""

    def __init__(self, most: int = MOST) -> None:
        self._kept: list[Suspect] = []
        self._most = most

    def add(self, note: Suspect) -> None:
        """A process ended while it was at these messages.

        A single message is the culprit only if another process has died of it before. One death proves nothing when
        messages come one at a time: whoever is killed from outside has a note of one too. It is then kept with its
        neighbour, as a range, with which the next process is careful.
        """
        if note.stop - note.start == 1 and not any(_within(note, known) for known in self._kept):
            note = note._replace(stop=note.stop + 1)
        if note in self._kept:
            self._kept.remove(note)
        self._kept.append(note)
        del self._kept[: -self._most]

    @property
    def all(self) -> tuple[Suspect, ...]:
        """All of them, the newest last."""
        return tuple(self._kept)


def _within(note: Suspect, known: Suspect) -> bool:
    same = (note.segment, note.number) == (known.segment, known.number)
    return same and known.start <= note.start and note.stop <= known.stop
