"""Enforces NetworkPolicies on a node that we have made, while tests run: its network takes them and does nothing.

The node of kind's own image has somebody who does that. Here a thread for each kind of object follows the API server,
and rules are written anew when something has changed (`cluster.policies`).
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import api
from cluster import docker, kind, policies
from cluster.policies import CHAIN
from cluster.shell import ClusterError

KINDS = ("/api/v1/pods", "/api/v1/namespaces", "/apis/networking.k8s.io/v1/networkpolicies")
# Through the first go packets between pods, through the second those to the node, which has the API server.
HOOKS = ("FORWARD", "INPUT")
TOGETHER = 0.05  # seconds in which more changes come after a first one
AGAIN = 1.0  # seconds until a server that did not answer is asked again
LONG = 300  # seconds after which a server ends a watch by itself


class Enforcer:
    """Follows three kinds of objects, and writes rules."""

    def __init__(self) -> None:
        self._known: dict[str, dict[str, Any]] = {}
        self._changed = threading.Event()
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._problem = ""
        self._threads = [threading.Thread(target=self._follow, args=(where,), daemon=True) for where in KINDS]
        self._threads.append(threading.Thread(target=self._write, daemon=True))

    def start(self) -> None:
        """From now on policies hold."""
        for thread in self._threads:
            thread.start()

    def end(self) -> None:
        """From now on they don't."""
        self._over.set()
        self._changed.set()
        self._threads[-1].join()
        for hook in HOOKS:
            with contextlib.suppress(ClusterError):
                _iptables("-D", hook, "-j", CHAIN)
        if self._problem:
            sys.stderr.write(f"\nNetworkPolicies were not enforced all the time; the last reason: {self._problem}\n")

    def _follow(self, where: str) -> None:
        while not self._over.is_set():
            try:
                for found in api.followed(where, LONG):
                    with self._lock:
                        self._known[where] = found
                    self._changed.set()
                    if self._over.is_set():
                        return
            except ClusterError as error:
                self._problem = str(error)
                self._over.wait(AGAIN)

    def _write(self) -> None:
        before = ""
        while True:
            self._changed.wait()
            self._over.wait(TOGETHER)
            self._changed.clear()
            if self._over.is_set():  # asked after it is cleared: what `end` sets is not overlooked
                return
            with self._lock:
                if len(self._known) < len(KINDS):
                    continue
                pods, namespaces, given = (self._known[where].values() for where in KINDS)
            rules = policies.rules(pods, namespaces, given, kind.PODS)
            if rules != before:
                try:
                    docker.docker(
                        "exec", "--interactive", kind.NODE, "iptables-restore", "--noflush", given=rules.encode()
                    )
                    self._hook()
                    before = rules
                except ClusterError as error:
                    self._problem = str(error)
                    self._over.wait(AGAIN)
                    self._changed.set()

    def _hook(self) -> None:
        """In front of all others, who let through what they know."""
        for hook in HOOKS:
            try:
                _iptables("-C", hook, "-j", CHAIN)
            except ClusterError:
                _iptables("-I", hook, "1", "-j", CHAIN)


def _iptables(*arguments: str) -> str:
    return docker.docker("exec", kind.NODE, "iptables", *arguments)


@contextlib.contextmanager
def enforced() -> Iterator[None]:
    """While tests run; by whoever does that on a node that we have not made."""
    if kind.stock():
        yield
        return
    found = Enforcer()
    found.start()
    try:
        yield
    finally:
        found.end()
