"""`spillway plan`: how many slots a job needs at a load, how it would run, and why; without a cluster."""

from __future__ import annotations

import enum
import json
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import terminal

if TYPE_CHECKING:
    from spillway.cli.planning import questions


class Format(enum.StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class Chaining(enum.StrEnum):
    """Which operators may be one segment."""

    AUTO = "auto"
    NEVER = "never"


FEASIBLE, INFEASIBLE, UNREADABLE = 0, 1, 2


def plan(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The manifest of the job; - reads standard input.")],
    rate: Annotated[
        str | None, typer.Option(metavar="R", help="Records per second of every stream: 500000, 5e5 or 500k.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=R", help="The same for one stream, or a table's updates; may be repeated."),
    ] = None,
    chaining: Annotated[
        Chaining, typer.Option(help="auto: the cheapest. never: each operator on slots of its own.")
    ] = Chaining.AUTO,
    output: Annotated[
        Format, typer.Option("--output", "-o", help="table for people, json for programs.")
    ] = Format.TABLE,
) -> None:
    """Say what a job needs to keep its promise at a load, and why.

    From declared costs, or typical ones where none are declared, without a cluster.

    \b
    Exit code: 0 feasible, 1 not with what the job may have, 2 the question can't be read.
    Example:   spillway plan job.yaml --rate 50k
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from spillway.cli.planning import questions

    try:
        feasible = _answer(file, rate, source or [], chaining, output)
    except questions.RefusedError as refused:
        raise _told(refused) from None
    raise typer.Exit(FEASIBLE if feasible else INFEASIBLE)


def _answer(file: str, rate: str | None, sources: list[str], chaining: Chaining, output: Format) -> bool:
    """Plan, print, and say whether it is feasible."""
    from spillway.cli.planning import answers, questions, sheets
    from spillway.controllers.planning import jobs, planner, problem

    job = questions.job(file)
    rates = questions.rates(job, rate, sources)
    asked = jobs.problem(job, rates, chaining=problem.Chaining(chaining))
    planned = planner.plan(asked)
    if planned.plan is None:
        raise questions.RefusedError(planned.sentence, *planned.limits)
    assumed = jobs.assumed(job)
    if output is Format.JSON:
        order = [node.name for node in asked.flow.nodes]
        terminal.say(json.dumps(answers.answer(planned, asked.promise, order, assumed), indent=2, allow_nan=False))
    else:
        head = sheets.Asked(job.metadata.name, rates, asked.promise, asked.headroom, assumed)
        sheets.show(planned, head, sheets.console())
    return planned.feasible


def _told(refused: questions.RefusedError) -> Exception:
    """The way to say no: a wrong option as typer says it, anything else in lines."""
    if refused.option:
        return typer.BadParameter(str(refused), param_hint=refused.option)
    for line in refused.lines:
        terminal.complain(line)
    return typer.Exit(UNREADABLE)
