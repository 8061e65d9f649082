"""Several systems in turn, each in fresh processes under the same load, with one broker for all."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence

from spillway.bench.dual import courses, pictures
from spillway.bench.dual.courses import Run
from spillway.bench.dual.keeping import Keeper
from spillway.bench.dual.loads import Phase
from spillway.bench.engines import Maker
from spillway.bench.record import figures, systems

Runs = Mapping[str, list[Run]]


def measured(
    what: str,
    makers: Mapping[str, Maker],
    course: Callable[[Maker, str], Run],
    phases: Sequence[Phase],
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
) -> Runs:
    """Every system by the name that it is told under, so many times, forwards and backwards in turn."""
    runs: dict[str, list[Run]] = {name: [] for name in makers}
    with systems.broker() as bootstrap:
        for _, name in figures.in_turn(list(makers), rounds):
            maker = makers[name]
            run = courses.counted(functools.partial(course, maker, bootstrap), maker, phases, done)
            keeper.keep(what, run)
            runs[name].append(run)
    return runs


def paced(
    what: str,
    title: str,
    makers: Sequence[Maker],
    phases: Sequence[Phase],
    rounds: int,
    done: Callable[[str], None],
    keeper: Keeper,
    *,
    bound: float | None = None,
) -> Runs:
    """The same on an open loop, and drawn; `bound` is the promise that the picture shows, in milliseconds."""

    def course(maker: Maker, bootstrap: str) -> Run:
        return courses.paced(maker, bootstrap, phases)

    runs = measured(what, {maker.name: maker for maker in makers}, course, phases, rounds, done, keeper)
    pictures.draw(keeper, title, [some[0] for some in runs.values()], bound)
    return runs
