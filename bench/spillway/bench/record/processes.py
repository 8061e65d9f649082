"""What processes take: processor time and memory, with all that they have started. Linux only, as the bench is.

Processor time is the kernel's own count in nanoseconds, threads of C libraries and threads that have ended included.
"""

from __future__ import annotations

import concurrent.futures
import contextlib
import multiprocessing
import os
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")

_PAGE = os.sysconf("SC_PAGE_SIZE")
# The kernel's number for the clock of all processor time of a process: its id, inverted, and the kind of the clock.
_BITS, _KIND = 3, 2


def cpu(process: int) -> float:
    """Seconds of processor time of one process; 0 of one that is gone."""
    with contextlib.suppress(OSError):
        return time.clock_gettime(((~process) << _BITS) | _KIND)
    return 0.0


def memory(process: int) -> int:
    """Bytes that are resident."""
    with contextlib.suppress(OSError, IndexError):
        return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * _PAGE
    return 0


def stands(process: int) -> bool:
    """Whether no thread of a process runs any more: it was stopped, or is gone."""
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            if (thread / "stat").read_text().rpartition(")")[2].split()[0] not in "TtZXx":
                return False
    return True


def tree(root: int) -> list[int]:
    """A process and all that it has started, as far as they live."""
    children: dict[int, list[int]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            with contextlib.suppress(OSError):
                # The name of a program, in brackets, may hold blanks and brackets.
                parent = int((folder / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(folder.name))
    found, next_ones = [], [root]
    while next_ones:
        found += next_ones
        next_ones = [child for one in next_ones for child in children.get(one, [])]
    return found


def total(reading: Callable[[int], float], processes: Iterable[int]) -> float:
    """The sum of a reading over processes."""
    return sum(reading(process) for process in processes)


def fresh(work: Callable[P, T], *arguments: P.args, **named: P.kwargs) -> T:
    """What a function gives in a new process: nothing is warm, and nothing is left over of the one before."""
    context = multiprocessing.get_context("spawn")
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(work, *arguments, **named).result()


def yardstick() -> float:
    """Seconds of processor time for a fixed piece of work: how fast the machine is just now.

    Neighbours on the same core and the same caches make a record dearer too, by a factor of two at times. Beside a
    figure it tells whether that was so.
    """
    start = time.process_time()
    table: dict[int, int] = {}
    for number in range(200_000):
        table[number % 1009] = table.get(number % 1009, 0) + number
    return time.process_time() - start
