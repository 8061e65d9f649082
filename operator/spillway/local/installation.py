"""What a broker is started with: a Java, Kafka's jars, and what is prepared from them once to make starts quick."""

import base64
import dataclasses
import hashlib
import os
import shutil
import subprocess
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Self

from spillway.local import jars, ports, settings
from spillway.model import errors
from spillway.runtime import java

# What a fresh data directory holds besides meta.properties: the feature levels of the version that made it. It has no
# identity in it, so one that Kafka's own tool wrote serves all directories; that saves a Java of 2 s per new broker.
BOOTSTRAP = "bootstrap.checkpoint"
ARCHIVE = "classes.jsa"

# The serial collector, C1 alone and an archive of loaded classes: 1.3 s of CPU for a start, where the defaults take 6.
SMALL = ("-XX:+UseSerialGC",)
# A broker that is there for a test is gone before C2 has compiled anything that pays. One that stays takes 0.7 s more
# for its start, and then answers the small requests of a job at a moderate rate in half the time (decision 3).
BRIEF = "-XX:TieredStopAtLevel=1"
HEAP = "-Xmx256m"
LOGGING = {
    "defaultLogLevel": "warn",  # INFO is 1600 lines for a start, and buries the one that says why it failed
    "showDateTime": "true",
    "dateTimeFormat": "yyyy-MM-dd'T'HH:mm:ss.SSS",
    "showThreadName": "false",
}


class FormatError(errors.TerminalError):
    """Kafka's own tool refused to prepare a data directory; the message has what it said."""


@dataclasses.dataclass(frozen=True, slots=True)
class Installation:
    """Kafka, ready to run; `prepared` has the archive of classes and the start of a data directory."""

    java: java.Java
    jars: Sequence[Path]
    prepared: Path
    flags: Sequence[str] = (BRIEF,)

    def lasting(self) -> Self:
        """The same for a broker that is to stay."""
        return dataclasses.replace(self, flags=())

    def training(self, folder: Path) -> Self:
        """The same, but writing into `folder`, when it ends in order, the archive of the classes that it has loaded.

        A Java without an archive of its own classes (some distributions leave it out) can't; starts are slower then.
        """
        return dataclasses.replace(self, prepared=folder, flags=(BRIEF, f"-XX:ArchiveClassesAtExit={folder / ARCHIVE}"))

    def command(self, main_class: str, *arguments: str | Path) -> list[str]:
        """The command line that runs one of Kafka's programs."""
        archive = self.prepared / ARCHIVE
        shared = [f"-XX:SharedArchiveFile={archive}"] if archive.is_file() else []
        logs = [f"-Dorg.slf4j.simpleLogger.{name}={value}" for name, value in LOGGING.items()]
        # The jars one by one, not dir/*: the archive is only valid for the very same list.
        classes = ["-cp", os.pathsep.join(map(str, self.jars))]
        own = [*SMALL, HEAP, *shared, *logs, *self.flags]
        return [str(self.java.executable), *own, *classes, main_class, *map(str, arguments)]

    def format(self, directory: Path) -> None:
        """Make an empty directory one that Kafka accepts as its data; one that is that already stays as it is.

        `meta.properties` comes last and at once, because it is what says that a directory is formatted.
        """
        formatted = directory / "meta.properties"
        if formatted.exists():
            return
        directory.mkdir(parents=True, exist_ok=True)
        (directory / BOOTSTRAP).write_bytes((self.prepared / BOOTSTRAP).read_bytes())
        half = formatted.with_suffix(".half")
        half.write_text(
            f"version=1\ncluster.id={random_id()}\nnode.id={settings.NODE}\ndirectory.id={random_id()}\n",
            encoding="utf-8",
        )
        half.replace(formatted)


def find() -> Installation:
    """The Java and the jars of this machine, with nothing prepared yet."""
    using = java.find()
    return Installation(using, jars.kafka(using), Path())


def prepared_name(installation: Installation) -> str:
    """The cache folder of what is prepared for these jars on this Java."""
    using = installation.java
    home = hashlib.sha256(str(using.home).encode()).hexdigest()[:8]
    return f"broker-{jars.key()}-java-{using.version}-{home}"


def write_bootstrap(installation: Installation, folder: Path) -> None:
    """Let Kafka's own tool format a directory, and keep what is the same in all of them."""
    data, properties = folder / "formatted", folder / "format.properties"
    broker, controller = ports.free(2)
    settings.write(settings.of_node(broker, controller, data, {}), properties)
    command = installation.command("kafka.tools.StorageTool", "format", "-t", random_id(), "-c", properties)
    done = subprocess.run(command, capture_output=True, text=True, check=False)  # noqa: S603
    if done.returncode:
        message = f"Kafka's storage tool ended with {done.returncode}: {(done.stdout + done.stderr).strip()}"
        raise FormatError(message)
    (data / BOOTSTRAP).replace(folder / BOOTSTRAP)
    shutil.rmtree(data)
    properties.unlink()


def random_id() -> str:
    """A random id as Kafka writes them: 16 bytes in 22 characters of URL-safe base 64."""
    return base64.urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
