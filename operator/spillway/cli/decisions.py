"""`spillway decisions`: what a running job decides, as it comes."""

from __future__ import annotations

import enum
import json
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.asking.news import Told


class Part(enum.StrEnum):
    """A part of a driver that decides."""

    SWITCHING = "switching"
    PROVISIONING = "provisioning"
    ASSIGNMENT = "assignment"
    ROLLOUT = "rollout"


NEWEST = 20  # fit a screen


def decisions(
    job: options.Job,
    namespace: options.Namespace = None,
    part: Annotated[
        list[Part] | None, typer.Option("--part", help="Only what this part has decided; may be repeated.")
    ] = None,
    limit: Annotated[int, typer.Option(metavar="N", min=1, help="So many, the newest ones.")] = NEWEST,
    since: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="All since then, out of the job's topic: 2h (ago), or 2026-11-18T10:00:00Z."),
    ] = None,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")] = False,
    state: options.State = None,
    driver: options.Driver = None,
    context: options.Context = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Print what a running job has decided, the newest last: when, which part, why.

    Only news is among it: a change, or to leave things as they are for another reason than before. The driver has the
    last 200; the job's topic has a week of them (--since). With json, each line is an object.

    \b
    Exit code: 0 printed, 1 the job does not run or does not answer, 2 wrong use.
    Example:   spillway decisions word-count --part switching --follow
    """  # noqa: D301 - \\b keeps the lines apart in --help
    import time

    from spillway.cli.asking import news, places
    from spillway.cli.letters import questions

    wanted = {str(one) for one in part or list(Part)}
    with places.found(places.Asked(job, namespace, state, driver, context)) as place:
        told = news.News(place)
        try:
            found = told.first()
            if since is not None:
                begin = questions.moment(since)
                oldest = float(found[0]["at"]) if found else time.time()
                found = [one for one in found if one["at"] * 1000 >= begin]
                found = [*news.older(place, begin, oldest), *found]
            mine = [one for one in found if one.get("part") in wanted]
            for one in mine if since is not None else mine[-limit:]:
                _print(one, output)
            if not mine and not follow:
                terminal.complain("nothing of that was decided yet")
            for one in told.more(_complain) if follow else ():
                if one.get("part") in wanted:
                    _print(one, output)
        except KeyboardInterrupt:
            pass


def _print(decision: Told, output: options.Format) -> None:
    """A line at once, so that who reads along sees it."""
    import datetime
    import shutil

    from spillway.cli.asking import news, sheets

    if output is options.Format.JSON:
        text = json.dumps({**decision, "at": sheets.moment(float(decision["at"]))})
    else:
        width = shutil.get_terminal_size().columns if sys.stdout.isatty() else None
        text = news.line(decision, datetime.datetime.now().astimezone(), sys.stdout, width)
    terminal.say(text)
    sys.stdout.flush()


def _complain(text: str) -> None:
    terminal.complain(f"spillway: {terminal.clean(text)}")
