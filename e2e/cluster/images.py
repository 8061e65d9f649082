"""The images of the project: built from its Dockerfiles, with tags that name version and content."""

from __future__ import annotations

import dataclasses
import os
import tomllib
from pathlib import Path

from cluster import bases, docker, kind
from cluster.shell import ClusterError, step

TOP = Path(__file__).resolve().parents[2]
OPERATOR, RUNTIME = "spillway-operator", "spillway-runtime"
DOCKERFILES = {OPERATOR: TOP / "Dockerfile", RUNTIME: TOP / "runtime-image" / "Dockerfile"}


@dataclasses.dataclass(frozen=True)
class Images:
    """What is deployed: repository and tag, where the tag is another one when the content is."""

    operator: str
    runtime: str


def base() -> str:
    """The Python to build on: $BASE_IMAGE; else that of the Dockerfiles where images can be pulled; else our own."""
    named = os.environ.get("BASE_IMAGE", "")
    return named if named or kind.stock() else bases.python()


def debian() -> str:
    """The same for what needs no Python."""
    return "debian:bookworm-slim" if kind.stock() else bases.debian()


def build() -> Images:
    """Both, in order."""
    return Images(operator=_built(OPERATOR), runtime=_built(RUNTIME))


def version() -> str:
    """Of the project."""
    return str(tomllib.loads((TOP / "pyproject.toml").read_text("utf-8"))["project"]["version"])


def _built(name: str) -> str:
    """Under the plain version for people, and with its content behind that for whoever must not meet an older one."""
    file = DOCKERFILES[name]
    if not file.is_file():
        message = f"there is no {file.relative_to(TOP)}, which image {name} is built from"
        raise ClusterError(message)
    plain = f"{name}:{version()}"
    under = base()
    with step(f"image {plain}") as telling:
        docker.build(plain, TOP, file=file, arguments={"BASE_IMAGE": under} if under else {})
        tag = f"{plain}-{docker.image_id(plain)}"
        docker.docker("tag", plain, tag)
        telling.note = tag
    return tag
