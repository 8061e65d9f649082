"""How near stepwise profiling comes to the best, and how soon: `python -m spillway.bench.profiling [F1|F2]`.

On simulated clusters (`clusters`, `topologies`), with noise of 2 % in every sample and 0.5 % in every deployment:

- F1: Linear, Star and Diamond against the best of all task counts. Rounds are those under full load, as the paper
  counts them; one light round comes before. "until 95 %" is the round that first reached it, "until the end" counts the
  rounds that found out that nothing more is to be gained.
- F2: word count, synthetic word count and sentiment analysis against threshold scaling and Stela (`rivals`), on the
  same six machines. Every rival gets as many deployments as profiling used, the light one included, and is taken at
  the best configuration that it ever had in them, though it would not know; "last" is where it stood.
  "best" is the best of all task counts: nobody can be further above a rival than that.

Throughput is the true one of the configuration, without noise; profiling's is the one that it holds its sources to.
"""

from __future__ import annotations

import argparse
import dataclasses
import statistics
import sys
from collections.abc import Callable, Sequence

from spillway.bench import rivals_of_profiling as rivals
from spillway.bench import topologies
from spillway.bench.clusters import Cluster, Simulated, optimum
from spillway.controllers.profiling import machine
from spillway.controllers.profiling.rounds import Settings

NEAR = 0.95
# Tasks of each operator that are tried for the optimum, far beyond what turns out best: at the end of these ranges,
# threads that do nothing take a third of all cores.
MOST = {
    "linear": dict.fromkeys(("op1", "op2", "op3", "op4"), 12),
    "star": {"op1": 6, "op2": 6, "op3": 70, "op4": 40, "op5": 40},
    "diamond": {"op1": 4, "op2": 14, "op3": 6, "op4": 40, "op5": 40, "op6": 4},
    "word count": dict.fromkeys(("spout", "parser", "splitter", "counter"), 14),
    "synthetic word count": dict.fromkeys(("spout", "wait", "parser", "splitter", "counter"), 12),
    "sentiment": {f"op{i}": 2 for i in range(5, 12)} | {"op1": 4, "op2": 6, "op3": 14, "op4": 8},
}
BOUNDS = {"linear": 0.5, "star": 0.1, "diamond": 0.5}  # of the latency, as SWP, section 6.2
ROUNDS = {"linear": 4, "star": 6, "diamond": 6}  # that the paper's own profiler took


@dataclasses.dataclass(frozen=True, slots=True)
class Profiled:
    """One profile: tasks, true throughput, deployments, and the true throughput of the best after each full round."""

    tasks: dict[str, int]
    throughput: float
    deployments: int
    course: tuple[float, ...]
    reason: str

    def until(self, throughput: float) -> int | None:
        """The first round that had so much."""
        return next((i for i, reached in enumerate(self.course, 1) if reached >= throughput), None)


def profile(cluster: Cluster, bound: float, seed: int) -> Profiled:
    """Profile a simulated cluster."""
    state = machine.run(Simulated(cluster, seed), machine.begin(cluster.application, Settings(bound)))
    end = machine.next_step(state)
    if not isinstance(end, machine.Finished) or end.deployment is None:
        sys.exit(f"profiling did not finish: {end}")
    course, best = [], 0.0
    for done in state.rounds:
        if done.stressed:
            best = cluster.steady(done.move.deployment).throughput if done.kept else best
            course.append(best)
    true = cluster.steady(end.deployment).throughput
    return Profiled(dict(end.deployment.tasks), true, len(state.rounds), tuple(course), str(end.reason))


def nearness(seeds: int) -> None:
    """F1."""
    made: dict[str, Callable[[], Cluster]] = {
        "linear": topologies.linear,
        "star": topologies.star,
        "diamond": topologies.diamond,
    }
    _row("F1", "best tasks", "best /s", "share", "lowest", ">= 95 %", "until 95 %", "until the end", "paper")
    for name, make in made.items():
        cluster = make()
        found = [profile(cluster, BOUNDS[name], seed) for seed in range(seeds)]
        tasks, best = optimum(cluster, MOST[name], [one.tasks for one in found])
        shares = [one.throughput / best for one in found]
        reached = [one.until(NEAR * best) for one in found]
        known = [rounds for rounds in reached if rounds is not None]
        near = sum(share >= NEAR for share in shares) / seeds
        ends = [len(one.course) for one in found]
        _row(
            name,
            " ".join(str(count) for count in tasks.values()),
            f"{best:.0f}",
            f"{statistics.median(shares):.3f}",
            f"{min(shares):.3f}",
            f"{near:.0%}",
            f"{min(known, default=0)} to {max(known, default=0)}",
            f"{min(ends)} to {max(ends)}",
            f"{ROUNDS[name]}",
        )


def comparison(seeds: int) -> None:
    """F2."""
    made: dict[str, Callable[[], Cluster]] = {
        "word count": topologies.word_count,
        "synthetic word count": lambda: topologies.word_count(synthetic=True),
        "sentiment": topologies.sentiment,
    }
    columns = (
        "deployments",
        "best /s",
        "profiled /s",
        "threshold",
        "last",
        "Stela",
        "last",
        "over better",
        "Stela, 3x",
    )
    _row("F2", *columns)
    for name, make in made.items():
        rows, (_, best) = [_compared(make(), seed) for seed in range(seeds)], optimum(make(), MOST[name])
        ours, count, threshold, threshold_last, stela, stela_last, patient = (
            statistics.median(column) for column in zip(*rows, strict=True)
        )
        gain = statistics.median(row[0] / max(row[2], row[4]) - 1 for row in rows)
        cells = (best, ours, threshold, threshold_last, stela, stela_last)
        _row(name, f"{count:.0f}", *(f"{cell:.0f}" for cell in cells), f"{gain:+.0%}", f"{patient:.0f}")


def _compared(cluster: Cluster, seed: int) -> tuple[float, ...]:
    """One seed: profiling, its deployments, each rival's best and last in as many, and Stela's best in three times."""
    ours = profile(cluster, 0.5, seed)
    results: list[float] = [ours.throughput, ours.deployments]
    for rival in (rivals.threshold, rivals.stela):
        simulated, times = Simulated(cluster, seed), 3 * ours.deployments
        course = rivals.scale(simulated, cluster.application, rival, times, cluster.machines.count)
        rates = [cluster.throughput(tasks) for tasks in course]
        results += [max(rates[: ours.deployments]), rates[: ours.deployments][-1]]
    return (*results, max(rates))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("figures", nargs="*", metavar="F1|F2", help="which tables; all when none is named")
    parser.add_argument("--seeds", type=int, default=20)
    given = parser.parse_args(arguments)
    parts = {"F1": nearness, "F2": comparison}
    for name in given.figures or parts:
        if name not in parts:
            parser.error(f"there is no table {name!r}; there are {', '.join(parts)}")
        parts[name](given.seeds)


def _row(name: str, first: str, *cells: str) -> None:
    sys.stdout.write(f"{name:22}{first:>16}" + "".join(f"{cell:>14}" for cell in cells) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
