"""Data flows for tests of the cost model: the ones of the paper, and random ones."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

from spillway.controllers.costmodel.exact import Number
from spillway.controllers.costmodel.flow import Costs, Flow, Node, Setting

NANO = 10**9


def free(name: str, *inputs: str, **costs: Number) -> Node:
    """An operator that costs nothing but what is said."""
    return Node.operator(name, inputs, Costs(**costs))


def linear_road() -> Flow:
    """Figure 4.10 with the costs of Table 4.2, and c_fetch and c_emit as calibrated in section 4.3.2."""
    table: dict[str, tuple[Sequence[str], int, int, float]] = {
        "spout": ((), 1000, 107, 1.0),
        "parse": (("spout",), 3500, 32, 0.99),
        "agg": (("parse",), 2600, 24, 0.0003),
        "block": (("agg",), 5000, 16, 0.002),
        "mv": (("agg",), 7000, 24, 1.0),
        "toll": (("mv",), 4500, 20, 1.0),
    }
    return Flow(
        Node.operator(name, inputs, Costs(cpu / NANO, 7400 / NANO, 2600 / NANO, selectivity, size))
        for name, (inputs, cpu, size, selectivity) in table.items()
    )


def example_1() -> Flow:
    """Figure 2.3, with operators that cost nothing."""
    edges = {"v1": (), "v2": (), "v3": ("v1",), "v4": ("v2", "v3"), "v5": ("v4",), "v6": ("v4",)}
    return Flow(free(name, *inputs) for name, inputs in edges.items())


def of(settings: Mapping[str, tuple[int, int | None]]) -> dict[str, Setting]:
    """Settings from (dop, b_out)."""
    return {name: Setting(*setting) for name, setting in settings.items()}


def ones(flow: Flow, frame: int = 1) -> dict[str, Setting]:
    """One slot for every node, and frames of the same size."""
    return {node.name: Setting(1, frame) for node in flow.nodes}


def nodes_at_random(seed: int, count: int, *, fan_in: int = 3) -> Iterator[Node]:
    """A graph without circles: every node reads up to `fan_in` earlier ones; costs up to 10 us, as floats come."""
    dice = random.Random(seed)  # noqa: S311 - test data, the same for the same seed
    for i in range(count):
        width = min(i, dice.randint(0 if i < count // 5 else 1, fan_in))
        inputs = dice.sample(range(i), width)
        cpu, fetch, emit = (dice.random() * 1e-5 for _ in range(3))
        costs = Costs(cpu, fetch, emit, selectivity=dice.random() * 2 / max(1, width), record_size=dice.random() * 200)
        yield Node.operator(f"n{i}", [f"n{j}" for j in inputs], costs)
