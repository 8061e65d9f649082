"""Reads a job's topics while it runs, and judges what came out: `python -m spillway.bench.verifier --help`."""

from __future__ import annotations

import argparse
import dataclasses
import signal
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from types import FrameType

import msgspec
import yaml

from spillway.bench.verifier import judging, report, topics
from spillway.bench.verifier.relations import Assumptions
from spillway.bench.verifier.verdict import Verdict
from spillway.controllers import acceptance
from spillway.model.streamjob import StreamJob
from spillway.runtime.clients import Access

_LOOKS_EVERY = 5.0  # seconds between two looks for topics and partitions that are new
_SETTLED = 1.0  # seconds without a message after which it is worth while to look whether all is there

_EPILOG = """\
exit codes: 0 right, 1 not right, 2 void: nothing can be said, and the reason is told

example:
  python -m spillway.bench.verifier --job examples/word-count.yaml --bootstrap localhost:9092 --until-idle 5 -o json
"""


def parser() -> argparse.ArgumentParser:
    """The arguments."""
    made = argparse.ArgumentParser(
        "python -m spillway.bench.verifier",
        description="Read the source and output topics of a job while it runs and once more at the end, compute what"
        " should have come out with another implementation, and tell what is lost, duplicated, reordered or wrong.",
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    made.add_argument("--job", required=True, type=Path, metavar="FILE", help="the StreamJob")
    made.add_argument("--bootstrap", metavar="HOST:PORT", help="Kafka; by default that of the job")
    made.add_argument("--code", type=Path, metavar="DIR", help="the job's functions; by default the folder of the job")
    made.add_argument("--secret", type=Path, metavar="DIR", help="where the Secret of the job's Kafka is")
    until = made.add_mutually_exclusive_group()
    until.add_argument(
        "--until-idle", type=float, default=10.0, metavar="SECONDS", help="judge when nothing came for so long (10)"
    )
    until.add_argument(
        "--at-rest", action="store_true", help="nothing is written any more: read everything once, and judge"
    )
    until.add_argument(
        "--records", type=int, metavar="N", help="judge when streams have had N records and their results are there"
    )
    made.add_argument(
        "--patience",
        type=float,
        default=60.0,
        metavar="SECONDS",
        help="wait so long for the first record, and with --records for the last result (60)",
    )
    made.add_argument("--timeout", type=float, metavar="SECONDS", help="judge after so long in any case")
    made.add_argument(
        "--lead",
        default="5",
        metavar="SECONDS",
        help="a join is taken to know what its table's topic held for so long before the record came (5), by the times"
        " of messages; `none` where the job was started or stopped while topics were filled; `first` where the caller"
        " knows that tables were loaded, and read, before any record came",
    )
    made.add_argument(
        "--none-late", action="store_true", help="the caller knows that no record was late: the driver's `late` is 0"
    )
    made.add_argument("--report", type=Path, metavar="FILE", help="write the verdict there, as JSON")
    made.add_argument("-o", choices=["table", "json"], default="table", dest="output", help="how to print it (table)")
    made.add_argument("-q", "--quiet", action="store_true", help="tell nothing of the progress")
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Watch, judge, report."""
    given = parser().parse_args(arguments)
    accepted = acceptance.accept(yaml.safe_load(given.job.read_text(encoding="utf-8")))
    if accepted.job is None:
        sys.stderr.write(f"{given.job}: {accepted.message}\n")
        return 2
    job = accepted.job
    kafka = job.spec.kafka
    if given.bootstrap:
        kafka = kafka.model_copy(update={"bootstrap_servers": tuple(given.bootstrap.split(","))})
    verdict = Session(job, Access(kafka, given.secret, "spillway-verifier"), given).run()
    if given.report is not None:
        given.report.write_bytes(msgspec.json.format(report.as_json(verdict), indent=2) + b"\n")
    if given.output == "json":
        sys.stdout.write(report.as_json(verdict).decode() + "\n")
    else:
        report.show(verdict)
    return verdict.exit_code


def assumptions(given: argparse.Namespace) -> Assumptions:
    """What the caller says of the run."""
    special = {"none": None, "first": judging.TABLES_FIRST}
    lead = special[given.lead] if given.lead in special else int(float(given.lead) * 1000)
    return Assumptions(lead, given.none_late)


class Session:
    """One watch of one job."""

    def __init__(self, job: StreamJob, access: Access, given: argparse.Namespace) -> None:
        self._spec = job.spec
        self._access = access
        self._given = given
        self._assumed = assumptions(given)
        self._code = given.code or given.job.parent
        self._sources = [*(s.topic for s in self._spec.streams), *(t.topic for t in self._spec.tables)]
        self._outputs = [output.topic for output in self._spec.outputs]
        self._log = topics.Log()
        self._stopped = False

    def run(self) -> Verdict:
        """Until it is time to judge; Ctrl-C is one way to say so."""
        before = {number: signal.signal(number, self._stop) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            void = "" if self._given.at_rest else self._watched()
            if not void:
                void = topics.whole(self._access, self._sources, self._outputs, self._log, self._tell)
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        if not void:
            self._tell(f"{self._log.counts.total()} messages are read; what should have come of them is computed")
        verdict = self._judged()
        return dataclasses.replace(verdict, right=False, complete=False, void=void) if void else verdict

    def _stop(self, number: int, frame: FrameType | None) -> None:
        self._stopped = True

    def _watched(self) -> str:
        """Read until it is time; why it never came, if so."""
        started = time.monotonic()
        reader = topics.Reader(self._access, [*self._sources, *self._outputs], self._log)
        grew = told = started
        looked = asked = 0.0
        missing: list[str] = []
        try:
            while not self._stopped:
                now = time.monotonic()
                if now - looked > _LOOKS_EVERY:
                    missing, looked = reader.missing(), now
                if reader.poll(0.2):
                    grew = time.monotonic()
                if now - told > topics.TELLS_EVERY:
                    told = now
                    self._tell(f"{self._log.counts.total()} messages")
                if self._given.timeout is not None and now - started > self._given.timeout:
                    break
                idle = now - grew
                if self._given.records is None:
                    if idle > (self._given.until_idle if self._came() else self._given.patience):
                        break
                elif idle > _SETTLED and self._has_all_records():
                    if idle > self._given.patience:
                        break
                    if grew > asked:
                        asked = now
                        if self._judged().complete:
                            break
        except topics.UnreadableError as error:
            return str(error)
        finally:
            reader.close()
        return f"there is no topic {', '.join(missing)}" if missing else ""

    def _has_all_records(self) -> bool:
        return self._came() >= int(self._given.records)

    def _came(self) -> int:
        """How many records of streams have come."""
        return sum(self._log.counts[stream.topic] for stream in self._spec.streams)

    def _judged(self) -> Verdict:
        found = self._log.topics()
        return judging.judge(self._spec, found, found, self._assumed, self._code)

    def _tell(self, what: str) -> None:
        if not self._given.quiet:
            sys.stderr.write(f"{what}\n")
