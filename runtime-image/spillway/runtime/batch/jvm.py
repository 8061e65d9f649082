"""The process of Spark's JVM: started, listened to, measured, and ended with all that it has started.

It ends by itself when its standard input does, so it never outlives the process that has started it, however that
ended. Its Python workers end with it, in the same way.

What it and its Python workers print goes to the log, and the last of it into the message when it can't be started.
"""

from __future__ import annotations

import collections
import contextlib
import logging
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from spillway.model.errors import TerminalError
from spillway.runtime.batch import machine

# MiB. Less than 450 Spark refuses to start with. It only plans and hands out tasks: records never pass through it.
HEAP = 512
# MiB beside that: code, threads, and what it takes from the system.
BESIDE = 250
# MiB of a Python worker with clients and programs, of its own: what it shares with others is counted once.
WORKER = 60
# Lines that are kept for messages.
LINES = 30
# Seconds for it to end in order; then it is killed.
GRACE = 10.0
OLDEST = "Java 17 or newer"
_WAY_OUT = f"Install {OLDEST}, or name one in JAVA_HOME, or bring one along: pip install 'spillway[demo]'"

_log = logging.getLogger(__name__)


class NoSparkError(TerminalError):
    """Spark can't be started; the message says what is missing, and the way out."""


class Usage(NamedTuple):
    """What the processes of Spark take.

    Attributes:
        processes: how many.
        memory: bytes; what several share counts once.
        cpu: seconds of processor time so far.
    """

    processes: int
    memory: int
    cpu: float


class Jvm:
    """It, once it answers."""

    def __init__(self, settings: Mapping[str, str], workers: int) -> None:
        """Blocks until it answers; `workers`: Python workers that it will have on this machine."""
        _java()
        _room(workers)
        self._lines: collections.deque[str] = collections.deque(maxlen=LINES)
        self.gateway = self._launched(settings)
        self._process: subprocess.Popen[bytes] = self.gateway.proc

    def _launched(self, settings: Mapping[str, str]) -> Any:
        from pyspark import SparkConf, java_gateway
        from pyspark.errors import PySparkRuntimeError

        reading, writing = os.pipe()
        listener = threading.Thread(target=self._listen, args=(reading,), name="spark's output", daemon=True)
        listener.start()
        conf = SparkConf(loadDefaults=False).setAll(list(settings.items()))
        try:
            return java_gateway.launch_gateway(conf, {"stdout": writing, "stderr": writing})
        except PySparkRuntimeError:
            pass  # it has ended; all that it had to say can be read once we have closed our end
        finally:
            os.close(writing)
        listener.join(1.0)
        raise NoSparkError(self._why())

    def _listen(self, reading: int) -> None:
        with open(reading, encoding="utf-8", errors="replace") as lines:
            for line in lines:
                if not line.startswith("\t"):  # of a trace, the line that says what it was is enough
                    self._lines.append(line.rstrip())
                _log.debug("%s", line.rstrip())

    def _why(self) -> str:
        said = " | ".join(line for line in self._lines if line.strip())
        if "UnsupportedClassVersionError" in said or "Unrecognized option" in said:
            return f"Spark needs {OLDEST}, and this one is older: {said[-300:]}. {_WAY_OUT}"
        if "Could not reserve enough space" in said or "insufficient memory" in said:
            return f"there is not enough memory for Spark, which wants a heap of {HEAP} MiB: {said[-300:]}"
        return f"Spark's Java process ended before it answered: {said[-500:] or 'it said nothing'}"

    @property
    def ended(self) -> str:
        """How it has ended, in words; empty while it runs."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            # What has noticed that it is gone may be quicker than the kernel is in telling us.
            return f"Spark's Java process has ended with exit code {self._process.wait(0.2)}"
        return ""

    @property
    def last(self) -> str:
        """The last lines that were printed."""
        return "\n".join(self._lines)

    @property
    def pid(self) -> int:
        """Of the JVM."""
        return self._process.pid

    @property
    def usage(self) -> Usage:
        """What it takes, with all that it has started. Zeros where nobody can tell (not on Linux)."""
        processes = machine.tree(self.pid)
        return Usage(len(processes), sum(map(machine.resident, processes)), sum(map(machine.processor_time, processes)))

    def close(self) -> None:
        """End it."""
        with contextlib.suppress(Exception):  # it may be gone
            self.gateway.shutdown()
        if self._process.stdin is not None:
            with contextlib.suppress(OSError):
                self._process.stdin.close()
        try:
            self._process.wait(GRACE)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()


def _java() -> None:
    home = os.environ.get("JAVA_HOME")
    if home and not os.access(Path(home, "bin", "java"), os.X_OK):
        message = f"Spark needs {OLDEST}, and JAVA_HOME, {home!r}, has none. {_WAY_OUT}"
        raise NoSparkError(message)
    if not home and shutil.which("java") is None:
        message = f"Spark needs {OLDEST}, and there is none: JAVA_HOME is not set, and PATH has no java. {_WAY_OUT}"
        raise NoSparkError(message)


def _room(workers: int) -> None:
    needed = HEAP + BESIDE + workers * WORKER
    free = machine.free() // machine.MIB
    if free < needed:
        message = (
            f"Spark with {workers} Python workers needs {needed} MiB of memory, and {free} are free. Give the driver"
            " more, or stay record by record: execution.paradigm: record"
        )
        raise NoSparkError(message)


def environment() -> None:
    """Set what PySpark reads from the environment of this process, and nowhere else."""
    try:
        import pyspark
    except ImportError as error:
        message = f"batches need PySpark, which can't be imported: {error}. Install it: pip install 'spillway[spark]'"
        raise NoSparkError(message) from None
    # Else workers would run the first python3 that the system has.
    os.environ["PYSPARK_PYTHON"] = os.environ["PYSPARK_DRIVER_PYTHON"] = sys.executable
    # Another Spark that a machine may have does not fit to our PySpark.
    os.environ["SPARK_HOME"] = str(Path(pyspark.__file__).parent)


def cores(master: str) -> int:
    """Python workers that a master has on this machine; 0 where it is elsewhere."""
    found = re.fullmatch(r"local(?:\[(\d+|\*)(?:,\s*\d+)?\])?", master)
    if found is None:
        return 0
    return int(found[1] or 1) if found[1] != "*" else os.cpu_count() or 1
