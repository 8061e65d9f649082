"""The one StreamJob of a file, or every line that says what is wrong with it."""

from __future__ import annotations

import dataclasses
import sys
from typing import Any

from spillway.cli import manifests, terminal
from spillway.controllers import acceptance
from spillway.model import errors
from spillway.model.streamjob import GROUP, KIND, StreamJob


class UnfitError(errors.TerminalError):
    """The file holds no job that can be run; carries the lines that say why."""

    def __init__(self, *lines: str) -> None:
        super().__init__("\n".join(lines))
        self.lines = lines


@dataclasses.dataclass(frozen=True, slots=True)
class Found:
    """A job, as somebody wrote it and as it was read."""

    manifest: manifests.Manifest
    document: dict[str, Any]
    job: StreamJob


def read(file: str, what: str = "one is wanted") -> Found:
    """The only StreamJob of a file, `-` for standard input; `what` says of a wrong number of them what is wanted."""
    name = "<stdin>" if file == "-" else file
    try:
        found = manifests.read(name, sys.stdin.buffer if file == "-" else None)
    except OSError as error:
        message = f"{name}: can't be read: {error.strerror}"
        raise UnfitError(message) from None
    jobs = [manifest for manifest in found if manifest.mistakes or _is_ours(manifest.value)]
    if len(jobs) != 1:
        message = f"{name}: holds {len(jobs) or 'no'} StreamJob{'s' * (len(jobs) > 1)}; {what}"
        raise UnfitError(message)
    (manifest,) = jobs
    verdict = acceptance.accept(manifest.value) if manifest.value is not None else None
    mistakes = [*manifest.mistakes, *(verdict.mistakes if verdict is not None else ())]
    if mistakes or verdict is None or verdict.job is None or not isinstance(manifest.value, dict):
        raise UnfitError(*(line(manifest, mistake) for mistake in mistakes))
    return Found(manifest, manifest.value, verdict.job)


def line(manifest: manifests.Manifest, mistake: errors.Mistake) -> str:
    """A mistake as `spillway validate` prints it."""
    place = f"{terminal.clean(mistake.place)}: " if mistake.place else ""
    number = manifest.line(mistake.path)
    return f"{manifest.file}: {place}{terminal.clean(mistake.message)}{f' (line {number})' if number else ''}"


def _is_ours(value: object) -> bool:
    """Whether a document is meant to be a StreamJob: not a ConfigMap beside it."""
    if not isinstance(value, dict) or "kind" not in value:
        return True
    return value["kind"] == KIND or str(value.get("apiVersion", "")).partition("/")[0] in (GROUP, "")
