"""Any bytes are read in a moment and without an exception: as values, or as mistakes."""

from __future__ import annotations

import io
import json
import time
from datetime import timedelta
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

import bad_manifests
import fuzzing
from spillway.cli import manifests

pytestmark = pytest.mark.fuzz

A_MOMENT = timedelta(seconds=2)
EXAMPLES = [path.read_bytes() for path in sorted((Path(__file__).parents[2] / "examples").glob("*.yaml"))]
GOOD = yaml.safe_dump(bad_manifests.GOOD).encode()
# What YAML gives a meaning to, whole and in part.
MARKS = st.sampled_from(
    [
        b"- ", b": ", b"? ", b"{", b"}", b"[", b"]", b",", b"&a ", b"*a", b"!!str ", b"!x ", b"|\n ", b">\n", b"'",
        b'"', b"#", b"%YAML 1.1\n", b"---\n", b"...\n", b"<<: *a", b"\n", b"\n  ", b"\t", b"\\", b"\x00", b"\x1b[31m",
        b"\xff", "\ufeff".encode(), "\u2028".encode(), "é".encode(), b"on: ", b"0x1F", b"1e999", b".inf", b"~",
        b"9" * 30,
    ]
)  # fmt: skip
CUTS = st.lists(st.tuples(st.integers(0, 10**6), st.integers(0, 12), MARKS | st.binary(max_size=6)), max_size=6)

WORDS = st.text(st.characters(codec="utf-8", categories=["L", "N", "P", "S"]), max_size=8)
VALUES: st.SearchStrategy[object] = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**18), 10**18) | WORDS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner, max_size=3),
    max_leaves=10,
)


def read(data: bytes) -> list[manifests.Manifest]:
    """What is in the bytes; checks what holds for any bytes."""
    began = time.perf_counter()
    found = manifests.read("job.yaml", io.BytesIO(data))
    assert time.perf_counter() - began < A_MOMENT.total_seconds()
    lines = data.count(b"\n") + data.count(b"\r") + len(data.decode(errors="ignore").splitlines()) + 1
    for manifest in found:
        assert manifest.value is not None or manifest.mistakes
        assert all(0 <= line <= lines for line in manifest.lines.values())
        assert all(mistake.message for mistake in manifest.mistakes)
    return found


@fuzzing.cases(300)
@given(st.binary(max_size=200) | st.lists(MARKS, max_size=30).map(b"".join))
def test_any_bytes_are_read_in_a_moment(data: bytes) -> None:
    read(data)


@fuzzing.cases(300)
@given(st.sampled_from([*EXAMPLES, GOOD]), CUTS)
def test_a_manifest_with_random_cuts_is_read_in_a_moment(data: bytes, cuts: list[tuple[int, int, bytes]]) -> None:
    for where, length, put in cuts:
        at = where % (len(data) + 1)
        data = data[:at] + put + data[at + length :]
    read(data)


@fuzzing.cases(60)
@given(MARKS, MARKS, st.integers(1, 300_000))
def test_a_few_bytes_very_many_times_are_read_in_a_moment(one: bytes, other: bytes, times: int) -> None:
    found = read((one + other) * times)
    assert len(found) <= manifests.MAX_DOCUMENTS + 1


@fuzzing.cases(100)
@given(VALUES)
def test_json_is_read_as_the_yaml_that_it_is(value: object) -> None:
    found = read(json.dumps(value, ensure_ascii=False).encode())
    assert [(manifest.value, manifest.mistakes) for manifest in found] == ([] if value is None else [(value, ())])
