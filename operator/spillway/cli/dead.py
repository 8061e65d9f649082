"""`spillway dead`: records that a job could not process: what they are, and putting them back."""

from __future__ import annotations

import contextlib
import json
import pathlib
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.letters.questions import Wanted
    from spillway.runtime.replays.desk import Desk, Outcome
    from spillway.runtime.replays.ledger import Noted

app = typer.Typer(
    name="dead",
    help="See to dead letters: records that a job could not process.",
    epilog="Example: spillway dead list job.yaml",
    no_args_is_help=True,
    rich_markup_mode=None,
)


FINE, LEFT, UNREADABLE = 0, 1, 2

Job = Annotated[
    str, typer.Argument(metavar="JOB", help="The manifest of the job; or NAMESPACE/NAME, with --bootstrap.")
]
Operator = Annotated[
    str | None, typer.Option("--operator", metavar="NAME", help="Of this operator alone, as `list` shows it.")
]
Since = Annotated[
    str | None, typer.Option(metavar="TIME", help="Written since then: 2h (ago), or 2026-11-18T10:00:00Z.")
]
Letters = Annotated[
    list[int] | None, typer.Option("--letter", metavar="N", help="This letter, by its number; may be repeated.")
]
Bootstrap = Annotated[
    str | None, typer.Option(metavar="HOST:PORT", help="Reach Kafka here, not where the manifest says.")
]


