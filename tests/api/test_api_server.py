"""The API server that other tests stand on: it answers, and nothing of it stays behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import api_server as servers
import kubernetes_programs as programs
import remains
from spillway.local import ports

if TYPE_CHECKING:
    from api_server import ApiServer

A_CONFIG_MAP = """
apiVersion: v1
kind: ConfigMap
metadata: {name: written-by-a-test, namespace: default}
data: {answer: "42"}
"""


def test_it_stores_what_is_applied(api_server: ApiServer) -> None:
    applied = api_server.kubectl("apply", "--server-side", "-f", "-", input=A_CONFIG_MAP)
    assert applied.returncode == 0, applied.stderr
    stored = api_server.kubectl("get", "configmap", "written-by-a-test", "-o", "json")
    assert json.loads(stored.stdout)["data"] == {"answer": "42"}


def test_it_refuses_what_has_no_kind(api_server: ApiServer) -> None:
    refused = api_server.kubectl("apply", "--server-side", "-f", "-", input="apiVersion: v1\nmetadata: {name: x}\n")
    assert refused.returncode != 0
    assert "kind" in refused.stderr


def test_it_has_the_version_that_was_asked_for(api_server: ApiServer) -> None:
    version = json.loads(api_server.kubectl("version", "-o", "json").stdout)
    assert version["serverVersion"]["gitVersion"] == f"v{programs.KUBERNETES_VERSION}"


@pytest.mark.usefixtures("api_server")  # for its group, and because the programs are then built
def test_after_a_stop_no_process_no_port_and_no_directory_is_left() -> None:
    with servers.running() as server:
        directory, port = server.directory, int(server.url.rpartition(":")[2])
        assert ports.taken(port)
        assert remains.processes(str(directory))
    assert not directory.exists()
    assert not remains.processes(str(directory))
    assert not ports.taken(port)


@pytest.mark.usefixtures("api_server")
def test_when_its_parent_is_killed_no_process_no_port_and_no_directory_is_left() -> None:
    program = """
import time, api_server
with api_server.running() as server:
    print(server.directory, server.url, flush=True)
    time.sleep(600)
"""
    directory, url = remains.told_by_a_parent_that_is_then_killed(program)
    assert remains.gone(Path(directory))
    assert not ports.taken(int(url.rpartition(":")[2]))


@pytest.mark.usefixtures("api_server")
def test_a_server_that_does_not_start_says_what_its_processes_wrote(monkeypatch: pytest.MonkeyPatch) -> None:
    broken = [f"--etcd-servers=http://{ports.LOOPBACK}:1", "--no-such-flag"]
    monkeypatch.setattr(servers.ApiServer, "_api_flags", lambda *_: broken)
    said = r"kube-apiserver ended(.|\n)*unknown flag: --no-such-flag"
    with pytest.raises(servers.StartError, match=said), servers.running():
        pytest.fail("it says that it is ready")
