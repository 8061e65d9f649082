"""The job that a process is started for: a manifest in a file, as JSON (so the manager writes it) or YAML.

Whoever wrote the file has been told its mistakes by `spillway validate`, with their lines; here they are one message.
"""

from __future__ import annotations

import json
from pathlib import Path

import yaml

from spillway.controllers import acceptance
from spillway.model.errors import InvalidError, Mistake
from spillway.model.streamjob import StreamJob


def read(file: Path) -> StreamJob:
    """The job of a file, which can be run as it is written; raises InvalidError for anything else."""
    try:
        text = file.read_text(encoding="utf-8")
        # A hundred times faster than as YAML, which most JSON is too.
        document = json.loads(text) if text.lstrip().startswith("{") else yaml.safe_load(text)
    except (OSError, ValueError, RecursionError, yaml.YAMLError) as error:
        problem = " ".join(str(error).split())  # of YAML, several lines
        raise InvalidError([Mistake((), f"{file} can't be read: {problem}")]) from None
    verdict = acceptance.accept(document)
    if verdict.job is None:
        raise InvalidError([Mistake((), f"{file}: {mistake}") for mistake in verdict.mistakes])
    return verdict.job


def version(file: Path) -> object:
    """Another one when the file has been written again, or another is in its place; None while there is none."""
    try:
        found = file.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
