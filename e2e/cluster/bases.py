"""A Debian and a Python to build images on, where none can be pulled: made of packages."""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path

from cluster import daemon, docker
from cluster.shell import ClusterError, key, run, step

SUITE = "bookworm"  # of the images that are pulled elsewhere too (python:3.12-slim-bookworm)
PYTHON = "3.11"  # the one of this Debian
INSIDE = ("ca-certificates",)
AUTHORITIES = Path("/usr/local/share/ca-certificates")
_BUNDLE = "/etc/ssl/certs/ca-certificates.crt"
# So that apt and pip in a build reach through whatever this machine reaches them through.
_TRUST = " ".join(f"{name}={_BUNDLE}" for name in ("SSL_CERT_FILE", "PIP_CERT", "REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"))
_UNUSED = ("var/cache/apt/archives", "var/lib/apt/lists", "usr/share/doc", "usr/share/man")
_PYTHON = f"""\
FROM {{debian}}
ENV LANG=C.UTF-8 PIP_BREAK_SYSTEM_PACKAGES=1 PIP_ROOT_USER_ACTION=ignore PIP_DISABLE_PIP_VERSION_CHECK=1
RUN apt-get update && apt-get install -y --no-install-recommends python3 python3-venv python3-pip netbase tzdata \\
 && ln -s /usr/bin/python{PYTHON} /usr/local/bin/python && rm -rf /var/lib/apt/lists/*
CMD ["python3"]
"""


def debian() -> str:
    """A small Debian that knows where this machine gets its packages from, and whom it trusts."""
    sources = _sources()
    authorities = [AUTHORITIES] if AUTHORITIES.is_dir() else []
    tag = f"spillway-e2e-debian:{SUITE}-{key(SUITE, *INSIDE, *sources, _TRUST, *authorities)}"
    if not docker.has(tag):
        daemon.install("debootstrap")
        with step(f"base image {tag}"):
            _bootstrap(tag, sources)
    return tag


def python() -> str:
    """The same with a Python, as Docker's own image of it: `python` and `pip` are there."""
    recipe = _PYTHON.format(debian=debian())
    tag = f"spillway-e2e-python:{PYTHON}-{SUITE}-{key(recipe)}"
    if not docker.has(tag):
        with step(f"base image {tag}"):
            docker.of_recipe(tag, recipe)
    return tag


def _sources() -> list[str]:
    """What apt of this machine is set up for, a line each."""
    listed = run("apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages")
    found = sorted({f"deb {line}" for line in listed.splitlines() if f" {SUITE}" in line})
    if not any(line.split()[2] == SUITE for line in found):
        message = (
            f"base images are made of packages of Debian {SUITE}, and apt of this machine knows none. Where images can"
            " be pulled, name them: E2E_NODE_IMAGE=kindest/node:v1.34.0 BASE_IMAGE=python:3.12-slim-bookworm"
        )
        raise ClusterError(message)
    return found


def _bootstrap(tag: str, sources: list[str]) -> None:
    mirror = next(line.split()[1] for line in sources if line.split()[2] == SUITE)
    with tempfile.TemporaryDirectory(prefix="spillway-debian-") as scratch:
        system = Path(scratch, "system")
        # Without writing everything through to the disk at each package, of which there are a hundred.
        eat = ["eatmydata"] if shutil.which("eatmydata") else []
        run(*eat, "debootstrap", "--variant=minbase", f"--include={','.join(INSIDE)}", SUITE, system, mirror)
        (system / "etc/apt/sources.list").write_text("".join(f"{line}\n" for line in sources))
        if AUTHORITIES.is_dir():
            # As local files: an update-ca-certificates later, which every Java's installation runs, keeps them.
            place = system / AUTHORITIES.relative_to("/")
            place.mkdir(parents=True, exist_ok=True)
            for file in AUTHORITIES.glob("*.crt"):
                shutil.copy(file, place)
        run("chroot", system, "update-ca-certificates")
        for folder in _UNUSED:
            shutil.rmtree(system / folder, ignore_errors=True)
            (system / folder).mkdir(parents=True)
        archive = Path(scratch, "system.tar")
        run("tar", "-C", system, "--one-file-system", "-c", "-f", archive, ".")
        docker.of_archive(tag, archive, f"ENV PATH={docker.PATH}", f"ENV {_TRUST}", 'CMD ["bash"]')
