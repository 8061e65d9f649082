"""The command `spillway-manager`."""

from __future__ import annotations

import argparse
import asyncio
import logging
import os
import re
import socket
import uuid
from collections.abc import Sequence

from spillway.manager import drivers, lease, logs, process, topics
from spillway.manager.errors import LostError
from spillway.manager.manifests.parts import PORT, Settings
from spillway.manager.process import Options
from spillway.model.errors import SpillwayError

ENDED, FAILED, LOST = 0, 1, 3  # exit codes; 2 is argparse's own

# Seconds. A watch tells of pods and sets at once; this is for the rest, and for what a watch missed.
REFRESH = 60.0

_NAMESPACE = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")
_log = logging.getLogger(__name__)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the manager until it is asked to end; the exit code."""
    given = _parser().parse_args(arguments)
    logs.begin(debug=given.debug)
    try:
        asyncio.run(process.run(_options(given)))
    except LostError as error:
        _log.error("%s; this process ends, and another one goes on", error)
        return LOST
    except (SpillwayError, OSError) as error:
        _log.error("%s", error)
        return FAILED
    except Exception:
        _log.exception("ended by something unforeseen")
        return FAILED
    return ENDED


def _options(given: argparse.Namespace) -> Options:
    address = drivers.in_cluster
    if given.driver_address:
        pattern: str = given.driver_address

        def address(namespace: str, job: str) -> str:
            return pattern.format(namespace=namespace, job=job)

    # A pod whose container is started again is still the same one, and takes up its own lease without waiting.
    identity = os.environ.get("POD_NAME") or f"{socket.gethostname()}-{uuid.uuid4().hex[:8]}"
    own = os.environ.get("POD_NAMESPACE") or "default"
    return Options(
        settings=Settings(given.image, given.image_pull_policy, tuple(given.metrics_namespace)),
        namespaces=tuple(given.namespace),
        lease_namespace=given.lease_namespace or own,
        lease_name=given.lease_name,
        lease_seconds=given.lease_seconds,
        identity=identity,
        host=given.host,
        port=given.port,
        refresh=given.refresh,
        kafka_patience=given.kafka_patience,
        address=address,
    )


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="spillway-manager",
        description="The operator: make StreamJobs into pods, as many as the load needs, and say in their status how"
        " they are and why. One at a time works; others with the same lease stand by.",
        epilog="Exit code: 0 if it ended in order, after SIGTERM or Ctrl-C; 3 if it lost the lease; else 1."
        " Example: spillway-manager --namespace analytics --image spillway-runtime:0.1.0",
    )
    parser.add_argument(
        "--namespace",
        action="append",
        default=[],
        type=_namespace,
        metavar="NS",
        help="look after the jobs of this namespace; may be repeated (default: of the whole cluster)",
    )
    parser.add_argument("--image", required=True, help="image of jobs that name none, such as spillway-runtime:0.1.0")
    parser.add_argument(
        "--image-pull-policy",
        default="IfNotPresent",
        choices=("Always", "IfNotPresent", "Never"),
        help="of the jobs' containers (default: %(default)s)",
    )
    parser.add_argument(
        "--metrics-namespace",
        action="append",
        default=[],
        type=_namespace,
        metavar="NS",
        help="let this namespace read the metrics of jobs; may be repeated (default: any may)",
    )
    parser.add_argument("--lease-namespace", type=_namespace, metavar="NS", help="of the lease (default: our own)")
    parser.add_argument("--lease-name", default="spillway-manager", metavar="NAME", help="(default: %(default)s)")
    parser.add_argument(
        "--lease-seconds",
        type=float,
        default=lease.DURATION,
        metavar="S",
        help="how long a lease lasts that is not renewed (default: %(default)s)",
    )
    parser.add_argument(
        "--refresh",
        type=float,
        default=REFRESH,
        metavar="S",
        help="seconds between two looks at everything, for what no watch tells (default: %(default)s)",
    )
    parser.add_argument(
        "--kafka-patience",
        type=float,
        default=topics.PATIENCE,
        metavar="S",
        help="seconds until brokers that say nothing count as silent (default: %(default)s)",
    )
    parser.add_argument(
        "--driver-address",
        metavar="PATTERN",
        help="where drivers answer, with {namespace} and {job} (default: their Service in the cluster)",
    )
    parser.add_argument("--host", default="0.0.0.0", help="where to answer HTTP (default: %(default)s)")  # noqa: S104
    parser.add_argument("--port", type=int, default=PORT, metavar="N", help="on this port (default: %(default)s)")
    parser.add_argument("--debug", action="store_true", help="say more")
    return parser


def _namespace(text: str) -> str:
    if not _NAMESPACE.fullmatch(text):
        message = f"{text!r} is not the name of a namespace"
        raise argparse.ArgumentTypeError(message)
    return text
