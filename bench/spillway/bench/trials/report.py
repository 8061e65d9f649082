"""One page of all that some folders hold: what was wanted, what was found, pictures, machines. Self-contained.

No script, no font and no address from anywhere else: the file can be mailed, and read in ten years.
"""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from spillway.bench.dual import plots
from spillway.bench.dual.histograms import Histogram
from spillway.bench.dual.plots import Line
from spillway.bench.record.figures import Figure, Verdict
from spillway.bench.trials import wanted
from spillway.bench.trials.wanted import State

STYLE = """
:root{color-scheme:light dark;--ink:#222;--paper:#fff;--pale:#f3f4f6;--rule:#d7dae0;
--good:#0a7a4b;--bad:#b3261e;--dull:#6b7280}
@media(prefers-color-scheme:dark){:root{--ink:#ddd;--paper:#16181d;--pale:#20242b;--rule:#33373f;
--good:#5cd6a0;--bad:#ff8a80;--dull:#9aa3af}}
body{font:15px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:2rem auto;max-width:72rem;
padding:0 1rem}
table{border-collapse:collapse;width:100%;margin:1rem 0;display:block;overflow-x:auto}
th,td{text-align:left;padding:.3rem .6rem;border-bottom:1px solid var(--rule);vertical-align:top}
th{background:var(--pale)}td.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
.reached{color:var(--good)}.missed{color:var(--bad);font-weight:600}.void,.open{color:var(--dull)}.open{white-space:nowrap}
figure{margin:1.5rem 0}svg{width:100%;height:auto}h2{margin-top:2.5rem}code{background:var(--pale);padding:0 .25rem}
"""
# Shares at which a distribution is drawn: as many between two nines as before the first.
SHARES = tuple(1 - 10 ** -(n / 10) for n in range(1, 41))


@dataclasses.dataclass(frozen=True, slots=True)
class Folder:
    """What one measurement has left.

    Attributes:
        name: of the folder.
        machine: where and when.
        figures: that came of it.
        runs: by the file that they are in.
        searches: what each has found.
    """

    name: str
    machine: Mapping[str, Any]
    figures: Sequence[Figure]
    runs: Mapping[str, Sequence[Mapping[str, Any]]]
    searches: Sequence[Mapping[str, Any]]


def read(folder: Path) -> Folder:
    """A folder; raises OSError or ValueError where it can't be."""
    figures, machine = list[Figure](), dict[str, Any]()
    for file in sorted(folder.glob("*.json")):
        told = json.loads(file.read_text(encoding="utf-8"))
        if file.name == "machine.json":
            machine = told
        elif isinstance(told, dict) and isinstance(told.get("figures"), list):
            figures += [_figure(one) for one in told["figures"]]
    lines = {
        file.stem: [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]
        for file in sorted(folder.glob("*.jsonl"))
    }
    searches = lines.pop("search", [])
    if not (figures or lines or searches):
        message = f"{folder} holds no figures and no runs of a measurement"
        raise ValueError(message)
    return Folder(folder.name, machine, figures, lines, searches)


def page(folders: Sequence[Folder]) -> str:
    """The whole page."""
    found = [figure for folder in folders for figure in folder.figures]
    parts = ["<h1>Spillway: benchmark report</h1>", *_wanted(found)]
    for folder in folders:
        parts += _folder(folder)
    body = "\n".join(parts)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8"><title>Spillway: benchmark report</title>'
        '<meta name="viewport" content="width=device-width">'
        f"<style>{STYLE}</style></head>\n<body>\n{body}\n</body></html>\n"
    )


def _figure(told: Mapping[str, Any]) -> Figure:
    """A figure as it was kept; what is no number was none."""
    value, low, high = (math.nan if told[name] is None else float(told[name]) for name in ("value", "low", "high"))
    name, unit, wanted_, note = (str(told.get(name, "")) for name in ("name", "unit", "wanted", "note"))
    return Figure(name, value, low, high, unit, wanted_, Verdict(told["verdict"]), note)


def _wanted(found: Sequence[Figure]) -> Iterator[str]:
    lines = wanted.compared(found)
    counts = {state: sum(line.state is state for line in lines) for state in State}
    yield "<h2>What is wanted</h2>"
    yield f"<p>{', '.join(f'{count} {state}' for state, count in counts.items())}. Ratios count after five rounds.</p>"
    rows = []
    for line in lines:
        said = "; ".join(
            f"{escape(one.name.partition(' ')[2])} {number(one.value)} {escape(one.unit)} ({one.wanted})"
            for one in line.found
            if one.wanted
        )
        word = "open" if line.state is State.OPEN else line.state
        measured = said or f"<code>{escape(line.wanted.by)}</code>"
        rows.append(
            f"<tr><td>{line.wanted.id}</td><td>{escape(line.wanted.workload)}</td><td>{escape(line.wanted.reach)}</td>"
            f'<td class="{word}">{line.state}</td><td>{measured}</td></tr>'
        )
    yield _table(("", "workload", "to reach", "", "found, or how to measure it"), rows)


