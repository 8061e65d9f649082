"""A switch between the paradigms survives whoever dies in it: each record counts once, each partition has one owner.

A head goes to batches and back while lines come; at each step of the move somebody is killed: the driver, a slot, all
of a worker, Spark's Java process, one of its Python workers, the broker. `make crashes` has each step of the driver and
of slots, and some of the others; `make chaos` has all victims at all steps, and drivers with a Spark of their own.
"""

from __future__ import annotations

import itertools
import random
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest

import chaos
import kept_spark
import switched_driver
import switched_worker
from spillway.local.broker import Broker
from spillway.local.installation import Installation
from switch_kills import Kill, Killing, of
from switched_job import switched

# The steps of a move, as the control log has them; intents are of the batches around it.
STEPS = ("Prepare", "Prepared", "Release", "Released", "Assign", "Intent", "Done")
DRIVER = [
    *of("driver", "batch", "Plan written", "Prepare written", "Prepared written", "Release written", "Assign written"),
    *of("driver", "batch", "Intent written", "batch begun", "batch committed", "Done written"),
    *of("driver", "batch", "batch ran>transaction begun", "batch ran>positions sent", "batch ran>committed"),
    # The next driver takes over with an intent open, and dies of that too; and so does the one after it.
    Kill("driver", "batch", ("batch ran",), ("engine ready", "batch marked", "batch read back")),
    *of("driver", "record", "Plan written", "Prepare written", "Release written", "Released written", "Assign written"),
    *of("driver", "record", "Prepare written>batch ran", "Prepare written>Done written"),
]
SLOT = [
    # It lets go; the commit is that of its release, or was under way.
    *of("slot", "batch", "stopped", "flushed", "stopped>snapshot taken", "stopped>acknowledged"),
    *of("slot", "batch", "stopped>transaction begun", "stopped>positions sent", "stopped>committed", "stopped>stored"),
    *of("slot", "batch", "released", "dropped"),
    # It is the heir.
    *of("slot", "record", "restore begun", "restored ahead", "warmed", "assigned", "restored", "taken"),
]
PYTHON = [
    *of("python", "batch", "Release", "Assign", "Intent", "Done"),
    *of("python", "record", "Prepare", "Release", "Released"),
]
JVM = [*of("jvm", "batch", "Released", "Intent"), *of("jvm", "record", "Release")]
BROKER = [*of("broker", "batch", "Prepared", "Intent"), *of("broker", "record", "Release")]
EVERYBODY = [
    kill
    for victim, to in itertools.product(("worker", "jvm", "python", "broker"), ("batch", "record"))
    for kill in of(victim, to, *STEPS)
]


@pytest.fixture(scope="module")
def mortal(kafka: Installation) -> Iterator[Broker]:
    """A broker that may be killed."""
    with Broker(using=kafka) as running:
        yield running


@pytest.fixture(scope="module")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator[kept_spark.Running]:
    """One that outlives drivers."""
    with kept_spark.running(tmp_path_factory.mktemp("spark")) as running:
        yield running


def paired(kills: Sequence[Kill], dice: random.Random) -> list[Kill]:
    """There, back, there, and so on, as far as that goes: then each switch has somebody who dies."""
    found = list(kills)
    if chaos.LONG:
        dice.shuffle(found)
    there, back = ([kill for kill in found if kill.to == to] for to in ("batch", "record"))
    both = itertools.zip_longest(there, back)
    return [kill for pair in both for kill in pair if kill is not None]


def sweep(
    broker: Broker,
    spark: kept_spark.Running | None,
    folder: Path,
    name: str,
    kills: Sequence[Kill],
    seed: int,
    broken: dict[str, str] | None = None,
) -> Any:
    """Carry out all kills on a job; what is wrong with it then."""
    killing = Killing(folder, broker, spark, broken)
    dice = random.Random(seed)  # noqa: S311 - an order, no secret
    with switched(broker, f"{name}-{seed}", folder, seed, killing.start) as job:
        killing.all(job, paired(kills, dice))
        verdict = job.verdict(10.0 if broken else 60.0)
        count = len(job.fed.times)
    print(f"{killing.told()}\n{count} lines: {verdict}")  # noqa: T201
    assert sorted(killing.hit) == sorted(kills)
    return verdict


@pytest.mark.chaos
@pytest.mark.timeout(600)
@pytest.mark.parametrize("seed", chaos.seeds())
@pytest.mark.parametrize("kills", [DRIVER, SLOT, [*PYTHON, *JVM], BROKER], ids=["driver", "slot", "spark", "broker"])
def test_whoever_dies_in_a_switch_each_record_counts_once(
    mortal: Broker, spark: kept_spark.Running, tmp_path: Path, kills: Sequence[Kill], seed: int
) -> None:
    verdict = sweep(mortal, spark, tmp_path, kills[0].victim, kills, seed)
    assert verdict.right, verdict


@pytest.mark.chaos
@pytest.mark.skipif(not chaos.LONG, reason="takes many minutes: `make chaos` does it")
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("seed", chaos.seeds())
@pytest.mark.parametrize("kills", [EVERYBODY, DRIVER], ids=["everybody", "driver"])
def test_the_same_at_all_steps_where_spark_is_the_drivers_own(
    mortal: Broker, tmp_path: Path, kills: Sequence[Kill], seed: int
) -> None:
    verdict = sweep(mortal, None, tmp_path, f"own-{kills[0].victim}", kills, seed)
    assert verdict.right, verdict


# The verdict is not blind: a rule that is broken shows.


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_batches_that_are_committed_before_they_ran_are_noticed(
    mortal: Broker, spark: kept_spark.Running, tmp_path: Path
) -> None:
    kills = of("driver", "batch", "Done written")
    verdict = sweep(mortal, spark, tmp_path, "hasty", kills, 1, {switched_driver.HASTY: "1"})
    assert verdict.lost


@pytest.mark.chaos
@pytest.mark.timeout(300)
def test_readers_that_apply_what_they_have_are_noticed(
    mortal: Broker, spark: kept_spark.Running, tmp_path: Path
) -> None:
    kills = of("driver", "batch", "batch ran")
    verdict = sweep(mortal, spark, tmp_path, "forgetful", kills, 1, {switched_worker.FORGETFUL: "1"})
    assert verdict.twice
