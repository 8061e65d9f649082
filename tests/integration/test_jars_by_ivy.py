"""Where there is no Maven: pyspark's Ivy finds the same jars, here in what Maven has left in its local repository."""

from __future__ import annotations

from pathlib import Path

import pytest

from spillway.local import jars
from spillway.runtime import java

pytestmark = [pytest.mark.broker, pytest.mark.usefixtures("kafka")]
MAVEN_HAS = Path.home() / ".m2" / "repository" / "org" / "apache" / "kafka" / "kafka_2.13" / jars.kafka_version()


@pytest.mark.long
@pytest.mark.skipif(not MAVEN_HAS.is_dir(), reason="Maven has not fetched Kafka on this machine")
def test_without_maven_the_same_jars_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    using = java.find()
    monkeypatch.setenv("PATH", "")
    jars.fetch(tmp_path, using)
    assert not jars.differences(tmp_path, jars.pins())
    assert not (tmp_path / "ivy").exists()


def test_what_could_not_be_fetched_is_said_with_what_the_tool_wrote(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / "broken.xml"
    broken.write_text("<ivysettings><nonsense/></ivysettings>")
    using = java.find()
    monkeypatch.setenv("PATH", "")
    monkeypatch.setattr(jars, "IVY_SETTINGS", broken)
    with pytest.raises(jars.JarsError, match=r"'java' ended with 1:(.|\n)*no resolver found for org\.apache\.kafka"):
        jars.fetch(tmp_path, using)
