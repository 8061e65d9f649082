"""A profile that is stored goes on where it was, and is looked at again once it is done."""

from __future__ import annotations

import dataclasses
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
import yaml

from profiled import LINE, SPANS, Exact
from spillway.cli.profiling.answers import Profile
from spillway.cli.profiling.session import LOOKS, Session
from spillway.controllers import acceptance
from spillway.controllers.profiling.measurement import Measurement
from spillway.controllers.profiling.rounds import Settings
from spillway.model.streamjob import StreamJob

SETTINGS = Settings(bound=1.0, frames=(1, 10, 100), seconds=1e-6)


@dataclasses.dataclass
class Running(Exact):
    """A platform that is stopped after so many measurements; what waits is as it is said."""

    ends: int = 10_000
    waiting: float = 0.0
    measured: int = 0

    @property
    def profiled(self) -> Any:
        return SimpleNamespace(application=lambda: LINE)

    def measure(self, seconds: float) -> Measurement | None:
        self.measured += 1
        if self.measured > self.ends:
            raise KeyboardInterrupt
        return super().measure(seconds)


def job(name: str = "word-count") -> StreamJob:
    text = (Path(__file__).parents[2] / "examples" / f"{name}.yaml").read_text()
    found = acceptance.accept(yaml.safe_load(text)).job
    assert found is not None
    return found


def run(platform: Running, file: Path, *, words: str = "2 cores", of: str = "word-count") -> tuple[Profile, list[str]]:
    said: list[str] = []
    session = Session(job(of), SETTINGS, words, file, lambda _: None, said.append)
    return session.run(platform, ("in: numbers",)), said  # type: ignore[arg-type]


def test_stopped_and_begun_again_it_goes_on_behind_the_last_round(tmp_path: Path) -> None:
    through, _ = run(Running(), tmp_path / "through.json")
    first = Running(ends=4)
    with pytest.raises(KeyboardInterrupt):
        run(first, tmp_path / "kept.json")
    second = Running()
    found, said = run(second, tmp_path / "kept.json")

    assert said[0].startswith("goes on behind round 4")
    assert found.finished == through.finished
    assert len(found.finished.rounds) > 4
    assert second.measured == len(found.finished.rounds) - 4 + 2  # and two on frames that nothing is fitted on


def test_one_that_is_done_is_looked_at_and_not_made_again(tmp_path: Path) -> None:
    before, _ = run(Running(), tmp_path / "kept.json")
    again = Running()
    found, said = run(again, tmp_path / "kept.json")

    assert found.finished == before.finished
    assert said[-1] == "hold: what was promised is done"
    assert again.measured == 1 + 2


def test_a_load_that_is_no_longer_done_begins_it_anew(tmp_path: Path) -> None:
    run(Running(), tmp_path / "kept.json")
    slower = Running(spans={name: 3 * span for name, span in SPANS.items()}, waiting=1e9)
    found, said = run(slower, tmp_path / "kept.json")

    assert any(one.startswith("profile again") for one in said)
    assert 2 <= slower.measured - len(found.finished.rounds) - 2 <= LOOKS


OTHERS = {
    "on another platform": ({"words": "8 cores"}, "profile again: the platform was '2 cores' and is '8 cores'"),
    "of another job": ({"of": "grep"}, "is of another job"),
}


@pytest.mark.parametrize("case", OTHERS)
def test_what_is_stored_is_not_gone_on_with(case: str, tmp_path: Path) -> None:
    run(Running(), tmp_path / "kept.json")
    options, why = OTHERS[case]
    platform = Running()
    found, said = run(platform, tmp_path / "kept.json", **options)

    assert any(why in one for one in said)
    assert platform.measured == len(found.finished.rounds) + 2
