"""The template of executor pods, as far as Spark has to be told again what it says.

Spark takes everything from it but the image, how that is pulled, and resources: these it sets itself, from settings.
So that nobody has to write them twice, settings are made of what the template has.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import yaml

from spillway.runtime.batch.jvm import NoSparkError

NAMES = ("main", "executor")  # of the container, the first that there is


@dataclasses.dataclass(frozen=True, slots=True)
class Template:
    """What matters of it.

    Attributes:
        file: where it is.
        container: the name of the one that is to be the executor.
        image: of that.
        pull: its policy; empty where the template leaves it to the cluster.
        cpu: what it asks of a processor, at the least and at the most; empty where the template does not say.
    """

    file: Path
    container: str
    image: str
    pull: str = ""
    cpu: tuple[str, str] = ("", "")

    @classmethod
    def read(cls, file: Path) -> Template:
        """From its file; raises NoSparkError that says what is wrong with it."""
        try:
            document = yaml.safe_load(file.read_text(encoding="utf-8"))
        except (OSError, ValueError, yaml.YAMLError) as error:
            message = f"the template of executors, {file}, can't be read: {' '.join(str(error).split())}"
            raise NoSparkError(message) from None
        found = _containers(document)
        container = next((found[name] for name in NAMES if name in found), None)
        if container is None or not container.get("image"):
            message = f"the template of executors, {file}, needs a container {' or '.join(NAMES)} with an image"
            raise NoSparkError(message)
        resources = _mapping(container.get("resources"))
        cpu = tuple(str(_mapping(resources.get(part)).get("cpu") or "") for part in ("requests", "limits"))
        pull = str(container.get("imagePullPolicy") or "")
        return cls(file, str(container["name"]), str(container["image"]), pull, (cpu[0], cpu[1]))

    @property
    def settings(self) -> Mapping[str, str]:
        """For Spark."""
        prefix = "spark.kubernetes"
        found = {
            f"{prefix}.executor.podTemplateFile": str(self.file),
            f"{prefix}.executor.podTemplateContainerName": self.container,
            f"{prefix}.container.image": self.image,
            f"{prefix}.container.image.pullPolicy": self.pull,
            f"{prefix}.executor.request.cores": self.cpu[0],
            f"{prefix}.executor.limit.cores": self.cpu[1],
        }
        return {name: value for name, value in found.items() if value}


def _containers(document: Any) -> dict[str, Mapping[str, Any]]:
    listed = _mapping(_mapping(document).get("spec")).get("containers")
    return {str(one.get("name")): one for one in listed if isinstance(one, dict)} if isinstance(listed, list) else {}


def _mapping(value: Any) -> Mapping[str, Any]:
    return value if isinstance(value, dict) else {}
