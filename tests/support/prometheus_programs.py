"""Prometheus and promtool: those of the path, else those of Debian's package, unpacked once into the cache.

The package is fetched by the machine's own `apt-get` from where that is set up for, and is unpacked, not installed: no
rights are needed, and no service is started.
"""

from __future__ import annotations

import functools
import shutil
import subprocess
from pathlib import Path

from spillway.local import cache

MISSING = "there is no {} on the path, and no Debian package to be had: install Prometheus (Debian: prometheus)"
_FOLDER = "prometheus-debian"


@functools.cache
def found(name: str) -> Path | None:
    """`prometheus` or `promtool`; None where there is none, and none can be had."""
    if program := shutil.which(name):
        return Path(program)
    if not (shutil.which("apt-get") and shutil.which("dpkg-deb")):
        return None
    try:
        return cache.kept(_FOLDER, _fetch) / "usr" / "bin" / name
    except subprocess.CalledProcessError:
        return None


def _fetch(scratch: Path) -> None:
    """Unpack the package there; with package lists of our own where the machine has none."""
    command = ["apt-get", "-qq"]
    if not any(Path("/var/lib/apt/lists").glob("*_Packages*")):
        for folder in ("lists/partial", "archives/partial"):
            (scratch / "apt" / folder).mkdir(parents=True)
        command += ["-o", f"Dir::State::lists={scratch}/apt/lists", "-o", f"Dir::Cache={scratch}/apt"]
        _run([*command, "update"], scratch)
    _run([*command, "download", "prometheus"], scratch)
    (package,) = scratch.glob("prometheus_*.deb")
    _run(["dpkg-deb", "-x", str(package), str(scratch)], scratch)
    package.unlink()
    shutil.rmtree(scratch / "apt", ignore_errors=True)


def _run(command: list[str], folder: Path) -> None:
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
