"""Point queries: how a key may be written, and who answers."""

from __future__ import annotations

import json
import queue
import threading
import time
from pathlib import Path
from typing import Any

import pytest
import yaml

import programs
from spillway.model.streamjob import Spec
from spillway.runtime.slots.messages import Answer
from spillway.runtime.worker import tables
from spillway.runtime.worker.tables import KeyUnfitError, TableError, Tables

TEXT = """
streams: [{name: events, topic: events, columns: 'a string, n bigint, at timestamp', timestamp: at}]
operators:
  - {name: kept, input: events, filter: "n > 0"}
  - {name: counts, input: kept, aggregate: {by: [a], window: {size: 10s}, values: ["count(*) as n"]}, retention: 1h}
  - {name: pairs, input: kept, aggregate: {by: [a, "n % 2 as odd"], values: ["count(*) as m"]}, retention: 1h}
  - {name: sums, input: kept, aggregate: {by: [a], values: ["sum(n) as total"]}, retention: 1h}
  - {name: most, input: kept, aggregate: {by: [a], values: ["max(n) as most"]}, retention: 1h}
  - {name: both, input: sums, join: {table: most, by: [a]}, retention: 1h}
outputs: [{name: r, input: pairs, topic: r}, {name: s, input: counts, topic: s}, {name: t, input: both, topic: t}]
"""


@pytest.fixture
def spec() -> Spec:
    return programs.spec(TEXT)


def written(folder: Path, text: str = TEXT) -> Path:
    file = folder / "job.json"
    head = {"apiVersion": "spillway.dev/v1alpha1", "kind": "StreamJob", "metadata": {"name": "job"}}
    needed = {"kafka": {"bootstrapServers": ["localhost:9092"]}, "latency": {"bound": "1s"}}
    file.write_text(json.dumps({**head, "spec": {**needed, **yaml.safe_load(text)}}))
    return file


def test_tables_are_asked_by_the_columns_that_bring_rows_to_their_partitions(spec: Spec) -> None:
    one = ("a",)
    assert tables.columns(spec) == {"counts": one, "pairs": ("a", "odd"), "sums": one, "most": one, "both": one}


@pytest.mark.parametrize("example", sorted(file.stem for file in programs.EXAMPLES.glob("*.yaml")))
def test_every_example_can_be_asked(example: str) -> None:
    spec = programs.example(example)

    assert {o.name for o in spec.operators if o.aggregate} <= tables.columns(spec).keys()


@pytest.mark.parametrize(
    ("operator", "text", "key"),
    [
        ("counts", "eu-7", {"a": "eu-7"}),
        ("counts", "", {"a": ""}),
        ("counts", '{"a": "eu-7"}', {"a": "eu-7"}),
        ("counts", '{"a": "eu", "window_start": 1000}', {"a": "eu", "window_start": 1000}),
        ("pairs", '{"a": null, "odd": 1}', {"a": None, "odd": 1}),
    ],
)
def test_a_key_is_an_object_or_the_text_of_its_one_column(
    operator: str, text: str, key: dict[str, Any], spec: Spec, tmp_path: Path
) -> None:
    assert Tables(written(tmp_path), spec).key(operator, text) == key


@pytest.mark.parametrize(
    ("operator", "text", "said"),
    [
        pytest.param("pairs", "eu", "has 2 columns; write them as a JSON object", id="text for two columns"),
        pytest.param("counts", "{eu", "is no JSON object", id="half an object"),
        pytest.param("counts", "{" * 1500, "is no JSON object", id="deep"),
        pytest.param("counts", "e" * 2001, "at most 2000 characters; this one has 2001", id="long"),
    ],
)
def test_other_texts_are_no_keys(operator: str, text: str, said: str, spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(KeyUnfitError, match=said):
        Tables(written(tmp_path), spec).key(operator, text)


@pytest.mark.parametrize("operator", ["kept", "events", "gone", ""])
def test_what_has_no_table_is_not_asked(operator: str, spec: Spec, tmp_path: Path) -> None:
    with pytest.raises(TableError, match="has no table; those that have one: counts, pairs, sums, most, both"):
        Tables(written(tmp_path), spec).key(operator, "eu")


def test_a_manifest_that_changes_is_read_again_unless_it_is_wrong(spec: Spec, tmp_path: Path) -> None:
    known = Tables(written(tmp_path), spec)

    written(tmp_path, TEXT.replace("name: counts", "name: views").replace("input: counts", "input: views"))
    assert known.key("views", "eu") == {"a": "eu"}

    (tmp_path / "job.json").write_text("{")
    assert known.key("views", "eu") == {"a": "eu"}


class Slot:
    """A slot that answers after a while; not at all, or can't be asked."""

    def __init__(self, after: float | None, *, found: bool = False, deaf: bool = False) -> None:
        self._after, self._found, self._deaf = after, found, deaf

    def ask(self, operator: str, key: dict[str, Any], answers: queue.SimpleQueue[Answer]) -> bool:
        if self._after is not None and not self._deaf:
            threading.Timer(self._after, answers.put, [Answer(1, self._found, ({**key, "at": self._after},))]).start()
        return not self._deaf


def asked(*slots: Slot) -> Answer | None:
    return tables.ask(slots, "counts", {"a": "eu"}, seconds=0.3)  # type: ignore[arg-type]


def test_the_first_that_has_the_partition_answers() -> None:
    started = time.monotonic()

    found = asked(Slot(None), Slot(0.0), Slot(0.05, found=True), Slot(0.2, found=True))

    assert found == Answer(1, True, ({"a": "eu", "at": 0.05},))
    assert time.monotonic() - started < 0.2


def test_when_all_answer_and_none_has_it_nobody_has_it() -> None:
    found = asked(Slot(0.0), Slot(0.01))

    assert found is not None
    assert not found.found


def test_when_one_says_nothing_nobody_knows() -> None:
    assert asked(Slot(0.0), Slot(None)) is None
    assert asked(Slot(0.0), Slot(0.0, deaf=True)) is None


def test_without_slots_nobody_has_it() -> None:
    assert asked() == Answer(0, False)
