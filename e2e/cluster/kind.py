"""The cluster: made, found again, loaded with images, removed."""

from __future__ import annotations

import datetime
import json
import os
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import yaml

import audits
from cluster import docker, nodes, programs
from cluster.shell import ClusterError, Step, lab, run, works
from kubernetes_programs import KUBECTL

NAME = "spillway-e2e"
NODE = f"{NAME}-control-plane"
CONTEXT = f"kind-{NAME}"
PODS, SERVICES = "10.244.0.0/16", "10.96.0.0/16"  # kind's own
# Kafka, as seen from this machine; below the ports of connections that go out, beside Kafka's own of 9092.
KAFKA_PORT = 30092
WITHIN = 180.0  # seconds; a new node took 36 here, one that is started again 30
SYSTEM_CONTAINERS = 7  # apiserver, controller-manager, scheduler, etcd, proxy, and DNS twice
# On the node: where the API server reads what it is to write down of requests, and where it does.
AUDIT_POLICY, AUDIT_LOG = "/etc/kubernetes/policies/audit.yaml", "/var/log/kubernetes/audit.log"
# Endpoints that are ready reach the rules of kube-proxy within a second of its next sync.
SETTLED = 3.0


def stock() -> str:
    """The node image to pull, where there is a registry to pull it from; else nothing."""
    return os.environ.get("E2E_NODE_IMAGE", "")


def up(telling: Step) -> None:
    """Make the cluster, or start it again, and return when everything in it works."""
    image = stock() or nodes.image()
    if _exists() and (_image() != image or not _is_as_configured()):
        telling.note = "another node image, or other settings: new cluster, "
        down()
    if not stock():
        _keep_inside()
    if _exists():
        docker.docker("start", NODE)
        telling.note += "reused"
    else:
        _create(image)
        telling.note += "new"
    _kind("export", "kubeconfig", "--name", NAME)
    _wait()


def down() -> bool:
    """Remove it; whether it was there."""
    if not _exists():
        return False
    _kind("delete", "cluster", "--name", NAME)
    if not stock() and _may_block():
        for network in (PODS, SERVICES):
            works("ip", "route", "del", "blackhole", network)
            works("iptables", "-D", "DOCKER-USER", "-d", network, "-j", "REJECT")
    return True


def kubectl(*arguments: str, given: str | None = None, seconds: float | None = 120.0) -> str:
    """Run kubectl on this cluster."""
    found = programs.path(KUBECTL)
    own = ["--kubeconfig", str(kubeconfig()), "--context", CONTEXT]
    return run(found, *own, *arguments, given=given.encode() if given is not None else None, seconds=seconds)


def kubeconfig() -> str:
    """Where the way to the cluster is written; not the file that people use."""
    return str(lab() / "kubeconfig")


def load(images: Sequence[str]) -> list[str]:
    """Put images on the node, those that it does not have yet; which they were."""
    listed = docker.docker("exec", NODE, "ctr", "--namespace=k8s.io", "images", "list", "--quiet").split()
    # Where containers are pulled from has a name, which the node writes out and we leave out.
    missing = [image for image in images if not any(name == image or name.endswith(f"/{image}") for name in listed)]
    if missing:
        importing = ["images", "import", "--digests", "--snapshotter=overlayfs", "-"]
        docker.pipe(
            ["docker", "save", *missing],
            ["docker", "exec", "--interactive", NODE, "ctr", "--namespace=k8s.io", *importing],
        )
    return missing


def audit() -> list[str]:
    """What was asked of the API server since its log began, an event in each line."""
    return docker.docker("exec", NODE, "cat", AUDIT_LOG).splitlines()


def _kind(*arguments: str) -> str:
    return run(programs.path(programs.KIND), *arguments, environment={"KUBECONFIG": kubeconfig()})


def _exists() -> bool:
    return NAME in _kind("get", "clusters").split()


def _image() -> str:
    return docker.docker("inspect", "--format", "{{.Config.Image}}", NODE)


