"""What is secret does not stay in what somebody else will read."""

from __future__ import annotations

import base64
import io
import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from spillway.cli.bundling.archive import Archive
from spillway.cli.bundling.redaction import OUT, Redactor

GEM = "Hunter2-is-a-secret"
WORDS = st.text(st.characters(min_codepoint=33, max_codepoint=0x2FF, exclude_characters="[]"), min_size=6, max_size=24)


@pytest.mark.parametrize(
    "text",
    [
        f"password={GEM}",
        f'{{"password": "{GEM}"}}',
        json.dumps(json.dumps({"sasl.password": GEM})),
        json.dumps(json.dumps(json.dumps({"db_password": GEM}))),
        f"API_TOKEN: {GEM}",
        f"--client-secret {GEM} --verbose",
        f"--client-secret={GEM}",
        f"connecting to kafka://user:{GEM}@broker:9092",
        f"Authorization: Bearer {GEM}",
        f"authorization: Basic {base64.b64encode(GEM.encode()).decode()}",
        f"curl -H 'Authorization: Bearer {GEM}' there",
        f'sasl.jaas.config=org.x.Plain required username="u" password="{GEM}";',
        f"aws_secret_access_key = '{GEM}'",
        f"-----BEGIN RSA PRIVATE KEY-----\n{GEM}\n{GEM}\n-----END RSA PRIVATE KEY-----",
        f"-----BEGIN PRIVATE KEY-----\n{GEM}\nand the log ends here",
    ],
)
def test_a_text_keeps_nothing_that_gives_itself_away(text: str) -> None:
    found = Redactor().text(text)
    assert GEM not in found
    assert base64.b64encode(GEM.encode()).decode() not in found
    assert OUT in found


@pytest.mark.parametrize(
    "text",
    [
        "TokenMissing: no token was brought",
        "secretName: kafka-credentials",
        'secretRef: {"name": "kafka"}',
        "the tokenizer made 5 tokens of it",
        "https://broker:9092/path?x=1",
        "partition words/3 moved from w0.0 to w1.0 in 120 ms",
    ],
)
def test_what_is_not_secret_stays(text: str) -> None:
    assert Redactor().text(text) == text


def test_an_object_keeps_no_value_of_the_environment_and_of_secret_fields() -> None:
    found = Redactor().value(
        {
            "metadata": {
                "managedFields": [{"x": GEM}],
                "annotations": {"kubectl.kubernetes.io/last-applied-configuration": GEM, "api-token": GEM, "note": "x"},
            },
            "spec": {
                "containers": [
                    {"env": [{"name": "HARMLESS", "value": GEM}], "args": [f"--password={GEM}", "--port=1"]}
                ],
                "volumes": [{"secret": {"secretName": "kafka"}}],
            },
        }
    )
    assert GEM not in json.dumps(found)
    assert found["metadata"]["annotations"]["note"] == "x"
    assert found["spec"]["volumes"] == [{"secret": {"secretName": "kafka"}}]
    assert found["spec"]["containers"][0]["env"][0]["name"] == "HARMLESS"


@given(WORDS, st.recursive(st.just("HERE"), lambda inner: st.lists(inner, max_size=3) | st.dictionaries(WORDS, inner)))
def test_a_value_that_is_known_is_nowhere_whatever_it_looks_like(secret: str, shape: Any) -> None:
    planted = json.loads(json.dumps(shape).replace('"HERE"', json.dumps(f"x {secret} y")))
    archive = Archive("bundle", Redactor([secret]))
    archive.add_object("a.json", planted)
    archive.add_object("b.yaml", {"encoded": base64.b64encode(secret.encode()).decode(), "nested": json.dumps(planted)})
    archive.add_text("c.log", f"12:00 {secret}\n{json.dumps(planted)}")
    for text in _files(archive).values():
        assert secret not in text
        assert base64.b64encode(secret.encode()).decode() not in text


def _files(archive: Archive) -> dict[str, str]:
    written = io.BytesIO()
    with tarfile.open(fileobj=written, mode="w") as tar:
        for name in archive.names:
            archive._put(tar, name)  # noqa: SLF001 - what `write` puts into the file
    written.seek(0)
    with tarfile.open(fileobj=written) as tar:
        return {one.name: tar.extractfile(one).read().decode() for one in tar.getmembers()}  # type: ignore[union-attr]


def test_only_who_made_it_may_read_it_and_nothing_half_written_stays(tmp_path: Path) -> None:
    archive = Archive("bundle", Redactor())
    archive.add_text("a.txt", "x")
    archive.problems.append("metrics: nobody answers")
    archive.write(tmp_path / "a.tar.gz")

    assert (tmp_path / "a.tar.gz").stat().st_mode & 0o077 == 0
    assert [file.name for file in tmp_path.iterdir()] == ["a.tar.gz"]
    with tarfile.open(tmp_path / "a.tar.gz") as tar:
        assert tar.getnames() == ["bundle/a.txt", "bundle/problems.txt"]
        assert tar.extractfile("bundle/problems.txt").read() == b"metrics: nobody answers\n"  # type: ignore[union-attr]
