"""A profile with everything that it needs around it: a folder, a broker, and somebody who may press Ctrl-C."""

from __future__ import annotations

import dataclasses
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path

from spillway.cli.profiling.answers import Profile
from spillway.cli.profiling.session import Session
from spillway.cli.up import progress
from spillway.controllers.profiling.rounds import Round, Settings
from spillway.local import code, interrupts
from spillway.local import state as states
from spillway.local.edits import Edit
from spillway.local.events import Event, Scene
from spillway.local.profiling import jobs, platform
from spillway.local.profiling.platform import Local, ProfileError
from spillway.local.profiling.records import Records

# Sizes of frames in light rounds. Three tell cpu, fetch and emit apart, and cover what plans have.
FRAMES = (1, 10, 100)
# Slots beyond one for each operator, for each core: work that waits needs more slots than cores, and what computes has
# no use for more.
SPARE = 2
# Of a throughput. The same deployment twice differs by that much on a machine that does something else beside.
WORTH = 0.05


class StoppedError(Exception):
    """Somebody asked for the end."""


@dataclasses.dataclass(frozen=True, slots=True)
class Asked:
    """What is asked for.

    Attributes:
        first: the job.
        feeding: what it is fed with.
        cores: of this machine.
        rounds, seconds: under full load, and of each measurement.
        tasks: slots at the most; None: by cores.
        file: where the profile is stored.
    """

    first: Edit
    feeding: Sequence[Records]
    cores: int
    rounds: int
    seconds: float
    tasks: int | None = None
    file: Path | None = None


@dataclasses.dataclass(frozen=True, slots=True)
class Heard:
    """Who is told what: rounds, what counts, and what is on the way."""

    round: Callable[[Round], None]
    say: Callable[[str], None]
    note: Callable[[str], None]


def run(asked: Asked, heard: Heard) -> Profile:
    """The whole profile; nothing is left of it. Raises StoppedError where somebody asked for its end."""
    folder = Path(tempfile.mkdtemp(prefix="spillway-profile-"))
    try:
        with states.held(folder) as held, interrupts.Interrupts() as stopped, progress(_Notes(heard.note)):

            def wait(seconds: float) -> None:
                stopped.wait(seconds)
                if stopped.count:
                    raise StoppedError

            functions = None if asked.first.code is None else code.kept(asked.first.code, held.code)
            made = Local(
                lambda bootstrap: jobs.profiled(asked.first.document, bootstrap),
                asked.feeding, held, functions, asked.cores, wait, heard.note,
            )  # fmt: skip
            try:
                with stopped.raising():
                    made.begin()
                settings = _settings(asked, made)
                words = platform.words(asked.cores)
                session = Session(asked.first.job, settings, words, asked.file, heard.round, heard.say)
                found = session.run(made, tuple(f"{one.topic}: {one.origin}" for one in asked.feeding))
            except KeyboardInterrupt:
                made.kill()
                raise StoppedError from None
            except BaseException:
                made.end()
                raise
            made.end()
            return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _settings(asked: Asked, made: Local) -> Settings:
    operators = made.profiled.application().operators
    tasks = asked.tasks if asked.tasks is not None else len(operators) + SPARE * asked.cores
    if tasks < len(operators):
        names = ", ".join(operator.name for operator in operators)
        message = f"--tasks {tasks} is too few: each of {names} needs a slot of its own; allow {len(operators)} or more"
        raise ProfileError(message)
    return Settings(
        bound=asked.first.job.spec.latency.bound.seconds,
        tasks=tasks,
        worth=WORTH,
        light=made.profiled.light(),
        seconds=asked.seconds,
        frames=FRAMES,
        rounds=asked.rounds,
    )


class _Notes:
    """Takes what the local backend tells while it fetches and prepares Kafka."""

    def __init__(self, note: Callable[[str], None]) -> None:
        self._note = note

    def tell(self, event: Event) -> None:
        """A line."""
        self._note(event.text)

    def show(self, scene: Scene) -> None:
        """Nothing is shown here."""
