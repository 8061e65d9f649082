"""`spillway top`: all jobs at one look, on a cluster and on this machine."""

from __future__ import annotations

import json
import time
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.clusters.connections import Connection

EVERY = 2.0  # seconds; drivers tell the promise over the last ten


def top(
    namespace: Annotated[
        str | None,
        typer.Option(
            "--namespace", "-n", metavar="NAMESPACE", help="Only its jobs.  [default: all that may be listed]"
        ),
    ] = None,
    watch: Annotated[bool, typer.Option("--watch", "-w", help="Look again every 2 s, until Ctrl-C.")] = False,
    context: options.Context = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Show all jobs: how each keeps its promise, what comes in and waits, how it runs, with how many workers.

    On a cluster, workers and executors are present/wanted, and what the operator says is wrong stands at the end; what
    comes in and waits its driver tells, to who may reach pods through the API server (`get pods/proxy`). Jobs that run
    on this machine are among it. With json, each look is a list.

    \b
    Exit code: 0 shown, 1 the cluster could not be asked.
    Example:   spillway top --namespace analytics --watch
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from spillway.cli.asking import overviews
    from spillway.model.errors import SpillwayError

    try:
        with overviews.cluster(context) as connection:
            if watch:
                _watch(namespace, connection, output)
            else:
                _show(namespace, connection, output)
    except KeyboardInterrupt:
        pass
    except SpillwayError as error:
        terminal.complain(f"spillway: {terminal.clean(str(error))}")
        raise typer.Exit(1) from None


def _show(namespace: str | None, connection: Connection | None, output: options.Format) -> None:
    from spillway.cli.asking import overviews
    from spillway.cli.planning import sheets

    rows = overviews.gathered(namespace, connection)
    if output is options.Format.JSON:
        terminal.say(json.dumps(overviews.data(rows), indent=2))
    elif rows:
        sheets.put(sheets.console(), overviews.drawn(rows))
    else:
        where = "here, and no cluster is named" if connection is None else "here or on the cluster"
        terminal.complain(f"no job runs {where}")


def _watch(namespace: str | None, connection: Connection | None, output: options.Format) -> None:
    import sys

    from rich.console import Group
    from rich.live import Live

    from spillway.cli.asking import overviews
    from spillway.cli.planning import sheets

    if output is options.Format.JSON or not sys.stdout.isatty():
        while True:
            _show(namespace, connection, output)
            sys.stdout.flush()
            time.sleep(EVERY)
    with Live(console=sheets.console(), auto_refresh=False, screen=True) as live:
        while True:
            live.update(Group(*overviews.drawn(overviews.gathered(namespace, connection))), refresh=True)
            time.sleep(EVERY)
