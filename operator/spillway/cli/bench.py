"""`spillway bench`: what a job of ours, or of another system, can do on this machine, and how fast."""

from __future__ import annotations

import enum
import importlib.util
import json
import pathlib
from typing import Annotated

import typer

from spillway.cli import options, terminal

app = typer.Typer(
    name="bench",
    help="Measure jobs and other systems under load: throughput, latency, processor time, and whether they are right.",
    epilog="Example: spillway bench run ads --system D --trace constant:5000 --seconds 30",
    no_args_is_help=True,
    rich_markup_mode=None,
)


class Format(enum.StrEnum):
    """How results are printed."""

    TABLE = "table"
    JSON = "json"


REACHED, MISSED, UNREADABLE = 0, 1, 2
NEEDED = ("confluent_kafka", "numpy", "duckdb", "msgspec")
EVERYBODY = ["R", "B", "D", "SS", "bytewax", "quix", "pyflink"]

What = Annotated[
    str, typer.Argument(metavar="WORKLOAD|FILE", help="One of `list`, or your own job's manifest; - for stdin.")
]
Workload = Annotated[str, typer.Argument(metavar="WORKLOAD", help="One of `list`.")]
Trace = Annotated[str, typer.Option(metavar="TRACE", help="The load: NAME:RATE, NAME:LOW-HIGH, or a file of rates.")]
Keep = Annotated[
    pathlib.Path | None,
    typer.Option(metavar="DIR", file_okay=False, help="Keep what was seen there.  [default: build/bench/<time>]"),
]
Records = Annotated[
    list[str] | None,
    typer.Option(metavar="[STREAM=]FILE", help="Send these lines to your job, over and over; may be repeated."),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="table for people, json for programs.")]


@app.command("list")
def list_(output: Output = Format.TABLE) -> None:
    """Show workloads, systems and traces.

    \b
    Exit code: 0.
    Example:   spillway bench list
    """  # noqa: D301 - \\b keeps the lines apart in --help
    _check_installed()
    from spillway.bench import engines, workloads
    from spillway.bench.trials import traces
    from spillway.cli.measuring import questions

    words = workloads.ALL["lines"]
    told = {
        "workloads": {name: work.title for name, work in workloads.ALL.items()},
        "systems": {
            name: questions.able(title, engines.problem(name, words)) for name, title in engines.TITLES.items()
        },
        "traces": {
            f"{name}:{'LOW-HIGH' if kind.rates == 2 else 'RATE'}": kind.says for name, kind in traces.KINDS.items()
        },
    }
    if output is Format.JSON:
        terminal.say(json.dumps(told, indent=2))
        return
    for what, some in told.items():
        terminal.say(what)
        for name, title in some.items():
            terminal.say(f"  {name:18} {title}")


@app.command()
def run(
    what: What,
    system: Annotated[str, typer.Option(metavar="NAME", help="The system; of your own job R, B or D.")] = "D",
    trace: Trace = "constant:1000",
    seconds: Annotated[float, typer.Option(min=2, max=86_400, help="How long the load is.")] = 30.0,
    settle: Annotated[float, typer.Option(min=0, help="Seconds of it whose latencies don't count.")] = 5.0,
    bound: Annotated[str, typer.Option(metavar="SPAN", help="The promise that a workload's job has.")] = "500ms",
    records: Records = None,
    code: options.Code = None,
    bootstrap: Annotated[
        str | None,
        typer.Option(metavar="HOST:PORT", help="Your job runs already, on this Kafka: feed its streams, and look on."),
    ] = None,
    keep: Keep = None,
    output: Output = Format.TABLE,
) -> None:
    """Run one system under one load, and say how it did.

    Latency counts from when a record was due until the broker has the result that tells of it. A run whose generator
    was late (99.9 % of it by more than 5 ms), or whose output isn't right, has no figure: it is void.

    Your own job gets records made from the columns of its streams, unless --records has some; its results are judged
    by the verifier. With --bootstrap nothing is started: FILE says which topics to feed and to look at.

    \b
    Exit code: 0 it counts, 1 it is void, 2 the question can't be read.
    Example:   spillway bench run ads --system D --trace constant:5000 --seconds 30
    """  # noqa: D301
    _check_installed()
    from spillway.bench.engines import Maker
    from spillway.bench.trials import own, single
    from spillway.cli.measuring import answers, questions

    given = questions.given(trace, seconds)
    if settle >= seconds:
        message = f"of {seconds:g} seconds {settle:g} would not count: nothing is left"
        raise typer.BadParameter(message, param_hint="--settle")
    with answers.keeper(keep) as keeper, answers.told():
        if questions.is_file(what):
            questions.ours([system])
            asked = questions.own(what, code, bootstrap, records or [])
            found = own.measured(asked, system, given, settle, terminal.complain, keeper)
        else:
            questions.no_files(what, records, code, bootstrap)
            maker = Maker(questions.systems([system], work := questions.work(what, given))[0], work, bound)
            found = single.measured(maker, given, settle, terminal.complain, keeper)
        answers.close("run", single.shown(found, given), keeper, as_json=output is Format.JSON)
    raise typer.Exit(MISSED if found.problem else REACHED)


