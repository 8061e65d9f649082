"""`spillway validate`: everything that is wrong with a manifest, at once, with the place and the way out."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Any

import typer

from spillway.cli import options, terminal

VALID, INVALID, UNREADABLE = 0, 1, 2


def validate(
    files: Annotated[list[str], typer.Argument(metavar="FILE…", help="Manifests to check; - reads standard input.")],
    output: options.Output = options.Format.TEXT,
) -> None:
    """Say everything that is wrong with a StreamJob.

    Fields, topology and every expression are checked, without a cluster. Prints one line for each mistake, with its
    place. Documents of other kinds are passed over.

    \b
    Exit code: 0 all valid, 1 something is wrong, 2 a file could not be read.
    Example:   spillway validate job.yaml
    """  # noqa: D301 - \\b keeps the lines apart in --help
    results = [result for file in files for result in _check(file)]
    if output is options.Format.JSON:
        terminal.say(json.dumps(results, indent=2))
    else:
        for result in results:
            _show(result)
    raise typer.Exit(max(_code(result) for result in results))


def _code(result: dict[str, Any]) -> int:
    return VALID if result["valid"] else UNREADABLE if result["unreadable"] else INVALID


def _check(file: str) -> list[dict[str, Any]]:
    """The result of each StreamJob in a file."""
    # Here, not above: `spillway --help` shouldn't wait for the model to load.
    from spillway.cli import manifests

    name = "<stdin>" if file == "-" else file
    try:
        found = manifests.read(name, sys.stdin.buffer if file == "-" else None)
    except OSError as error:
        return [_result(name, unreadable=True, mistakes=[_mistake("", f"can't be read: {error.strerror}", 0)])]
    results = [result for manifest in found if (result := _judge(manifest)) is not None]
    if not results:
        results.append(_result(name, mistakes=[_mistake("", "holds no StreamJob", 0)]))
    return results


def _judge(manifest: Any) -> dict[str, Any] | None:
    from spillway.controllers import acceptance
    from spillway.model import streamjob

    value = manifest.value
    if isinstance(value, dict) and not manifest.mistakes:
        group = str(value.get("apiVersion", "")).partition("/")[0]
        if "kind" in value and value["kind"] != streamjob.KIND and group not in (streamjob.GROUP, ""):
            return None  # a ConfigMap beside the job, say
    if value is None and manifest.mistakes:
        mistakes, job, verdict = manifest.mistakes, "", None
    else:
        verdict = acceptance.accept(value)
        mistakes = (*manifest.mistakes, *verdict.mistakes)
        metadata = value.get("metadata") if isinstance(value, dict) else None
        job = str(metadata.get("name", "")) if isinstance(metadata, dict) else ""
    found = [_mistake(m.place, m.message, manifest.line(m.path)) for m in mistakes]
    summary = _summary(verdict) if verdict is not None and not found else ""
    return _result(manifest.file, job=job, mistakes=found, summary=summary)


def _summary(verdict: Any) -> str:
    spec = verdict.job.spec
    counts = ((spec.streams, "stream"), (spec.tables, "table"), (spec.operators, "operator"), (spec.outputs, "output"))
    return ", ".join(f"{len(parts)} {word}{'s' * (len(parts) != 1)}" for parts, word in counts if parts)


def _result(
    file: str, *, mistakes: list[dict[str, Any]], job: str = "", summary: str = "", unreadable: bool = False
) -> dict[str, Any]:
    return {
        "file": file,
        "job": job,
        "valid": not mistakes,
        "unreadable": unreadable,
        "summary": summary,
        "mistakes": mistakes,
    }


def _mistake(path: str, message: str, line: int) -> dict[str, Any]:
    return {"path": path, "message": message, "line": line}


def _show(result: dict[str, Any]) -> None:
    file = terminal.clean(result["file"])
    if result["valid"]:
        verdict = terminal.style("valid", "green", sys.stdout)
        terminal.say(f"{file}: StreamJob {result['job']}: {verdict} ({result['summary']})")
    for mistake in result["mistakes"]:
        path = terminal.style(terminal.clean(mistake["path"]), "bold", sys.stdout)
        place = f"{path}: " if mistake["path"] else ""
        line = terminal.style(f" (line {mistake['line']})", "dim", sys.stdout) if mistake["line"] else ""
        terminal.say(f"{file}: {place}{terminal.clean(mistake['message'])}{line}")
