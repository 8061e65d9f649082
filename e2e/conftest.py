"""Fixtures of the tests on a cluster: `make e2e` makes it, these find it."""

from __future__ import annotations

import contextlib
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import enforcing
import spaces
from cluster import kind, release, shell
from spaces import Space

# Where what could explain a failure is written; a folder for each test, of the last run.
BUNDLES = Path(__file__).parent / "failures"
FAILED = pytest.StashKey[bool]()


def pytest_configure(config: pytest.Config) -> None:
    """One cluster of one node: tests run one after the other."""
    if getattr(config.option, "numprocesses", None):
        message = "these tests share one node: run them without -n, or with -n 0"
        raise pytest.UsageError(message)


@pytest.fixture(scope="session", autouse=True)
def cluster() -> Iterator[None]:
    """The cluster with the operator in it, on a network that enforces policies."""
    try:
        there = release.installed()
    except shell.ClusterError as error:
        pytest.exit(f"cluster '{kind.NAME}' does not answer, `make e2e` makes it: {error}", returncode=3)
    if not there:
        pytest.exit(f"there is no operator in cluster '{kind.NAME}': `make e2e` installs it", returncode=3)
    shutil.rmtree(BUNDLES, ignore_errors=True)
    release.scale(1)  # a test that was ended hard may have left none
    spaces.clear()
    with enforcing.enforced():
        yield


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo[None]) -> Iterator[None]:
    """Remember whether a test failed, and keep what could explain it, while all of it is still there."""
    report = yield
    if report.failed and call.when in ("setup", "call"):  # type: ignore[attr-defined]
        folder = BUNDLES / item.name.replace("/", "-")[:100]
        with contextlib.suppress(Exception):  # the failure itself is what has to be told
            spaces.bundle(OPEN, folder)
            (folder / "failure.txt").write_text(str(report.longrepr))  # type: ignore[attr-defined]
            sys.stderr.write(f"\nobjects, events and logs: {folder}\n")
    return report


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The figures that tests have taken, for people."""
    reports = [one for some in terminalreporter.stats.values() for one in some if getattr(one, "when", "") == "call"]
    found = [told for one in reports for told in one.user_properties]
    if found:
        terminalreporter.section("figures")
    for name, value in found:
        terminalreporter.line(f"{value:8.1f}  {name}")


OPEN: list[Space] = []


@pytest.fixture
def space(request: pytest.FixtureRequest) -> Iterator[Space]:
    """A namespace that enforces `restricted`, for this test alone."""
    with _opened(request.node.name) as found:
        yield found


@pytest.fixture
def make_space(request: pytest.FixtureRequest) -> Iterator[Callable[[], Space]]:
    """As many of them as a test wants."""
    with contextlib.ExitStack() as stack:
        yield lambda: stack.enter_context(_opened(request.node.name))


@pytest.fixture(scope="module")
def shared_space(request: pytest.FixtureRequest) -> Iterator[Space]:
    """One for all tests of a module."""
    with _opened(Path(request.node.name).stem) as found:
        yield found


@contextlib.contextmanager
def _opened(name: str) -> Iterator[Space]:
    words = name.removeprefix("test_").partition("[")[0].split("_")
    with spaces.opened("-".join(words)[:30].strip("-").lower()) as found:
        OPEN.append(found)
        try:
            yield found
        finally:
            OPEN.remove(found)
