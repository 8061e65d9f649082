"""The command `spillway-driver`."""

from __future__ import annotations

import argparse
import functools
import logging
import signal
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import FrameType
from typing import Any

from spillway.controllers import tick
from spillway.model.errors import InvalidError, SpillwayError, TerminalError
from spillway.model.observation import VERSION, Deployment, SwitchAnswer, SwitchOrder
from spillway.model.streamjob import StreamJob
from spillway.runtime import jobs, logs
from spillway.runtime.driver import reporting
from spillway.runtime.driver.answers import Answers
from spillway.runtime.driver.driver import AGAIN, Batches, DeposedError, Driver, Files
from spillway.runtime.driver.reporting import Board
from spillway.runtime.driver.standby import Resizable
from spillway.runtime.page.serving import Page
from spillway.runtime.web import Server, Token

ENDED, FAILED, DEPOSED = 0, 1, 3  # exit codes; 2 is argparse's own
PODS = "k8s"  # the name of the master whose executors are pods

_log = logging.getLogger(__name__)


class Asked:
    """Whether somebody asked us to end."""

    def __init__(self) -> None:
        self._asked = False
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._hear)

    def __call__(self) -> bool:
        """Whether that is so."""
        return self._asked

    def _hear(self, _: int, __: FrameType | None) -> None:
        self._asked = True


