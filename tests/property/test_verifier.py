"""Random topologies: what a job gives is judged right, and with one message less, more or changed it is not."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

import judged
import programs
import topologies
from fuzzing import cases
from spillway.bench.verifier import expectation, judging
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.verdict import Verdict
from spillway.model.execution import Delivery

CODE = Path(__file__).parents[1] / "support" / "user_code"


def records(rows: list[topologies.Row], partitions: int) -> list[Record]:
    data = [json.dumps(row).encode() for row in rows]
    return [Record(i % partitions, i // partitions, None, value, 1000 * i) for i, value in enumerate(data)]


@cases(8)
@given(st.integers(0, 2**32), st.integers(1, 9))
def test_a_job_is_judged_right_and_a_broken_one_not(seed: int, size: int) -> None:
    dice = programs.seeded(seed)
    made = topologies.topology(dice, size)
    spec = programs.spec(made.parts)
    labels = [{"k": k, "label": label} for k, label in topologies.LABELS.items()]
    read = {"events": records(topologies.events(dice, 40), 3), "labels": records(labels, 1)}
    job = judged.ran(spec, read, dice.randrange(3), CODE)
    wrote = judged.written(job, spec)
    wanted = expectation.expected(spec, read, judged.TABLES_FIRST, CODE)

    def verdict(outputs: judged.Topics) -> Verdict:
        return judging.compare(wanted, outputs, Delivery.EXACTLY_ONCE, 0, judged.TABLES_FIRST)

    assert verdict(wrote).right, verdict(wrote).outputs
    assert verdict(wrote).undetermined == 0
    for topic, there in wrote.items():
        if not there:
            continue
        # The last message of a table's key is its row, or its end; of a stream any one has to be there.
        last = {record.key: number for number, record in enumerate(there)}
        number = last[dice.choice(there).key]
        record = there[number]
        less = there[:number] + there[number + 1 :]
        more = [*there, dataclasses.replace(record, offset=len(there))]
        assert not verdict({**wrote, topic: less}).right
        assert not verdict({**wrote, topic: more}).right
        if record.value is not None:
            other = dataclasses.replace(record, value=record.value.replace(b"{", b'{"no":1,', 1))
            assert not verdict({**wrote, topic: [*there[:number], other, *there[number + 1 :]]}).right
