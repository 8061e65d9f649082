"""Ports of the loopback interface, for servers that can't say which free one they took."""

import contextlib
import secrets
import socket

LOOPBACK = "127.0.0.1"

# Below the ranges from which Linux (32768) and macOS (49152) give ports to connections that go out. So none of those
# takes a port between our look and the server's bind, and a connection to a port where nobody listens yet can't be
# given that same port as its own end, and so reach itself and hold the port against the server.
SERVERS = range(15000, 32768)


def free(count: int) -> list[int]:
    """Random ports that nobody listens on right now, all different.

    Another server may take one before it is used: who starts a server on them tries again with others when it fails.
    """
    found: list[int] = []
    while len(found) < count:
        port = secrets.choice(SERVERS)
        if port not in found and not taken(port):
            found.append(port)
    return found


def taken(port: int) -> bool:
    """Whether a server can't listen on this port now; the remains of closed connections don't count, as for Kafka."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False


def answers(port: int) -> bool:
    """Whether somebody accepts connections on this port."""
    with contextlib.suppress(OSError), socket.create_connection((LOOPBACK, port), timeout=1):
        return True
    return False
