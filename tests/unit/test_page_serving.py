"""The page over HTTP: its files and nothing else, what it is told, and how many may listen."""

from __future__ import annotations

import contextlib
import http.client
import json
import logging
import queue
import re
import socket
import string
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

import recorded_job
from recorded_job import Teller
from spillway.runtime.page import events, files, listeners
from spillway.runtime.page.listeners import Listeners
from spillway.runtime.web import Reply, Stream

FILES = files.read()
PAGE = recorded_job.unserved()


class Found(NamedTuple):
    status: int
    headers: http.client.HTTPMessage
    body: bytes


@pytest.fixture(scope="module")
def teller() -> Iterator[Teller]:
    recording = recorded_job.moments(120)
    with recorded_job.telling(recording[0].seen) as found:
        found.tell(*recording[:100])
        yield found


def get(teller: Teller, path: str) -> Found:
    client = http.client.HTTPConnection(teller.address, timeout=10)
    client.request("GET", path)
    answer = client.getresponse()
    found = Found(answer.status, answer.headers, answer.read())
    client.close()
    return found


class Listening:
    """A browser that listens."""

    def __init__(self, teller: Teller) -> None:
        self._client = http.client.HTTPConnection(teller.address, timeout=10)
        self._client.request("GET", "/v1/events")
        self.answer = self._client.getresponse()

    def next(self) -> tuple[str, Any]:
        """The next event, whatever comes before it."""
        name = ""
        while True:
            line = self.answer.readline().decode()
            assert line, "hung up"
            if line.startswith("event: "):
                name = line.removeprefix("event: ").strip()
            elif line.startswith("data: "):
                return name, json.loads(line.removeprefix("data: "))

    def close(self) -> None:
        self.answer.close()
        self._client.close()


@pytest.fixture
def listening(teller: Teller) -> Iterator[Listening]:
    found = Listening(teller)
    yield found
    found.close()


# Files


def test_the_page_and_all_that_it_names_is_there(teller: Teller) -> None:
    index = get(teller, "/")
    named = re.findall(r'(?:href|src)="(page/[^"]+)"', index.body.decode())

    assert index.status == 200
    assert index.headers["Content-Type"] == "text/html; charset=utf-8"
    assert {"page/main.js", "page/page.css", "page/icon.svg"} <= set(named)
    assert {name: get(teller, f"/{name}").status for name in named} == dict.fromkeys(named, 200)


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("main.js", "text/javascript; charset=utf-8"),
        ("page.css", "text/css; charset=utf-8"),
        ("icon.svg", "image/svg+xml"),
    ],
)
def test_files_say_what_they_are(name: str, kind: str, teller: Teller) -> None:
    assert get(teller, f"/page/{name}").headers["Content-Type"] == kind


@pytest.mark.parametrize("path", ["/", "/page/main.js"])
def test_a_browser_may_run_nothing_from_elsewhere(path: str, teller: Teller) -> None:
    headers = get(teller, path).headers

    assert headers["Content-Security-Policy"].startswith("default-src 'self';")
    assert "unsafe" not in headers["Content-Security-Policy"]
    assert headers["X-Content-Type-Options"] == "nosniff"


@pytest.mark.parametrize(
    "path",
    ["/page/", "/page/../serving.py", "/page/serving.py", "/page//etc/passwd", "/page/%2e%2e/web.py", "/page/main.js/",
     "/page/static/main.js", "/page/MAIN.JS", "/index.html", "/page/main.js%00"],
)  # fmt: skip
def test_nothing_but_its_files_is_given_away(path: str, teller: Teller) -> None:
    found = get(teller, path)

    assert found.status == 404
    assert "problem" in json.loads(found.body)


@given(
    st.lists(st.sampled_from(["..", ".", "/", "%2e", "%2f", "\\", "main.js", "page", "static", "\0", "etc", "é"])).map(
        "".join
    )
)
def test_any_other_name_is_not_there(name: str) -> None:
    assert (name in FILES) == (name == "main.js")


@given(st.text(string.printable, max_size=60))
def test_no_path_makes_the_server_fail(path: str) -> None:
    found = PAGE.gets["/page/"](path, "", "")

    assert isinstance(found, Reply)
    assert found.status in (200, 404)


# What is told


def test_the_past_has_a_sample_for_each_second(teller: Teller) -> None:
    past = json.loads(get(teller, "/v1/history").body)

    assert past["version"] == 1
    assert len(past["samples"]) >= 100
    assert {"at", "within", "p50_ms", "p99_ms", "rate_in", "rate_out", "segments"} == past["samples"][0].keys()


def test_the_graph_is_that_of_the_plan(teller: Teller) -> None:
    graph = json.loads(get(teller, "/v1/topology").body)

    assert graph["plan"] == 3
    assert [one["id"] for one in graph["nodes"] if one["kind"] == "output"] == ["output/result"]


def test_what_is_decided_now_can_be_asked_for(teller: Teller) -> None:
    now = json.loads(get(teller, "/v1/deciding").body)["deciding"]

    assert now["switching"]["sentence"].startswith("hold: ")
    assert now["provisioning"]["reason"] == "Steady"


