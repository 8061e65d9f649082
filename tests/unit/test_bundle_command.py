"""`spillway bundle` of a job on this machine. What a cluster adds is in `tests/api`, what is secret in another file."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

import asked
from spillway.cli.main import app
from spillway.local import state

GEM = "hunter2-of-this-test"


def bundle(*arguments: str) -> Result:
    result = CliRunner().invoke(app, ["bundle", *arguments])
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """The state of a run with some logs, in which somebody has left a secret."""
    found = tmp_path / "state"
    (found / "logs").mkdir(parents=True)
    (found / "spillway.lock").touch()
    (found / "logs" / "driver.log").write_text(f"leads\nconnects with password={GEM}\n")
    environment = {"name": "X", "value": GEM}
    template = {"spec": {"containers": [{"name": "main", "env": [environment]}]}}
    job = {"metadata": {"name": "ysb"}, "spec": {"execution": {"workers": {"podTemplate": template}}}}
    (found / "job.json").write_text(json.dumps(job))
    return found


def _unpacked(file: Path) -> dict[str, str]:
    with tarfile.open(file) as tar:
        return {
            one.name.partition("/")[2]: tar.extractfile(one).read().decode()  # type: ignore[union-attr]
            for one in tar.getmembers()
        }


def test_it_has_what_the_run_has_left_and_what_its_driver_tells_but_no_secret(folder: Path, tmp_path: Path) -> None:
    file = tmp_path / "out.tar.gz"
    with asked.driver(asked.BURST) as driver, state.held(folder) as held:
        held.tell(driver=driver.address)
        shown = bundle("ysb", "--state", str(folder), "-o", str(file))

    assert shown.exit_code == 0, shown.output
    found = _unpacked(file)
    assert json.loads(found["driver/observation.json"])["job"] == asked.JOB
    assert {"driver/decisions.json", "driver/deciding.json", "job.json", "run.json", "about.txt"} <= found.keys()
    assert "leads" in found["logs/driver.log"]
    assert GEM not in "".join(found.values())
    assert "metrics" in found["problems.txt"]  # this driver has none
    assert "not in it: metrics" in shown.stderr


def test_a_file_that_can_not_be_written_is_told_in_a_line(folder: Path, tmp_path: Path) -> None:
    with asked.driver() as driver, state.held(folder) as held:
        held.tell(driver=driver.address)
        shown = bundle("ysb", "--state", str(folder), "-o", str(tmp_path / "nowhere" / "out.tar.gz"))
    assert shown.exit_code == 1
    assert "can't be written: No such file or directory" in shown.stderr