def _is_as_configured() -> bool:
    """Whether the cluster was made with the settings of now."""
    return _settings_file().is_file() and _settings_file().read_text() == yaml.safe_dump(_settings())


def _settings_file() -> Path:
    return lab() / "kind.yaml"


def _settings() -> dict[str, Any]:
    policy = lab() / "audit-policy.yaml"
    policy.write_text(audits.POLICY)
    folders = {"policies": (str(Path(AUDIT_POLICY).parent), True), "logs": (str(Path(AUDIT_LOG).parent), False)}
    audited = {
        "kind": "ClusterConfiguration",
        "apiServer": {
            "extraArgs": {
                "audit-policy-file": AUDIT_POLICY,
                "audit-log-path": AUDIT_LOG,
                "audit-log-maxsize": "100",  # MB; a run of all tests takes a few
                "audit-log-maxbackup": "1",
            },
            "extraVolumes": [
                {"name": f"audit-{name}", "hostPath": path, "mountPath": path, "readOnly": only_read,
                 "pathType": "DirectoryOrCreate"}
                for name, (path, only_read) in folders.items()
            ],
        },
    }  # fmt: skip
    return {
        "kind": "Cluster",
        "apiVersion": "kind.x-k8s.io/v1alpha4",
        "networking": {"podSubnet": PODS, "serviceSubnet": SERVICES},
        "nodes": [
            {
                "role": "control-plane",
                "extraPortMappings": [
                    {"containerPort": KAFKA_PORT, "hostPort": KAFKA_PORT, "listenAddress": "127.0.0.1"}
                ],
                "kubeadmConfigPatches": [yaml.safe_dump(audited)],
                "extraMounts": [{"hostPath": str(policy), "containerPath": AUDIT_POLICY, "readOnly": True}],
            }
        ],
    }


def _create(image: str) -> None:
    file = _settings_file()
    file.write_text(yaml.safe_dump(_settings()))
    _kind("create", "cluster", "--name", NAME, "--image", image, "--config", str(file), "--wait", f"{WITHIN:.0f}s")


def _keep_inside() -> None:
    """Let no packet to the cluster's own addresses leave this machine.

    Until kube-proxy has written its rules, a packet to a service is an ordinary one to an address that is not here.
    """
    if not _may_block():
        return
    for network in (PODS, SERVICES):
        run("ip", "route", "replace", "blackhole", network)
        rule = ["DOCKER-USER", "-d", network, "-j", "REJECT"]
        if not works("iptables", "-C", *rule):
            run("iptables", "-I", *rule)


def _may_block() -> bool:
    return os.geteuid() == 0 and shutil.which("ip") is not None and shutil.which("iptables") is not None


def _wait() -> None:
    """Return when what the cluster tells of itself is true.

    After a restart of the node all conditions are those from before, and on a new one whose network is built in some
    come too early. So: no container may be older than the node's own start, and those of the system are ready.
    """
    started = docker.docker("inspect", "--format", "{{.State.StartedAt}}", NODE)
    since = datetime.datetime.fromisoformat(started[:19] + "+00:00")  # nanoseconds are more than Python reads
    deadline = time.monotonic() + WITHIN
    while True:
        try:
            if _fresh(json.loads(kubectl("get", "pods", "--all-namespaces", "--output=json")), since):
                break
        except (ClusterError, ValueError) as error:
            last: object = error
        else:
            last = "not all containers of the system are ready"
        if time.monotonic() > deadline:
            message = f"cluster '{NAME}' is not ready after {WITHIN:.0f} s: {last}"
            raise ClusterError(message)
        time.sleep(1)
    time.sleep(SETTLED)


def _fresh(pods: dict[str, Any], since: datetime.datetime) -> bool:
    ready = 0
    for pod in pods["items"]:
        for container in pod.get("status", {}).get("containerStatuses", []):
            running = container.get("state", {}).get("running")
            if running and datetime.datetime.fromisoformat(running["startedAt"]) < since:
                return False
            if pod["metadata"]["namespace"] == "kube-system":
                if not (running and container["ready"]):
                    return False
                ready += 1
    return ready >= SYSTEM_CONTAINERS
