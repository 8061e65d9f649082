"""Write the generated pages of docs/reference again; with --check, fail where a committed page is another."""

from __future__ import annotations

import pathlib
import sys

import typer

from spillway.cli import main as cli
from spillway.controllers import reference as controllers
from spillway.expressions import reference as expressions
from spillway.model import reference as model

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "docs" / "reference"


def pages() -> dict[str, str]:
    """The text of each generated page, by the name of its file."""
    return {
        "streamjob.md": model.stream_job(),
        "conditions.md": model.conditions(),
        "decisions.md": controllers.decisions(),
        "expressions.md": expressions.expression_reference(),
        "commands.md": commands(),
    }


def commands() -> str:
    """The help of every command, as a terminal of 100 columns shows it."""
    group = typer.main.get_group(cli.app)
    text = ["<!-- Made by `make docs` from the commands; changes here are lost. -->\n\n# Commands\n"]
    context = typer.Context(group, info_name="spillway", terminal_width=100, max_content_width=100)
    for name in ("", *group.list_commands(context)):
        command = group.commands[name] if name else group
        inside = typer.Context(command, context if name else None, name or "spillway", max_content_width=100)
        text.append(f"## spillway {name}\n".replace(" \n", "\n"))
        text.append(f"```\n{command.get_help(inside)}\n```\n")
    return "\n".join(text)


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
