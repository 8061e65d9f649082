"""This machine, or the container that it is for us: memory, and what processes take. Linux; elsewhere nothing is known.

Memory of a process is its *proportional* share: Python workers that were forked share most of what they have.
"""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

MIB = 1024 * 1024
# Where nobody can tell: never a reason to refuse anything.
UNKNOWN = 1 << 50

_GROUP = Path("/sys/fs/cgroup")  # of a container, its own
_TICKS = os.sysconf("SC_CLK_TCK")


def total() -> int:
    """Bytes that there are."""
    return min(_machine("MemTotal:"), _group("memory.max") or UNKNOWN)


def free() -> int:
    """Bytes that can still be had; what the kernel keeps of files is given back when it is needed."""
    most, used = _group("memory.max"), _group("memory.current")
    left = UNKNOWN if most is None or used is None else most - used + _of_files()
    return max(0, min(_machine("MemAvailable:"), left))


def tree(root: int) -> list[int]:
    """A process and all that come of it, as far as they live."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            children.setdefault(int(_stat(folder)[1]), []).append(int(folder.name))
    found, rest = [], [root] if Path(f"/proc/{root}").exists() else []
    while rest:
        found += rest
        rest = [child for one in rest for child in children.get(one, ())]
    return found


def resident(process: int) -> int:
    """Bytes of one process; 0 if it is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path(f"/proc/{process}/smaps_rollup").read_text(encoding="ascii").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def processor_time(process: int) -> float:
    """Seconds of one process, and of those that it has waited for; 0 if it is gone."""
    with contextlib.suppress(OSError, ValueError, IndexError):
        return sum(map(int, _stat(Path(f"/proc/{process}"))[11:15])) / _TICKS
    return 0.0


def _stat(folder: Path) -> list[str]:
    """From the state on: the name before it, in brackets, may hold blanks and brackets."""
    return (folder / "stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()


def _machine(name: str) -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith(name):
                return int(line.split()[1]) * 1024
    return UNKNOWN


def _group(name: str) -> int | None:
    with contextlib.suppress(OSError, ValueError):
        return int((_GROUP / name).read_text(encoding="ascii"))
    return None


def _of_files() -> int:
    with contextlib.suppress(OSError, ValueError, IndexError):
        for line in (_GROUP / "memory.stat").read_text(encoding="ascii").splitlines():
            if line.startswith("inactive_file "):
                return int(line.split()[1])
    return 0
