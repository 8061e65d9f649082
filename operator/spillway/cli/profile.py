"""`spillway profile`: what the operators of a job cost, and how many slots each should get, by running it."""

from __future__ import annotations

import json
import os
import pathlib
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.planning.questions import RefusedError
    from spillway.cli.profiling.answers import Profile
    from spillway.controllers.profiling.rounds import Round


FOUND, FAILED, UNREADABLE, STOPPED = 0, 1, 2, 130
ROUNDS, SECONDS = 6, 4.0


def profile(
    file: Annotated[pathlib.Path, typer.Argument(metavar="FILE", help="The manifest of the job.", dir_okay=False)],
    records: Annotated[
        list[str] | None,
        typer.Option(
            metavar="[NAME=]FILE",
            help="Feed it with the lines of FILE, as `spillway consume` prints a topic; may be repeated.",
        ),
    ] = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(
            metavar="HOST:PORT",
            help="Feed it with what the job's own topics hold on this Kafka, which is only read; `manifest` for the"
            " servers that the manifest names.",
        ),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Deployments under full load, at the most.")] = ROUNDS,
    seconds: Annotated[float, typer.Option(min=1, max=600, help="Seconds of each measurement.")] = SECONDS,
    tasks: Annotated[
        int | None, typer.Option(metavar="N", min=1, max=256, help="Slots at the most.  [default: by cores]")
    ] = None,
    write: Annotated[bool, typer.Option("--write", help="Write the costs into FILE, and nothing else.")] = False,
    picture: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", help="Draw the rounds, as .svg or .png (needs spillway[plot])."),
    ] = None,
    state: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="FILE", dir_okay=False, help="Store it after every round, and go on from there."),
    ] = None,
    code: options.Code = None,
    secret: options.Secret = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Find out what operators cost, and how many slots they need, by running the job.

    Runs a copy of the job on a Kafka of its own, which is removed with it: a light load first, on frames of three
    sizes, then as much as is taken, with other numbers of slots in every round. It is fed with made-up records, or
    with yours. Takes two to three minutes; Ctrl-C ends it in order, and leaves nothing.

    \b
    Exit code: 0 found, 1 something did not run, 2 the job or an option can't be read, 130 ended by Ctrl-C.
    Example:   spillway profile job.yaml --records lines.txt --write
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from spillway.cli import up
    from spillway.cli.planning import canvas
    from spillway.cli.planning.questions import RefusedError
    from spillway.cli.profiling import questions, runs
    from spillway.cli.watching import files
    from spillway.local import edits
    from spillway.local.profiling import records as fed

    up.check_installed("profile")
    try:
        if picture is not None:
            canvas.check(picture, "--picture")
        first = files.Files(file, code).read()
        if isinstance(first, edits.Refusal):
            raise RefusedError(*first.lines)
        servers = up.servers(bootstrap, first)
        given = questions.recordings(first.job, records or [])
        topics = questions.topics(first.job, servers, secret, given)
        feeding = fed.of_job(first.job, given, topics, ",".join(servers or ()))
    except RefusedError as refused:
        raise _told(refused) from None
    except fed.RecordsError as error:
        raise _told(RefusedError(str(error), option="--records")) from None
    shown = _Shown(output)
    asked = runs.Asked(first, feeding, _cores(), rounds, seconds, tasks, state)
    try:
        found = runs.run(asked, runs.Heard(shown.round, shown.say, shown.note))
    except (runs.StoppedError, KeyboardInterrupt):
        more = f"; what is known so far is in {state}, and the next run goes on there" if state is not None else ""
        terminal.complain(f"ended by Ctrl-C, and nothing is left running{more}")
        raise typer.Exit(STOPPED) from None
    shown.end(found)
    if picture is not None:
        from spillway.cli.profiling import pictures

        pictures.draw(found, picture)
        terminal.complain(f"drawn: {picture}")
    if write and found.declared:
        _write(file, found)
    raise typer.Exit(FOUND if found.finished.deployment is not None else FAILED)


class _Shown:
    """Shows a profile while it runs, and at its end."""

    def __init__(self, output: options.Format) -> None:
        self._json = output is options.Format.JSON

    def round(self, done: Round) -> None:
        """A round."""
        from spillway.cli.profiling import sheets

        if self._json:
            return
        head, why = sheets.done(done)
        terminal.say(terminal.style(head, "bold" if done.kept else "dim", sys.stdout))
        terminal.say(why)
        sys.stdout.flush()

    def note(self, text: str) -> None:
        """Something on the way, for who waits."""
        if not self._json and sys.stderr.isatty():
            terminal.complain(terminal.style(f"  {text}", "dim", sys.stderr))

    def say(self, text: str) -> None:
        """Something that counts."""
        (terminal.complain if self._json else terminal.say)(text)

    def end(self, found: Profile) -> None:
        """What came out."""
        from spillway.cli.profiling import answers, sheets

        if self._json:
            terminal.say(json.dumps(answers.answer(found), indent=2, allow_nan=False))
            return
        for line in sheets.told(found):
            terminal.say(line)


def _cores() -> int:
    """Of this machine, as far as this process may use them."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _told(refused: RefusedError) -> Exception:
    """The way to say no: a wrong option as typer says it, anything else in lines."""
    if refused.option:
        return typer.BadParameter(str(refused), param_hint=refused.option)
    for line in refused.lines:
        terminal.complain(line)
    return typer.Exit(UNREADABLE)


def _write(file: pathlib.Path, found: Profile) -> None:
    """Put the costs into the manifest; what comes of that is read again before it takes the place of what was there."""
    from spillway.cli.profiling import costs, writing

    before = file.read_bytes().decode()
    after = writing.written(before, {name: costs.flow(one) for name, one in found.declared.items()})
    writing.check(before, after, found.declared)
    file.write_bytes(after.encode())  # in place: who may read it, and where a link leads, stays as it is
    terminal.complain(f"{file}: costs of {', '.join(found.declared)} are written")
