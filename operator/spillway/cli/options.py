"""Options that several commands have; nothing heavy, for `--help` needs it."""

from __future__ import annotations

import enum
import pathlib
from typing import Annotated

import typer


class Format(enum.StrEnum):
    """How answers are printed."""

    TEXT = "text"
    JSON = "json"


Job = Annotated[str, typer.Argument(metavar="JOB", help="The job: its name, NAMESPACE/NAME, or its manifest.")]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        metavar="NAMESPACE",
        help="Of the job.  [default: as JOB or the kubeconfig says, or default]",
    ),
]
State = Annotated[
    pathlib.Path | None,
    typer.Option("--state", metavar="DIR", file_okay=False, help="As in `spillway up`, if it was given there."),
]
Driver = Annotated[
    str | None,
    typer.Option(
        "--driver", metavar="HOST:PORT", help="Where the job's driver answers, where it can't be found by name."
    ),
]
Context = Annotated[
    str | None,
    typer.Option("--context", metavar="NAME", help="Of the kubeconfig: ask that cluster, whatever runs here."),
]
Output = Annotated[Format, typer.Option("--output", "-o", help="text for people, json for programs.")]
Code = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--code",
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Where Python functions are.  [default: beside FILE]",
    ),
]
Secret = Annotated[
    pathlib.Path | None,
    typer.Option(
        "--secret", metavar="DIR", exists=True, file_okay=False, help="Credentials for Kafka: a file for each key."
    ),
]
