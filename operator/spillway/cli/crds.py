"""`spillway crds`: the CustomResourceDefinitions, made from the model."""

from __future__ import annotations

import pathlib
from typing import Annotated

import typer

from spillway.cli import terminal

HEADER = "# Made by `spillway crds` from the model (`make crds`); changes here are lost.\n"


def crds(
    output: Annotated[
        pathlib.Path | None, typer.Option("--output", help="Write a file for each CRD into this folder instead.")
    ] = None,
) -> None:
    """Print the CustomResourceDefinitions.

    Example: spillway crds | kubectl apply --server-side -f -
    """
    for name, text in documents().items():
        if output is None:
            terminal.say(f"---\n{text}".rstrip())
            continue
        try:
            output.mkdir(parents=True, exist_ok=True)
            (output / name).write_text(text, encoding="utf-8")
        except OSError as error:
            terminal.complain(f"spillway: {output} can't be written: {error.strerror}")
            raise typer.Exit(2) from None


def documents() -> dict[str, str]:
    """The text of each CRD, by the name of its file."""
    import yaml

    from spillway.model import crds as made

    definition = made.stream_job()
    text = yaml.safe_dump(definition, sort_keys=False, width=120, allow_unicode=True)
    return {f"{definition['metadata']['name']}.yaml": HEADER + text}
