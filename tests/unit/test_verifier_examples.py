"""What the job's own programs give for each example, in memory, is judged right by the verifier's implementation."""

from __future__ import annotations

import pytest

import judged
import programs
from spillway.bench import inputs

SEEDS = 2


def test_there_are_inputs_for_every_example() -> None:
    assert set(inputs.examples()) == {path.stem for path in programs.EXAMPLES.glob("*.yaml")}


@pytest.mark.parametrize("seed", range(SEEDS))
@pytest.mark.parametrize("name", inputs.examples())
def test_an_example_is_judged_right(name: str, seed: int) -> None:
    spec = programs.example(name)
    read = judged.sources(inputs.messages(name, seed=seed, count=400, partitions=3, step=80))

    job = judged.ran(spec, read, cut=seed % 3)
    verdict = judged.judged(spec, read, judged.written(job, spec))

    assert verdict.right, verdict.outputs
    assert verdict.complete
    assert verdict.undetermined == 0
    assert verdict.records_in == sum(len(records) for records in read.values())
    assert all(output.expected > 0 for output in verdict.outputs)


@pytest.mark.parametrize("name", inputs.examples())
def test_inputs_are_the_same_for_the_same_seed(name: str) -> None:
    one, same, other = (list(inputs.messages(name, seed=seed, count=50, partitions=2)) for seed in (1, 1, 2))

    assert one == same
    assert one != other


@pytest.mark.parametrize("name", inputs.examples())
def test_inputs_have_what_breaks_jobs(name: str) -> None:
    sent = list(inputs.messages(name, seed=3, count=800, partitions=4))

    job = judged.ran(programs.example(name), judged.sources(sent))

    assert {message.partition for message in sent} == set(range(4))
    assert name == "linear-road" or job.letters, "none of them is a dead letter"
    for topic in {message.topic for message in sent}:
        times = [message.time for message in sent if message.topic == topic]
        assert times == sorted(times)
