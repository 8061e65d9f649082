"""A job whose tables are on disk: moved and killed, and right all the same."""

from __future__ import annotations

from pathlib import Path

from fed import Fed, counted
from running_job import manifest, running
from spillway.local.broker import Broker


def test_tables_on_disk_move_and_are_restored_like_others(broker: Broker, tmp_path: Path) -> None:
    document = manifest("word-count", broker.bootstrap, "on-disk")
    document["spec"]["execution"] = {"state": {"store": "disk", "cachedRows": 1000}}
    with running(document) as job:
        fed = Fed(job)
        job.start("w0.0", scratch=tmp_path)
        job.spread("w0.0")
        fed.some()
        job.start("w1.0", scratch=tmp_path)
        job.spread("w0.0", "w1.0")
        fed.meanwhile(0.5)
        job.kill("w0.0")
        job.lose("w0.0")
        job.driver.want("w1.0")
        job.driver.until(job.driver.settled)
        fed.some()
        job.finish()

        assert counted(job) == fed.right
        assert any(tmp_path.glob("w1.0/rows-*"))
        assert job.ask("w1.0", "counts", {"word": "aaa"}).rows[0]["occurrences"] == fed.right["aaa"]
