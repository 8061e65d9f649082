"""Have a real Prometheus read a real `spillway demo`, ask it what every dashboard and alert asks, and draw the answers.

    python tools/watch_run.py [--seconds 90] [--pictures FOLDER] [--keep FOLDER]

Fails where a query is refused, or has no answer though the demonstration must have given one. Grafana is not needed:
panels are drawn as it would lay them out, in one picture for each dashboard. Everything runs on loopback, and ends.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import pathlib
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Iterator
from typing import Any, NamedTuple

import yaml

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "support"))

import drawing  # noqa: E402
import prometheus_programs  # noqa: E402
from spillway.local import ports, state  # noqa: E402

CHART = TOP / "charts" / "spillway"
JOB = {"namespace": "demo", "spillway_dev_job": "words"}
EVERY = 2  # seconds between two scrapes, and two points of a graph
RATE = "10s"  # for Grafana's $__rate_interval: four scrapes are in it, and one more
# Panels that a demonstration on one machine leaves empty: Spark has no executors there but its own process, and the
# operator doesn't run.
EMPTY = {"spillway-operator": None, "spillway-job": {"executors", "executors needed"}}


class Answer(NamedTuple):
    """What Prometheus has for one line of a panel: series of points, each with its name."""

    query: str
    series: list[tuple[str, list[tuple[float, float]]]]


class Prometheus:
    """One, with the alerts of the chart, that reads what `follow` finds."""

    def __init__(self, folder: pathlib.Path) -> None:
        program = prometheus_programs.found("prometheus")
        if program is None:
            sys.exit(prometheus_programs.MISSING.format("prometheus"))
        (port,) = ports.free(1)
        self.url = f"http://{ports.LOOPBACK}:{port}"
        self._targets = folder / "targets.json"
        self._targets.write_text("[]")
        every = f"{EVERY}s"
        config = {
            "global": {"scrape_interval": every, "scrape_timeout": every, "evaluation_interval": every},
            "rule_files": [str(path) for path in sorted((CHART / "alerts").glob("*.yaml"))],
            "scrape_configs": [
                {"job_name": "jobs", "file_sd_configs": [{"files": [str(self._targets)], "refresh_interval": "1s"}]}
            ],
        }
        (folder / "prometheus.yaml").write_text(yaml.safe_dump(config))
        command = [
            str(program), f"--config.file={folder}/prometheus.yaml", f"--storage.tsdb.path={folder}/data",
            f"--web.listen-address={ports.LOOPBACK}:{port}", "--log.level=warn",
        ]  # fmt: skip
        self._process = subprocess.Popen(command, cwd=folder)
        until = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError):
                urllib.request.urlopen(f"{self.url}/-/ready", timeout=2).close()
                return
            if self._process.poll() is not None or time.monotonic() > until:
                sys.exit("Prometheus did not start")
            time.sleep(0.2)

    def follow(self, found: dict[str, str]) -> None:
        """Read these from now on: addresses by the name of their pod."""
        told = [{"targets": [address], "labels": {**JOB, "pod": pod}} for pod, address in sorted(found.items())]
        state.replace(self._targets, json.dumps(told))

    def ask(self, path: str, **given: Any) -> Any:
        """What it answers; the message where it refuses."""
        url = f"{self.url}/api/v1/{path}?{urllib.parse.urlencode(given)}"
        try:
            with urllib.request.urlopen(url, timeout=30) as answer:
                return json.load(answer)["data"]
        except urllib.error.HTTPError as refused:
            with refused:
                raise ValueError(json.load(refused)["error"]) from None

    def end(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(20)


def parts(folder: pathlib.Path) -> dict[str, str]:
    """Where driver and workers of the run answer now, by names that their pods would have."""
    if not (driver := state.who(folder / "state").get("driver")):
        return {}
    found = {"words-driver-0": str(driver)}
    with contextlib.suppress(OSError, ValueError):
        with urllib.request.urlopen(f"http://{driver}/v1/observation", timeout=2) as answer:
            slots = json.load(answer)["slots"]
        found |= {
            f"words-worker-{slot['slot'].split('.')[0][1:]}": slot["address"] for slot in slots if slot["address"]
        }
    return found


def run(seconds: float, folder: pathlib.Path, prometheus: Prometheus) -> tuple[float, float]:
    """A demonstration, read from its begin to its end, which are returned."""
    spillway = pathlib.Path(sys.executable).with_name("spillway")
    command = [str(spillway), "demo", "--seconds", str(seconds), "--keep", str(folder)]
    demo = subprocess.Popen(command, cwd=folder)
    begin = 0.0
    try:
        while demo.poll() is None:
            if found := parts(folder):
                begin = begin or time.time()
                prometheus.follow(found)
            time.sleep(1)
    finally:
        if demo.poll() is None:
            demo.terminate()
            demo.wait(60)
    if not begin:
        sys.exit(f"the demonstration ended with {demo.returncode}, and nothing of it was read")
    if demo.returncode:  # on a busy machine it may come to no verdict; what was told of it is there all the same
        print(f"the demonstration ended with {demo.returncode}: its own verdict is above")
    # The load comes for as many seconds; what the verifier takes after that is not worth a picture.
    return begin + 5, min(time.time() - 3, begin + seconds + 20)


def panels(dashboard: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Those that ask something."""
    yield from (panel for panel in dashboard["panels"] if panel.get("targets"))


