"""A real Kubernetes API without nodes: etcd and kube-apiserver on loopback ports, in a directory of their own.

Enough for what only the API server decides: schemas and CEL rules of CRDs, RBAC, server-side apply, admission,
watches. Not enough for what controllers and nodes do: no pod ever runs, no owner's children are collected.
"""

import contextlib
import os
import secrets
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

import yaml

import audits
import kubernetes_programs as programs
from spillway.local import ports
from spillway.local.process import Process

READY_WITHIN = timedelta(seconds=60)  # 3 to 5 s on an idle machine; a busy one with two cores took 20
STOP_WITHIN = timedelta(seconds=10)
ATTEMPTS = 3  # each with new ports: another process can take a port between our look and the server's bind


class StartError(Exception):
    """The API server did not become ready; the message ends with the logs of both processes."""


class ApiServer:
    """etcd and kube-apiserver, running; `kubeconfig` names them, with the rights of cluster-admin."""

    def __init__(self, directory: Path, say: programs.Say) -> None:
        self.directory = directory
        self.kubeconfig = directory / "kubeconfig"
        self._kubectl = programs.path(programs.KUBECTL, say)
        etcd, api = programs.path(programs.ETCD, say), programs.path(programs.KUBE_APISERVER, say)
        etcd_port, peer_port, api_port = ports.free(3)
        self.url = f"https://{ports.LOOPBACK}:{api_port}"
        token = self._write_credentials()
        self.processes = {
            "etcd": self._start([etcd, *self._etcd_flags(etcd_port, peer_port)]),
            "kube-apiserver": self._start([api, *self._api_flags(etcd_port, api_port)]),
        }
        self._write_kubeconfig(token)

    def kubectl(self, *arguments: str, input: str | None = None) -> subprocess.CompletedProcess[str]:  # noqa: A002
        """Run kubectl against this server; its outcome is the caller's to judge."""
        command = [str(self._kubectl), "--cache-dir", str(self.directory / "kubectl-cache"), *arguments]
        environment = {**os.environ, "KUBECONFIG": str(self.kubeconfig)}
        return subprocess.run(command, input=input, env=environment, capture_output=True, text=True, check=False)

    def wait_until_ready(self) -> None:
        """Return when /readyz answers; raise `StartError` when a process has ended or the time is over."""
        deadline = time.monotonic() + READY_WITHIN.total_seconds()
        while self.kubectl("get", "--raw", "/readyz").returncode:
            ended = [name for name, process in self.processes.items() if not process.running()]
            if ended or time.monotonic() > deadline:
                state = f"{', '.join(ended)} ended" if ended else f"not ready after {READY_WITHIN}"
                message = f"{state}\n{self.logs()}"
                raise StartError(message)
            time.sleep(0.1)

    def logs(self) -> str:
        """The end of what both processes wrote."""
        return "\n".join(f"--- {name}\n{process.log_tail()}" for name, process in self.processes.items())

    def stop(self) -> None:
        """End both processes; the API server first, because it complains for a while without its etcd."""
        for process in reversed(self.processes.values()):
            process.stop(STOP_WITHIN)

    def _start(self, command: list[str | Path]) -> Process:
        log = self.directory / f"{Path(command[0]).name}.log"
        return Process(command, log, folder=self.directory, removed_with_us=self.directory)

    def _write_credentials(self) -> str:
        """The key that signs service-account tokens, and a token for us, which is returned."""
        if shutil.which("openssl") is None:
            message = "the program 'openssl' is needed to make the API server's key: install it (Debian: openssl)"
            raise StartError(message)
        key = ["openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", str(self._key)]
        subprocess.run(key, check=True, capture_output=True)
        token = secrets.token_hex(16)
        (self.directory / "tokens.csv").write_text(f"{token},admin,admin,system:masters\n")
        return token

    @property
    def _key(self) -> Path:
        return self.directory / "service-accounts.key"

    def _etcd_flags(self, client_port: int, peer_port: int) -> list[str]:
        client, peer = (f"http://{ports.LOOPBACK}:{port}" for port in (client_port, peer_port))
        return [
            f"--data-dir={self.directory / 'etcd'}",
            f"--listen-client-urls={client}",
            f"--advertise-client-urls={client}",
            f"--listen-peer-urls={peer}",
            f"--initial-advertise-peer-urls={peer}",
            f"--initial-cluster=default={peer}",
            "--unsafe-no-fsync",  # the data does not outlive the test
        ]

    def _api_flags(self, etcd_port: int, port: int) -> list[str]:
        return [
            f"--etcd-servers=http://{ports.LOOPBACK}:{etcd_port}",
            f"--bind-address={ports.LOOPBACK}",
            f"--secure-port={port}",
            f"--cert-dir={self.directory / 'certificates'}",  # it makes its own certificate there
            "--service-cluster-ip-range=10.96.0.0/24",
            "--service-account-issuer=https://kubernetes.default.svc",
            f"--service-account-key-file={self._key}",
            f"--service-account-signing-key-file={self._key}",
            f"--token-auth-file={self.directory / 'tokens.csv'}",
            "--authorization-mode=RBAC",
            "--disable-admission-plugins=ServiceAccount",  # no controller makes the default account that it asks for
            "--endpoint-reconciler-type=none",
            f"--audit-policy-file={self._audit_policy()}",
            f"--audit-log-path={self.directory / audits.LOG}",
            "--audit-log-mode=blocking-strict",  # what was answered stands in it
        ]

    def audit(self) -> list[str]:
        """What was asked so far, an event in each line."""
        return (self.directory / audits.LOG).read_text(encoding="utf-8").splitlines()

    def _audit_policy(self) -> Path:
        file = self.directory / "audit-policy.yaml"
        file.write_text(audits.POLICY)
        return file

    def _write_kubeconfig(self, token: str) -> None:
        # The certificate is checked, so that clients that warn about unchecked ones stay quiet; it is its own CA.
        authority = str(self.directory / "certificates" / "apiserver.crt")
        content = {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": "test", "cluster": {"server": self.url, "certificate-authority": authority}}],
            "users": [{"name": "admin", "user": {"token": token}}],
            "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
            "current-context": "test",
        }
        self.kubeconfig.write_text(yaml.safe_dump(content))


@contextlib.contextmanager
def running(say: programs.Say = print) -> Iterator[ApiServer]:
    """An API server that is ready; it ends, and its directory is removed, with the block."""
    for attempt in range(1, ATTEMPTS + 1):
        with tempfile.TemporaryDirectory(prefix="spillway-api-", ignore_cleanup_errors=True) as directory:
            server = ApiServer(Path(directory), say)
            try:
                try:
                    server.wait_until_ready()
                except StartError as error:
                    if attempt < ATTEMPTS and "address already in use" in str(error):
                        continue
                    raise
                yield server
                return
            finally:
                server.stop()
