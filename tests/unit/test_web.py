"""HTTP as workers and drivers answer it: bounded, and undisturbed by whoever asks badly."""

from __future__ import annotations

import http.client
import json
import queue
import socket
import time
from collections.abc import Iterator
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest

from spillway.model.observation import TOKEN_HEADER
from spillway.runtime import web
from spillway.runtime.web import AddressError, Paths, QueryError, Reply, Server, Stream, Token, TokenError

TAKEN: queue.Queue[socket.socket] = queue.Queue()


def fails(*_: str) -> Reply:
    raise ZeroDivisionError


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    paths = Paths(
        {
            "/whole": lambda *given: web.reply(HTTPStatus.OK, {"given": given}),
            "/part/": lambda *given: web.reply(HTTPStatus.OK, {"given": given}),
            "/fails": fails,
            "/dressed": lambda *_: Reply(HTTPStatus.OK, b"", headers={"X-Dress": "red"}),
            "/stream": lambda *_: Stream("text/x", TAKEN.put),
        },
        {"/put": lambda body: web.reply(HTTPStatus.OK, {"body": body.decode()})},
    )
    found = Server("127.0.0.1", 0, "spillway-test")
    found.start(paths)
    yield found
    found.stop()


def ask(server: Server, method: str, path: str, body: bytes | None = None, **headers: str) -> tuple[int, Any]:
    client = http.client.HTTPConnection(server.address, timeout=10)
    client.request(method, path, body, headers)
    answer = client.getresponse()
    found = answer.status, json.loads(answer.read() or b"null")
    client.close()
    return found


@pytest.mark.parametrize(
    ("path", "given"),
    [
        ("/whole", ["", "", "text/x"]),
        ("/whole?a=1", ["", "a=1", "text/x"]),
        ("/part/a/b?c=/d", ["a/b", "c=/d", "text/x"]),
        ("/part/", ["", "", "text/x"]),
    ],
)
def test_a_path_is_answered_with_what_is_behind_it(path: str, given: list[str], server: Server) -> None:
    assert ask(server, "GET", path, Accept="text/x") == (200, {"given": given})


@pytest.mark.parametrize("path", ["/", "/whole/", "/part", "/wholes", "/other?whole"])
def test_other_paths_are_not_there(path: str, server: Server) -> None:
    status, found = ask(server, "GET", path)

    assert status == 404
    assert "there are /whole, /part/, /fails" in found["problem"]


@pytest.mark.parametrize(
    ("query", "text"),
    [("key=u1", "u1"), ("key=", ""), ("key", ""), ("key=a+b%26c%3D", "a b&c="), ("key=%7B%22id%22%3A7%7D", '{"id":7}')],
)
def test_a_table_is_asked_for_one_key_as_it_was_written(query: str, text: str) -> None:
    assert web.key_asked(query) == text


@pytest.mark.parametrize("query", ["", "keys=1", "key=1&key=2", "key=1&window=2", "Key=1"])
def test_a_query_without_one_key_alone_is_told_how_to_write_it(query: str) -> None:
    with pytest.raises(QueryError, match=r"write one key, and nothing else: \?key=JSON"):
        web.key_asked(query)


def test_a_query_of_many_parts_is_not_even_taken_apart() -> None:
    with pytest.raises(QueryError, match="number of fields"):
        web.key_asked("&".join(["key=1"] * 5))


def test_the_root_is_no_beginning_of_other_paths() -> None:
    paths = Paths({"/": lambda *_: web.reply(HTTPStatus.OK, {"root": True})})

    assert [found.status for path in ("/", "/?a", "/x") if isinstance(found := paths.get(path, ""), Reply)] == [
        200,
        200,
        404,
    ]


def test_an_answer_may_have_more_headers(server: Server) -> None:
    client = http.client.HTTPConnection(server.address, timeout=10)
    client.request("GET", "/dressed")

    assert client.getresponse().headers["X-Dress"] == "red"
    client.close()


def test_an_answer_that_goes_on_takes_no_place(server: Server) -> None:
    clients = [http.client.HTTPConnection(server.address, timeout=10) for _ in range(web.MOST + 1)]
    for client in clients:
        client.request("GET", "/stream")
    answers = [client.getresponse() for client in clients]

    assert {(answer.status, answer.headers["Content-Type"]) for answer in answers} == {(200, "text/x")}
    assert ask(server, "GET", "/whole")[0] == 200
    for _ in clients:
        one = TAKEN.get(timeout=5)
        one.sendall(b"more\n")
        one.close()
    assert [answer.read() for answer in answers] == [b"more\n"] * len(clients)
    for client in clients:
        client.close()


