"""What there is of a job on this machine: its manifest, what its driver tells, metrics, and the ends of logs."""

from __future__ import annotations

import functools
from pathlib import Path

from spillway.cli.asking.places import Place
from spillway.cli.bundling.archive import LARGEST, Archive
from spillway.cli.bundling.redaction import Redactor
from spillway.local.state import LOCK

TOLD = {
    "driver/observation.json": "/v1/observation",
    "driver/decisions.json": "/v1/decisions",
    "driver/deciding.json": "/v1/deciding",
    "metrics/driver.txt": "/metrics",
}


def bundle(place: Place, folder: str) -> Archive:
    """All of it."""
    archive = Archive(folder, Redactor())
    for name, path in TOLD.items():
        archive.attempt(name, functools.partial(_tell, archive, place, name, path))
    if place.folder is not None:
        for file in ("job.json", LOCK):
            _add(archive, place.folder / file, "job.json" if file == "job.json" else "run.json")
        for log in sorted((place.folder / "logs").glob("*.log")):
            _add(archive, log, f"logs/{log.name}")
    return archive


def _tell(archive: Archive, place: Place, name: str, path: str) -> None:
    (archive.add_json if name.endswith(".json") else archive.add_text)(name, place.driver.get(path))


def _add(archive: Archive, file: Path, name: str) -> None:
    """The end of a file."""
    try:
        with file.open("rb") as opened:
            opened.seek(max(0, file.stat().st_size - LARGEST))
            text = opened.read().decode(errors="replace")
    except OSError as error:
        archive.problems.append(f"{name}: {error.strerror}")
        return
    (archive.add_json if name.endswith(".json") else archive.add_text)(name, text)