@app.command("list")
def list_(
    job: Job,
    operator: Operator = None,
    since: Since = None,
    every: Annotated[bool, typer.Option("--all", help="Each letter with its row, not groups.")] = False,
    bootstrap: Bootstrap = None,
    secret: options.Secret = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Show the letters that are open, by operator and error. The job may run meanwhile.

    \b
    Exit code: 0 shown, also if there are none; 2 they can't be read.
    Example:   spillway dead list job.yaml --operator parsed --since 2h
    """  # noqa: D301 - \\b keeps the lines apart in --help
    with _desk(job, bootstrap, secret) as desk:
        _list(desk, _wanted(operator, since, None), every=every, output=output)


@app.command()
def replay(
    job: Job,
    operator: Operator = None,
    since: Since = None,
    letter: Letters = None,
    code: Annotated[
        pathlib.Path | None, typer.Option(metavar="DIR", help="The folder with the job's Python functions.")
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say which letters can be put back, how, and why others can't.")
    ] = False,
    bootstrap: Bootstrap = None,
    secret: options.Secret = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Put open letters back, to be processed by this job alone.

    Each goes through the operator that failed and what is behind it. Nothing is written to the topics that the
    records came from. Whatever is replayed counts once, also if this is interrupted and run again. What fails again
    gets a new letter.

    \b
    Exit code: 0 all of them, 1 some could not be put back and stay open, 2 it can't be done.
    Example:   spillway dead replay job.yaml --operator parsed --code ./functions
    """  # noqa: D301
    with _desk(job, bootstrap, secret) as desk:
        left = _replay(desk, _wanted(operator, since, letter), code, dry_run=dry_run, output=output)
    raise typer.Exit(LEFT if left else FINE)


@app.command()
def dismiss(
    job: Job,
    operator: Operator = None,
    since: Since = None,
    letter: Letters = None,
    every: Annotated[bool, typer.Option("--all", help="All that are open.")] = False,
    bootstrap: Bootstrap = None,
    secret: options.Secret = None,
) -> None:
    """Close letters that nobody needs.

    They stay in the topic, and are not shown or replayed any more.

    \b
    Exit code: 0 done, 2 it can't be done.
    Example:   spillway dead dismiss job.yaml --letter 1204 --letter 1205
    """  # noqa: D301
    if not (operator or since or letter or every):
        message = "say which letters, or --all"
        raise typer.BadParameter(message, param_hint="--operator, --since, --letter")
    with _desk(job, bootstrap, secret) as desk:
        from spillway.cli.letters import sheets

        found = _selected(desk, _wanted(operator, since, letter))
        desk.dismiss([noted.offset for noted in found])
        terminal.say(f"dismissed {sheets.letters(len(found))}; {sheets.letters(len(desk.ledger.open))} left open")


@contextlib.contextmanager
def _desk(job: str, bootstrap: str | None, secret: pathlib.Path | None) -> Iterator[Desk]:
    """The letters of a job; what goes wrong becomes a line."""
    try:
        import confluent_kafka
    except ImportError:
        terminal.complain("spillway: this needs a Kafka client: pip install 'spillway[runtime]'")
        raise typer.Exit(UNREADABLE) from None
    from spillway.cli.letters import questions
    from spillway.cli.planning.questions import RefusedError
    from spillway.model.errors import SpillwayError
    from spillway.runtime.replays.desk import Desk

    try:
        with Desk(*questions.place(job, bootstrap, secret)) as found:
            yield found
    except RefusedError as refused:
        if refused.option:
            raise typer.BadParameter(str(refused), param_hint=refused.option) from None
        for line in refused.lines:
            terminal.complain(line)
        raise typer.Exit(UNREADABLE) from None
    except (SpillwayError, confluent_kafka.KafkaException) as error:
        said = str(error) if isinstance(error, SpillwayError) else f"Kafka: {error.args[0].str()}"
        terminal.complain(f"spillway: {terminal.clean(said)}")
        raise typer.Exit(UNREADABLE) from None


def _wanted(operator: str | None, since: str | None, offsets: list[int] | None) -> Wanted:
    from spillway.cli.letters import questions

    return questions.wanted(operator, since, offsets)


def _selected(desk: Desk, wanted: Wanted) -> list[Noted]:
    """The open letters that are wanted; a number that is none is said."""
    from spillway.cli.planning.questions import RefusedError

    found = desk.read().selected(wanted.operator, wanted.since)
    if not wanted.offsets:
        return found
    missing = sorted(wanted.offsets - {noted.offset for noted in found})
    if missing:
        message = f"no open letter has the number {', '.join(map(str, missing))}; `spillway dead list --all` has them"
        raise RefusedError(message, option="--letter")
    return [noted for noted in found if noted.offset in wanted.offsets]


def _list(desk: Desk, wanted: Wanted, *, every: bool, output: options.Format) -> None:
    from spillway.cli.letters import sheets
    from spillway.runtime.replays import ledger

    found = _selected(desk, wanted)
    if every:
        letters = dict(desk.letters([noted.offset for noted in found]))
        at = {noted.offset: noted.at for noted in found}
        if output is options.Format.JSON:
            _print([sheets.letter_data(offset, letter, at[offset]) for offset, letter in letters.items()])
        else:
            _lines(sheets.each(found, letters))
    else:
        groups = ledger.grouped(found)
        letters = dict(desk.letters([offset for group in groups for offset in group.examples]))
        if output is options.Format.JSON:
            _print([sheets.group_data(group, letters) for group in groups])
        else:
            _lines(sheets.groups(groups, letters))
    if output is options.Format.TEXT:
        underway = sum(len(claim) for claim in desk.ledger.replays.values())
        more = f"; a replay of {sheets.letters(underway)} is not done: `spillway dead replay` goes on"
        terminal.say(f"{sheets.letters(len(found))} open{more if underway else ''}")


def _replay(desk: Desk, wanted: Wanted, code: pathlib.Path | None, *, dry_run: bool, output: options.Format) -> bool:
    """Whether something is left that was asked for."""
    from spillway.cli.letters import sheets
    from spillway.runtime import functions

    plan = desk.plan()
    offsets = [noted.offset for noted in _selected(desk, wanted)]
    routes = desk.routes(offsets, plan)
    stay = [(offset, route) for offset, route in routes if not route.leads]
    if dry_run:
        if output is options.Format.JSON:
            _print([_route(offset, route.leads, route.reason, route.sentence) for offset, route in routes])
        else:
            _lines(sheets.routes(routes))
        return bool(stay)
    going = [offset for offset, route in routes if route.leads]
    done = desk.replay(going, plan, lambda reference: functions.load(reference, code))
    unread = len(offsets) - len(routes)
    if output is options.Format.JSON:
        back = [_route(offset, False, route.reason, route.sentence) for offset, route in stay]
        back += [_route(offset, False, "Failed", why) for offset, why in done.back]
        _print({"replayed": list(done.replayed), "failed": done.failed, "back": back, "unreadable": unread})
    else:
        _lines(sheets.routes(stay))
        _say(done, len(stay) + unread)
    return bool(stay or done.back or unread)


def _say(done: Outcome, stay: int) -> None:
    from spillway.cli.letters.sheets import letters

    for offset, why in done.back:
        terminal.complain(f"letter {offset} stays open: {terminal.clean(why)}")
    again = f"; {letters(done.failed)} written, for what failed again" if done.failed else ""
    rest = f"; {letters(stay)} can't be put back and stay open" if stay else ""
    terminal.say(f"replayed {letters(len(done.replayed))}{again}{rest}")


def _route(offset: int, leads: bool, reason: str, sentence: str) -> dict[str, object]:
    return {"letter": offset, "leads": leads, "reason": str(reason), "sentence": sentence}


def _lines(lines: Iterable[str]) -> None:
    for line in lines:
        terminal.say(line)


def _print(answer: Sequence[object] | dict[str, object]) -> None:
    terminal.say(json.dumps(answer, indent=2, default=str))
