"""What a job is fed with: files, its own topics, or what its columns may have."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import yaml

from spillway.controllers import acceptance
from spillway.local.profiling import records
from spillway.local.profiling.records import RecordsError
from spillway.model.kafka import Format, Stream, Table
from spillway.model.streamjob import StreamJob

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))


def example(file: Path) -> StreamJob:
    found = acceptance.accept(yaml.safe_load(file.read_text())).job
    assert found is not None
    return found


@pytest.mark.parametrize("file", EXAMPLES, ids=lambda file: file.stem)
def test_what_is_made_up_has_every_column_and_is_the_same_each_time(file: Path) -> None:
    job = example(file)
    for one, again in zip(records.of_job(job, {}, {}), records.of_job(job, {}, {}), strict=True):
        assert len(set(one.values)) > 100
        assert len(one.values) == len(again.values)
        sources: list[Stream | Table] = [*job.spec.streams, *job.spec.tables]
        source = next(source for source in sources if source.topic == one.topic)
        if not (isinstance(source, Stream) and source.format is Format.RAW):
            row = json.loads(one.values[0])
            assert len(row) == len(source.columns.split(", "))
            assert None not in row.values()


def test_texts_of_the_manifest_are_among_them_so_filters_let_some_through() -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "ysb"))
    events = next(one for one in records.of_job(job, {}, {}) if not one.table)
    kinds = [json.loads(value)["event_type"] for value in events.values]
    assert 0.1 < kinds.count("view") / len(kinds) < 0.9


def test_rows_of_a_table_have_the_keys_that_records_look_up() -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "ysb"))
    rows = next(one for one in records.of_job(job, {}, {}) if one.table)
    events = next(one for one in records.of_job(job, {}, {}) if not one.table)
    assert rows.keys is not None
    known = {key.decode() for key in rows.keys if key}
    asked = [json.loads(value)["ad_id"] for value in events.values]
    assert sum(ad in known for ad in asked) > 0.3 * len(asked)


def test_lines_of_a_file_are_records_and_empty_ones_are_none(tmp_path: Path) -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "word-count"))
    file = tmp_path / "lines.txt"
    file.write_bytes(b"one two\n\r\nthree\r\n")
    (found,) = records.of_job(job, {"lines": file}, {})
    assert list(found.values) == [b"one two", b"three"]
    assert found.origin == "2 records of lines.txt"
    assert found.size == 6


def test_a_file_without_records_is_refused(tmp_path: Path) -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "word-count"))
    (tmp_path / "empty").write_text("\n")
    with pytest.raises(RecordsError, match="holds no records"):
        records.of_job(job, {"lines": tmp_path / "empty"}, {})


def test_an_empty_topic_is_refused() -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "word-count"))
    with pytest.raises(RecordsError, match="topic 'lines' at h:1 is empty"):
        records.of_job(job, {}, {"lines": []}, "h:1")


def test_a_row_without_its_key_is_refused(tmp_path: Path) -> None:
    job = example(next(file for file in EXAMPLES if file.stem == "ysb"))
    (tmp_path / "rows").write_text('{"campaign_id": "a"}\n')
    with pytest.raises(RecordsError, match="has no key"):
        records.of_job(job, {job.spec.tables[0].name: tmp_path / "rows"}, {})
