"""Pictures of runs: which lines there are, and where they are kept."""

from __future__ import annotations

import re
from collections.abc import Sequence

from spillway.bench.dual import plots
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.plots import Line
from spillway.model.operators import Paradigm


def draw(keeper: Keeper, title: str, runs: Sequence[Run], bound: float | None = None) -> None:
    """One picture of runs under the same load."""
    paced = [run for run in runs if run.load is not None]
    if keeper.folder is None or not paced:
        return
    load = [(phase.seconds, phase.rate) for phase in paced[0].load.phases] if paced[0].load is not None else []
    text = plots.drawn(title, [line(run) for run in paced], load, bound)
    name = re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")
    keeper.folder.mkdir(parents=True, exist_ok=True)
    (keeper.folder / f"{name}.svg").write_text(text, encoding="utf-8")


def line(run: Run) -> Line:
    """Seconds since the load began, with the 99 % of what was due in each; and its switches."""
    points = [(second - run.begin + 0.5, p99) for second, _, _, _, p99 in run.seconds()]
    switches = [(one.at - run.begin, one.to is Paradigm.BATCH) for one in run.heard.switches(run.begin)]
    return Line(run.system, points, switches)
