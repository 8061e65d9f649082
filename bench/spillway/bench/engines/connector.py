"""The jars with which other systems reach Kafka: fetched once, checked each time, as those of the broker are."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spillway.local import cache, jars
from spillway.model.errors import SpillwayError
from spillway.runtime import java

HERE = Path(__file__).with_name("jars")
STRUCTURED, FLINK = "structured", "flink"


def found(name: str) -> list[Path]:
    """All of one system; raises `jars.JarsError` where they can't be had."""
    pom, pins = HERE / name / "pom.xml", HERE / name / "jars.sha256"
    wanted = jars.pinned(pins)

    def make(scratch: Path) -> None:
        jars.fetch(scratch, java.find(), pom)
        if wrong := jars.differences(scratch, wanted):
            message = f"what was fetched is not what {pins} pins: {'; '.join(wrong)}"
            raise jars.JarsError(message)

    kept = f"{name}-{hashlib.sha256(pins.read_bytes()).hexdigest()[:8]}"
    folder = cache.kept(kept, make, intact=lambda folder: not jars.differences(folder, wanted))
    return [folder / jar for jar in sorted(wanted)]


def listed(name: str) -> str:
    """The same with commas between."""
    return ",".join(map(str, found(name)))


def problem(name: str) -> str:
    """Why they can't be had; empty if they can."""
    try:
        found(name)
    except SpillwayError as error:
        return str(error)
    return ""
