"""Fetch what operator/spillway/local/pom.xml names and write the digests of the jars: `python tools/pin_jars.py`.

To be run after a change of pom.xml, and its outcome to be read before it is committed.
"""

import hashlib
import tempfile
from pathlib import Path

from spillway.local import jars
from spillway.runtime import java


def main() -> None:
    """Write the pins again."""
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        jars.fetch(folder, java.find())
        lines = [
            f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in sorted(folder.glob("*.jar"))
        ]
    jars.PINS.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} jars pinned in {jars.PINS.name}")


if __name__ == "__main__":
    main()
