"""The Kafka in the cluster: the broker of the jars that `spillway up` runs too, as a pod."""

from __future__ import annotations

import base64
import json
import shutil
import tempfile
from pathlib import Path

from cluster import docker, kind
from cluster.shell import key
from spillway.local import installation, jars, settings
from spillway.runtime import java

HERE = Path(__file__).parent / "kafka"
NAMESPACE = "kafka"
INSIDE = "kafka.kafka:9092"
OUTSIDE = f"127.0.0.1:{kind.KAFKA_PORT}"
# Sixteen bytes, as Kafka wants them; the same each time, so that applying it again changes nothing.
CLUSTER_ID = base64.urlsafe_b64encode(b"spillway-e2e-kaf").decode().rstrip("=")
WITHIN = 120  # seconds; 10 here, most of them Java's

_START = """\
set -e
classes='/opt/kafka/*'
java -Xmx64m {quick} -cp "$classes" kafka.tools.StorageTool format \\
  --cluster-id {cluster} --config /etc/kafka/server.properties --ignore-formatted
exec java -Xmx384m {quick} -XX:+ExitOnOutOfMemoryError {logging} -cp "$classes" kafka.Kafka /etc/kafka/server.properties
"""


def image(base: str) -> str:
    """The image, built when it is not there: a Java and the jars."""
    tag = f"spillway-e2e-kafka:{jars.kafka_version()}-{key(base, HERE / 'Dockerfile', jars.PINS)}"
    if not docker.has(tag):
        with tempfile.TemporaryDirectory(prefix="spillway-kafka-") as scratch:
            folder = Path(scratch)
            (folder / "jars").mkdir()
            for jar in jars.kafka(java.find()):
                shutil.copy(jar, folder / "jars")
            shutil.copy(HERE / "Dockerfile", folder)
            docker.build(tag, folder, arguments={"BASE_IMAGE": base})
    return tag


def run(tag: str) -> None:
    """Have the broker run, and return when it takes connections; topics stay while the pod does."""
    files = {"server.properties": _properties(), "start.sh": _script()}
    configured = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "kafka", "namespace": NAMESPACE},
        "data": files,
    }
    manifest = (
        (HERE / "broker.yaml")
        .read_text("utf-8")
        .replace("KAFKA_IMAGE", tag)
        .replace("SETTINGS_KEY", key(*files.values()))
    )
    kind.kubectl("apply", "--server-side", "--filename=-", given=f"{manifest}---\n{json.dumps(configured)}\n")
    kind.kubectl(
        "rollout",
        "status",
        "statefulset/kafka",
        f"--namespace={NAMESPACE}",
        f"--timeout={WITHIN}s",
        seconds=WITHIN + 10,
    )


def _properties() -> str:
    """As on a laptop, and with a listener for each side."""
    of_pod = {
        **settings.ALONE,
        "process.roles": "broker,controller",
        "node.id": str(settings.NODE),
        "controller.quorum.voters": f"{settings.NODE}@localhost:9093",
        "listeners": "INSIDE://:9092,CONTROLLER://localhost:9093,OUTSIDE://:9094",
        "advertised.listeners": f"INSIDE://{INSIDE},OUTSIDE://{OUTSIDE}",
        "listener.security.protocol.map": "INSIDE:PLAINTEXT,OUTSIDE:PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "INSIDE",
        "controller.listener.names": "CONTROLLER",
        "log.dirs": "/var/lib/kafka/data",
        # Nobody waits for a new start here; but on a node that is busy for seconds it must not be taken for dead.
        "broker.session.timeout.ms": "30000",
    }
    return "".join(f"{name}={value}\n" for name, value in of_pod.items())


def _script() -> str:
    quick = " ".join((*installation.SMALL, installation.BRIEF))
    logging = " ".join(f"-Dorg.slf4j.simpleLogger.{name}={value}" for name, value in installation.LOGGING.items())
    # Shell quotes around what has some of its own.
    logging = logging.replace("yyyy-MM-dd'T'HH:mm:ss.SSS", "HH:mm:ss.SSS")
    return _START.format(quick=quick, logging=logging, cluster=CLUSTER_ID)
