"""How a manager bears many jobs: `python -m spillway.bench.manager --kubeconfig FILE --jobs 1000`.

On a real API server, whose cluster may do without controllers and nodes: no pod runs then, and what is measured is the
manager's own work. It starts a manager of a namespace of its own, makes the jobs, and tells

- how long it took until each was accepted, and until each had all of its children;
- how much processor time the manager took for that, and how many requests, and how busy the machine was with others;
- how much memory the manager has;
- how much of a core it takes, and how many requests it makes, when nothing happens any more.

The aims: all accepted within 60 s, 300 MB, 3 % of a core. On a machine that does other things besides, seconds say
little, and processor time says all the same what it takes.
"""

from __future__ import annotations

import argparse
import asyncio
import copy
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
import uuid
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from spillway.local import ports
from spillway.manager import kinds
from spillway.manager.cluster import ApiServer
from spillway.manager.errors import ClusterError

SECONDS, BYTES, SHARE = 60.0, 300 * 2**20, 0.03
CHILDREN = 11

JOB: dict[str, Any] = {
    "apiVersion": "spillway.dev/v1alpha1",
    "kind": "StreamJob",
    "spec": {
        "kafka": {"bootstrapServers": ["127.0.0.1:1"]},
        "latency": {"bound": "500ms"},
        "streams": [{"name": "lines", "topic": "lines", "columns": "line string"}],
        "operators": [
            {"name": "long", "input": "lines", "filter": "length(line) > 10"},
            {"name": "words", "input": "long", "explode": {"array": "split(line, ' ')", "as": "word"}},
            {
                "name": "counts",
                "input": "words",
                "aggregate": {"by": ["word"], "values": ["count(*) as n"]},
                "retention": "1h",
            },
        ],
        "outputs": [{"name": "result", "input": "counts", "topic": "counts"}],
    },
}


async def measure(jobs: int, idle: float, log: Path) -> dict[str, float]:
    """The figures."""
    cluster = await ApiServer.connected(lambda *_: None)
    namespace = f"bench-{uuid.uuid4().hex[:8]}"
    place = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
    await cluster.apply(kinds.Kind("Namespace", "", "v1", "namespaces"), place)
    port = ports.free(1)[0]
    command = [
        sys.executable, "-m", "spillway.manager", "--namespace", namespace, "--lease-namespace", namespace, "--image",
        "none", "--host", ports.LOOPBACK, "--port", str(port),
    ]  # fmt: skip
    with log.open("wb") as out:
        process = subprocess.Popen(command, stderr=out, env=os.environ)  # noqa: ASYNC220, S603 - ours
    try:
        await _until(lambda: _answers(port))
        began, first, busy = time.monotonic(), _cpu(process.pid), _machine()
        turns = asyncio.Semaphore(16)

        async def make(number: int) -> None:
            job = copy.deepcopy(JOB)
            job["metadata"] = {"name": f"job-{number:04d}", "namespace": namespace}
            async with turns:
                await cluster.create(kinds.STREAM_JOB, job)

        await asyncio.gather(*(make(number) for number in range(jobs)))
        made = time.monotonic() - began
        await _until(lambda: _accepted(port) >= jobs)
        accepted = time.monotonic() - began
        took, requests, others = _cpu(process.pid) - first, _requests(port), _machine() - busy
        children = 0
        for kind in kinds.CHILDREN:
            if kind is not kinds.POD_MONITOR:
                children += len([_ async for _ in cluster.all(kind, namespace, "spillway.dev/job", metadata=True)])
        await asyncio.sleep(20)  # what was begun is done
        before, asked, at = _cpu(process.pid), _requests(port), time.monotonic()
        await asyncio.sleep(idle)
        span = time.monotonic() - at
        return {
            "jobs": jobs,
            "made_s": round(made, 1),
            "accepted_s": round(accepted, 1),
            "accepted_cpu_s": round(took, 1),
            "accepted_requests_each": round(requests / jobs, 1),
            "machine_cores_busy": round(others / accepted, 2),
            "machine_cores": os.cpu_count() or 1,
            "children_of_each": children / jobs,
            "memory_mb": round(_memory(process.pid) / 2**20),
            "idle_cpu": round((_cpu(process.pid) - before) / span, 4),
            "idle_requests_per_minute": round((_requests(port) - asked) * 60 / span),
        }
    finally:
        process.terminate()
        process.wait(30)
        await _clear(cluster, namespace)
        await cluster.close()


async def _clear(cluster: ApiServer, namespace: str) -> None:
    """The jobs would keep the CRD from being deleted; without a manager nobody else takes their finalizers."""
    async for job in cluster.all(kinds.STREAM_JOB, namespace, metadata=True):
        metadata = job["metadata"]
        try:
            await cluster.merge(kinds.STREAM_JOB, namespace, metadata["name"], {"metadata": {"finalizers": []}})
            await cluster.delete(kinds.STREAM_JOB, namespace, metadata["name"], metadata["uid"])
        except ClusterError:
            continue


async def _until(so: Any, within: float = 600.0) -> None:
    deadline = time.monotonic() + within
    while not so():
        if time.monotonic() > deadline:
            message = f"not within {within:.0f} s"
            raise TimeoutError(message)
        await asyncio.sleep(1)  # each look makes the manager write down all of its metrics


def _read(port: int, path: str) -> str:
    try:
        with urllib.request.urlopen(f"http://{ports.LOOPBACK}:{port}{path}", timeout=10) as answer:
            return str(answer.read().decode())
    except OSError:
        return ""


def _answers(port: int) -> bool:
    return _read(port, "/readyz").strip() == "ok"


def _accepted(port: int) -> int:
    return sum(
        line.startswith("spillway_job_condition{") and 'type="Accepted"' in line and line.endswith(" 1.0")
        for line in _read(port, "/metrics").splitlines()
    )


def _requests(port: int) -> float:
    lines = _read(port, "/metrics").splitlines()
    return sum(float(line.rpartition(" ")[2]) for line in lines if line.startswith("spillway_manager_requests_total{"))


def _cpu(pid: int) -> float:
    """Seconds of processor time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def _machine() -> float:
    """Seconds of processor time of everybody, the manager and the API server included."""
    fields = [int(one) for one in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]]
    return (sum(fields) - fields[3] - fields[4]) / os.sysconf("SC_CLK_TCK")


def _memory(pid: int) -> int:
    pages = int(Path(f"/proc/{pid}/statm").read_text().split()[1])
    return pages * os.sysconf("SC_PAGE_SIZE")


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure, and tell whether the aims are met."""
    parser = argparse.ArgumentParser(prog="python -m spillway.bench.manager", description=__doc__)
    parser.add_argument("--kubeconfig", type=Path, help="of the API server (default: KUBECONFIG)")
    parser.add_argument("--jobs", type=int, default=1000)
    parser.add_argument("--idle", type=float, default=60.0, metavar="S", help="how long to watch it do nothing")
    given = parser.parse_args(arguments)
    if given.kubeconfig:
        os.environ["KUBECONFIG"] = str(given.kubeconfig)
    with tempfile.TemporaryDirectory() as folder:
        found = asyncio.run(measure(given.jobs, given.idle, Path(folder) / "log"))
    missed = [
        name
        for name, value, aim in (
            ("accepted_s", found["accepted_s"], SECONDS),
            ("memory_mb", found["memory_mb"] * 2**20, BYTES),
            ("idle_cpu", found["idle_cpu"], SHARE),
        )
        if value > aim
    ]
    sys.stdout.write(json.dumps({**found, "missed": missed}, indent=1) + "\n")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
