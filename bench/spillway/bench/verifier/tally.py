"""Mistakes as they are found: how many of each kind, and the first few as examples."""

from __future__ import annotations

import collections

from spillway.bench.verifier import messages
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.messages import Found, Wanted
from spillway.bench.verifier.verdict import EXAMPLES, Example, Kind, Latency, OutputVerdict, Sample


class Tally:
    """Of one output."""

    def __init__(self, expected: Expected) -> None:
        self._expected = expected
        self._schema = expected.relation.schema
        self._counts: collections.Counter[Kind] = collections.Counter()
        self._examples: list[Example] = []
        self.undetermined = 0
        self.samples: list[Sample] = []

    def add(self, kind: Kind, why: str, wanted: Wanted | None = None, found: Found | None = None) -> None:
        """One more."""
        self._counts[kind] += 1
        if self._counts[kind] > EXAMPLES:
            return
        self._examples.append(
            Example(
                kind,
                found.key if found is not None else wanted.key if wanted is not None else None,
                None if wanted is None else messages.shown(wanted.content, self._schema),
                None if found is None else self._shown(found),
                None if found is None else found.record.partition,
                None if found is None else found.record.offset,
                why,
            )
        )

    def _shown(self, found: Found) -> object:
        if found.content is not None:
            return messages.shown(found.content, self._schema)
        return None if found.record.value is None else found.record.value[:200].decode(errors="backslashreplace")

    def met(self, wanted: Wanted, found: Found) -> None:
        """A result came: how long it took; clocks of producers may say that it came before its record."""
        took = found.record.time - wanted.row.appended
        if took >= 0:
            self.samples.append(Sample(wanted.row.appended, float(took)))

    def verdict(self, expected: int, found: int) -> tuple[OutputVerdict, list[Sample]]:
        """All together."""
        output = self._expected.output
        verdict = OutputVerdict(
            output.name,
            self._expected.mode,
            expected,
            found,
            lost=self._counts[Kind.LOST],
            duplicated=self._counts[Kind.DUPLICATED],
            reordered=self._counts[Kind.REORDERED],
            wrong=self._counts[Kind.WRONG],
            undetermined=self.undetermined,
            examples=tuple(self._examples),
            latency=Latency.of([sample.took for sample in self.samples]),
        )
        return verdict, self.samples
