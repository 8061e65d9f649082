"""`spillway bench` on a real broker: a user's own job, workloads of the benchmark paper, and how far a system is."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from spillway.bench import engines
from spillway.bench.dual import courses
from spillway.bench.dual.loads import Phase
from spillway.bench.dual.tails import Tail
from spillway.bench.engines import Maker
from spillway.bench.record import logs, systems
from spillway.bench.trials import own
from spillway.bench.workloads import sessions, words
from spillway.bench.workloads.work import Key, Numbers
from spillway.cli.main import app
from spillway.local.broker import Broker

EXAMPLES = Path(__file__).parents[2] / "examples"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody looks at the figures: no more of what doesn't count than has to be there."""
    monkeypatch.setattr(courses, "WARM", 0.5)
    monkeypatch.setattr(own, "QUIET", 1.0)


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_workload_of_the_paper_is_right_and_each_result_has_its_age(broker: Broker) -> None:
    work = sessions.AVERAGES
    run = courses.paced(Maker(engines.R, work), broker.bootstrap, [Phase("low", 300.0, 1.5)], patience=60.0)

    assert not run.judged.problem
    assert len(run.judged.latencies) == 2 * 450  # each is in two windows
    assert len(run.ages) > 100
    assert run.used.keys() == {"driver", "worker", "generator"}


@pytest.mark.long
@pytest.mark.timeout(120)
def test_a_users_own_job_is_fed_and_judged(tmp_path: Path) -> None:
    load = ["--system", "R", "--trace", "constant:300", "--seconds", "2", "--settle", "0.5"]
    asked = ["bench", "run", str(EXAMPLES / "windowed-join.yaml"), *load, "--keep", str(tmp_path), "-o", "json"]

    result = CliRunner().invoke(app, asked)

    found = {one["name"].rpartition(": ")[2]: one for one in json.loads(result.stdout)["figures"]}
    assert found["lost"]["value"] == found["wrong"]["value"] == 0
    kept = json.loads((tmp_path / "run.jsonl").read_text().splitlines()[-1])
    assert kept["results"] >= kept["latencies"]["count"] > 100
    assert (tmp_path / "machine.json").exists()
    assert result.exit_code == bool(kept["problem"])  # on a busy machine the generator may have been late


def test_how_far_a_system_is_is_told_by_its_newest_results(broker: Broker) -> None:
    topic = systems.created_one(broker.bootstrap)
    expected: dict[Key, Numbers] = {"a": np.arange(0, 200, 2), "b": np.arange(1, 200, 2)}
    tail = Tail(broker.bootstrap, topic, words.WORDS)

    assert tail.frontier(expected) is None
    for far in (20, 80):
        rows = [(b"a", b'{"word":"a","n":%d}' % n) for n in range(1, far // 2 + 1)]
        rows += [(b"b", b'{"word":"b","n":%d}' % n) for n in range(1, far // 2 + 1)]
        logs.write(broker.bootstrap, topic, rows)
        assert tail.frontier(expected) == pytest.approx(far, abs=10)
    tail.close()
