"""Latencies as pictures: over time, with the load below and where a job switched; and by share. SVG, by hand. Pure.

Over time the height is the logarithm of the 99 % of what was due in each second, because milliseconds and minutes are
both of interest. Switches to batches are drawn through, those back are dotted. Every colour has a dash of its own as
well. Papers are light or dark as the reader's are.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from html import escape
from typing import NamedTuple

WIDTH, HEIGHT = 900, 460
LEFT, RIGHT, TOP, LOAD, BOTTOM = 70, 20, 60, 90, 40  # margins; the load takes so much above the axis of time
FLOOR = HEIGHT - BOTTOM - LOAD
NINES = 4  # shares up to 99.99 %: of fewer than ten thousand values nobody knows more
# The colours of Okabe and Ito, which people with any colour vision can tell apart, and a dash for each.
LOOKS = (
    ("#0072B2", ""),
    ("#D55E00", "7 2"),
    ("#009E73", "2 2"),
    ("#CC79A7", "8 2 2 2"),
    ("#E69F00", "4 4"),
    ("#56B4E9", "1 3"),
    ("#999999", "12 3"),
)
STYLE = """<style>
.plot .paper{fill:#fff}.plot text{fill:#222}.plot .grid{stroke:#e3e3e3}.plot .mark{stroke:#222}
.plot .load{fill:#e3e3e3;stroke:#777}
@media(prefers-color-scheme:dark){.plot .paper{fill:#16181d}.plot text{fill:#ddd}.plot .grid{stroke:#33373f}
.plot .mark{stroke:#ddd}.plot .load{fill:#33373f;stroke:#999}}
</style>"""


class Line(NamedTuple):
    """One run: seconds since the load began, with milliseconds; and when it switched, and whether to batches."""

    name: str
    points: Sequence[tuple[float, float]]
    switches: Sequence[tuple[float, bool]] = ()


def drawn(title: str, lines: Sequence[Line], load: Sequence[tuple[float, float]], bound: float | None = None) -> str:
    """Over time; `load` has the seconds and the rate of each phase, `bound` is the promise in ms."""
    shown = [line for line in lines if line.points]
    end = max([sum(seconds for seconds, _ in load), *(at for line in shown for at, _ in line.points)], default=1.0)
    paper = _paper(shown, max(end, 1.0), FLOOR, bound)
    return _whole(title, paper, shown, [*_times(paper), *_load(paper, load)], bound)


def shares(title: str, lines: Sequence[Line], bound: float | None = None) -> str:
    """By share; points are shares below 1, with the milliseconds that so many are not above."""
    far = [Line(line.name, [(_nines(share), value) for share, value in line.points]) for line in lines if line.points]
    paper = _paper(far, float(NINES), HEIGHT - BOTTOM, bound)
    labels = [_text(paper.x(_nines(share)), HEIGHT - BOTTOM + 16, f"{share * 100:g} %", "middle") for share in SHARES]
    return _whole(title, paper, far, labels, bound)


SHARES = (0.0, 0.5, 0.9, 0.99, 0.999, 0.9999)


def _nines(share: float) -> float:
    return min(float(NINES), -math.log10(max(1 - share, 10**-NINES)))


def _whole(title: str, paper: _Paper, shown: Sequence[Line], parts: Sequence[str], bound: float | None) -> str:
    found = [*_grid(paper), *parts]
    if bound:
        y = paper.y(bound)
        found.append(f'<line class="mark" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        found.append(_text(WIDTH - RIGHT, y - 4, "the promise", "end"))
    for number, line in enumerate(shown):
        found += _line(paper, line, number)
    body = "\n".join([_text(LEFT, 22, title, bold=True), *found])
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" class="plot" role="img" aria-label="{escape(title)}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" font-family="sans-serif" font-size="12">\n{STYLE}\n'
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>\n{body}\n</svg>\n'
    )


class _Paper(NamedTuple):
    """Where things are: seconds up to `end`, and powers of ten of milliseconds above `floor`."""

    end: float
    low: int
    high: int
    floor: float

    def x(self, at: float) -> float:
        return LEFT + min(max(at / self.end, 0.0), 1.0) * (WIDTH - LEFT - RIGHT)

    def y(self, value: float) -> float:
        share = (math.log10(max(value, 10**self.low)) - self.low) / (self.high - self.low)
        return self.floor - share * (self.floor - TOP)


def _paper(shown: Sequence[Line], end: float, floor: float, bound: float | None) -> _Paper:
    values = [max(0.1, value) for line in shown for _, value in line.points] + ([bound] if bound else [])
    low = math.floor(math.log10(min(values, default=1.0)))
    high = max(low + 1, math.ceil(math.log10(max(values, default=10.0))))
    return _Paper(end, low, high, floor)


def _grid(paper: _Paper) -> Iterator[str]:
    for power in range(paper.low, paper.high + 1):
        y = paper.y(10**power)
        yield f'<line class="grid" x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield _text(LEFT - 6, y + 4, f"{10**power:g} ms" if power < 3 else f"{10 ** (power - 3):g} s", "end")


def _times(paper: _Paper) -> Iterator[str]:
    step = next(step for step in (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1e9) if paper.end / step <= 12)
    for number in range(int(paper.end / step) + 1):
        yield _text(paper.x(number * step), HEIGHT - BOTTOM + 16, f"{number * step:g} s", "middle")


def _load(paper: _Paper, load: Sequence[tuple[float, float]]) -> Iterator[str]:
    """A field as high as the rate."""
    most, base, at, points = max((rate for _, rate in load), default=0.0), HEIGHT - BOTTOM, 0.0, []
    for seconds, rate in load:
        y = base - (rate / most if most else 0.0) * (LOAD - 25)
        points += [f"{paper.x(at):.1f},{y:.1f}", f"{paper.x(at + seconds):.1f},{y:.1f}"]
        at += seconds
    if points:
        corners = " ".join([f"{LEFT},{base}", *points, f"{paper.x(at):.1f},{base}"])
        yield f'<polygon class="load" points="{corners}"/>'
        yield _text(LEFT - 6, base - LOAD + 37, f"{most:,.0f}/s", "end")


def _line(paper: _Paper, line: Line, number: int) -> Iterator[str]:
    colour, dash = LOOKS[number % len(LOOKS)]
    look = f'stroke="{colour}" stroke-width="1.6" stroke-dasharray="{dash}" fill="none"'
    points = " ".join(f"{paper.x(at):.1f},{paper.y(value):.1f}" for at, value in line.points)
    yield f'<polyline points="{points}" {look}/>'
    x = LEFT + number * 115
    yield f'<line x1="{x}" x2="{x + 28}" y1="40" y2="40" {look}/>'
    yield _text(x + 33, 44, line.name)
    for at, batch in line.switches:
        where, dots = paper.x(at), "" if batch else "2 3"
        text = f"{line.name} to {'batches' if batch else 'record by record'}"
        yield (
            f'<line class="switch" x1="{where:.1f}" x2="{where:.1f}" y1="{TOP}" y2="{HEIGHT - BOTTOM}" '
            f'stroke="{colour}" stroke-dasharray="{dots}"><title>{escape(text)}</title></line>'
        )
        yield _text(where + 3, TOP + 10, "B" if batch else "R")


def _text(x: float, y: float, text: str, anchor: str = "start", *, bold: bool = False) -> str:
    weight = ' font-weight="bold"' if bold else ""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}"{weight}>{escape(text)}</text>'
