"""`spillway demo`: see it work on this machine, with a load that has bursts, and have the outputs judged."""

from __future__ import annotations

import importlib.util
import json
import pathlib
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Annotated

import typer

from spillway.cli import terminal

RIGHT, FAILED, INTERRUPTED = 0, 1, 130
# What has to be there; `spillway[demo]` has all of it. Java is looked for where it is needed, and explained there.
NEEDED = ("confluent_kafka", "pyarrow", "pyspark", "duckdb")


def demo(
    seconds: Annotated[
        float, typer.Option(metavar="N", min=60, max=3600, help="How long the job runs, from when it is ready.")
    ] = 90.0,
    report: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", dir_okay=False, help="Write the report there, as JSON.")
    ] = None,
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port of the page; 0 for any free one.")] = 0,
    browser: Annotated[bool, typer.Option("--open", help="Open the page in a browser.")] = False,
    keep: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Keep topics and logs there.  [default: they are removed]"),
    ] = None,
) -> None:
    """See it work: a job on this machine, a load with two bursts, and a judge.

    Starts a Kafka broker, a job that counts the words of long lines, and a Spark that waits for bursts; sends lines at
    a low rate, in a burst, at a low rate, in a higher burst, and at a low rate again; tells what is decided, and why.
    The rates follow from what is measured here. At its end a program that shares no code with the job recomputes all
    results. Nothing stays behind; Ctrl-C ends it in order at any time.

    \b
    Exit code: 0 nothing was lost, duplicated or wrong, and everything came to rest; 1 not so, or something is missing;
               130 interrupted before there was a verdict.
    Example:   spillway demo --report report.json
    """  # noqa: D301 - \\b keeps the lines apart in --help
    _check_installed()
    if report is not None and not report.absolute().parent.is_dir():
        message = f"there is no directory {terminal.clean(str(report.absolute().parent))}"
        raise typer.BadParameter(message, param_hint="--report")
    with _folder(keep) as folder:
        code = _run(folder, seconds, report, port, browser=browser)
    raise typer.Exit(code)


def _run(folder: pathlib.Path, seconds: float, file: pathlib.Path | None, port: int, *, browser: bool) -> int:
    import datetime
    import os

    from spillway.cli import up
    from spillway.cli.story import job, report
    from spillway.cli.story.director import Director
    from spillway.cli.story.narrator import Narrator
    from spillway.local import interrupts, kafka, run
    from spillway.local import state as states

    def now() -> datetime.datetime:
        return datetime.datetime.now().astimezone()

    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    where = kafka.Where(None, 0, create=False, secret=None, cores=cores)
    with states.held(folder / "state", fresh=True) as held, interrupts.Interrupts() as asked:
        narrator = Narrator(sys.stdout, asked.ask, now)
        director = Director(narrator, folder, seconds, asked.ask, browser=browser)
        try:
            with up.progress(director):
                running = run.Run(job.version(), where, None, held, director, asked, page=port)
                rested = running.until_interrupted(job.Unchanging())
        except KeyboardInterrupt:
            terminal.complain("ended at once")
            return INTERRUPTED
        finally:
            director.close()
    outcome = director.outcome(rested=rested)
    if not director.judged:
        terminal.complain("interrupted, before there was a verdict; everything has ended")
        return INTERRUPTED
    narrator.put("")
    for line in report.lines(outcome):
        narrator.put(line)
    if file is not None:
        file.write_text(json.dumps(report.as_json(outcome), indent=2) + "\n", encoding="utf-8")
        narrator.put(f"report        {file}")
    return RIGHT if outcome.is_right else FAILED


@contextmanager
def _folder(keep: pathlib.Path | None) -> Iterator[pathlib.Path]:
    """Where everything is; removed at the end, unless somebody wants to keep it."""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        yield keep.absolute()
        return
    folder = pathlib.Path(tempfile.mkdtemp(prefix="spillway-demo-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _check_installed() -> None:
    """Refuse before anything starts when something is missing, and say how to get it."""
    if missing := [name for name in NEEDED if importlib.util.find_spec(name) is None]:
        terminal.complain(f"spillway demo needs {', '.join(missing)}: pip install 'spillway[demo]'")
        raise typer.Exit(FAILED)
