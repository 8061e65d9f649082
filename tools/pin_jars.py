"""Fetch what a pom.xml names and write the digests of the jars beside it: `python tools/pin_jars.py [FOLDER]`.

FOLDER is operator/spillway/local, where the broker's are, or one of bench/spillway/bench/engines/jars. To be run after
a change of pom.xml, and its outcome to be read before it is committed.
"""

import hashlib
import sys
import tempfile
from pathlib import Path

from spillway.local import jars
from spillway.runtime import java


def main() -> None:
    """Write the pins again."""
    home = Path(sys.argv[1]) if len(sys.argv) > 1 else jars.HERE
    with tempfile.TemporaryDirectory() as directory:
        folder = Path(directory)
        jars.fetch(folder, java.find(), home / jars.POM.name)
        lines = [
            f"{hashlib.sha256(jar.read_bytes()).hexdigest()}  {jar.name}\n" for jar in sorted(folder.glob("*.jar"))
        ]
    pins = home / jars.PINS.name
    pins.write_text("".join(lines), encoding="utf-8")
    print(f"{len(lines)} jars pinned in {pins}")


if __name__ == "__main__":
    main()
