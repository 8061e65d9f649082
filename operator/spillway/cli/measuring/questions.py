"""From words and options to a load, a workload, systems or a job; or a sentence that says what is wrong with them."""

from __future__ import annotations

import pathlib
from collections.abc import Sequence

import typer

from spillway.bench import engines, workloads
from spillway.bench.trials import traces
from spillway.bench.trials.own import Asked
from spillway.bench.trials.traces import Given
from spillway.bench.workloads.work import Work
from spillway.cli import jobs, terminal
from spillway.cli.planning import questions as planning
from spillway.model import errors
from spillway.simulation import traces as files


def is_file(what: str) -> bool:
    """Whether a manifest is meant, and not a workload."""
    return what == "-" or what.endswith((".yaml", ".yml", ".json")) or "/" in what


def rate(text: str, option: str) -> float:
    """Records per second, as people write them."""
    try:
        return planning.number(text, option)
    except planning.RefusedError as refused:
        raise typer.BadParameter(str(refused), param_hint=option) from None


def given(text: str, seconds: float) -> Given:
    """The load that was asked for."""
    name, _, rates = text.partition(":")
    try:
        if text.endswith(".csv"):
            return traces.of_trace(text, files.read(pathlib.Path(text).read_text(encoding="utf-8")), seconds)
        return traces.made(name, [rate(one, "--trace") for one in rates.split("-") if one], seconds)
    except (OSError, ValueError) as error:
        raise typer.BadParameter(terminal.clean(str(error)), param_hint="--trace") from None


def work(name: str, given: Given | None = None) -> Work:
    """The workload of a name, with its keys as a load draws them."""
    if name not in workloads.ALL:
        guess = errors.did_you_mean(name, workloads.ALL) or f"; there are {', '.join(workloads.ALL)}"
        message = f"no workload is called '{terminal.clean(name)}'{guess}"
        raise typer.BadParameter(message, param_hint="WORKLOAD")
    try:
        return workloads.found(name) if given is None else workloads.found(name, given.keys)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="--trace") from None


def systems(names: Sequence[str], work: Work) -> Sequence[str]:
    """Those that were asked for; each has to be there."""
    for name in names:
        known(name)
        if why := engines.problem(name, work):
            message = f"{name}: {why}"
            raise typer.BadParameter(message, param_hint="--system")
    return names


def there(names: Sequence[str], work: Work) -> Sequence[str]:
    """Those of some that are there; two are needed."""
    for name in names:
        known(name)
    found = engines.there(list(dict.fromkeys(names)), work, terminal.complain)
    if len(found) < 2:
        message = f"a comparison needs two systems, and of {', '.join(names)} there is {', '.join(found) or 'none'}"
        raise typer.BadParameter(message, param_hint="--systems")
    return found


def known(name: str) -> None:
    """Refuse a name that no system has."""
    if name not in engines.TITLES:
        message = f"no system is called '{terminal.clean(name)}'; there are {', '.join(engines.TITLES)}"
        raise typer.BadParameter(message, param_hint="--system")


def ours(names: Sequence[str]) -> None:
    """What a user's own job can run as."""
    if other := next((name for name in names if name not in ("R", "B", "D")), None):
        message = f"your own job runs as R, B or D, not as {terminal.clean(other)}"
        raise typer.BadParameter(message, param_hint="--system")


def no_files(what: str, *given: object) -> None:
    """Refuse what belongs to a user's own job."""
    if any(given):
        message = f"{terminal.clean(what)} is a workload, with records and functions of its own; give a manifest"
        raise typer.BadParameter(message, param_hint="--records, --code, --bootstrap")


def able(title: str, problem: str) -> str:
    """A system in a list."""
    return f"{title} (not here: {problem})" if problem else title


def own(file: str, code: pathlib.Path | None, bootstrap: str | None, records: Sequence[str]) -> Asked:
    """A user's job, and what is sent to it."""
    try:
        found = jobs.read(file, "one is measured")
    except jobs.UnfitError as unfit:
        for line in unfit.lines:
            terminal.complain(line)
        raise typer.Exit(2) from None
    streams = [stream.name for stream in found.job.spec.streams]
    lines = {}
    for text in records:
        name, _, path = text.rpartition("=")
        if not name and len(streams) > 1:
            message = f"{path} is of which stream? Write STREAM={path}, of {', '.join(streams)}"
            raise typer.BadParameter(message, param_hint="--records")
        if (name or streams[0]) not in streams or not pathlib.Path(path).is_file():
            message = f"there is no file {path}, or no stream {name!r}; streams are {', '.join(streams)}"
            raise typer.BadParameter(message, param_hint="--records")
        lines[name or streams[0]] = pathlib.Path(path)
    beside = pathlib.Path.cwd() if file == "-" else pathlib.Path(file).absolute().parent
    return Asked(found.document, found.job, code or beside, lines, bootstrap)
