"""Commands, and what is told of them while they run: each step with its time."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

from spillway.local import cache

END = 30  # lines of what a command that failed has said: enough for a compiler, a package manager, helm


class ClusterError(Exception):
    """The cluster, or something in it, could not be made; the message says what, and what to do."""


@dataclasses.dataclass
class Step:
    """Something that took its time; `note` says what came of it."""

    name: str
    seconds: float = 0.0
    note: str = ""


STEPS: list[Step] = []
BEGAN = time.monotonic()


def say(line: str) -> None:
    """Tell people, at once."""
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


@contextlib.contextmanager
def step(name: str) -> Iterator[Step]:
    """Tell that it begins, and how long it took; the note is written by whoever does it."""
    say(f"· {name} …")
    begun, started = Step(name), time.monotonic()
    try:
        yield begun
    finally:
        begun.seconds = time.monotonic() - started
        STEPS.append(begun)
    say(f"✓ {name}: {begun.seconds:.1f} s{f', {begun.note}' if begun.note else ''}")


def summary() -> str:
    """All steps with their times; one can be a part of another."""
    width = max((len(one.name) for one in STEPS), default=0)
    lines = [f"  {one.name:{width}} {one.seconds:7.1f} s  {one.note}".rstrip() for one in STEPS]
    return "\n".join([*lines, f"  {'together':{width}} {time.monotonic() - BEGAN:7.1f} s"])


def run(
    *command: str | Path,
    given: bytes | None = None,
    folder: Path | None = None,
    environment: Mapping[str, str] | None = None,
    seconds: float | None = None,
) -> str:
    """Run a command to its end and return what it wrote; raise with the end of what it said when it failed."""
    words = [str(word) for word in command]
    whole = {**os.environ, **(environment or {})}
    try:
        done = subprocess.run(
            words, input=given, cwd=folder, env=whole, capture_output=True, check=False, timeout=seconds
        )
    except FileNotFoundError as error:
        message = f"the program '{words[0]}' is needed and not there: install it"
        raise ClusterError(message) from error
    except subprocess.TimeoutExpired as error:
        message = f"'{shown(words)}' did not end within {seconds} s"
        raise ClusterError(message) from error
    if done.returncode:
        said = (done.stdout + done.stderr).decode(errors="replace").strip().splitlines()[-END:]
        message = "\n".join([f"'{shown(words)}' ended with {done.returncode}:", *said])
        raise ClusterError(message)
    return done.stdout.decode(errors="replace")


def works(*command: str | Path, seconds: float = 30.0) -> bool:
    """Whether a command ends well."""
    try:
        run(*command, seconds=seconds)
    except ClusterError:
        return False
    return True


def shown(words: list[str]) -> str:
    """A command in a message: long arguments cut."""
    return " ".join(word if len(word) < 100 else f"{word[:97]}…" for word in words)


def key(*parts: str | bytes | Path) -> str:
    """Names content: texts, bytes, files (with their mode), folders of files."""
    digest = hashlib.sha256()
    for part in parts:
        for piece in _pieces(part):
            digest.update(hashlib.sha256(piece).digest())
    return digest.hexdigest()[:10]


def _pieces(part: str | bytes | Path) -> Iterator[bytes]:
    if isinstance(part, Path):
        files = [part] if part.is_file() else sorted(path for path in part.rglob("*") if path.is_file())
        for file in files:
            yield f"{file.relative_to(part)} {file.stat().st_mode:o}".encode()
            yield file.read_bytes()
    else:
        yield part.encode() if isinstance(part, str) else part


def lab() -> Path:
    """Where the cluster's own files are: credentials, logs."""
    folder = cache.root() / "lab"
    folder.mkdir(exist_ok=True)
    return folder
