"""Random planning problems: small ones for `exhaustive`, and large ones for how long a plan takes."""

from __future__ import annotations

import random

from spillway.controllers.costmodel.flow import CORE, Costs, Flow, Node, Slot
from spillway.controllers.latency.moments import ZERO, Moments
from spillway.controllers.planning.problem import Chaining, Problem, Promise, Room, Traits

MICRO = 1e-6


def small(seed: int, most: int = 4, *, dear: float = 1.0) -> Problem:
    """Up to so many operators, one or two topics or sources with costs, some keyed, some batchable; any promise.

    With frames that are so many times as `dear`, who never fuses needs more.
    """
    dice = random.Random(seed)  # noqa: S311 - test data, the same for the same seed
    sources = dice.choice([1, 1, 1, 2])
    nodes = [_node(dice, f"s{i}", [], dear) for i in range(sources)]
    topics = {node.name for node in nodes if dice.random() < 0.7}
    count = dice.randint(1, max(1, most - (sources - len(topics))))
    for i in range(count):
        known = [node.name for node in nodes]
        unread = [name for name in known if not any(name in node.inputs for node in nodes)]
        first = dice.choice(unread or known)
        inputs = {first, dice.choice(known)} if dice.random() < 0.2 else {first}
        nodes.append(_node(dice, f"o{i}", sorted(inputs), dear))
    batches = dice.random() < 0.4
    traits = {
        node.name: Traits(
            keyed=dice.random() < 0.3,
            batchable=dice.random() < 0.7,
            speedup=dice.choice([0.5, 1.0, 2.0, 4.0]),
        )
        for node in nodes
        if node.name not in topics
    }
    return Problem(
        Flow(nodes),
        {
            node.name: dice.choice([0.0, *(10 ** dice.uniform(1, 5.3) for _ in range(9))])
            for node in nodes
            if node.is_source
        },
        Promise(10 ** dice.uniform(-3, 0.7 if batches else 0.0), dice.choice([0.9, 0.95, 0.99])),
        Room(dice.randint(1, 9), dice.randint(0, 3)),
        topics=frozenset(topics),
        traits=traits,
        partitions={name: dice.randint(1, 6) for name in sorted(topics) if dice.random() < 0.5},
        headroom=dice.choice([0.0, 0.1, 0.2, 0.3]),
        slot=dice.choice([CORE, CORE, Slot(network=1e8)]),
        hop=dice.choice([ZERO, Moments(0.0005, 1e-8)]),
        schedule=Moments(0.03, 1e-4) if batches else None,
        chaining=dice.choice([Chaining.AUTO, Chaining.AUTO, Chaining.AUTO, Chaining.NEVER]),
    )


def _node(dice: random.Random, name: str, inputs: list[str], dear: float) -> Node:
    cpu, fetch, emit = (10 ** dice.uniform(-0.5, 1.5) * MICRO for _ in range(3))
    selectivity = dice.choice([0.01, 0.3, 1.0, 1.0, 1.0, 2.0, 5.0]) if inputs else 1.0
    return Node.operator(name, inputs, Costs(cpu, dear * fetch, dear * emit, selectivity, dice.choice([20, 100, 500])))


def large(kind: str, count: int, seed: int = 1, *, keyed: float = 0.3, rate: float = 20_000.0) -> Problem:
    """A chain, a tree or a graph of operators behind one topic; a record costs each some ten microseconds."""
    dice = random.Random(seed)  # noqa: S311 - test data, the same for the same seed
    nodes, traits = [Node.operator("topic", [], Costs(record_size=100))], dict[str, Traits]()
    for i in range(count):
        name, before = f"o{i:03}", "topic" if i == 0 else f"o{i - 1:03}"
        if i and kind == "tree":
            before = f"o{dice.randrange(max(0, i - 6), i):03}"
        inputs = [before]
        if i > 1 and kind == "graph":
            inputs = sorted({f"o{dice.randrange(max(0, i - 8), i):03}" for _ in range(dice.choice([1, 1, 2]))})
        selectivity = 1.0 if kind == "chain" else 0.7
        costs = Costs(dice.uniform(1, 20) * MICRO, 7.4 * MICRO, 2.6 * MICRO, selectivity, 100)
        nodes.append(Node.operator(name, inputs, costs))
        traits[name] = Traits(keyed=dice.random() < keyed, speedup=2.0)
    return Problem(
        Flow(nodes), {"topic": rate}, Promise(0.5, 0.99), Room(500, 64), frozenset({"topic"}), traits, headroom=0.2,
        schedule=Moments(0.03, 1e-4), hop=Moments(0.0005, 1e-8),
    )  # fmt: skip
