"""`spillway bundle`: all that could explain a job, in one file, for somebody else to look at."""

from __future__ import annotations

import pathlib
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.asking.places import Place
    from spillway.cli.bundling.archive import Archive


def bundle(
    job: options.Job,
    namespace: options.Namespace = None,
    file: Annotated[
        pathlib.Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="[default: NAMESPACE-JOB-TIME.tar.gz, here]"),
    ] = None,
    state: options.State = None,
    driver: options.Driver = None,
    context: options.Context = None,
) -> None:
    """Collect all that could explain a job into one archive: what to send along with a question.

    Its manifest and status, its pods and what belongs to it, events, what its driver tells and has decided, metrics,
    the ends of all logs, and what the operator logged of it. Secrets are taken out: values of the Secrets that the job
    uses wherever they appear, of environment variables, and of whatever is called a password, a token or a key. Logs
    can have records in them: look into the file before it goes anywhere.

    \b
    Exit code: 0 written, 1 the job is not there, or the file can't be written, 2 wrong use.
    Example:   spillway bundle word-count --namespace analytics -o word-count.tar.gz
    """  # noqa: D301 - \\b keeps the lines apart in --help
    import datetime
    from importlib import metadata

    from spillway.cli.asking import places
    from spillway.cli.planning import sizes

    now = datetime.datetime.now(datetime.UTC)
    with places.found(places.Asked(job, namespace, state, driver, context)) as place:
        name = f"{place.job.replace('/', '-')}-{now:%Y%m%d-%H%M%S}"
        archive = _gathered(place, name)
        version = metadata.version("spillway")
        archive.add_text("about.txt", f"job {place.job}\nat {now:%Y-%m-%dT%H:%M:%SZ}\nby spillway {version}\n")
        target = file or pathlib.Path(f"{name}.tar.gz")
        size = archive.write(target)
        files = sizes.count(len(archive.names), "file")
    terminal.say(f"{terminal.clean(str(target))}: {files}, {max(1, size // 1024)} KiB")
    for line in archive.problems:
        terminal.complain(f"not in it: {terminal.clean(line)}")


def _gathered(place: Place, name: str) -> Archive:
    from spillway.cli.bundling import here

    if place.connection is None:
        return here.bundle(place, name)
    from spillway.cli.bundling import far

    namespace, _, job = place.job.partition("/")
    return far.bundle(place.connection, namespace, job, name)