def filled(expression: str, seconds: float) -> str:
    """With what Grafana puts in for variables."""
    for name, value in (("__rate_interval", RATE), ("__range", f"{seconds:.0f}s"), ("namespace", ".+"), ("job", ".+")):
        expression = expression.replace(f"${name}", value)
    return expression


def answered(prometheus: Prometheus, panel: dict[str, Any], begin: float, end: float) -> list[Answer]:
    """What there is for each line of a panel."""
    answers = []
    for target in panel["targets"]:
        query = filled(target["expr"], end - begin)
        if target.get("instant"):
            found = prometheus.ask("query", query=query, time=end)["result"]
            series = [(one["metric"], [(end, float(one["value"][1]))]) for one in found]
        else:
            found = prometheus.ask("query_range", query=query, start=begin, end=end, step=EVERY)["result"]
            series = [(one["metric"], [(at, float(value)) for at, value in one["values"]]) for one in found]
        legend = target.get("legendFormat") or ""
        answers.append(Answer(query, [(drawing.named(legend, labels), points) for labels, points in series]))
    return answers


def judged(prometheus: Prometheus, begin: float, end: float, pictures: pathlib.Path | None) -> list[str]:
    """What is wrong with dashboards and alerts."""
    wrong, asked = [], 0
    for path in sorted((CHART / "dashboards").glob("*.json")):
        dashboard = json.loads(path.read_text())
        may = EMPTY.get(dashboard["uid"], set())
        drawn = []
        for panel in panels(dashboard):
            name = f"{dashboard['title']}, {panel['title']}"
            try:
                answers = answered(prometheus, panel, begin, end)
            except ValueError as error:
                wrong.append(f"{name}: {error}")
                continue
            asked += len(answers)
            drawn.append((panel, answers))
            if may is not None:
                legends = [target.get("legendFormat", "") for target in panel["targets"]]
                missing = [
                    one.query
                    for one, legend in zip(answers, legends, strict=True)
                    if not one.series and legend not in may
                ]
                wrong += [f"{name}: no answer to {query}" for query in missing if not _is_sparse(query)]
        if pictures is not None:
            drawing.draw(dashboard, drawn, begin, end, pictures / f"{path.stem}.png")
        for note in dashboard["annotations"].get("list", []):
            try:
                prometheus.ask("query_range", query=filled(note["expr"], end - begin), start=begin, end=end, step=EVERY)
            except ValueError as error:
                wrong.append(f"{dashboard['title']}, annotation {note['name']}: {error}")
            asked += 1
    rules = prometheus.ask("rules")["groups"]
    for rule in (rule for group in rules for rule in group["rules"]):
        asked += 1
        if rule["health"] != "ok":
            wrong.append(f"{rule['name']}: {rule['health']}: {rule.get('lastError', '')}")
        print(f"{rule['name']}: {rule.get('state', 'recorded')}")
    print(f"{asked} queries asked, {len(wrong)} wrong")
    return wrong


def _is_sparse(query: str) -> bool:
    """Whether no answer is one: failed records and decisions are told when there are some."""
    return query.endswith(("> 0", ">= 0")) or "executors" in query


def main() -> None:
    """Run, ask, draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=90.0, help="of the demonstration")
    parser.add_argument("--pictures", type=pathlib.Path, help="draw each dashboard there")
    given = parser.parse_args()
    if given.pictures is not None:
        given.pictures.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="spillway-watch-", ignore_cleanup_errors=True) as name:
        folder = pathlib.Path(name)
        prometheus = Prometheus(folder)
        try:
            (folder / "demo").mkdir()
            begin, end = run(given.seconds, folder / "demo", prometheus)
            wrong = judged(prometheus, begin, end, given.pictures)
        finally:
            prometheus.end()
    for one in wrong:
        print("wrong:", one)
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
