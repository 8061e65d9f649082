"""`spillway up`: run a job on this machine, with a Kafka of its own, until Ctrl-C."""

from __future__ import annotations

import contextlib
import pathlib
import re
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.local.edits import Edit
    from spillway.local.events import Viewer
    from spillway.local.interrupts import Interrupts


IN_ORDER, FAILED, UNREADABLE, AT_ONCE = 0, 1, 2, 130
AS_WRITTEN = "manifest"
_SERVER = re.compile(r"([A-Za-z0-9.-]+|\[[0-9a-fA-F:]+\]):[0-9]{1,5}")


def up(
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The manifest of the job.", dir_okay=False)],
    bootstrap: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Use this Kafka and start none; `manifest` for the servers that the manifest names.",
        ),
    ] = None,
    create_topics: Annotated[
        bool, typer.Option("--create-topics", help="Make missing topics on that Kafka too; on our own they are made.")
    ] = False,
    workers: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="So many workers, whatever the load needs.")
    ] = None,
    code: options.Code = None,
    secret: options.Secret = None,
    port: Annotated[
        int | None,
        typer.Option(min=0, max=65535, help="Port of our Kafka; 0 for any free one.  [default: as in FILE, or 9092]"),
    ] = None,
    state: Annotated[
        pathlib.Path | None,
        typer.Option(
            metavar="DIR", file_okay=False, help="What is kept for the next run.  [default: by the job's name]"
        ),
    ] = None,
    fresh: Annotated[bool, typer.Option("--fresh", help="Forget what earlier runs have kept.")] = False,
    output: Annotated[
        options.Format,
        typer.Option("--output", "-o", help="text for people, json for programs: an object in each line."),
    ] = options.Format.TEXT,
) -> None:
    """Run a job on this machine until Ctrl-C.

    Starts a Kafka broker (kept for the next run), a driver, and as many workers as the load needs, within the cores;
    shows what flows, how the promise is kept, what is decided and why. Changes of FILE and of its functions are taken
    over while it runs. Ctrl-C brings everything to rest first; once more ends at once.

    \b
    Exit code: 0 ended in order, 1 something did not start or did not come to rest, 2 the job can't be read,
               130 ended at once.
    Example:   spillway up job.yaml
    """  # noqa: D301 - \\b keeps the lines apart in --help
    import os

    from spillway.cli.watching import files
    from spillway.local import edits, interrupts
    from spillway.local import state as states

    check_installed("up")
    source = files.Files(file, code)
    first = source.read()
    if isinstance(first, edits.Refusal):
        for line in first.lines:
            terminal.complain(line)
        raise typer.Exit(UNREADABLE)
    found = servers(bootstrap, first)
    if fresh and found is not None:
        message = "only forgets what is kept here; on your Kafka, delete the topics that begin with the job's name"
        raise typer.BadParameter(message, param_hint="--fresh")
    metadata = first.job.metadata
    folder = state or states.default(metadata.namespace, metadata.name)
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    from spillway.local import kafka, run

    where = kafka.Where(found, port, create_topics, secret and secret.absolute(), cores)
    with states.held(folder, fresh=fresh) as held, interrupts.Interrupts() as asked:
        try:
            with _viewer(output, asked) as viewer:
                in_order = run.Run(first, where, workers, held, viewer, asked).until_interrupted(source)
        except KeyboardInterrupt:
            terminal.complain("ended at once; the next start takes over what was under way")
            raise typer.Exit(AT_ONCE) from None
    raise typer.Exit(IN_ORDER if in_order else FAILED)


def servers(bootstrap: str | None, first: Edit) -> tuple[str, ...] | None:
    """Somebody's Kafka, if one was named."""
    if bootstrap is None:
        return None
    if bootstrap == AS_WRITTEN:
        return first.job.spec.kafka.bootstrap_servers
    found = tuple(bootstrap.split(","))
    if wrong := [server for server in found if not _SERVER.fullmatch(server)]:
        message = f"'{terminal.clean(wrong[0])}' is no server; write host:port, such as localhost:9092, or `manifest`"
        raise typer.BadParameter(message, param_hint="--bootstrap")
    return found


@contextlib.contextmanager
def _viewer(output: options.Format, asked: Interrupts) -> Iterator[Viewer]:
    """Who shows it; somebody who goes away (a closed terminal, `| head`) asks for its end by that."""
    import datetime
    import os

    from spillway.cli.planning import sheets
    from spillway.cli.watching import lines, screen

    def now() -> datetime.datetime:
        return datetime.datetime.now().astimezone()

    with contextlib.ExitStack() as stack:
        viewer: Viewer
        if output is options.Format.JSON:
            viewer = lines.Objects(sys.stdout, asked.ask, now)
        elif not sys.stdout.isatty() or os.environ.get("TERM") == "dumb":
            viewer = lines.Lines(sys.stdout, asked.ask, now)
        else:
            viewer = stack.enter_context(screen.Screen(sheets.console(), asked.ask, now))
        stack.enter_context(progress(viewer))
        yield viewer


@contextlib.contextmanager
def progress(viewer: Viewer) -> Iterator[None]:
    """Show what takes long the first time: fetching Kafka, and preparing it for quick starts."""
    import logging

    from spillway.local.events import Event, Kind

    class Told(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            viewer.tell(Event(Kind.NOTE, record.getMessage()))

    logger, handler = logging.getLogger("spillway.local"), Told()
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)
    try:
        yield
    finally:
        logger.removeHandler(handler)


def check_installed(command: str) -> None:
    """Refuse before anything starts when what jobs run on is not installed."""
    import importlib.util

    missing = [name for name in ("confluent_kafka", "pyarrow") if importlib.util.find_spec(name) is None]
    if missing:
        terminal.complain(f"spillway {command} needs {' and '.join(missing)}: pip install 'spillway[demo]'")
        raise typer.Exit(FAILED)
