"""Fixtures that more than one room's tests use."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import hypothesis
import pytest

import fuzzing

if TYPE_CHECKING:
    from api_server import ApiServer
    from spark_oracle import Oracle
    from spillway.local.broker import Broker
    from spillway.local.installation import Installation

# No test asks the cluster of whoever runs it: one that wants a cluster names its own.
os.environ["KUBECONFIG"] = os.devnull

hypothesis.settings.register_profile("spillway", fuzzing.cases(100))
hypothesis.settings.load_profile("spillway")


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
FETCHED = {"kafka", *SHARED_SERVERS}


def pytest_itemcollected(item: pytest.Item) -> None:
    """Put the tests of a shared server into one worker, so that there is one server.

    Their time limit covers the test alone: what a server needs may have to be fetched or built first, for minutes.
    """
    used = set(getattr(item, "fixturenames", ()))
    for name in {SHARED_SERVERS[fixture] for fixture in used & SHARED_SERVERS.keys()}:
        item.add_marker(name)
        item.add_marker(pytest.mark.xdist_group(name))
    if used & FETCHED and item.get_closest_marker("timeout") is None:
        item.add_marker(pytest.mark.timeout(func_only=True))


@pytest.fixture(scope="session")
def kafka() -> Installation:
    """Kafka, fetched and prepared; for tests that start brokers of their own."""
    from spillway.local import broker

    return broker.prepared()


@pytest.fixture(scope="session")
def broker(kafka: Installation) -> Iterator[Broker]:
    """A real Kafka broker, shared: use topics, groups and transactional ids of your own."""
    from spillway.local import broker

    with broker.Broker(using=kafka) as running:
        yield running


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
