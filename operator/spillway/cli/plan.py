"""`spillway plan`: how many slots a job needs at a load, how it would run, and why; without a cluster."""

from __future__ import annotations

import enum
import json
import pathlib
import sys
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from spillway.cli import terminal

if TYPE_CHECKING:
    from spillway.cli.planning import questions
    from spillway.model.streamjob import StreamJob


class Format(enum.StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


class Chaining(enum.StrEnum):
    """Which operators may be one segment."""

    AUTO = "auto"
    NEVER = "never"


FEASIBLE, INFEASIBLE, UNREADABLE = 0, 1, 2


class Shown(NamedTuple):
    """Where the answer goes, and whether with others."""

    output: Format
    plot: pathlib.Path | None
    compare: bool


def plan(
    file: Annotated[str, typer.Argument(metavar="FILE", help="The manifest of the job; - reads standard input.")],
    rate: Annotated[
        str | None, typer.Option(metavar="R", help="Records per second of every stream: 500000, 5e5 or 500k.")
    ] = None,
    source: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=R", help="The same for one stream, or a table's updates; may be repeated."),
    ] = None,
    rates: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="CSV", help="A load over time: lines of seconds,rate; the first may name the streams."),
    ] = None,
    chaining: Annotated[
        Chaining, typer.Option(help="auto: the cheapest. never: each operator on slots of its own.")
    ] = Chaining.AUTO,
    compare: Annotated[
        bool, typer.Option("--compare", help="With --rates: the same load under other policies.")
    ] = False,
    plot: Annotated[
        pathlib.Path | None, typer.Option(metavar="FILE", help="Draw it too, as .svg or .png (needs spillway[plot]).")
    ] = None,
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
    from spillway.cli.planning import canvas, questions

    try:
        if plot is not None:
            canvas.check(plot)
        if compare and rates is None:
            message = "policies are compared over time; give a load with --rates"
            raise questions.RefusedError(message, option="--compare")
        job, shown = questions.job(file), Shown(output, plot, compare)
        if rates is None:
            feasible = _at_a_rate(job, rate, source or [], chaining, shown)
        else:
            feasible = _over_time(job, rates, rate, source or [], chaining, shown)
    except questions.RefusedError as refused:
        raise _told(refused) from None
    raise typer.Exit(FEASIBLE if feasible else INFEASIBLE)


def _at_a_rate(job: StreamJob, rate: str | None, sources: list[str], chaining: Chaining, shown: Shown) -> bool:
    """Plan, print, and say whether it is feasible."""
    from spillway.cli.planning import answers, questions, sheets
    from spillway.controllers.planning import jobs, planner, problem

    rates = questions.rates(job, rate, sources)
    questions.check_some(rates)
    asked = jobs.problem(job, rates, chaining=problem.Chaining(chaining))
    planned = planner.plan(asked)
    if planned.plan is None:
        raise questions.RefusedError(planned.sentence, *planned.limits)
    head = sheets.Asked(job.metadata.name, rates, asked.promise, asked.headroom, jobs.assumed(job))
    if shown.output is Format.JSON:
        order = [node.name for node in asked.flow.nodes]
        _print(answers.answer(planned, asked.promise, order, head.assumed))
    else:
        sheets.show(planned, head, sheets.console())
    if shown.plot is not None:
        from spillway.cli.planning import pictures

        pictures.draw(planned, head, shown.plot)
    return planned.feasible


def _over_time(
    job: StreamJob, file: pathlib.Path, rate: str | None, sources: list[str], chaining: Chaining, shown: Shown
) -> bool:
    """Simulate, print, and say whether the promise was kept."""
    from spillway.cli.planning import courses, rehearsals, sheets, sizes, timelines
    from spillway.controllers.planning import jobs, problem

    load = rehearsals.trace(file, job, rate, sources)
    if sys.stderr.isatty():
        terminal.complain(f"simulating {sizes.duration(load.length)} of load …")
    course = rehearsals.rehearse(job, load, problem.Chaining(chaining), compare=shown.compare)
    promise = problem.Promise(course.run.bound, course.run.quantile)
    head = sheets.Asked(job.metadata.name, {}, promise, job.spec.policy.headroom, jobs.assumed(job))
    if shown.output is Format.JSON:
        order = [node.name for node in jobs.problem(job, {}).flow.nodes]
        plans = courses.answer(course, order)
        _print({"plans": plans, "policies": courses.policies(course)} if shown.compare else plans)
    else:
        timelines.show(course, head, sheets.console())
    if shown.plot is not None:
        from spillway.cli.planning import charts

        charts.draw(course, head, shown.plot)
    return course.run.totals.kept


def _print(answer: object) -> None:
    terminal.say(json.dumps(answer, indent=2, allow_nan=False))


def _told(refused: questions.RefusedError) -> Exception:
    """The way to say no: a wrong option as typer says it, anything else in lines."""
    if refused.option:
        return typer.BadParameter(str(refused), param_hint=refused.option)
    for line in refused.lines:
        terminal.complain(line)
    return typer.Exit(UNREADABLE)
