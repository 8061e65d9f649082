"""Free ports of the loopback interface."""

import contextlib
import socket

LOOPBACK = "127.0.0.1"


def free(count: int) -> tuple[int, ...]:
    """Ports that nobody listens on right now, all different.

    Somebody else may take one before it is used: who starts a server on them tries again with others when it fails.
    """
    with contextlib.ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind((LOOPBACK, 0))
        return tuple(each.getsockname()[1] for each in sockets)


def taken(port: int) -> bool:
    """Whether a server can't listen on this port now; the remains of closed connections don't count, as for Kafka."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return True
    return False