class Process:
    """A driver with its HTTP server, from the first word to the last."""

    def __init__(
        self,
        files: Files,
        host: str,
        port: int,
        ended: Callable[[], bool],
        batches: Batches | None = None,
        token: Token | None = None,
        *,
        directed: bool = False,
    ) -> None:
        """Raises InvalidError for a manifest that can't be run, and AddressError where nobody can listen.

        Without a `token` whoever reaches the port may change something. A driver that is `directed` decides nothing.
        """
        self._directed = directed
        self._deployment: Deployment | None = None
        self._files, self._ended, self._batches, self._token = files, ended, batches, token
        self._job: StreamJob = jobs.read(files.job)
        self._board = Board(reporting.starting(self._job))
        self._driver: Driver | None = None
        self._granted: tuple[int, int | None] | None = None
        self.server = Server(host, port, "spillway-driver")

    def run(self) -> None:
        """Until it is asked to end."""
        page = Page(self._board, self._decisions, self._deciding)
        direct = self._direct if self._directed else None
        answers = Answers(self._board, self._grant, self._order, self._decisions, page.gets, self._token, direct)
        self.server.start(answers.paths)
        page.start()
        job = self._job.metadata
        _log.info("drives job %s/%s; answers on http://%s", job.namespace, job.name, self.server.address)
        try:
            driver = self._began()
            if driver is not None:
                driver.run(self._ended, lambda driver: self._board.put(reporting.view(driver)))
        finally:
            if self._driver is not None:
                self._driver.close()
            page.stop()
            self.server.stop()

    def _began(self) -> Driver | None:
        """The driver, as soon as a broker answers; None if it was asked to end before."""
        while not self._ended():
            try:
                self._driver = Driver(self._files, self._job, self._batches, directed=self._directed)
            except TerminalError:
                raise
            except SpillwayError as error:
                _log.warning("can't begin yet: %s", error)
                self._board.put(reporting.starting(self._job, str(error)))
                time.sleep(AGAIN)
            else:
                if self._granted is not None:
                    self._driver.grant(*self._granted)
                if self._deployment is not None:
                    self._driver.direct(self._deployment)
                return self._driver
        return None

    def _grant(self, workers: int, executors: int | None = None) -> None:
        if executors is None and self._granted is not None:
            executors = self._granted[1]
        self._granted = workers, executors
        if self._driver is not None:
            self._driver.grant(workers, executors)

    def _direct(self, deployment: Deployment) -> None:
        self._deployment = deployment
        if self._driver is not None:
            self._driver.direct(deployment)

    def _order(self, order: SwitchOrder) -> SwitchAnswer:
        if self._driver is None:
            sentence = "the driver has not begun yet; ask again in a moment"
            return SwitchAnswer(VERSION, False, (), order.to, sentence)
        return self._driver.order(order)

    def _decisions(self) -> list[Mapping[str, Any]]:
        return list(self._driver.recorder.decisions) if self._driver is not None else []

    def _deciding(self) -> tick.Decision | None:
        return self._driver.steersman.decision if self._driver is not None else None


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a driver until it is asked to end; the exit code."""
    given = _parser().parse_args(arguments)
    logs.begin("driver")
    asked = Asked()
    try:
        files = Files(given.job, given.code, given.secret)
        batches = batching(given.spark, given.executor_template)
        token = Token(given.token) if given.token is not None else None
        Process(files, given.host, given.port, asked, batches, token, directed=given.directed).run()
    except DeposedError as error:
        _log.warning("%s", error)
        return DEPOSED
    except InvalidError as error:
        for mistake in error.mistakes:
            _log.error("%s", mistake)
        return FAILED
    except SpillwayError as error:
        _log.error("%s", error)
        return FAILED
    return ENDED


def batching(master: str | None, template: Path | None) -> Batches | None:
    """As the options say; raises TerminalError where they do not fit together."""
    if (master == PODS) != (template is not None):
        message = f"--spark {PODS} and --executor-template FILE go together: executors are pods, made of the template"
        raise TerminalError(message)
    if template is not None:
        return Batches(functools.partial(_pods, template), executors=True)
    return Batches(lambda _, __: _spark(master)) if master else None


def _spark(master: str) -> Resizable:
    """A warm Spark; imported only where it is wanted."""
    from spillway.runtime.batch.executors import Local
    from spillway.runtime.batch.spark import Spark

    return Spark(Local(master))


def _pods(file: Path, job: StreamJob, count: int) -> Resizable:
    """The same, with pods for executors. The template is read each time: it may have changed."""
    from spillway.runtime.batch.cluster import Pod
    from spillway.runtime.batch.pods import Pods
    from spillway.runtime.batch.spark import Spark
    from spillway.runtime.batch.template import Template

    return Spark(Pods(Pod.here(), Template.read(file), job, count))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spillway-driver",
        description="Drive one job: which slot works on which partitions, which programs run, how many workers that"
        " takes, and why. One at a time leads; a driver that is started takes the lead over.",
        epilog="Exit code: 0 if it ended in order, after SIGTERM or Ctrl-C; 3 if another driver leads now; else 1."
        " Example: spillway-driver --job job.yaml --code functions --port 8080",
    )
    parser.add_argument(
        "--job",
        type=Path,
        required=True,
        metavar="FILE",
        help="the StreamJob, as YAML or JSON; read again as it changes",
    )
    parser.add_argument("--code", type=Path, metavar="DIR", help="the directory with the user's Python functions")
    parser.add_argument("--secret", type=Path, metavar="DIR", help="the directory with the credentials for Kafka")
    parser.add_argument(
        "--spark",
        metavar="MASTER",
        help=f"where micro-batches run: local[2] for two at a time here, {PODS} for executors that are pods; without it"
        " everything runs record by record",
    )
    parser.add_argument(
        "--executor-template", type=Path, metavar="FILE", help=f"with --spark {PODS}: the template of executor pods"
    )
    parser.add_argument(
        "--token",
        type=Path,
        metavar="FILE",
        help="whoever changes something (PUT) has to send what is in this file, as a bearer token",
    )
    parser.add_argument(
        "--directed",
        action="store_true",
        help="decide nothing: run each operator on slots of its own, as PUT /v1/deployment says (`spillway profile`)",
    )
    parser.add_argument("--host", default="127.0.0.1", help="where to answer HTTP (default: %(default)s)")
    parser.add_argument("--port", type=int, default=0, metavar="N", help="on this port (default: 0, any that is free)")
    return parser