def test_before_there_is_a_plan_the_graph_is_empty() -> None:
    found = PAGE.gets["/v1/topology"]("", "", "")

    assert isinstance(found, Reply)
    assert json.loads(found.body) == {"version": 1, "plan": None, "nodes": [], "edges": []}


def test_who_listens_hears_at_once_how_everything_stands(listening: Listening) -> None:
    assert listening.answer.headers["Content-Type"] == events.KIND
    (first, seen), (second, now) = listening.next(), listening.next()

    assert (first, second) == ("observation", "deciding")
    assert seen["job"] == "default/ysb"
    assert {"V", "P_D", "P_O", "L", "L_switch", "L_up", "L_down", "T"} == now["switching"]["verdicts"][0][
        "inputs"
    ].keys()


def test_then_what_is_new(teller: Teller, listening: Listening) -> None:
    listening.next(), listening.next()
    moment = recorded_job.moments(120)[110]  # the burst has come

    teller.tell(moment)
    heard = [listening.next()]
    while heard[-1][0] != "deciding":
        heard.append(listening.next())

    names = [name for name, _ in heard]
    assert set(names[:-3]) == {"decision"}
    assert names[-3:] == ["sample", "observation", "deciding"]
    assert dict(heard)["observation"]["at"] == moment.seen.at


def test_while_nothing_is_new_there_is_a_beat(teller: Teller, listening: Listening) -> None:
    listening.next(), listening.next()

    teller.page.turn()

    assert listening.next() == ("beat", {})


def test_only_decisions_behind_the_last_one_are_news() -> None:
    news = events.News()
    first, second, third = {"at": 1}, {"at": 1}, {"at": 1}

    assert news.among([]) == []
    assert news.among([first, second]) == [first, second]
    assert news.among([first, second]) == []
    assert news.among([second, third]) == [third]
    assert news.among([{"at": 9}]) == [{"at": 9}]  # what was seen last is gone


# Limits


class Browsers:
    """Who listens, by a socket each."""

    def __init__(self, most: int = listeners.MOST) -> None:
        self.listeners = Listeners(most)
        self._sockets: list[socket.socket] = []

    def join(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        self._sockets.append(theirs)
        theirs.settimeout(5)
        answer = self.listeners.answer(b"")
        assert isinstance(answer, Stream)
        answer.take(ours)
        return theirs

    def close(self) -> None:
        self.listeners.close()
        for one in self._sockets:
            one.close()


@pytest.fixture
def browsers() -> Iterator[Browsers]:
    found = Browsers(most=2)
    yield found
    found.close()


def test_one_too_many_is_told_so(browsers: Browsers) -> None:
    browsers.join()
    browsers.join()

    late = browsers.listeners.answer(b"")

    assert isinstance(late, Reply)
    assert late.status == 503
    assert "2 pages of this job are open already; close one" in late.body.decode()


def test_who_has_gone_makes_room(browsers: Browsers) -> None:
    browsers.join().close()
    browsers.join()

    for _ in range(2):  # a closed connection is noticed when it is written to
        browsers.listeners.tell(b": x\n\n")

    assert len(browsers.listeners) == 1
    assert isinstance(browsers.listeners.answer(b""), Stream)


def test_who_is_too_slow_is_hung_up_on_and_holds_nobody_up(browsers: Browsers) -> None:
    browsers.join()
    quick = browsers.join()
    quick.setblocking(False)
    piece = b": " + b"x" * 50_000 + b"\n\n"
    heard = 0

    for _ in range(3 * listeners.SLOWEST // len(piece)):
        browsers.listeners.tell(piece)
        with contextlib.suppress(BlockingIOError):
            while True:
                heard += len(quick.recv(1 << 20))

    assert len(browsers.listeners) == 1
    assert heard > listeners.SLOWEST


def test_at_the_end_everybody_is_hung_up_on(browsers: Browsers) -> None:
    one = browsers.join()

    browsers.listeners.close()

    assert one.recv(100) == events.BEGIN
    assert one.recv(100) == b""
    assert browsers.join().recv(100) == b""  # who comes later as well


def test_who_listens_takes_no_place_of_a_request(teller: Teller) -> None:
    many = [Listening(teller) for _ in range(listeners.MOST)]

    assert get(teller, "/v1/history").status == 200
    assert get(teller, "/v1/events").status == 503

    for one in many:
        one.close()
    for _ in range(3):
        teller.see()


def test_a_turn_that_fails_is_logged_and_the_next_one_comes(caplog: pytest.LogCaptureFixture) -> None:
    asked: queue.Queue[None] = queue.Queue()

    def fails() -> list[dict[str, Any]]:
        asked.put(None)
        raise ZeroDivisionError

    page = recorded_job.unserved(fails)
    with caplog.at_level(logging.ERROR):
        page.start()
        for _ in range(2):
            asked.get(timeout=5)
        page.stop()

    assert "the page could not be told what is new" in caplog.text
