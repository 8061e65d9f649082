"""Docker: images that are there, are built, or are made of a few files."""

from __future__ import annotations

import functools
import io
import os
import shutil
import subprocess
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from cluster.shell import ClusterError, run, works

PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def docker(*arguments: str | Path, given: bytes | None = None, seconds: float | None = None) -> str:
    """Run `docker`."""
    return run("docker", *arguments, given=given, seconds=seconds).strip()


def answers() -> bool:
    """Whether there is a daemon."""
    return works("docker", "info")


def has(image: str) -> bool:
    """Whether an image is there."""
    return works("docker", "image", "inspect", image)


def image_id(image: str) -> str:
    """What names its content: twelve characters."""
    return docker("image", "inspect", "--format", "{{.Id}}", image).removeprefix("sha256:")[:12]


def build(
    tag: str,
    folder: Path,
    *,
    file: Path | None = None,
    target: str | None = None,
    arguments: Mapping[str, str] | None = None,
) -> None:
    """Build a Dockerfile, or a stage of it; the layers that did not change are Docker's to know."""
    command, environment = builder()
    given = [word for name, value in (arguments or {}).items() for word in ("--build-arg", f"{name}={value}")]
    given += ["--target", target] if target else []
    run(*command, "build", "-t", tag, *given, "-f", file or folder / "Dockerfile", folder, environment=environment)


def of_recipe(tag: str, recipe: str) -> None:
    """Build a Dockerfile that needs no files."""
    command, environment = builder()
    run(*command, "build", "-t", tag, "-", given=recipe.encode(), environment=environment)


@functools.cache
def builder() -> tuple[Sequence[str], Mapping[str, str]]:
    """A command that builds with BuildKit, if there is one.

    Up to 20.10 it is in the command itself, later it is a plugin, and a new command without the plugin has only the
    builder from before, which refuses `RUN --mount`. Debian has the old command where a newer one is first on PATH.
    """
    if works("docker", "buildx", "version"):
        return ["docker", "buildx"], {}
    folders = os.get_exec_path()
    for command in (str(Path(folder, "docker")) for folder in folders if shutil.which("docker", path=folder)):
        version = run(command, "version", "--format", "{{.Client.Version}}").strip()
        if int(version.split(".")[0]) < 23:
            return [command], {"DOCKER_BUILDKIT": "1"}
    return ["docker"], {"DOCKER_BUILDKIT": "0"}


def of_files(tag: str, files: Mapping[str, Path], *changes: str) -> None:
    """An image that has only these programs, by their place in it."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w") as archive:
        for place, file in files.items():
            entry = archive.gettarinfo(str(file), place.lstrip("/"))
            entry.uid = entry.gid = 0
            entry.uname = entry.gname = ""
            entry.mode, entry.mtime = 0o755, 0  # the same bytes give the same image
            with file.open("rb") as content:
                archive.addfile(entry, content)
    of_archive(tag, packed.getvalue(), f"ENV PATH={PATH}", *changes)


def of_archive(tag: str, archive: bytes | Path, *changes: str) -> None:
    """An image whose only layer is a tar archive."""
    given = [word for change in changes for word in ("--change", change)]
    if isinstance(archive, Path):
        docker("import", *given, archive, tag)
    else:
        docker("import", *given, "-", tag, given=archive)


def pipe(first: Sequence[str | Path], second: Sequence[str | Path]) -> None:
    """Let the second command read what the first writes; images are too large to be held."""
    with subprocess.Popen([*map(str, first)], stdout=subprocess.PIPE) as writer:
        done = subprocess.run([*map(str, second)], stdin=writer.stdout, capture_output=True, check=False)
        assert writer.stdout is not None
        writer.stdout.close()  # a writer whose reader has ended must not wait for ever
    if writer.returncode or done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        message = f"'{' '.join(map(str, first))} | {' '.join(map(str, second))}' failed: {said}"
        raise ClusterError(message)
