"""The steps of a profile, drawn: throughput by round, with what was deployed."""

from __future__ import annotations

import pathlib

from spillway.cli.planning import canvas, sizes
from spillway.cli.profiling.answers import Profile
from spillway.controllers.profiling.rounds import Reason, Step

_HEIGHT, _EACH, _LEAST = 5.0, 0.75, 7.0  # inches: of the picture, of a round, and of the shortest picture
_COLOURS = {Step.FEATURES: canvas.GREY, Step.CAPABILITY: canvas.BLUE, Step.CAPACITY: canvas.ORANGE}
_NAMES = {Step.FEATURES: "light load", Step.CAPABILITY: "platform capability", Step.CAPACITY: "operator capacity"}


def draw(profile: Profile, path: pathlib.Path) -> None:
    """Write the picture."""
    rounds = [one for one in profile.finished.rounds if one.measurement is not None]
    end = profile.finished
    title = f"{profile.job} on {profile.platform}: {sizes.rate(end.throughput)}"
    with canvas.drawing(path, max(_LEAST, _EACH * len(rounds) + 2), _HEIGHT) as figure:
        top, bottom = figure.subplots(2, 1, sharex=True, height_ratios=[3, 2])
        figure.suptitle(title, x=0.01, ha="left", fontsize=12, weight="bold")
        for step in Step:
            mine = [one for one in rounds if one.move.step is step and one.measurement is not None]
            if not mine:
                continue
            top.bar(
                [one.number for one in mine],
                [one.measurement.rate for one in mine if one.measurement is not None],
                color=[_COLOURS[step] if _kept(one.reason, kept=one.kept) else "white" for one in mine],
                edgecolor=_COLOURS[step],
                width=0.7,
                label=_NAMES[step],
            )
        top.yaxis.set_major_formatter(lambda rate, _: sizes.rate(rate) if rate else "0")
        top.set_title("throughput by round; filled: kept")
        top.legend(loc="upper left", ncols=len(Step))
        top.margins(y=0.2)
        canvas.plainly(top, along="y")
        operators = list(rounds[0].move.deployment.tasks) if rounds else []
        base = [0] * len(rounds)
        palette = (canvas.BLUE, canvas.ORANGE, canvas.GREEN, canvas.RED, canvas.SKY, canvas.PURPLE, canvas.YELLOW)
        for number, name in enumerate(operators):
            counts = [one.move.deployment.tasks[name] for one in rounds]
            bottom.bar(
                [one.number for one in rounds],
                counts,
                bottom=base,
                width=0.7,
                color=palette[number % len(palette)],
                hatch="//" if number >= len(palette) else None,
                label=name,
            )
            base = [a + b for a, b in zip(base, counts, strict=True)]
        bottom.set_title("slots by operator")
        bottom.set_xticks([one.number for one in rounds])
        bottom.set_xlabel("round")
        bottom.legend(loc="upper left", ncols=4)
        bottom.margins(y=0.35)
        canvas.plainly(bottom, along="y")


def _kept(reason: Reason, *, kept: bool) -> bool:
    return kept or reason in (Reason.LEARNT, Reason.KEPT_BOUND)
