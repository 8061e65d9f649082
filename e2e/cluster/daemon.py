"""Docker's daemon: the one that runs, or, on a Debian where we are root, one that is installed and started."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from cluster import docker
from cluster.shell import ClusterError, Step, lab, run

PACKAGES = ("docker.io", "containerd", "runc", "iptables", "iproute2", "debootstrap")  # as Debian calls them
WITHIN = 60.0  # seconds; 2 with a store that was left in order, up to 20 after a crash
SYS_RESOURCE = 24  # the number of the capability, as in linux/capability.h
BOUNDED = "spillway-bounded"
WRAPPER = Path(__file__).with_name("runc-bounded.sh")
SETTINGS = Path("/etc/docker/daemon.json")
SOCKET = "unix:///var/run/docker.sock"


def ensure(telling: Step) -> None:
    """Return when a daemon answers."""
    if shutil.which("docker") and docker.answers():
        telling.note = "runs"
        return
    if os.environ.get("DOCKER_HOST"):
        message = f"Docker does not answer at DOCKER_HOST={os.environ['DOCKER_HOST']}: start it there, or unset this"
        raise ClusterError(message)
    if os.geteuid() or not shutil.which("apt-get"):
        message = (
            "a cluster for tests needs Docker, and no daemon answers: start it (Docker Desktop, systemctl start docker)"
        )
        raise ClusterError(message)
    install(*PACKAGES)
    _start()
    telling.note = "started"


def install(*packages: str) -> None:
    """Debian packages, those that are not there yet."""
    installed = run("dpkg-query", "-W", "-f", "${Package} ${db:Status-Status}\n").splitlines()
    if missing := [name for name in packages if f"{name} installed" not in installed]:
        environment = {"DEBIAN_FRONTEND": "noninteractive"}
        run("apt-get", "update", "-qq", environment=environment)
        run("apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, environment=environment)


def stop() -> bool:
    """End the daemon, if it is one that was started here; whether there was one."""
    file = lab() / "dockerd.pid"
    pid = _ours()
    if pid is None:
        return False
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + WITHIN
    while _ours() is not None and time.monotonic() < deadline:
        time.sleep(0.2)
    file.unlink(missing_ok=True)
    return True


def _ours() -> int | None:
    """The process of the daemon that was started here, if it still runs."""
    try:
        pid = int((lab() / "dockerd.pid").read_text())
        # A zombie has a name too: where nobody collects orphans it would be waited for in vain.
        state = Path(f"/proc/{pid}/stat").read_text().split()
    except (OSError, ValueError):
        return None
    return pid if state[1] == "(dockerd)" and state[2] != "Z" else None


def _start() -> None:
    if _ours() is None:
        Path("/var/run/docker.pid").unlink(missing_ok=True)  # of one that died: nobody answers, and none is ours
    Path("/lib/modules").mkdir(exist_ok=True)  # kind mounts it into the node, and takes it for granted
    # A file of its own: what is set in the machine's and in a flag too is refused.
    log, settings = lab() / "dockerd.log", lab() / "daemon.json"
    settings.write_text(json.dumps(_configuration()))
    with log.open("w") as output:
        daemon = subprocess.Popen(
            ["dockerd", "--host", SOCKET, "--config-file", str(settings)],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            start_new_session=True,  # it stays when we end: the next run finds it and its images
        )
    (lab() / "dockerd.pid").write_text(str(daemon.pid))
    deadline = time.monotonic() + WITHIN
    while not docker.answers():
        if daemon.poll() is not None or time.monotonic() > deadline:
            end = "\n".join(log.read_text().splitlines()[-20:])
            message = f"Docker's daemon did not start. The end of its log, {log}:\n{end}"
            raise ClusterError(message)
        time.sleep(0.3)


def _configuration() -> dict[str, Any]:
    """What this machine's daemon is set up for; where a capability is missing, with a runtime that does without.

    A container within a container or a small virtual machine often has no CAP_SYS_RESOURCE. `docker run --privileged`,
    which is how kind starts a node, asks for all capabilities there are, and is then refused. So a wrapper takes this
    one out of what is asked for.
    """
    found: dict[str, Any] = json.loads(SETTINGS.read_text("utf-8")) if SETTINGS.is_file() else {}
    status = Path("/proc/self/status").read_text().splitlines()
    bounding = next(int(line.split()[1], 16) for line in status if line.startswith("CapBnd"))
    if bounding >> SYS_RESOURCE & 1:
        return found
    place = lab() / WRAPPER.stem
    shutil.copy(WRAPPER, place)
    place.chmod(0o755)
    runtimes = {**found.get("runtimes", {}), BOUNDED: {"path": str(place)}}
    return {**found, "runtimes": runtimes, "default-runtime": BOUNDED}
