"""The contracts between rooms are real: each catches an import that was planted against it."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOP = Path(__file__).parents[2]
ROOTS = ("operator", "controllers", "runtime-image", "bench")


def _lint(folder: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(str(folder / root) for root in ROOTS)}
    tool = Path(sys.executable).with_name("lint-imports")
    command = [str(tool), "--no-cache"]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.fixture
def house(tmp_path: Path) -> Path:
    """A copy of the rooms without their contents: imports inside the real ones are `make layers`' business."""
    shutil.copy(TOP / "pyproject.toml", tmp_path)
    for root in ROOTS:
        for room in (TOP / root / "spillway").iterdir():
            copy = tmp_path / root / "spillway" / room.name
            copy.mkdir(parents=True)
            (copy / "__init__.py").touch()
    return tmp_path


def test_empty_rooms_keep_the_contracts(house: Path) -> None:
    found = _lint(house)

    assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize(
    ("room", "planted"),
    {
        "the model asks the expressions": ("controllers/spillway/model", "import spillway.expressions"),
        "a decision asks the cluster": ("controllers/spillway/controllers", "import kopf"),
        "a decision looks at the clock": ("controllers/spillway/controllers", "import time"),
        "the expressions ask Spark": ("controllers/spillway/expressions", "import pyspark.sql"),
        "a simulation opens a loop": ("controllers/spillway/simulation", "import asyncio"),
        "the runtime asks the manager": ("runtime-image/spillway/runtime", "import spillway.manager"),
        "the manager asks the command line": ("operator/spillway/manager", "import spillway.cli"),
        "the bench asks the command line": ("bench/spillway/bench", "import spillway.cli"),
    }.values(),
)
def test_an_import_in_the_wrong_direction_is_caught(house: Path, room: str, planted: str) -> None:
    (house / room / "planted.py").write_text(f"{planted}\n")

    found = _lint(house)

    assert found.returncode == 1
    assert "planted" in found.stdout
