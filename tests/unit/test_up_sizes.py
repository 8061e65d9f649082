"""How many workers a local run has: what the load needs, within the cores, and within what somebody asked for."""

from __future__ import annotations

import datetime
from pathlib import Path

import msgspec
import pytest

import observations
from spillway.cli import jobs
from spillway.local import workers
from spillway.local.events import Event
from spillway.local.sizes import Sizes
from spillway.model.execution import Mode, Workers
from spillway.model.observation import Observation, Recommended
from spillway.model.streamjob import StreamJob

JOB = jobs.read(str(Path(__file__).parents[2] / "examples" / "word-count.yaml")).job
START = datetime.datetime.fromtimestamp(observations.NOON, datetime.UTC)


def job(**changes: object) -> StreamJob:
    execution = JOB.spec.execution.model_copy(update={"workers": Workers(**changes)})  # type: ignore[arg-type]
    return JOB.model_copy(update={"spec": JOB.spec.model_copy(update={"execution": execution})})


def needs(slots: int | None, at: float = 0.0) -> Observation:
    recommended = Recommended(slots, slots, "LoadRose", "more comes")
    return msgspec.structs.replace(observations.word_count(), at=observations.NOON + at, recommended=recommended)


@pytest.mark.parametrize(
    ("wanted", "cores", "fixed", "few", "many"),
    {
        "within the cores": (Workers(max=8), 4, None, 1, 4),
        "a worker of two slots takes two": (Workers(max=8, slots=2), 5, None, 1, 2),
        "there is always one": (Workers(max=8, slots=4), 1, None, 1, 1),
        "a minimum for a cluster is none for a laptop": (Workers(min=10, max=20), 4, None, 4, 4),
        "never more than the manifest allows": (Workers(max=2), 16, None, 1, 2),
        "as many as somebody asks for, cores or not": (Workers(max=2), 1, 3, 3, 3),
    }.values(),
)
def test_bounds(wanted: Workers, cores: int, fixed: int | None, few: int, many: int) -> None:
    sizes = Sizes(job(**wanted.model_dump()), cores, fixed, lambda _: None)

    assert sizes.asked == few
    assert sizes.most(job(**wanted.model_dump())) == many


def test_slots_are_never_more_than_cores() -> None:
    assert workers.slots(Workers(slots=8), 2) == 2
    assert workers.slots(Workers(slots=1), 2) == 1


def test_a_recommendation_in_slots_becomes_workers_of_as_many_as_there_are_here() -> None:
    assert workers.recommendation(needs(3), 2).size == 2
    assert workers.recommendation(needs(None), 2).size is None


def test_it_grows_in_one_step_and_says_why_and_what_limits_it() -> None:
    told: list[Event] = []
    sizes = Sizes(JOB, 2, None, told.append)

    sizes.decide(JOB, needs(5), 1, START)
    sizes.decide(JOB, needs(5, 1.0), 2, START + datetime.timedelta(seconds=1))

    assert sizes.asked == 2
    assert told[0].text.startswith("workers: from 1 to 2: ")
    assert told[0].text.endswith(" (more comes); not 5: this machine gives 2 cores, and a worker takes 1")
    assert [event.data["reason"] for event in told] == ["Limited", "Limited"]  # grown, and then: at the limit


def test_it_holds_without_a_word_when_nothing_is_known() -> None:
    told: list[Event] = []
    sizes = Sizes(JOB, 4, None, told.append)

    sizes.decide(JOB, None, 0, START)
    sizes.decide(JOB, needs(None), 1, START)

    assert (sizes.asked, told) == (1, [])


def test_advice_is_told_once_and_not_followed() -> None:
    policy = JOB.spec.policy.model_copy(update={"mode": Mode.ADVISE})
    advised = JOB.model_copy(update={"spec": JOB.spec.model_copy(update={"policy": policy})})
    told: list[Event] = []
    sizes = Sizes(advised, 4, None, told.append)

    for second in range(3):
        sizes.decide(advised, needs(3, second), 1, START + datetime.timedelta(seconds=second))

    assert sizes.asked == 1
    assert [event.data["action"] for event in told] == ["Advise"]


def test_less_is_given_back_after_the_delay() -> None:
    sizes = Sizes(JOB, 4, None, lambda _: None)
    sizes.decide(JOB, needs(3), 1, START)
    for second in range(1, 320):
        sizes.decide(JOB, needs(1, second), 3, START + datetime.timedelta(seconds=second))
        if sizes.asked < 3:
            break

    assert sizes.asked == 1
    assert 298 <= second <= 302
