"""What every system under test looks like from outside: it is started on topics, looked at, and ended."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Self

from spillway.bench.engines.switches import Heard
from spillway.bench.record import processes
from spillway.model.observation import Observation


class Engine:
    """A system at work on some topics."""

    def __init__(self, sources: Sequence[str], output: str) -> None:
        self.sources, self.output = tuple(sources), output

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        """End it."""

    @property
    def parts(self) -> Mapping[str, int]:
        """Process ids by what each is; what they have started counts too."""
        raise NotImplementedError

    def look(self) -> None:
        """Raise if it has ended."""

    def heard(self) -> Observation | None:
        """What it tells of itself, if it tells anything."""
        return None

    def news(self) -> Heard:
        """All moves and decisions that it has told of."""
        return Heard()

    def prepared(self) -> bool:
        """Whether it knows all that it has to know, after it has had some messages."""
        return True

    @property
    def switches(self) -> bool:
        """Whether it changes its paradigm by itself."""
        return False

    def cpu(self) -> float:
        """Seconds of processor time so far."""
        return sum(used(self.parts).values())


def used(parts: Mapping[str, int]) -> dict[str, float]:
    """Seconds of processor time so far, of each, with all that it has started."""
    return {name: processes.total(processes.cpu, processes.tree(root)) for name, root in parts.items()}


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What a program of another system is asked for.

    Attributes:
        bootstrap: Kafka.
        sources, output: topics.
        work: the name of a workload.
        folder: one that it may use, in memory, with `campaigns.json` in it.
        run: a name that no other run has.
    """

    bootstrap: str
    sources: Sequence[str]
    output: str
    work: str
    folder: str
    run: str

    def arguments(self) -> list[str]:
        """As all programs take them."""
        return [self.bootstrap, ",".join(self.sources), self.output, self.run, self.work, self.folder]
