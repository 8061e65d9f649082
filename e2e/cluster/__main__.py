"""`python -m cluster`: what `make images`, `make e2e` and `make e2e-down` call."""

from __future__ import annotations

import argparse
import sys

from cluster import broker, daemon, docker, images, kind, release, shell
from cluster.shell import ClusterError, say, step

_EPILOG = """\
environment:
  E2E_NODE_IMAGE  a node image of kind to pull, such as kindest/node:v1.34.0; without it everything is built here
  BASE_IMAGE      the Python that images are built on, such as python:3.12-slim-bookworm
  SPILLWAY_CACHE  where everything that is built once is kept (~/.cache/spillway)
"""


def main() -> int:
    """Do what was asked for, and tell how long each step took."""
    parser = argparse.ArgumentParser(
        "python -m cluster", description=__doc__, epilog=_EPILOG, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    what = parser.add_subparsers(required=True, metavar="WHAT")
    for name, todo in {"up": up, "bare": bare, "images": build, "install": install, "down": down}.items():
        what.add_parser(name, help=(todo.__doc__ or "").splitlines()[0]).set_defaults(todo=todo)
    try:
        parser.parse_args().todo()
    except ClusterError as error:
        say(f"✗ {error}")
        return 1
    finally:
        if shell.STEPS:
            say(shell.summary())
    return 0


def up() -> None:
    """The cluster, with a Kafka and the operator of this folder in it; what is there already is reused."""
    bare()
    install()


def bare() -> None:
    """The cluster and its Kafka, without an operator."""
    _docker()
    with step(f"cluster {kind.NAME}") as telling:
        kind.up(telling)
    with step("image of Kafka") as telling:
        telling.note = tag = broker.image(images.debian())
    _load(tag)
    with step("Kafka"):
        broker.run(tag)
    say(f"kubectl --kubeconfig {kind.kubeconfig()} get pods --all-namespaces")


def install() -> None:
    """Build the images, put them on the node, and install or upgrade the operator."""
    built = images.build()
    _load(built.operator, built.runtime)
    with step("operator"):
        release.install(built)


def build() -> None:
    """Build the images of operator and jobs."""
    _docker()
    for tag in vars(images.build()).values():
        sys.stdout.write(f"{tag}\n")


def down() -> None:
    """Remove the cluster, and end the daemon if it was started here and has nothing else to do."""
    if not docker.answers():
        return
    with step(f"remove cluster {kind.NAME}") as telling:
        telling.note = "removed" if kind.down() else "was not there"
    if not docker.docker("ps", "--quiet") and daemon.stop():
        say("Docker's daemon, which was started for it, has ended")


def _docker() -> None:
    with step("Docker") as telling:
        daemon.ensure(telling)


def _load(*tags: str) -> None:
    with step("images to the node") as telling:
        telling.note = ", ".join(kind.load(tags)) or "all there"


if __name__ == "__main__":
    sys.exit(main())
