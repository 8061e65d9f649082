"""What `spillway up` prints: a panel at a terminal, lines in a pipe, objects for programs."""

from __future__ import annotations

import datetime
import io
import json
from pathlib import Path

import msgspec
import pytest
from rich.console import Console

import observations
from spillway.cli import jobs
from spillway.cli.watching import lines, samples
from spillway.cli.watching.lines import Lines, Objects
from spillway.cli.watching.panel import Panel
from spillway.cli.watching.screen import Screen
from spillway.local.edits import Edit
from spillway.local.events import Event, Kind, Scene
from spillway.model.observation import Condition, Observation

EXAMPLES = Path(__file__).parents[2] / "examples"
JOB = jobs.read(str(EXAMPLES / "word-count.yaml")).job
NOON = datetime.datetime(2026, 3, 1, 12, 0, 5, tzinfo=datetime.UTC)
DECIDED = (
    (NOON.timestamp() - 60, "provisioning: 900/s to be done from `lines`"),
    (NOON.timestamp(), "switching: hold: no burst"),
)
TORN = Event(Kind.ENDED, "driver ended\nValueError: \x1b[2J", data={"code": 1})


def scene(seen: Observation | None, since: float = 133.0, **changes: object) -> Scene:
    fields: dict[str, object] = {
        "job": JOB, "annotations": {}, "phase": "running", "since": since, "bootstrap": "127.0.0.1:9092", "ours": True,
        "driver": "127.0.0.1:18080", "asked": 1, "there": 1, "limit": 2, "seen": seen, "age": 0.1, "sizing": None,
        "decided": DECIDED, "refused": (), "folder": "/state/default/word-count",
    }  # fmt: skip
    return Scene(**{**fields, **changes})  # type: ignore[arg-type]


def drawn(shown: Scene, width: int = 110, height: int = 50, *, unicode: bool = True) -> str:
    encoding = "utf-8" if unicode else "ascii"
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    console = Console(file=stream, width=width, height=height, highlight=False, legacy_windows=False)
    with console.capture() as caught:
        console.print(Panel(console, NOON).draw(shown))
    return "\n".join(line.rstrip() for line in caught.get().splitlines())


class Pipe(io.StringIO):
    """A pipe whose reader may go away."""

    broken = False

    def write(self, text: str) -> int:
        if self.broken:
            raise BrokenPipeError
        return super().write(text)


def test_the_panel_shows_what_flows_and_how_the_promise_is_kept() -> None:
    assert drawn(scene(observations.word_count())) == (
        """
word-count  99 % within 500 ms                                                                   running  2:13

  segment       reads       runs    partitions       in      out  waiting  busy
  words         lines       record           8  1.2 k/s  9.6 k/s        0  ██▍·····  31 %
  └ real-words                                  9.9 k/s  9.6 k/s
  counts        real-words  record           8  9.6 k/s  9.6 k/s      312  ██▉·····  37 %

promise  99.98 % within 500 ms (half within 8 ms, 99 % within 45.2 ms), 9.6 k/s out, over the last 10 s
workers  1 of at most 2   w0.0 ██▋·····  34 % 16 partitions
why      hold: the plan was made for this load
         12:00:05 switching: hold: no burst
feed     echo 'to be or not to be' | spillway produce lines
read     spillway consume word-counts
at       Kafka 127.0.0.1:9092   page http://127.0.0.1:18080/
         /state/default/word-count
         Ctrl-C brings everything to rest and ends"""
    )


def test_the_panel_names_what_somebody_should_see_to() -> None:
    seen = msgspec.structs.replace(
        observations.word_count(observations.slot(), observations.slot("w1.0", None, 0, silent=True)),
        letters=3,
        late=17,
        conditions=(Condition("Topics", False, "Missing", "topic 'lines' does not exist; create it"),),
    )
    text = drawn(scene(seen, age=7.0, refused=("job.yaml: spec.operators[0].filter: \x1bunknown",)))

    for part in (
        "w1.0 - 0 partitions silent",
        "not taken: job.yaml: spec.operators[0].filter: \\x1bunknown",
        "the driver has not answered for 7 s; the workers go on meanwhile",
        "Missing: topic 'lines' does not exist; create it",
        "3 dead letters: spillway dead list default/word-count --bootstrap 127.0.0.1:9092",
        "17 records came too late for a window",
    ):
        assert part in text
    assert "look at" not in drawn(scene(observations.word_count()))


@pytest.mark.parametrize("width", [60, 80, 200])
def test_the_panel_fits_the_screen_and_cuts_no_number(width: int) -> None:
    text = drawn(scene(observations.word_count()), width=width)

    assert max(map(len, text.splitlines())) <= width
    assert "9.6 k/s" in text
    assert "…" not in text or width < 80


def test_on_a_low_screen_the_operators_inside_of_segments_go_first() -> None:
    assert "└ real-words" in drawn(scene(observations.word_count()), height=18)
    low = drawn(scene(observations.word_count()), height=17)
    assert "real-words" not in low.replace("real-words  record", "")
    assert "Ctrl-C" in low


def test_where_a_screen_has_no_other_signs_ascii_is_used() -> None:
    drawn(scene(observations.word_count()), unicode=False).encode("ascii")


