"""The user's Python functions, as they are at one moment: copied aside, so that nothing changes under who runs them.

A copy lies in a folder that is named by its contents: the same code is the same folder, and old and new run side by
side while partitions move from the one to the other.
"""

from __future__ import annotations

import hashlib
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from spillway.model.errors import SpillwayError
from spillway.model.streamjob import StreamJob

# More is no code of a job, but a folder in which something else lies too: a home directory, say.
MOST_FILES, MOST_BYTES = 500, 8 * 2**20
# Seconds to import all functions; a heavy library takes some.
IMPORTED_WITHIN = 60.0

_CHECK = """
import pathlib, sys
from spillway.runtime import functions
wrong = 0
for reference in sys.argv[2:]:
    try:
        functions.load(reference, pathlib.Path(sys.argv[1]))
    except functions.FunctionError as error:
        wrong = 1
        print(reference, error, sep="\\t", flush=True)
sys.exit(wrong)
"""


class CodeError(SpillwayError):
    """The user's code can't be taken; the message says why."""


def references(job: StreamJob) -> dict[str, int]:
    """The functions of a job, and the operator (by its place in the spec) that first uses each."""
    found: dict[str, int] = {}
    for place, operator in enumerate(job.spec.operators):
        if operator.python is not None:
            found.setdefault(operator.python.function, place)
    return found


def files(folder: Path) -> list[Path]:
    """The Python files that count, in one order: those of the folder itself, and of packages in it."""
    found = [path for path in sorted(folder.glob("*.py")) if path.is_file()]
    for package in sorted(folder.iterdir()):
        if (package / "__init__.py").is_file() and not package.name.startswith("."):
            found += [path for path in sorted(package.rglob("*.py")) if path.is_file()]
            if len(found) > MOST_FILES:
                break
    if len(found) > MOST_FILES:
        raise _too_much(folder)
    return found


def digest(folder: Path) -> str:
    """What a folder's code is, in one word."""
    return _named(list(_read(folder)))


def kept(folder: Path, within: Path) -> Path:
    """A copy of a folder's code, under its digest; one that is there already is taken."""
    found = list(_read(folder))
    copy = within / _named(found)
    if copy.is_dir():
        return copy
    within.mkdir(parents=True, exist_ok=True)
    scratch = Path(tempfile.mkdtemp(prefix=".", dir=within))
    try:
        for file, content in found:
            target = scratch / file
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)
        scratch.rename(copy)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)
    return copy


def problems(folder: Path, wanted: list[str]) -> dict[str, str]:
    """What is wrong with each function that can't be used; they are imported in a process of their own."""
    command = [sys.executable, "-c", _CHECK, str(folder), *wanted]
    try:
        done = subprocess.run(  # noqa: S603 - our own program, and no shell
            command, capture_output=True, text=True, timeout=IMPORTED_WITHIN, check=False
        )
    except subprocess.TimeoutExpired:
        return {wanted[0]: f"importing the code takes more than {IMPORTED_WITHIN:.0f} s"}
    pairs = (line.split("\t", 1) for line in done.stdout.splitlines() if "\t" in line)
    found = {reference: message for reference, message in pairs if reference in wanted}
    if done.returncode != 0 and not found:
        last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
        return {wanted[0]: f"importing the code ended Python: {last}"}
    return found


def _named(files: list[tuple[Path, bytes]]) -> str:
    total = hashlib.sha256()
    for file, content in files:
        total.update(f"{file.as_posix()}\0{len(content)}\0".encode() + content)
    return total.hexdigest()[:16]


def _read(folder: Path) -> Iterator[tuple[Path, bytes]]:
    """Names and contents of the files that count."""
    size = 0
    for path in files(folder):
        content = path.read_bytes()
        size += len(content)
        if size > MOST_BYTES:
            raise _too_much(folder)
        yield path.relative_to(folder), content


def _too_much(folder: Path) -> CodeError:
    return CodeError(f"{folder} holds more than a job's code; put the functions into a folder and name it with --code")
