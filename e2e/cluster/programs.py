"""The Go programs that a node consists of, and those that make clusters."""

from __future__ import annotations

from pathlib import Path

import kubernetes_programs
from cluster.shell import step
from kubernetes_programs import (
    ETCD,
    KUBE_APISERVER,
    KUBE_CONTROLLER_MANAGER,
    KUBE_PROXY,
    KUBE_SCHEDULER,
    KUBEADM,
    KUBECTL,
    KUBELET,
    Program,
)

HERE = Path(__file__).parent

KIND = Program("kind", "0.33.0", "sigs.k8s.io/kind", "sigs.k8s.io/kind")

_CONTAINERD = "github.com/containerd/containerd/v2"
_CNI = "github.com/containernetworking/plugins"
# Snapshotters of file systems that no node of ours has.
_LEAN = "no_aufs,no_btrfs,no_devmapper,no_zfs"

CONTAINERD = tuple(
    Program(name, "2.1.4", _CONTAINERD, f"{_CONTAINERD}/cmd/{name}", tags=_LEAN)
    for name in ("containerd", "containerd-shim-runc-v2", "ctr")
)
CNI = tuple(
    Program(path.split("/")[-1], "1.6.2", _CNI, f"{_CNI}/plugins/{path}")
    for path in ("main/bridge", "main/loopback", "ipam/host-local", "meta/portmap")
)
CONTROL_PLANE = (KUBE_APISERVER, KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER, ETCD)
OF_NODE = (KUBEADM, KUBELET, KUBECTL)


def _own(name: str, module: str, version: str) -> Program:
    return Program(name, version, module, module, source=(HERE / "node" / f"{name}.go").read_text("utf-8"))


# The DNS server with a fifth of its plugins: those that kubeadm's configuration names. The others bring the libraries
# of three clouds, and take longer to compile than all the rest of it.
COREDNS = _own("coredns", "github.com/coredns/coredns", "1.12.1")
# Holds the namespaces of a pod.
PAUSE = _own("pause", "", "1")

ALL = (KIND, *CONTROL_PLANE, KUBE_PROXY, *OF_NODE, *CONTAINERD, *CNI, COREDNS, PAUSE)


def path(program: Program) -> Path:
    """The executable file."""
    return kubernetes_programs.path(program, _quiet)


def prepare(*wanted: Program) -> None:
    """Build those that are not there yet, each with its time."""
    for program in wanted:
        if not kubernetes_programs.built(program):
            with step(f"build {program.name}"):
                path(program)


def _quiet(line: str) -> None:
    """Steps tell it."""
