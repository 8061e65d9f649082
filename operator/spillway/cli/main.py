"""The `spillway` command: its sub-commands, each in a module of its own name.

Nothing heavy is imported here: `spillway --help` answers at once, and no command loads what another one needs.
"""

from __future__ import annotations

import io
import pathlib
import re
import sys
from typing import Annotated, Any

import typer

from spillway.cli import (
    bench,
    broker,
    bundle,
    consume,
    crds,
    dead,
    decisions,
    demo,
    explain,
    plan,
    produce,
    profile,
    switch,
    terminal,
    top,
    up,
    validate,
)

AS_PLUGIN = "kubectl spillway"

app = typer.Typer(
    name="spillway",
    help="Streaming jobs on Kubernetes that keep a latency promise.",
    epilog="Example: spillway validate job.yaml",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(value: bool) -> None:
    if value:
        from importlib import metadata

        terminal.say(f"spillway {metadata.version('spillway')}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Streaming jobs on Kubernetes that keep a latency promise."""


app.command()(validate.validate)
app.command()(plan.plan)
app.command()(profile.profile)
app.command()(crds.crds)
app.command()(broker.broker)
app.command()(up.up)
app.command()(demo.demo)
app.command()(top.top)
app.command()(explain.explain)
app.command()(decisions.decisions)
app.command()(switch.switch)
app.command()(bundle.bundle)
app.command()(produce.produce)
app.command()(consume.consume)
app.add_typer(dead.app)
app.add_typer(bench.app)


def _name(command: Any) -> None:
    """`kubectl spillway …` runs `kubectl-spillway`: examples are shown as they are to be written there."""
    for text in ("help", "epilog"):
        if told := getattr(command, text, None):
            setattr(command, text, re.sub(r"(Example:\s+)spillway ", rf"\1{AS_PLUGIN} ", told))
    for one in getattr(command, "commands", {}).values():
        _name(one)


def main() -> None:
    """Run the command line; what Spillway itself raises becomes one line, never a traceback."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # a locale without "…" is no reason for a traceback
            stream.reconfigure(errors="backslashreplace")
    command, name = typer.main.get_command(app), None
    if pathlib.Path(sys.argv[0]).name == AS_PLUGIN.replace(" ", "-"):
        _name(command)
        name = AS_PLUGIN
    try:
        command(prog_name=name)
    except BrokenPipeError:  # `spillway crds | head`
        sys.stderr.close()
        sys.exit(0)
    except Exception as error:
        from spillway.model import errors

        if not isinstance(error, errors.SpillwayError):
            raise
        terminal.complain(f"spillway: {error}")
        sys.exit(1)


if __name__ == "__main__":
    main()
