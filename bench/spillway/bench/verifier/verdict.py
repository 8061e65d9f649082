"""What is reported: for each output what was expected and found, apart by kind of mistake, with examples."""

from __future__ import annotations

import dataclasses
import enum
from collections.abc import Sequence
from typing import Any, NamedTuple

# Of each kind and output: enough to see what they have in common, and few enough to read.
EXAMPLES = 5


class Kind(enum.StrEnum):
    """Kinds of mistakes."""

    LOST = "lost"
    DUPLICATED = "duplicated"
    REORDERED = "reordered"
    WRONG = "wrong"


@dataclasses.dataclass(frozen=True, slots=True)
class Example:
    """One mistake.

    Attributes:
        kind, key: which kind, and of which key.
        expected, found: messages as they should be and are; None where there is none.
        partition, offset: of what was found; None where nothing was.
        why: in words.
    """

    kind: Kind
    key: str | None
    expected: Any
    found: Any
    partition: int | None
    offset: int | None
    why: str


class Sample(NamedTuple):
    """How long a result took: milliseconds since `appended`, the time of the last record that it needed."""

    appended: int
    took: float


@dataclasses.dataclass(frozen=True, slots=True)
class Latency:
    """Milliseconds from the append of the last record that a result needed to that of the result.

    Attributes:
        samples: results that could be related to a record.
        p50, p99, most: quantiles; None without samples.
    """

    samples: int = 0
    p50: float | None = None
    p99: float | None = None
    most: float | None = None

    @classmethod
    def of(cls, samples: Sequence[float]) -> Latency:
        """Of these."""
        if not samples:
            return cls()
        found = sorted(samples)
        return cls(len(found), _quantile(found, 0.5), _quantile(found, 0.99), found[-1])


def _quantile(found: Sequence[float], share: float) -> float:
    return found[min(len(found) - 1, int(share * len(found)))]


@dataclasses.dataclass(frozen=True, slots=True)
class OutputVerdict:
    """One output.

    Attributes:
        name, mode: of the output.
        expected: results that there have to be.
        found: messages that there are.
        lost, duplicated, reordered, wrong: how many of each kind.
        undetermined: results that the order of arrival decides, as a whole or in a column: what is sure of them was
            compared.
        open: why nothing was compared, if so.
        examples: some of each kind.
        latency: of its results.
    """

    name: str
    mode: str
    expected: int = 0
    found: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    wrong: int = 0
    undetermined: int = 0
    open: str = ""
    examples: tuple[Example, ...] = ()
    latency: Latency = Latency()


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """The judgement of a run.

    Attributes:
        right: whether nothing is lost, wrong or out of order, nor, with exactly-once, repeated; False where void.
        void: why nothing can be said; empty where something can.
        delivery: what was promised.
        complete: whether every expected result is there.
        records_in, records_out: messages of all sources, and of all outputs.
        lost, duplicated, reordered, wrong, undetermined: over all outputs.
        latency: over all outputs.
        outputs: one by one.
        assumed: what the caller said of the run, in words.
    """

    right: bool
    void: str
    delivery: str
    complete: bool = False
    records_in: int = 0
    records_out: int = 0
    lost: int = 0
    duplicated: int = 0
    reordered: int = 0
    wrong: int = 0
    undetermined: int = 0
    latency: Latency = Latency()
    outputs: tuple[OutputVerdict, ...] = ()
    assumed: tuple[str, ...] = ()

    @property
    def exit_code(self) -> int:
        """0 right, 1 not right, 2 void."""
        return 2 if self.void else 0 if self.right else 1
