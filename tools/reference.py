"""Write the generated pages of docs/reference again; with --check, fail where a committed page is another."""

from __future__ import annotations

import pathlib
import sys
from collections.abc import Iterator

import typer
import typer.core

from spillway.cli import main as cli
from spillway.controllers import reference as controllers
from spillway.expressions import reference as expressions
from spillway.manager import reference as manager
from spillway.model import reference as model
from spillway.runtime import reference as runtime

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """The text of each generated page, by the name of its file."""
    return {
        "streamjob.md": model.stream_job(),
        "conditions.md": model.conditions(),
        "decisions.md": controllers.decisions(),
        "expressions.md": expressions.expression_reference(),
        "commands.md": commands(),
        "metrics.md": runtime.metrics() + manager.metrics(),
    }


def commands() -> str:
    """The help of every command, as a terminal of 100 columns shows it."""
    text = ["<!-- Made by `make docs` from the commands; changes here are lost. -->\n\n# Commands\n"]
    context = typer.Context(typer.main.get_group(cli.app), info_name="spillway")
    return "\n".join([*text, *_sections(context)])


def _sections(context: typer.Context) -> Iterator[str]:
    """The section of a command, and those of the commands that it has."""
    context.terminal_width = context.max_content_width = 100
    command = context.command
    yield f"## {context.command_path}\n"
    yield f"```\n{command.get_help(context)}\n```\n"
    if isinstance(command, typer.core.TyperGroup):
        for name in command.list_commands(context):
            yield from _sections(typer.Context(command.commands[name], context, name))


def main(arguments: list[str]) -> int:
    """Write the pages, or compare them."""
    stale = [name for name, text in pages().items() if not _same(FOLDER / name, text)]
    if arguments == ["--check"]:
        if stale:
            print("not what the code says:", *(f"docs/reference/{name}" for name in stale), "- run: make docs")
        return 1 if stale else 0
    for name, text in pages().items():
        (FOLDER / name).write_text(text)
    print("written:", *stale or ["nothing, all pages are up to date"])
    return 0


def _same(path: pathlib.Path, text: str) -> bool:
    return path.exists() and path.read_text() == text


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
