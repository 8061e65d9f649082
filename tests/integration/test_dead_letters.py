"""Dead letters on a real broker: seen, put back once, and not into the topics of the user."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import TopicPartition
from typer.testing import CliRunner

import programs
import running_job
from spillway.cli.main import app
from spillway.cli.planning import questions
from spillway.controllers import topics
from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import Owner, Partition
from spillway.controllers.topics import Names, Topic
from spillway.local.broker import Broker
from spillway.model import kafka
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec
from spillway.runtime import admin, clients, control, frames, letters, scans
from spillway.runtime.clients import Access
from spillway.runtime.emitter import Emitter
from spillway.runtime.letters import Letter, Replay
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.replays.desk import Desk

JOB = """
apiVersion: spillway.dev/v1alpha1
kind: StreamJob
metadata: {name: NAME}
spec:
  kafka: {bootstrapServers: ["SERVER"]}
  latency: {bound: 1s}
  streams: [{name: events, topic: NAME-in, columns: "k string, a bigint"}]
  tables: [{name: sizes, topic: NAME-sizes, key: [k], columns: "k string, n bigint"}]
  operators:
    - {name: sized, input: events, join: {table: sizes, by: [k], asOf: latest}}
    - {name: divided, input: sized, select: ["k", "100 div (n - a) as q"]}
    - {name: counts, input: divided, aggregate: {by: [k], values: ["sum(q) as total"]}}
  outputs:
    - {name: raw, input: divided, topic: NAME-raw}
    - {name: out, input: counts, topic: NAME-out}
