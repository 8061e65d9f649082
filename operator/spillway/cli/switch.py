"""`spillway switch`: run operators of a running job in the other paradigm."""

from __future__ import annotations

import enum
import json
import sys
from typing import TYPE_CHECKING, Annotated, Any

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.asking.crossings import Crossing
    from spillway.model.observation import SwitchAnswer


class To(enum.StrEnum):
    """Where to."""

    BATCH = "batch"
    RECORD = "record"


DONE, REFUSED, LEFT = 0, 1, 130


def switch(
    job: options.Job,
    operators: Annotated[
        str,
        typer.Option(
            "--operators", metavar="NAMES", help="These, separated by commas; a program with others is split there."
        ),
    ],
    to: Annotated[To, typer.Option("--to", help="In micro-batches, or record by record.")],
    namespace: options.Namespace = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be done, or why it can't be.")
    ] = False,
    no_wait: Annotated[bool, typer.Option("--no-wait", help="Do not wait until they run there.")] = False,
    state: options.State = None,
    driver: options.Driver = None,
    context: options.Context = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Run operators of a running job in micro-batches, or record by record again.

    To batches go exactly the operators that are named: where they are a part of a program, it is split at their ends.
    Back comes the whole program, as one again.

    Waits until they do, for 30 s at most. What is decided goes on: they come back from batches by themselves when
    record by record has been the better for a while; `paradigm` in the manifest pins them.

    \b
    Exit code: 0 they run there (with --no-wait: will; with --dry-run: would),
               1 refused, or not there in time, 2 wrong use, 130 left while waiting.
    Example:   spillway switch word-count --operators words --to batch
    """  # noqa: D301 - \\b keeps the lines apart in --help
    from spillway.cli.asking import crossings, places
    from spillway.model.operators import Paradigm

    names = tuple(dict.fromkeys(name.strip() for name in operators.split(",") if name.strip()))
    if not names:
        message = "name one at the least"
        raise typer.BadParameter(message, param_hint="--operators")
    crossing = None
    with places.found(places.Asked(job, namespace, state, driver, context)) as place:
        before = place.observation()
        answer = place.driver.switch(names, "batch" if to is To.BATCH else "record", dry_run=dry_run)
        there = not answer.operators and crossings.runs(before, names, Paradigm(to))
        if answer.done and not no_wait:
            if output is options.Format.TEXT:
                _say(answer)
            crossing = crossings.begun(before, answer.operators, Paradigm(to))
            try:
                crossing = crossings.follow(place, crossing, before.at, _progress)
            except KeyboardInterrupt:
                _progress(None)
                terminal.complain("spillway: left; the switch goes on")
                raise typer.Exit(LEFT) from None
            finally:
                _progress(None)
    fine = there or (bool(answer.operators) if crossing is None else crossing.arrived)
    if output is options.Format.JSON:
        terminal.say(json.dumps(_data(answer, crossing, dry_run=dry_run, there=there), indent=2))
    elif crossing is not None:
        (terminal.say if fine else terminal.complain)(_told(crossing))
    else:
        _say(answer, fine=fine)
    raise typer.Exit(DONE if fine else REFUSED)


def _say(answer: SwitchAnswer, *, fine: bool = True) -> None:
    text = terminal.clean(answer.sentence)
    if fine:
        terminal.say(text)
    else:
        terminal.complain(f"refused: {text}")


def _told(crossing: Crossing) -> str:
    """How it has gone."""
    from spillway.cli.planning import sizes

    count = f"{crossing.there} of {sizes.count(crossing.partitions, 'partition')}"
    pauses, longest = crossing.pauses, crossing.longest
    paused = ""
    if longest is not None:
        middle = pauses[len(pauses) // 2]
        spread = f", half of them at most {_milliseconds(middle)}" if len(pauses) > 2 else ""
        where = f" at {terminal.clean(longest.partition)}" if len(pauses) > 1 else ""
        paused = f"; paused for {_milliseconds(pauses[-1])} at the longest{where}{spread}"
    if crossing.arrived:
        return f"there after {sizes.duration(crossing.seconds)}: {count}{paused}"
    why = f": {terminal.clean(crossing.problem)}" if crossing.problem else ""
    return f"not there after {sizes.duration(crossing.seconds)}: {count}{paused}{why}"


def _milliseconds(value: float | None) -> str:
    return f"{value or 0.0:.0f} ms"


def _progress(crossing: Crossing | None) -> None:
    """One line that is written over again, for who sits at a terminal; None takes it away."""
    if terminal.plain(sys.stderr):
        return
    text = ""
    if crossing is not None:
        text = f"{crossing.there} of {crossing.partitions} partitions there, {crossing.seconds:.0f} s"
    sys.stderr.write(f"\r\x1b[K{text}")
    sys.stderr.flush()


def _data(answer: SwitchAnswer, crossing: Crossing | None, *, dry_run: bool, there: bool) -> dict[str, Any]:
    """What has become of it, for programs."""
    from spillway.cli.asking import sheets

    moves = crossing.moves if crossing is not None else ()
    return {
        "done": answer.done,
        "dry_run": dry_run,
        "operators": list(answer.operators),
        "to": answer.to,
        "sentence": answer.sentence,
        "arrived": there if crossing is None else crossing.arrived,
        "seconds": None if crossing is None else round(crossing.seconds, 3),
        "partitions": None if crossing is None else crossing.partitions,
        "pause_ms_max": max(crossing.pauses, default=None) if crossing is not None else None,
        "moves": [
            {
                "at": sheets.moment(m.at),
                "partition": m.partition,
                "from": m.source,
                "to": m.target,
                "pause_ms": m.pause_ms,
            }
            for m in moves
        ],
        "problem": crossing.problem if crossing is not None and not crossing.arrived else "",
    }
