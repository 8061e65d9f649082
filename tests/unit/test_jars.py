"""Only pinned bytes are run: a jar that is missing, too much, or not what was pinned is fetched again or refused."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest

from spillway.local import jars
from spillway.runtime import java

SOME_JAVA = java.Java(Path("java"), "17", "PATH")
PUBLISHED = {"broker-1.jar": b"the broker", "library-2.jar": b"a library"}


class Repository:
    """Stands for Maven and Ivy: puts what it has into a folder, and counts how often it is asked."""

    def __init__(self) -> None:
        self.content = dict(PUBLISHED)
        self.asked = 0

    def fetch(self, folder: Path, _using: java.Java) -> None:
        self.asked += 1
        for name, content in self.content.items():
            (folder / name).write_bytes(content)


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Repository:
    pins = tmp_path / "jars.sha256"
    pins.write_text("".join(f"{hashlib.sha256(jar).hexdigest()}  {name}\n" for name, jar in PUBLISHED.items()))
    repository = Repository()
    monkeypatch.setenv("SPILLWAY_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(jars, "PINS", pins)
    monkeypatch.setattr(jars, "fetch", repository.fetch)
    return repository


def test_they_are_fetched_once_and_in_a_fixed_order(repository: Repository) -> None:
    first = jars.kafka(SOME_JAVA)
    assert [jar.name for jar in first] == ["broker-1.jar", "library-2.jar"]
    assert jars.kafka(SOME_JAVA) == first
    assert repository.asked == 1


@pytest.mark.parametrize("damage", ["corrupt", "missing", "too much"])
def test_what_was_damaged_in_the_cache_is_named_and_fetched_again(
    repository: Repository, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    jar = jars.kafka(SOME_JAVA)[1]
    if damage == "corrupt":
        jar.write_bytes(b"half a libr")
    elif damage == "missing":
        jar.unlink()
    else:
        jar.with_name("unknown-1.jar").write_bytes(b"")
    assert [path.read_bytes() for path in jars.kafka(SOME_JAVA)] == list(PUBLISHED.values())
    assert repository.asked == 2
    assert ("unknown-1.jar is not pinned" if damage == "too much" else f"library-2.jar is {damage}") in caplog.text


def test_other_bytes_than_the_pinned_ones_are_refused_and_not_kept(repository: Repository) -> None:
    repository.content["library-2.jar"] = b"somebody else's"
    with pytest.raises(jars.JarsError, match=r"library-2\.jar is corrupt: its SHA-256 is .*pinned is") as raised:
        jars.kafka(SOME_JAVA)
    assert "~/.m2/repository" in str(raised.value)
    repository.content = dict(PUBLISHED)
    assert len(jars.kafka(SOME_JAVA)) == 2


def test_other_pins_are_another_folder(repository: Repository) -> None:
    first = jars.kafka(SOME_JAVA)
    repository.content = {"broker-1.jar": b"the broker"}
    jars.PINS.write_text(jars.PINS.read_text().splitlines(keepends=True)[0])
    assert jars.kafka(SOME_JAVA)[0].parent != first[0].parent


def test_what_fetches_them_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(jars, "_ivy", lambda: None)
    with pytest.raises(jars.JarsError, match=r"install Maven, or: pip install 'spillway\[spark\]'"):
        jars.fetch(tmp_path, SOME_JAVA)


def test_the_pins_are_those_of_the_version_in_the_pom() -> None:
    assert f"kafka_2.13-{jars.kafka_version()}.jar" in jars.pins()
    assert f"kafka-clients-{jars.kafka_version()}.jar" in jars.pins()