"""
SEGMENTS = {"sized": ("sized", "divided"), "counts": ("counts",)}


class _Failed:
    """A job that has run once, so that it has a plan and dead letters; nothing of it works any more."""

    def __init__(self, broker: Broker, name: str, folder: Path) -> None:
        text = JOB.replace("NAME", name).replace("SERVER", broker.bootstrap)
        self.file = folder / f"{name}.yaml"
        self.file.write_text(text)
        self.name, self.job = name, questions.job(str(self.file))
        self.names = Names.of(self.job)
        self.access = Access(kafka.Kafka(bootstrap_servers=(broker.bootstrap,)))
        self.width = topics.width(self.job)
        wanted = [*topics.needed(self.job, ["counts"], {})]
        wanted += [Topic(f"{name}-{end}", 1) for end in ("in", "sizes", "raw", "out")]
        admin.create(clients.admin(self.access), wanted)
        self.programs = cutting.cut(self.job.spec, SEGMENTS)
        self.send(*control.record(self.names, messages.Lead(1, "driver")))
        self.plan(1)

    def plan(self, number: int, *changes: tuple[str, str]) -> None:
        """From now on the job is this one, with some changes."""
        spec = self.job.spec.model_dump_json(by_alias=True, exclude_none=True)
        for old, new in changes:
            spec = spec.replace(old, new)
        cut = cutting.cut(Spec.model_validate_json(spec), SEGMENTS)
        segments = tuple(messages.Segment(one.name, SEGMENTS[one.name], one.id, Paradigm.RECORD, 1, 1) for one in cut)
        self.send(*control.record(self.names, messages.Plan(1, number, spec, self.width, segments)))

    def mend(self) -> None:
        """The same without the mistake."""
        self.plan(2, ("(n - a)", "(n - a + 10)"))

    def send(self, *what: Any) -> None:
        emitter = Emitter(self.access)
        emitter.send(*what)
        assert emitter.flush(20)

    def table(self, **row: Any) -> None:
        """A row of the table."""
        self.send(f"{self.name}-sizes", 0, row["k"].encode(), json.dumps(row).encode())

    def fail(self, *records: Any) -> None:
        """Let these records come in, and keep only the letters of what fails."""
        program = self.programs[0]
        from spillway.runtime.programs import states

        running = Loop(program).bind({state.name: states.made(state) for state in program.states})
        running.run["sized.other"](programs.messages(TABLE))
        running.run["events"](programs.messages(records))
        for letter in running.letters:
            self.send(self.names.dead, 0, b"", letters.encode(letter, program, 0, self.names))

    def read(self, topic: str, partitions: int = 1) -> list[Any]:
        reader = clients.restorer(self.access, "verifier")
        found = []
        for number in range(partitions):
            low, high = scans.ends(reader, topic, number)
            found += [message.value() for message in scans.between(reader, topic, number, low, high)]
        reader.close()
        return found

    def frames(self) -> list[Any]:
        """The rows of all frames of the edge, with the positions that readers skip by."""
        found = [frames.read(data) for data in self.read(self.names.edge("counts"), self.width)]
        (port,) = [port for port in self.programs[1].ports if not port.combined]
        return [(frame.first, row[3:]) for frame in found for row in frames.Layout(port.schema).rows(frame)]

    def open(self) -> int:
        """What ordinary tools show of the group: where it is."""
        reader = clients.reader(self.access, f"{self.names.prefix}dead")
        (at,) = reader.committed([TopicPartition(self.names.dead, 0)], timeout=20)
        reader.close()
        return int(at.offset)


def _spillway(*arguments: str | Path, code: int = 0) -> Any:
    result = CliRunner().invoke(app, ["dead", *map(str, arguments)])
    if isinstance(result.exception, ConnectionError):
        raise result.exception
    assert result.exit_code == code, result.output + repr(result.exception)
    return json.loads(result.stdout) if "json" in arguments else result.output


@pytest.fixture
def failed(broker: Broker, request: pytest.FixtureRequest, tmp_path: Path) -> _Failed:
    return _Failed(broker, request.node.name.replace("_", "-")[5:40].strip("-"), tmp_path)


BAD = [{"k": "x", "a": 1}, b"{", {"k": "y", "a": 1}, {"k": "x", "a": 2}]
TABLE = [{"k": "x", "n": 1}, {"k": "y", "n": 1}]


def test_letters_are_listed_and_replayed_once(failed: _Failed) -> None:
    failed.fail(*BAD)
    groups = _spillway("list", failed.file, "-o", "json")
    assert [(group["operator"], group["letters"]) for group in groups] == [("divided", 2), ("events", 1)]
    assert groups[0]["examples"][-1]["row"] == ["x", 1, 1]
    text = _spillway("list", failed.file)
    assert "DIVIDE_BY_ZERO" in text
    assert "3 letters open" in text
    assert f"{failed.name}-in/0@1  {{" in _spillway("list", failed.file, "--all")

    routes = _spillway("replay", failed.file, "--dry-run", "-o", "json")
    assert {route["reason"] for route in routes} == {"Here"}
    assert failed.read(f"{failed.name}-raw") == []

    failed.mend()
    first = _spillway("replay", failed.file, "--operator", "divided", "-o", "json")
    again = _spillway("replay", failed.file, "--operator", "divided", "-o", "json")

    assert (first["replayed"], again["replayed"]) == ([0, 2], [])
    rows = failed.read(f"{failed.name}-raw")
    assert sorted(rows) == [b'{"k":"x","q":10}', b'{"k":"y","q":10}']
    assert sorted(row for _, row in failed.frames()) == [("x", 10), ("y", 10)]
    assert failed.read(f"{failed.name}-in") == []
    assert failed.open() == 1

    assert "dismissed 1 letter; 0 letters left open" in _spillway("dismiss", failed.file, "--letter", "1")
    assert "0 letters open" in _spillway("list", failed.file)
    assert failed.open() >= 6


def test_what_fails_again_has_a_new_letter_and_the_old_one_is_done(failed: _Failed) -> None:
    failed.fail(BAD[0])
    done = _spillway("replay", failed.file, "-o", "json")
    assert (done["replayed"], done["failed"]) == ([0], 1)

    (letter,) = _spillway("list", failed.file, "--all", "-o", "json")
    assert (letter["again"], letter["row"], letter["offset"]) == (0, ["x", 1, 1], 0)


def test_a_replay_that_was_interrupted_goes_on_under_its_position(failed: _Failed) -> None:
    failed.fail(*BAD)
    failed.mend()
    with Desk(failed.access, failed.names) as desk:
        plan = desk.plan()
        failed.send(failed.names.dead, 0, None, letters.write(Replay(letters.VERSION, "interrupted", (0, 2))))
        assert "a replay of 2 letters is not done" in _spillway("list", failed.file)
        works_once = desk.replay([], plan, lambda _: pytest.fail("no function"))
    # Another one that began at the same time, and has read nothing of what the first one wrote at its end.
    assert works_once.replayed == (0, 2)
    _spillway("replay", failed.file, "--operator", "divided", "-o", "json")

    assert sorted(failed.frames()) == [((3, 0), ("x", 10)), ((3, 1), ("y", 10))]


def test_two_replays_of_a_letter_at_once_send_it_under_one_position(
    failed: _Failed, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed.fail(BAD[0])
    failed.mend()
    inner = Desk._run  # noqa: SLF001

    def overtaken(self: Desk, *arguments: Any) -> Any:
        monkeypatch.setattr(Desk, "_run", inner)
        _spillway("replay", failed.file)  # does what the first one has begun
        with Desk(failed.access, failed.names) as other:
            assert other.read().open == {}
        return inner(self, *arguments)

    monkeypatch.setattr(Desk, "_run", overtaken)
    _spillway("replay", failed.file)

    assert {at for at, _ in failed.frames()} == {(1, 0)}


FUNCTIONS = """
import pathlib

def checked(record):
    if record["a"] % 2 and pathlib.Path(__file__).with_name("broken").exists():
        raise ValueError("out of order")
    return record
