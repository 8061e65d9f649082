"""The machine of a measurement: how busy it is with what isn't ours, how fast a core is, and what runs on it."""

from __future__ import annotations

import contextlib
import os
import platform
import shutil
import subprocess
import time
from importlib import metadata
from pathlib import Path
from typing import Any

from spillway.bench.record import figures, processes
from spillway.bench.record.figures import Figure

LOOKED = 3.0  # seconds in which the machine is looked at
QUIET = 0.3  # cores: with more than that in use by others, figures are only to be compared with each other
PACKAGES = ("spillway", "confluent-kafka", "pyarrow", "pyspark", "msgspec", "numpy", "duckdb")


def looked() -> list[Figure]:
    """How busy the machine is with what isn't ours, and how fast a core is."""
    before, since = _busy(), time.monotonic()
    time.sleep(LOOKED)
    others = (_busy() - before) / (time.monotonic() - since)
    note = "" if others <= QUIET else "not quiet: only ratios mean something"
    return [
        figures.of("machine: cores in use by others", [others], "cores", note=note),
        figures.of("machine: a fixed piece of work", [processes.yardstick() * 1000], "ms"),
    ]


def about() -> dict[str, Any]:
    """What somebody has to know who compares figures with those of another machine."""
    versions = {}
    for package in PACKAGES:
        with contextlib.suppress(metadata.PackageNotFoundError):
            versions[package] = metadata.version(package)
    return {
        "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "processor": _of_file("/proc/cpuinfo", "model name") or platform.processor(),
        "cores": len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count(),
        "memory": _of_file("/proc/meminfo", "MemTotal"),
        "system": f"{platform.system()} {platform.release()}",
        "python": platform.python_version(),
        "commit": _commit(),
        "versions": versions,
    }


def _busy() -> float:
    """Seconds in which cores had something to do, all together."""
    user, nice, system, _, _, irq, soft, *stolen = map(int, Path("/proc/stat").read_text().split("\n")[0].split()[1:])
    return (user + nice + system + irq + soft + sum(stolen[:1])) / 100


def _of_file(path: str, name: str) -> str:
    with contextlib.suppress(OSError):
        for line in Path(path).read_text(encoding="utf-8").splitlines():
            if line.startswith(name):
                return line.partition(":")[2].strip()
    return ""


def _commit() -> str:
    """Of the sources that run, where they are a checkout."""
    git = shutil.which("git")
    if git is None:
        return ""
    asked = [git, "-C", str(Path(__file__).parent), "describe", "--always", "--dirty"]
    told = subprocess.run(asked, capture_output=True, text=True, check=False)  # noqa: S603 - git, and our own folder
    return told.stdout.strip()
