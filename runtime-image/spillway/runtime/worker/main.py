"""The command `spillway-worker`.

Its slots import this module too, each anew, because their processes begin as ours did. So what only a worker needs is
imported where it is used.
"""

from __future__ import annotations

import argparse
import logging
import signal
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

from spillway.model.errors import SpillwayError, TerminalError
from spillway.runtime import logs
from spillway.runtime.worker import child

GRACE = 30.0  # seconds, as Kubernetes has it: a pod that has not ended by then is killed

_log = logging.getLogger(__name__)


class FolderError(TerminalError):
    """A directory that was named is none."""


class Asked:
    """How often somebody asked us to end."""

    def __init__(self) -> None:
        self._times = 0
        for number in child.ENDINGS:
            signal.signal(number, self._hear)

    def __call__(self) -> int:
        """The number of times."""
        return self._times

    def _hear(self, _: int, __: FrameType | None) -> None:
        self._times += 1


def main(arguments: Sequence[str] | None = None, work: child.Work = child.slot) -> int:
    """Run a worker until it is asked to end; the exit code."""
    given = _parser().parse_args(arguments)
    logs.begin(f"w{given.worker}")
    asked = Asked()
    try:
        return 0 if _run(given, asked, work) else 1
    except SpillwayError as error:
        _log.error("%s", error)
        return 1


def _run(given: argparse.Namespace, asked: Asked, work: child.Work) -> bool:
    from spillway.controllers.balancing import Slot
    from spillway.runtime import jobs
    from spillway.runtime.slots.settings import Settings
    from spillway.runtime.web import Server
    from spillway.runtime.worker.answers import Answers
    from spillway.runtime.worker.metrics import Collector
    from spillway.runtime.worker.supervisor import Supervisor
    from spillway.runtime.worker.tables import Tables
    from spillway.runtime.worker.totals import Totals

    job = jobs.read(given.job)
    for folder in (given.code, given.secret):
        if folder is not None and not folder.is_dir():
            message = f"{folder} is no directory"
            raise FolderError(message)
    names = [Slot(given.worker, number).name for number in range(given.slots or job.spec.execution.workers.slots)]
    totals = Totals()
    server = Server(given.host, given.port, "spillway-worker")
    settings = Settings(job, "", given.code, given.secret, server.address, scratch=given.scratch)
    supervisor = Supervisor(work, settings, names, totals.take)
    server.start(Answers(supervisor, Tables(given.job, job.spec), Collector(supervisor, totals)).paths)
    whose = f"{job.metadata.namespace}/{job.metadata.name}"
    _log.info("works for job %s with slots %s; answers on http://%s", whose, ", ".join(names), server.address)
    try:
        return supervisor.run(asked, given.grace)
    finally:
        server.stop()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spillway-worker",
        description="Run the slots of one worker: processes that work on partitions record by record, as the job's"
        " driver tells them through Kafka.",
        epilog="Exit code: 0 if all slots ended in order, after SIGTERM or Ctrl-C; else 1."
        " Example: spillway-worker --job job.yaml --worker 0 --slots 2 --code functions --port 8080",
    )
    parser.add_argument("--job", type=Path, required=True, metavar="FILE", help="the StreamJob, as YAML or JSON")
    parser.add_argument(
        "--worker", type=_Number(0, 999_999), required=True, metavar="N", help="which worker of the job, from 0"
    )
    parser.add_argument(
        "--slots", type=_Number(1, 64), metavar="N", help="how many slots (default: execution.workers.slots of the job)"
    )
    parser.add_argument("--code", type=Path, metavar="DIR", help="the directory with the user's Python functions")
    parser.add_argument("--secret", type=Path, metavar="DIR", help="the directory with the credentials for Kafka")
    parser.add_argument(
        "--scratch",
        type=Path,
        metavar="DIR",
        help="where tables are that the job keeps on disk (default: among the system's temporary files)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to answer HTTP (default: %(default)s)")
    parser.add_argument(
        "--port", type=_Number(0, 65_535), default=0, metavar="N", help="on this port (default: 0, any that is free)"
    )
    parser.add_argument(
        "--grace",
        type=_Number(0, 86_400),
        default=GRACE,
        metavar="SECONDS",
        help="how long slots may take to end in order (default: %(default)g)",
    )
    return parser


class _Number:
    """A whole number between two others."""

    def __init__(self, least: int, most: int) -> None:
        self._least, self._most = least, most

    def __call__(self, text: str) -> int:
        value = int(text)
        if not self._least <= value <= self._most:
            message = f"{value} is not between {self._least} and {self._most}"
            raise argparse.ArgumentTypeError(message)
        return value

    def __repr__(self) -> str:
        return "number"  # so argparse says what was wanted