def test_what_is_put_is_bounded_and_says_how_much_it_is(server: Server) -> None:
    assert ask(server, "PUT", "/put", b"some") == (200, {"body": "some"})
    assert ask(server, "PUT", "/whole", b"some")[0] == 404
    assert ask(server, "PUT", "/put", b"", **{"Content-Length": str(web.LARGEST + 1)})[0] == 413
    assert ask(server, "PUT", "/put", b"", **{"Content-Length": "-1"})[0] == 413


def test_an_answer_that_fails_is_logged_and_others_are_given(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    with pytest.raises((http.client.RemoteDisconnected, ConnectionResetError)):
        ask(server, "GET", "/fails")

    assert "could not be answered" in caplog.text
    assert ask(server, "GET", "/whole")[0] == 200


def test_who_says_nothing_takes_only_its_place(server: Server) -> None:
    host, port = server.server_address[0], server.server_address[1]
    idle = [socket.create_connection((str(host), port), timeout=10) for _ in range(web.MOST)]
    late = socket.create_connection((str(host), port), timeout=10)
    assert late.recv(1) == b""  # it is hung up on

    for one in (*idle, late):
        one.close()
    deadline = time.monotonic() + 10
    while True:
        try:
            assert ask(server, "GET", "/whole")[0] == 200
            break
        except (http.client.RemoteDisconnected, ConnectionResetError):
            assert time.monotonic() < deadline


def test_a_port_that_is_taken_is_said_in_words(server: Server) -> None:
    port = int(server.server_address[1])

    with pytest.raises(AddressError, match=f"can't listen on 127.0.0.1:{port}: .*; name another --port, or 0 for any"):
        Server("127.0.0.1", port, "spillway-test")


def test_who_listens_everywhere_names_an_address_that_others_reach() -> None:
    everywhere = Server("0.0.0.0", 0, "spillway-test")  # noqa: S104
    everywhere.server_close()

    host, _, port = everywhere.address.rpartition(":")

    assert host not in ("", "0.0.0.0")  # noqa: S104
    assert int(port) > 0


SECRET = "a1b2c3"  # noqa: S105 - of this test alone


@pytest.fixture
def guarded(tmp_path: Path) -> Iterator[Server]:
    (tmp_path / "token").write_text(f"{SECRET}\n")
    puts = {"/put": lambda body: web.reply(HTTPStatus.OK, {"body": body.decode()})}
    found = Server("127.0.0.1", 0, "spillway-test")
    gets = {"/whole": lambda *_: web.reply(HTTPStatus.OK, {})}
    found.start(Paths(gets, puts, Token(tmp_path / "token")))
    yield found
    found.stop()


@pytest.mark.parametrize(
    "given",
    [None, "", SECRET, f"Basic {SECRET}", "Bearer", "Bearer ", f"Bearer {SECRET}x", "Bearer \xe9", "Bearer a1b2"],
)
def test_who_does_not_bring_the_token_changes_nothing(
    guarded: Server, given: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    headers = {} if given is None else {"Authorization": given}
    for path in ("/put", "/elsewhere"):
        status, found = ask(guarded, "PUT", path, b"x", **headers)
        assert (status, list(found)) == (401, ["problem"])
        assert "Authorization: Bearer TOKEN" in found["problem"]
        assert SECRET not in str(found) + caplog.text


def test_who_brings_the_token_may_and_who_only_reads_needs_none(guarded: Server, tmp_path: Path) -> None:
    assert ask(guarded, "PUT", "/put", b"x", Authorization=f"Bearer {SECRET}") == (200, {"body": "x"})
    assert ask(guarded, "PUT", "/put", b"x", authorization=f"bearer  {SECRET}") == (200, {"body": "x"})
    # Through the API server, which keeps the other header to itself.
    assert ask(guarded, "PUT", "/put", b"x", **{TOKEN_HEADER: SECRET}) == (200, {"body": "x"})
    assert ask(guarded, "PUT", "/put", b"x", **{TOKEN_HEADER: "another"})[0] == 401
    assert ask(guarded, "GET", "/whole") == (200, {})
    (tmp_path / "token").write_text("another")  # a Secret that was changed
    assert ask(guarded, "PUT", "/put", b"x", Authorization=f"Bearer {SECRET}")[0] == 401
    assert ask(guarded, "PUT", "/put", b"x", Authorization="Bearer another")[0] == 200
    (tmp_path / "token").unlink()
    assert ask(guarded, "PUT", "/put", b"x", Authorization="Bearer another")[0] == 503


def test_a_token_that_is_missing_or_empty_is_none(tmp_path: Path) -> None:
    with pytest.raises(TokenError, match="can't be read: No such file"):
        Token(tmp_path / "none")
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(TokenError, match="is empty"):
        Token(tmp_path / "empty")
