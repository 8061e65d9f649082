"""The jars of Kafka's broker: fetched once, checked against pinned digests each time, kept in the cache.

`pom.xml` says what is needed. Maven fetches it where there is one; else Ivy does, which reads the same file and comes
with pyspark (it is what resolves Spark's own `--packages`). `jars.sha256` has the digest of every jar, so it does not
matter who fetched them, and from where: other bytes are not run.
"""

import hashlib
import importlib.util
import logging
import os
import re
import shutil
import subprocess
from pathlib import Path

from spillway.local import cache
from spillway.model import errors
from spillway.runtime import java

log = logging.getLogger(__name__)

HERE = Path(__file__).parent
POM = HERE / "pom.xml"
PINS = HERE / "jars.sha256"
IVY_SETTINGS = HERE / "ivysettings.xml"


class JarsError(errors.RetryError):
    """The jars could not be fetched, or are not the pinned ones; the message names them and the way out."""


def kafka_version() -> str:
    """The version of the broker, as pom.xml has it."""
    stated = re.search(r"<artifactId>kafka_2\.13</artifactId>\s*<version>([^<]+)</version>", POM.read_text("utf-8"))
    assert stated is not None, POM  # noqa: S101 - a file of ours
    return stated[1]


def pins() -> dict[str, str]:
    """The digest of each jar of the broker by its file name."""
    return pinned(PINS)


def pinned(file: Path) -> dict[str, str]:
    """The same of any file of digests; it is one that `sha256sum --check` reads too."""
    lines = (line.split() for line in file.read_text("utf-8").splitlines())
    return {name: digest for digest, name in lines}


def key() -> str:
    """The version, and what tells two sets of jars of the same version apart: names cache folders."""
    return f"{kafka_version()}-{hashlib.sha256(PINS.read_bytes()).hexdigest()[:8]}"


def kafka(using: java.Java) -> list[Path]:
    """All jars of the broker, in a fixed order, each with its pinned content."""
    wanted = pins()
    folder_name = f"kafka-{key()}"

    def make(scratch: Path) -> None:
        if (broken := cache.root() / folder_name).is_dir():
            log.warning("in %s: %s; fetching again", broken, "; ".join(differences(broken, wanted)))
        log.info("fetching Kafka %s (%d jars, 44 MB): once per version", kafka_version(), len(wanted))
        fetch(scratch, using)
        if wrong := differences(scratch, wanted):
            raise JarsError(_refusal(wrong))

    folder = cache.kept(folder_name, make, intact=lambda folder: not differences(folder, wanted))
    return [folder / name for name in sorted(wanted)]


def differences(folder: Path, wanted: dict[str, str]) -> list[str]:
    """What is missing in a folder, has other bytes, or is too much: a sentence each, none when all is right."""
    present = {path.name: path for path in folder.glob("*.jar")}
    found = [f"{name} is missing" for name in sorted(wanted.keys() - present.keys())]
    found += [f"{name} is not pinned in {PINS.name}" for name in sorted(present.keys() - wanted.keys())]
    for name in sorted(present.keys() & wanted.keys()):
        with present[name].open("rb") as jar:
            digest = hashlib.file_digest(jar, "sha256").hexdigest()
        if digest != wanted[name]:
            found.append(f"{name} is corrupt: its SHA-256 is {digest[:12]}…, pinned is {wanted[name][:12]}…")
    return found


def fetch(folder: Path, using: java.Java, pom: Path = POM) -> None:
    """Let Maven, or else pyspark's Ivy, put all jars that a pom.xml needs into a folder; by default the broker's."""
    maven = shutil.which("mvn")
    ivy = _ivy()
    if maven is not None:
        goal = ["dependency:copy-dependencies", f"-DoutputDirectory={folder}"]
        command = [maven, "--quiet", "--batch-mode", "--file", str(pom), *goal]
    elif ivy is not None:
        own = ["-cache", str(folder / "ivy"), "-retrieve", str(folder / "[artifact]-[revision].[ext]")]
        settings = ["-settings", str(IVY_SETTINGS), "-ivy", str(pom), "-confs", "runtime"]
        command = [str(using.executable), "-jar", str(ivy), *settings, *own]
    else:
        message = "Kafka's jars are fetched by Maven or by pyspark: install Maven, or: pip install 'spillway[spark]'"
        raise JarsError(message)
    environment = {**os.environ, "JAVA_HOME": str(using.home)}
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)  # noqa: S603
    shutil.rmtree(folder / "ivy", ignore_errors=True)
    if done.returncode:
        end = "\n".join((done.stdout + done.stderr).strip().splitlines()[-15:])
        message = f"Kafka's jars could not be fetched: '{Path(command[0]).name}' ended with {done.returncode}:\n{end}"
        raise JarsError(message)


def _ivy() -> Path | None:
    """Ivy's jar inside pyspark, which is only looked at, not imported."""
    package = importlib.util.find_spec("pyspark")
    if package is None or not package.submodule_search_locations:
        return None
    return next(Path(package.submodule_search_locations[0], "jars").glob("ivy-*.jar"), None)


def _refusal(wrong: list[str]) -> str:
    return (
        f"what was fetched is not what {PINS.name} pins: {'; '.join(wrong)}. "
        "If the local Maven repository (~/.m2/repository) has a broken copy, remove it there and try again"
    )