def test_before_the_driver_has_told_anything_the_panel_says_what_is_done() -> None:
    text = drawn(scene(None, phase="starting Kafka", bootstrap=""))

    assert "starting Kafka" in text
    assert "spillway produce" not in text


def test_lines_have_the_time_and_nothing_that_a_terminal_obeys() -> None:
    pipe = Pipe()
    Lines(pipe, lambda: None, lambda: NOON).tell(TORN)

    assert pipe.getvalue() == "12:00:05 driver ended\n         ValueError: \\x1b[2J\n"


def test_once_ready_commands_come_and_then_rates_every_ten_seconds_in_a_line() -> None:
    pipe = Pipe()
    viewer = Lines(pipe, lambda: None, lambda: NOON)
    viewer.show(scene(None))
    for tick in range(130):
        viewer.show(scene(observations.word_count(), since=tick / 5))

    rates = (
        "12:00:05 in 1.2 k/s, out 9.6 k/s; 99.98 % within 500 ms (half within 8 ms, 99 % within 45.2 ms);"
        " 1 slot, 34 % busy; 312 messages waiting"
    )
    commands = ["  feed   echo 'to be or not to be' | spillway produce lines", "  read   spillway consume word-counts"]
    assert pipe.getvalue().splitlines() == [*commands, rates, rates]


def test_commands_are_shown_whole_above_the_panel_so_that_they_can_be_copied() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=60, height=40, highlight=False)
    ysb = jobs.read(str(EXAMPLES / "ysb.yaml")).job
    with Screen(console, lambda: None, lambda: NOON) as screen:
        screen.show(scene(observations.word_count(), job=ysb))

    for command in samples.feed(ysb, {}, "127.0.0.1:9092", NOON):
        assert command in stream.getvalue()


def test_a_job_without_records_says_so() -> None:
    assert lines.rates(observations.idle()) == "no records"
    assert lines.rates(msgspec.structs.replace(observations.idle(), letters=1)) == "no records; 1 dead letter"


def test_who_stops_reading_asks_for_the_end_once() -> None:
    pipe, gone = Pipe(), []
    viewer = Lines(pipe, lambda: gone.append(1), lambda: NOON)
    pipe.broken = True

    viewer.tell(TORN)
    viewer.tell(TORN)

    assert gone == [1]


def test_objects_are_one_in_a_line() -> None:
    pipe = Pipe()
    viewer = Objects(pipe, lambda: None, lambda: NOON)
    viewer.tell(TORN)
    viewer.show(scene(observations.word_count()))

    ended, rates = map(json.loads, pipe.getvalue().splitlines())

    assert ended == {
        "at": "2026-03-01T12:00:05.000+00:00", "kind": "ended", "text": "driver ended\nValueError: \x1b[2J", "code": 1,
    }  # fmt: skip
    assert (rates["kind"], rates["workers"], rates["latency"]["within"]) == ("rates", 1, 0.9998)
    assert rates["segments"][1]["lag"] == 312


def test_at_a_terminal_events_go_by_above_the_panel() -> None:
    stream = io.StringIO()
    console = Console(file=stream, force_terminal=True, width=100, height=40, highlight=False)
    with Screen(console, lambda: None, lambda: NOON) as screen:
        screen.show(scene(observations.word_count()))
        screen.tell(TORN)
        screen.show(scene(observations.word_count()))

    text = stream.getvalue()
    assert "12:00:05 driver ended" in text
    assert "\\x1b[2J" in text
    assert "\x1b[2J" not in text
    panel = "Ctrl-C brings everything to rest"
    assert text.index(panel) < text.index("driver ended") < text.rindex(panel)


@pytest.mark.parametrize("example", sorted(EXAMPLES.glob("*.yaml")), ids=lambda path: path.stem)
def test_every_job_has_commands_to_feed_and_to_read_it(example: Path) -> None:
    job = jobs.read(str(example)).job

    feeds, reads = samples.feed(job, {}, "127.0.0.1:9092", NOON), samples.read(job, "kafka:9093")

    assert len(feeds) == len(job.spec.streams) + len(job.spec.tables)
    assert reads == [f"spillway consume {output.topic} -b kafka:9093" for output in job.spec.outputs]


def feeds_of(example: str) -> list[str]:
    found = jobs.read(str(EXAMPLES / f"{example}.yaml"))
    return samples.feed(found.job, Edit(found.job, found.document, None).annotations, "127.0.0.1:9092", NOON)


def test_samples_get_through_the_filters_of_the_job() -> None:
    feeds = {name: feeds_of(name) for name in ("ysb", "grep", "diamond", "sentiment", "linear-road")}

    assert feeds["grep"] == ["echo ERROR | spillway produce lines"]
    assert '"celsius": 31' in feeds["diamond"][0]
    assert '"event_type": "view"' in feeds["ysb"][1]
    assert '"text": "what a #happy #day i love it"' in feeds["sentiment"][0]
    assert '"posted_at": "2026-03-01T12:00:05Z"' in feeds["sentiment"][0]
    assert feeds["linear-road"] == ["echo 0,30,17,35,0,1,0,42,221760 | spillway produce car-positions"]
    assert feeds["ysb"][0].endswith("| spillway produce ad-campaigns --key ad_id")
