"""The image of a node, made here: what kind's own build does, with nothing that would have to be pulled."""

from __future__ import annotations

import re
import shutil
import tempfile
import uuid
from collections.abc import Iterable
from pathlib import Path

from cluster import bases, docker, programs
from cluster.shell import key, run, step
from kubernetes_programs import KUBE_PROXY, KUBEADM, KUBERNETES_VERSION, Program, sources

HERE = Path(__file__).parent / "node"
READY = 30  # tries of a second for a containerd that has nothing to load
# kind's recipe for the base of its nodes is a Dockerfile with several stages; the first has all but what it compiles.
STAGE = "base"
PLACE = "/usr/local/bin"
CONTAINERD_RUNS = f"""
containerd > /tmp/containerd.log 2>&1 & echo $! > /tmp/containerd.pid
for try in $(seq {READY}); do ctr version > /dev/null 2>&1 && exit 0; sleep 1; done
cat /tmp/containerd.log; exit 1
"""
CONTAINERD_ENDS = """
pid=$(cat /tmp/containerd.pid); kill $pid
while [ -d /proc/$pid ] && ! grep -q '^State:.Z' /proc/$pid/status; do sleep 0.1; done
rm /tmp/containerd.*
"""


def image() -> str:
    """The image; built when it is not there."""
    versions = [f"{program.folder} {program.tags}" for program in programs.ALL]
    tag = f"spillway-e2e-node:{KUBERNETES_VERSION}-{key(bases.debian(), HERE, *versions)}"
    if not docker.has(tag):
        programs.prepare(*programs.ALL)
        with step("containers of the control plane"):
            inside = _containers()
        with step(f"node image {tag}"):
            _build(tag, inside)
    return tag


def _containers() -> list[str]:
    """Images under the very names by which kubeadm and kind ask for them."""
    version = f"--kubernetes-version=v{KUBERNETES_VERSION}"
    listed = run(programs.path(KUBEADM), "config", "images", "list", version).split()
    names = {re.split(r"[/:]", name)[-2]: name for name in listed}
    for program in programs.CONTROL_PLANE:
        docker.of_files(names[program.name], {f"{PLACE}/{program.name}": programs.path(program)})
    docker.of_files(names["coredns"], {"/coredns": programs.path(programs.COREDNS)}, 'ENTRYPOINT ["/coredns"]')
    pause = ["USER 65535:65535", 'ENTRYPOINT ["/pause"]']
    sandbox = _sandbox()
    for name in {sandbox, names["pause"]}:
        docker.of_files(name, {"/pause": programs.path(programs.PAUSE)}, *pause)
    _proxy(names["kube-proxy"])
    return [*names.values(), *({sandbox} - set(names.values()))]


def _sandbox() -> str:
    """The image that kind's containerd takes for pods, which is not always the one that kubeadm lists."""
    config = sources(programs.KIND) / "images/base/files/etc/containerd/config.toml"
    found = re.search(r'sandbox_image = "([^"]+)"', config.read_text("utf-8"))
    assert found is not None, config
    return found[1]


def _proxy(tag: str) -> None:
    """kube-proxy calls programs of the system."""
    with tempfile.TemporaryDirectory(prefix="spillway-proxy-") as scratch:
        folder = Path(scratch)
        (folder / "Dockerfile").write_text(
            f"FROM {bases.debian()}\n"
            "RUN apt-get update && apt-get install -y --no-install-recommends iptables nftables conntrack kmod"
            " && rm -rf /var/lib/apt/lists/*\n"
            f"COPY kube-proxy {PLACE}/kube-proxy\n"
        )
        _copy([KUBE_PROXY], folder)
        docker.build(tag, folder)


def _build(tag: str, inside: list[str]) -> None:
    container = f"spillway-e2e-build-{uuid.uuid4().hex[:8]}"
    docker.docker(
        "run", "--detach", "--name", container, "--security-opt", "seccomp=unconfined", "--entrypoint", "sleep",
        _base(), "infinity",
    )  # fmt: skip
    try:
        for program in programs.OF_NODE:
            docker.docker("cp", programs.path(program), f"{container}:/usr/bin/{program.name}")
        _write(container, "/kind/version", f"v{KUBERNETES_VERSION}")
        for name in ("default-cni", "default-storage"):
            _write(container, f"/kind/manifests/{name}.yaml", (HERE / "manifests.yaml").read_text("utf-8"))
        docker.docker("exec", container, "sh", "-c", CONTAINERD_RUNS)
        importing = ["images", "import", "--label=io.cri-containerd.pinned=pinned", "--no-unpack", "-"]
        docker.pipe(
            ["docker", "save", *inside],
            ["docker", "exec", "--interactive", container, "ctr", "--namespace=k8s.io", *importing],
        )
        docker.docker("exec", container, "sh", "-c", CONTAINERD_ENDS)
        entry = f'ENTRYPOINT ["{PLACE}/entrypoint", "/sbin/init"]'
        docker.docker("commit", "--change", entry, container, tag)
    finally:
        docker.docker("rm", "--force", "--volumes", container)


def _write(container: str, place: str, text: str) -> None:
    script = 'mkdir -p "$(dirname "$0")" && cat > "$0"'
    docker.docker("exec", "--interactive", container, "sh", "-c", script, place, given=text.encode())


def _base() -> str:
    """Two layers: kind's own recipe on our Debian, and the programs."""
    recipe = sources(programs.KIND) / "images" / "base"
    kinds, tag = "spillway-e2e-kind:base", "spillway-e2e-kind:programs"
    docker.build(kinds, recipe, target=STAGE, arguments={"BASE_IMAGE": bases.debian()})
    with tempfile.TemporaryDirectory(prefix="spillway-node-") as scratch:
        folder = Path(scratch)
        for name in ("Dockerfile", "bridge.conflist"):
            shutil.copy(HERE / name, folder)
        _copy(programs.CONTAINERD, folder / "bin")
        _copy(programs.CNI, folder / "cni")
        docker.build(tag, folder, arguments={"BASE_IMAGE": kinds})
    return tag


def _copy(wanted: Iterable[Program], folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for program in wanted:
        shutil.copy(programs.path(program), folder / program.name)
