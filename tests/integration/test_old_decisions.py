"""`spillway decisions --since` on a real broker: what the job's topic has, joined with what the driver still knows."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import asked
import kafka_records
from fake_driver import FakeDriver
from spillway.cli.asking.places import DEFAULT
from spillway.cli.main import app
from spillway.controllers.topics import Names, Topic
from spillway.local import state
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.runtime import admin, clients

NAMES = Names(f"{DEFAULT}.ysb.")


def decisions(folder: Path, *arguments: str) -> list[str]:
    """What is printed, without times."""
    result = CliRunner().invoke(app, ["decisions", "ysb", "--state", str(folder), *arguments])
    assert result.exit_code == 0, result.output
    return [line.split()[3].rstrip(":") for line in result.stdout.splitlines()]


def told(driver: FakeDriver, broker: Broker, folder: Path, *values: str) -> list[str]:
    """What is printed where the topic has these values, and the driver what it has decided."""
    access = clients.Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,)))
    admin.create(clients.admin(access), [Topic(NAMES.decisions, 1)])
    if values:
        kafka_records.produce(broker.bootstrap, NAMES.decisions, values)
    with state.held(folder) as held:
        held.tell(driver=driver.address, bootstrap=broker.bootstrap)
        return decisions(folder, "--since", "2020-01-01T00:00:00Z", "--limit", "1")


@pytest.mark.broker
def test_decisions_of_drivers_before_this_one_are_there_once_and_what_is_none_is_left_out(
    broker: Broker, tmp_path: Path
) -> None:
    with asked.driver() as driver:
        known = driver.decisions
        before = {**known[0], "at": known[0]["at"] - 3600, "reason": "Calming"}

        assert told(driver, broker, tmp_path) == ["BelowPoint", "LoadRose"]
        values = (json.dumps(before), "no decision", *map(json.dumps, known))
        assert told(driver, broker, tmp_path, *values) == ["Calming", "BelowPoint", "LoadRose"]