@app.command()
def search(
    what: What,
    system: Annotated[
        list[str] | None, typer.Option(metavar="NAME", help="The system; may be repeated.  [default: D]")
    ] = None,
    seconds: Annotated[float, typer.Option(min=5, max=3600, help="Length of a step; the last run takes two.")] = 20.0,
    first: Annotated[str, typer.Option("--from", metavar="RATE", help="The first rate, which is doubled.")] = "1000",
    records: Records = None,
    code: options.Code = None,
    keep: Keep = None,
    output: Output = Format.TABLE,
) -> None:
    """Find the highest rate that a system sustains.

    By Algorithm 1 of the benchmark paper: the queue of what is due and not done may be longer than acceptable (1 s of
    the rate) only for a while, never longer than 15 times that, and must not rise. The rate is doubled until that
    fails, then halved in between; what was found is confirmed in fresh processes, with results that have to be right.

    \b
    Exit code: 0 found, 1 no figure, 2 the question can't be read.
    Example:   spillway bench search averages --system D --system SS
    """  # noqa: D301
    _check_installed()
    from spillway.bench.engines import Maker
    from spillway.bench.trials import searching
    from spillway.cli.measuring import answers, questions

    begin = questions.rate(first, "--from")
    if not begin:
        message = "begin with a rate above 0"
        raise typer.BadParameter(message, param_hint="--from")
    names = system or ["D"]
    with answers.keeper(keep) as keeper, answers.told():
        if questions.is_file(what):
            questions.ours(names)
            asked = questions.own(what, code, None, records or [])
            title = asked.job.metadata.name
            found = [searching.of_own(asked, name, seconds, begin, terminal.complain, keeper) for name in names]
        else:
            questions.no_files(what, records, code, None)
            work = questions.work(what)
            title = work.title
            found = [
                searching.measured(Maker(name, work), seconds, begin, terminal.complain, keeper)
                for name in questions.systems(names, work)
            ]
        answers.close("search", searching.shown(what, title, found), keeper, as_json=output is Format.JSON)
    raise typer.Exit(MISSED if any(one.problem for one in found) else REACHED)


@app.command()
def compare(
    workload: Workload,
    systems: Annotated[
        list[str] | None,
        typer.Option("--systems", metavar="NAME", help="A system; may be repeated. The first is the reference."),
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, max=100, help="Runs of each, in turn; ratios want five.")] = 5,
    trace: Annotated[
        str | None, typer.Option(metavar="TRACE", help="Compare latencies under this load.  [default: throughput]")
    ] = None,
    seconds: Annotated[float, typer.Option(min=2, max=3600, help="About how long a run is.")] = 10.0,
    more: Annotated[list[str] | None, typer.Argument(metavar="[NAME…]", help="More systems.")] = None,
    keep: Keep = None,
    output: Output = Format.TABLE,
) -> None:
    """Compare systems in one go, in turn, in fresh processes.

    Forwards and backwards (A B, B A, …), after a run of the first one against itself, which must give 1.00 ± 0.05: a
    ratio of what can't be told apart is void. Without --trace they work through full topics, and throughput and
    processor time are compared; with it latencies and processor time.

    \b
    Exit code: 0 all counts, 1 something is void, 2 the question can't be read.
    Example:   spillway bench compare lines --systems D R B SS bytewax --rounds 5
    """  # noqa: D301
    _check_installed()
    from spillway.bench.trials import comparing
    from spillway.cli.measuring import answers, questions

    given = None if trace is None else questions.given(trace, seconds)
    work = questions.work(workload, given)
    names = questions.there([*(systems or []), *(more or [])] or EVERYBODY, work)
    with answers.keeper(keep) as keeper, answers.told():
        found = comparing.compared(work, names, given, seconds, rounds, terminal.complain, keeper)
        answers.close("compare", found, keeper, as_json=output is Format.JSON)
    raise typer.Exit(MISSED if any(one.verdict in ("void", "missed") for one in found) else REACHED)


@app.command()
def report(
    folders: Annotated[list[pathlib.Path], typer.Argument(metavar="DIR…", exists=True, file_okay=False)],
    output: Annotated[
        pathlib.Path, typer.Option("--output", metavar="FILE", dir_okay=False, help="The page.")
    ] = pathlib.Path("report.html"),
) -> None:
    """Write one page of all that was kept: what was wanted and what was found, pictures, machines.

    One file of HTML that needs nothing else, light or dark as its reader likes it.

    \b
    Exit code: 0 written, 2 a folder holds nothing of a measurement.
    Example:   spillway bench report build/bench/20261119-120000 --output report.html
    """  # noqa: D301
    _check_installed()
    from spillway.bench.trials import report as reports

    try:
        text = reports.page([reports.read(folder) for folder in folders])
        output.write_text(text, encoding="utf-8")
    except (OSError, ValueError, KeyError) as error:
        terminal.complain(f"spillway: {terminal.clean(str(error))}")
        raise typer.Exit(UNREADABLE) from None
    terminal.say(f"written: {output}")


def _check_installed() -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        terminal.complain(f"spillway: this needs {', '.join(missing)}: pip install 'spillway[bench]'")
        raise typer.Exit(UNREADABLE)
