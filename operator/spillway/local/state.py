"""The directory of a job that runs on this machine: what it needs to go on where it was, and who runs it right now.

    spillway.lock   held by the one `spillway up` of the job; says which process that is, and where its parts answer
    job.json        the job as it runs: what driver and workers read
    broker/         the data of the broker, if it is ours
    code/<digest>/  the user's Python functions, as they were at one time
    logs/           what driver and workers print
    scratch/        tables that the job keeps on disk; nothing is lost with it

Unlike the cache, this can't be made again: the broker's topics are in it.
"""

from __future__ import annotations

import contextlib
import fcntl
import json
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from spillway.model.errors import SpillwayError

# The name of a namespace becomes the name of a folder, so nothing else than what Kubernetes takes.
_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
LOCK = "spillway.lock"
OURS = (LOCK, "job.json", "broker", "code", "logs", "scratch")
# What a part has printed in earlier runs, in bytes; beyond, it is dropped at the next start.
LONGEST_LOG = 4 * 2**20


class StateError(SpillwayError):
    """The directory can't be used; the message says why, and what to do."""


def default(namespace: str, job: str) -> Path:
    """Where the state of a job is: `$SPILLWAY_STATE`, or what the desktop rules name, by namespace and job."""
    if not _NAMESPACE.fullmatch(namespace):
        message = f"metadata.namespace: {namespace!r} is no namespace; use small letters, digits and '-', 63 at most"
        raise StateError(message)
    return _root() / namespace / job


def running() -> list[str]:
    """The jobs that run on this machine from where `default` puts them, as namespace/name."""
    locks = sorted(_root().glob(f"*/*/{LOCK}"))
    return [f"{lock.parent.parent.name}/{lock.parent.name}" for lock in locks if is_held(lock.parent)]


def _root() -> Path:
    named = os.environ.get("SPILLWAY_STATE")
    root = os.environ.get("XDG_STATE_HOME") or "~/.local/state"
    return Path(named or f"{root}/spillway").expanduser().absolute()


class State:
    """The directory of one job, while we hold it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    @property
    def job(self) -> Path:
        """The job as it runs."""
        return self.folder / "job.json"

    @property
    def broker(self) -> Path:
        """The broker's data."""
        return self.folder / "broker"

    @property
    def code(self) -> Path:
        """Where versions of the user's code are kept."""
        return self.folder / "code"

    @property
    def scratch(self) -> Path:
        """Where slots have tables that are kept on disk."""
        return self.folder / "scratch"

    @property
    def new(self) -> bool:
        """Whether nothing ran here before."""
        return not self.job.exists()

    def log(self, name: str) -> Path:
        """The log of a part."""
        folder = self.folder / "logs"
        folder.mkdir(exist_ok=True)
        return folder / f"{name}.log"

    def write_job(self, document: Mapping[str, Any]) -> None:
        """Put another version of the job in the place of the one that is there; readers see the one or the other."""
        replace(self.job, json.dumps(document, indent=2, default=str))

    def tell(self, **facts: Any) -> None:
        """Say who runs here, for whoever comes next: `pid`, `since`, and addresses."""
        with (self.folder / LOCK).open("r+", encoding="utf-8") as lock:  # not replaced: the lock is on this very file
            lock.truncate()
            json.dump(facts, lock)


@contextlib.contextmanager
def held(folder: Path, *, fresh: bool = False) -> Iterator[State]:
    """The directory, for us alone until the block ends; it is made when it is not there, and emptied if `fresh`."""
    folder = folder.absolute()  # the processes that we start work elsewhere
    try:
        _check(folder)
        folder.mkdir(parents=True, exist_ok=True)
        lock = (folder / LOCK).open("a+", encoding="utf-8")
    except OSError as error:
        message = f"{folder} can't be used: {error.strerror}; name another directory with --state"
        raise StateError(message) from error
    with lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise StateError(_taken(folder)) from None
        if fresh:
            _empty(folder)
        for log in (folder / "logs").glob("*.log"):
            if log.stat().st_size > LONGEST_LOG:
                log.unlink()
        try:
            yield State(folder)
        finally:
            lock.truncate(0)


def who(folder: Path) -> dict[str, Any]:
    """What the one who runs there told; nothing if nobody does, or has not told anything yet."""
    try:
        told = json.loads((folder / LOCK).read_text(encoding="utf-8")) if is_held(folder) else {}
    except (OSError, ValueError):
        return {}
    return told if isinstance(told, dict) else {}


def is_held(folder: Path) -> bool:
    """Whether somebody has the directory."""
    try:
        with (folder / LOCK).open("r+", encoding="utf-8") as lock:
            fcntl.flock(lock, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        pass
    return False


def replace(file: Path, text: str) -> None:
    """Write a file so that nobody sees half of it."""
    handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as opened:
            opened.write(text)
        Path(name).replace(file)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _check(folder: Path) -> None:
    """Refuse a folder of somebody else: `fresh` would remove what is in it."""
    if folder.is_dir() and any(folder.iterdir()) and not (folder / LOCK).is_file():
        message = f"{folder} is not empty, and not from `spillway up`; name another directory with --state"
        raise StateError(message)


def _empty(folder: Path) -> None:
    """Remove what is ours. The lock stays: who waits for another file than we hold would run beside us."""
    for name in OURS:
        found = folder / name
        if found.is_dir():
            shutil.rmtree(found)
        elif name != LOCK:
            found.unlink(missing_ok=True)


def _taken(folder: Path) -> str:
    told = who(folder)
    process = f"process {told['pid']}" if "pid" in told else "another process"
    since = f", since {told['since']}" if "since" in told else ""
    broker = f"; Kafka at {told['bootstrap']}" if "bootstrap" in told else ""
    end = f" (Ctrl-C there, or kill {told['pid']})" if "pid" in told else ""
    return f"this job runs already: {process}{since}{broker}. Stop it{end}, or run another one with --state DIR"
