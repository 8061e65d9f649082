"""Expected and found messages to a verdict: pure, so that a test can take a right output and spoil it."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Sequence
from pathlib import Path

from spillway.bench.verifier import appends, changelogs, expectation
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.records import Record, Topics
from spillway.bench.verifier.relations import Assumptions, UnverifiableError
from spillway.bench.verifier.verdict import Latency, OutputVerdict, Sample, Verdict
from spillway.model.execution import Delivery
from spillway.model.kafka import OutputMode
from spillway.model.streamjob import Spec

# A lead that every message of a table has, whatever its time: for runs in which tables were read before streams began.
TABLES_FIRST = -(10**15)


def judge(
    spec: Spec, sources: Topics, outputs: Topics, assumed: Assumptions | None = None, code: Path | None = None
) -> Verdict:
    """The verdict on a job that has read these records and written those; both by topic."""
    return sampled(spec, sources, outputs, assumed, code)[0]


def sampled(
    spec: Spec, sources: Topics, outputs: Topics, assumed: Assumptions | None = None, code: Path | None = None
) -> tuple[Verdict, list[Sample]]:
    """The same, and how long each result took that could be related to a record."""
    assumed = assumed or Assumptions()
    delivery = spec.execution.delivery
    read = [stream.topic for stream in spec.streams] + [table.topic for table in spec.tables]
    records_in = sum(len(sources.get(topic, ())) for topic in read)
    if not any(sources.get(stream.topic) for stream in spec.streams):
        return Verdict(False, "no stream has any record", delivery), []
    try:
        expected = expectation.expected(spec, sources, assumed, code)
    except UnverifiableError as error:
        return Verdict(False, str(error), delivery, records_in=records_in), []
    return _compared(expected, outputs, delivery, records_in, assumed)


def compare(
    expected: Sequence[Expected], outputs: Topics, delivery: Delivery, records_in: int, assumed: Assumptions
) -> Verdict:
    """The verdict on outputs of which it is known what they have to hold."""
    return _compared(expected, outputs, delivery, records_in, assumed)[0]


def _compared(
    expected: Sequence[Expected], outputs: Topics, delivery: Delivery, records_in: int, assumed: Assumptions
) -> tuple[Verdict, list[Sample]]:
    once = delivery is Delivery.EXACTLY_ONCE
    judged = [_output(one, outputs.get(one.output.topic, ()), once) for one in expected]
    found = [verdict for verdict, _ in judged]
    lost, duplicated, reordered, wrong, undetermined = (
        sum(getattr(verdict, name) for verdict in found)
        for name in ("lost", "duplicated", "reordered", "wrong", "undetermined")
    )
    void = ""
    if all(verdict.open for verdict in found):
        void = f"nothing can be said of any output: {found[0].open}"
    samples = list(itertools.chain(*(some for _, some in judged)))
    verdict = Verdict(
        right=not void and not (lost or reordered or wrong or (duplicated and once)),
        void=void,
        delivery=delivery,
        complete=not lost and not void,
        records_in=records_in,
        records_out=sum(verdict.found for verdict in found),
        lost=lost,
        duplicated=duplicated,
        reordered=reordered,
        wrong=wrong,
        undetermined=undetermined,
        latency=Latency.of([sample.took for sample in samples]),
        outputs=tuple(found),
        assumed=_words(assumed),
    )
    return verdict, samples


def _output(expected: Expected, found: Collection[Record], once: bool) -> tuple[OutputVerdict, list[Sample]]:
    if expected.relation.open:
        open_verdict = OutputVerdict(expected.output.name, expected.mode, found=len(found), open=expected.relation.open)
        return open_verdict, []
    if expected.mode is OutputMode.CHANGELOG:
        return changelogs.judge(expected, found)
    if expected.relation.is_table:
        return changelogs.judge_updates(expected, found)
    return appends.judge(expected, found)


def _words(assumed: Assumptions) -> tuple[str, ...]:
    if assumed.lead is None:
        lead = "nothing is known of which messages of a table a join had read"
    elif assumed.lead == TABLES_FIRST:
        lead = "tables were read before the first record of a stream"
    else:
        lead = f"a join had read what its table's topic held {assumed.lead} ms before the record"
    late = "no record was late for a retention" if assumed.none_late else "any record may have been late"
    return lead, late