"""


def test_a_job_at_work_counts_what_is_put_back_once_though_the_replay_dies(
    broker: Broker, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "functions.py").write_text(FUNCTIONS)
    (tmp_path / "broken").touch()
    document = {
        "apiVersion": "spillway.dev/v1alpha1",
        "kind": "StreamJob",
        "metadata": {"name": "dead", "namespace": "test"},
        "spec": {
            "kafka": {"bootstrapServers": [broker.bootstrap]},
            "latency": {"bound": "1s"},
            "streams": [{"name": "events", "topic": "dead.events", "columns": "k string, a bigint"}],
            "operators": [
                {
                    "name": "checked",
                    "input": "events",
                    "python": {"function": "functions:checked", "as": "map", "returns": "k string, a bigint"},
                },
                {"name": "counts", "input": "checked", "aggregate": {"by": ["k"], "values": ["count(*) as n"]}},
            ],
            "outputs": [{"name": "result", "input": "counts", "topic": "dead.result"}],
        },
    }
    with running_job.running(document, code=tmp_path) as job:
        job.start("w0.0")
        job.spread("w0.0")
        job.feed("dead.events", [json.dumps({"k": "xyz"[i % 3], "a": i}).encode() for i in range(60)])
        job.finish()
        named = ("test/dead", "--bootstrap", broker.bootstrap)
        (group,) = _spillway("list", *named, "-o", "json")
        assert (group["operator"], group["letters"]) == ("checked", 30)

        (tmp_path / "broken").unlink()
        with monkeypatch.context() as patched:
            patched.setattr(letters, "write", _dies)
            with pytest.raises(ConnectionError):
                _spillway("replay", *named, "--code", tmp_path)
        job.finish()
        assert len(_spillway("replay", *named, "--code", tmp_path, "-o", "json")["replayed"]) == 30
        job.finish()

        counts = [json.loads(value or b"") for _, value in job.output("result")]
        assert {k: max(row["n"] for row in counts if row["k"] == k) for k in "xyz"} == {"x": 20, "y": 20, "z": 20}
        assert len(counts) == 60
        assert len(job.records("test.dead.edge.counts")) > 60  # the frames of both replays are there


def _dies(entry: Any, write: Any = letters.write) -> bytes:
    if isinstance(entry, letters.Settled):
        raise ConnectionError
    return bytes(write(entry))


def test_a_message_is_decoded_as_the_job_decodes_it_now_and_meets_the_rows_of_the_table(failed: _Failed) -> None:
    failed.fail(b'{"k": "y", "a": "1"}')
    for row in TABLE:
        failed.table(**row)
    assert _spillway("replay", failed.file, "-o", "json")["failed"] == 1
    (letter,) = _spillway("list", failed.file, "--all", "-o", "json")
    assert (letter["operator"], letter["again"], letter["offset"]) == ("events", 0, 0)

    failed.plan(2, ("k string, a bigint", "k string, a string"), ("(n - a)", "(n - cast(a as bigint) + 5)"))
    assert _spillway("replay", failed.file, "-o", "json")["failed"] == 0
    assert failed.read(f"{failed.name}-raw") == [b'{"k":"y","q":20}']


def test_while_programs_change_nothing_is_replayed(failed: _Failed) -> None:
    failed.fail(BAD[0])
    where, owner = Partition("counts", 0), Owner("w0.0", 1)
    failed.send(*control.record(failed.names, messages.Join("w0.0", "process")))
    failed.send(*control.record(failed.names, messages.Assign(1, where, 1, owner, failed.programs[1].id, 0, True)))
    assert "go back" in _spillway("replay", failed.file, "--dry-run")
    failed.plan(2, ("sum(q) as total", "max(q) as total"))

    assert "partitions such as counts/0 (1 in all)" in _spillway("replay", failed.file, code=2)


def test_a_job_is_named_and_found_without_its_manifest(failed: _Failed, broker: Broker) -> None:
    failed.fail(BAD[0])
    name = f"default/{failed.name}"
    assert "1 letter open" in _spillway("list", name, "--bootstrap", broker.bootstrap)
    assert "say where Kafka is" in _spillway("list", name, code=2)


def test_what_can_not_be_read_is_a_line(failed: _Failed, tmp_path: Path, broker: Broker) -> None:
    assert "does not exist" in _spillway("list", "default/other", "--bootstrap", broker.bootstrap, code=2)
    failed.send(failed.names.dead, 0, None, b"\x00")
    assert "is no dead letter" in _spillway("list", failed.file)
    assert "no open letter has the number 7" in _spillway("replay", failed.file, "--letter", "7", code=2)
    assert "can't be read" in _spillway("list", tmp_path / "none.yaml", code=2)
    assert "is no time" in _spillway("list", failed.file, "--since", "x", code=2)
    assert "1 letter open" in _spillway("list", failed.file, "--since", "1h")
    assert isinstance(letters.decode(letters.bounded(Letter(1, "a", "", "", "", "", 0, 0, 0, ""))), Letter)
