"""The jars of Structured Streaming's Kafka connector: fetched once, checked each time, as those of the broker are."""

from __future__ import annotations

import hashlib
from pathlib import Path

from spillway.local import cache, jars
from spillway.runtime import java

HERE = Path(__file__).with_name("jars")
POM, PINS = HERE / "pom.xml", HERE / "jars.sha256"


def found() -> list[Path]:
    """All of them; raises `jars.JarsError` where they can't be had."""
    wanted = jars.pinned(PINS)

    def make(scratch: Path) -> None:
        jars.fetch(scratch, java.find(), POM)
        if wrong := jars.differences(scratch, wanted):
            message = f"what was fetched is not what {PINS} pins: {'; '.join(wrong)}"
            raise jars.JarsError(message)

    name = f"structured-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:8]}"
    folder = cache.kept(name, make, intact=lambda folder: not jars.differences(folder, wanted))
    return [folder / name for name in sorted(wanted)]