def _folder(folder: Folder) -> Iterator[str]:
    yield f"<h2>{escape(folder.name)}</h2>"
    about = {**folder.machine, **folder.machine.get("versions", {})}
    about.pop("versions", None)
    if about:
        said = [f"{escape(str(name))} {escape(str(value))}" for name, value in about.items() if value]
        yield f"<p>{' · '.join(said)}</p>"
    if folder.figures:
        yield _table(
            ("", "median", "where it may lie", "unit", "wanted", "", ""), [_row(figure) for figure in folder.figures]
        )
    for search in folder.searches:
        yield from _search(search)
    for what, runs in folder.runs.items():
        yield from _pictures(what, runs)


def _row(one: Figure) -> str:
    word = "" if one.verdict is Verdict.SHOWN else str(one.verdict)
    return (
        f'<tr><td>{escape(one.name)}</td><td class="n">{number(one.value)}</td>'
        f'<td class="n">{number(one.low)} to {number(one.high)}</td><td>{escape(one.unit)}</td>'
        f'<td>{escape(one.wanted)}</td><td class="{word}">{word}</td><td>{escape(one.note)}</td></tr>'
    )


def _search(search: Mapping[str, Any]) -> Iterator[str]:
    said = f"{number(search['rate'])} records/s" if not search["problem"] else f"no figure: {escape(search['problem'])}"
    yield f"<h3>{escape(search['work'])}, {escape(search['system'])}: sustainable throughput: {said}</h3>"
    rows = [
        f'<tr><td class="n">{number(step["rate"])}</td><td>{escape(step["reason"])}</td>'
        f'<td class="n">{number(max((queue for _, queue in step["queue"]), default=0.0))}</td>'
        f'<td class="n">{number(step["acceptable"])}</td></tr>'
        for step in search["steps"]
    ]
    yield _table(("records/s", "", "longest queue", "c<sup>a</sup>"), rows)


def _pictures(what: str, runs: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """One over time for each load of a workload, with the first run of each system that counts; and one by share."""
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        if run.get("phases") and not run["problem"]:
            groups.setdefault(json.dumps([run["work"], run["phases"]]), []).append(run)
    for some in groups.values():
        first = {run["system"]: run for run in reversed(some)}
        load = [(phase["seconds"], phase["rate"] or 0.0) for phase in some[0]["phases"]]
        title = f"{what}: {some[0]['work']}, {sum(s * r for s, r in load) / sum(s for s, _ in load):,.0f} a second"
        lines = [over_time(run) for _, run in sorted(first.items())]
        yield f"<figure>{plots.drawn(title, lines, load)}</figure>"
        spread = [by_share(name, [r for r in some if r["system"] == name]) for name in sorted(first)]
        if any(line.points for line in spread):
            yield f"<figure>{plots.shares(f'{title}, all rounds', spread)}</figure>"


def over_time(run: Mapping[str, Any]) -> Line:
    """The 99 % of each second, and switches."""
    points = [(second[0] - run["begin"] + 0.5, second[4]) for second in run["latency"] if second[4] is not None]
    switches = [
        (one["at"] - run["begin"], one["to"] == "batch") for one in run["switches"] if one["at"] >= run["begin"]
    ]
    return Line(run["system"], points, switches)


def by_share(name: str, runs: Sequence[Mapping[str, Any]]) -> Line:
    """Of the latencies of all rounds of a system; as far as there are ten values beyond."""
    found = Histogram.of(np.zeros(0))
    for run in runs:
        if run.get("latencies"):
            found += Histogram.read(run["latencies"])
    return Line(name, [(share, found.quantile(share)) for share in SHARES if found.count * (1 - share) >= 10])


def number(value: float) -> str:
    """Four digits that say something; nothing where there is no number."""
    if not math.isfinite(value):
        return "-"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _table(head: Sequence[str], rows: Sequence[str]) -> str:
    names = "".join(f"<th>{name}</th>" for name in head)
    return f"<table><thead><tr>{names}</tr></thead><tbody>{''.join(rows)}</tbody></table>"
