"""Fixtures that more than one room's tests use."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from api_server import ApiServer
    from spark_oracle import Oracle


@pytest.fixture(scope="session")
def spark() -> Iterator[Any]:
    """One warm local Spark; put its users into `pytest.mark.xdist_group("spark")`, so that there is only one."""
    import spark_oracle  # only who asks for it pays for importing PySpark

    session = spark_oracle.start()
    yield session
    session.stop()


@pytest.fixture(scope="session")
def oracle(spark: Any) -> Oracle:
    """Spark's answer to expressions, value by value."""
    import spark_oracle

    return spark_oracle.Oracle(spark)


# Servers that a whole session shares: the name of the fixture, and the marker and group of the tests that use it.
SHARED_SERVERS = {"api_server": "api", "broker": "broker"}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put the tests of a shared server into one worker, so that there is one server.

    Their time limit covers the test alone: what a server needs may have to be fetched or built first, for minutes.
    """
    for fixture, name in SHARED_SERVERS.items():
        if fixture in getattr(item, "fixturenames", ()):
            item.add_marker(name)
            item.add_marker(pytest.mark.xdist_group(name))
            if item.get_closest_marker("timeout") is None:
                item.add_marker(pytest.mark.timeout(func_only=True))


@pytest.fixture(scope="session")
def api_server(request: pytest.FixtureRequest) -> Iterator[ApiServer]:
    """A real Kubernetes API without nodes, shared: make what you need in a namespace, or under a name, of your own."""
    import api_server

    capture = request.config.pluginmanager.getplugin("capturemanager")

    def say(line: str) -> None:
        with capture.global_and_fixture_disabled():  # a build of minutes has to be seen while it runs
            sys.stderr.write(f"{line}\n")

    with api_server.running(say) as server:
        yield server
