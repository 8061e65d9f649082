"""A port of a pod, brought to this machine by `kubectl port-forward`: it comes through the kubelet, past all policies.

A NetworkPolicy of a job lets in its own pods, the operator, and who reads metrics, but not the API server; whether that
gets through all the same is up to the network of the cluster.
"""

from __future__ import annotations

import re
import selectors
import shutil
import subprocess
import time

from spillway.model.errors import NotReadyError

# Seconds until kubectl tells where the port is: two round trips, and a credential plugin that may have to be asked.
PATIENCE = 10.0
_TOLD = re.compile(r"Forwarding from (127\.0\.0\.1:\d+) -> ")


class ForwardError(NotReadyError):
    """The port can't be had; the message says why."""


class Forward:
    """It, until it is closed.

    Attributes:
        address: host:port on this machine.
    """

    def __init__(self, namespace: str, pod: str, port: int, context: str | None) -> None:
        """Raises ForwardError."""
        program = shutil.which("kubectl")
        if program is None:
            message = "there is no kubectl to forward a port with"
            raise ForwardError(message)
        of_context = ["--context", context] if context is not None else []
        command = [program, *of_context, "--namespace", namespace, "port-forward", f"pod/{pod}", f":{port}"]
        # Nothing of the command is anybody's text but names that the API server has accepted.
        self._process = subprocess.Popen(  # noqa: S603
            [*command, "--address", "127.0.0.1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        try:
            self.address = self._read()
        except ForwardError:
            self.close()
            raise

    def close(self) -> None:
        """End it."""
        self._process.kill()
        self._process.communicate()

    def _read(self) -> str:
        assert self._process.stdout is not None  # noqa: S101 - for the type alone
        deadline, told = time.monotonic() + PATIENCE, ""
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0 and selector.select(left):
                line = self._process.stdout.readline()
                if found := _TOLD.match(line):
                    return found[1]
                if not line:
                    break
                told += line
        self._process.kill()
        _, said = self._process.communicate()
        message = f"kubectl port-forward: {' '.join((told + said).split())[-300:] or f'nothing within {PATIENCE:g} s'}"
        raise ForwardError(message)
