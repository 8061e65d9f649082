"""The topologies of section 6.1.1 of SWP, as simulated clusters: their shapes and flags are the paper's.

Where the paper has numbers: 5 ms for an operator that waits for a service, 1 ms for the Waiting operator of synthetic
word count, 12 words to a text, six machines with two cores, 500 ms as bound (100 ms for Star), and for Linear 1876
records/s with two tasks each, about 1.07 ms for a record. All other costs are ours; they are such that the operator
that the paper calls the heavy one is.
"""

from __future__ import annotations

from spillway.bench.clusters import Cluster, Work
from spillway.controllers.profiling.application import Application, Operator

MS = 1e-3
US = 1e-6


def linear() -> Cluster:
    """A source and three operators in a row that need the CPU."""
    operators = [Operator("op1"), *(Operator(f"op{i}", (f"op{i - 1}",)) for i in (2, 3, 4))]
    works = {"op1": Work(0.05 * MS, 0.1 * MS)} | {f"op{i}": Work(1.04 * MS, locked=True) for i in (2, 3, 4)}
    return Cluster(Application.of(operators), works)


def star() -> Cluster:
    """Two sources, one operator that gets both, two that get all it sends: they parse and wait for disks."""
    operators = [
        Operator("op1"),
        Operator("op2"),
        Operator("op3", ("op1", "op2")),
        Operator("op4", ("op3",)),
        Operator("op5", ("op3",)),
    ]
    source, disk = Work(0.05 * MS, 0.25 * MS), Work(0.15 * MS, 2.85 * MS)
    works = {"op1": source, "op2": source, "op3": disk, "op4": disk, "op5": disk}
    # Each record of a source is one for op3; op3's go to both op4 and op5, half of them filtered.
    works["op3"] = Work(disk.cpu, disk.wait, selectivity=0.5)
    return Cluster(Application.of(operators), works, pending=150)


def diamond() -> Cluster:
    """A source, four operators beside one another (one CPU, one I/O, two that wait 5 ms), and one that gets all."""
    middle = ("op2", "op3", "op4", "op5")
    operators = [Operator("op1"), *(Operator(name, ("op1",)) for name in middle), Operator("op6", middle)]
    works = {
        "op1": Work(0.1 * MS, 0.1 * MS),
        "op2": Work(1.0 * MS),
        "op3": Work(0.2 * MS, 0.1 * MS),
        "op4": Work(0.01 * MS, 5 * MS),
        "op5": Work(0.01 * MS, 5 * MS),
        "op6": Work(0.05 * MS),
    }
    return Cluster(Application.of(operators), works)


def word_count(*, synthetic: bool = False) -> Cluster:
    """Texts are parsed, split into 12 words each, and counted; the synthetic one lets each wait for 1 ms first."""
    first = "wait" if synthetic else "spout"
    operators = [
        Operator("spout"),
        Operator("parser", (first,)),
        Operator("splitter", ("parser",)),
        Operator("counter", ("splitter",), logic_dependent=True),
    ]
    works = {
        "spout": Work(0.1 * MS, 0.05 * MS),
        "parser": Work(0.33 * MS),
        "splitter": Work(0.25 * MS, selectivity=12),
        "counter": Work(0.04 * MS, emits=100.0),
    }
    if synthetic:
        operators.append(Operator("wait", ("spout",)))
        works["wait"] = Work(0.01 * MS, 1 * MS)
    return Cluster(Application.of(operators), works)


def sentiment() -> Cluster:
    """Twitter sentiment analysis, Fig. 10: eleven operators behind the spout, eight stages deep, a third English."""
    chain = {
        "op2": ("op1", Work(0.1 * MS, 0.3 * MS)),  # writes to a file
        "op3": ("op1", Work(0.6 * MS, selectivity=0.35)),  # detects the language
        "op4": ("op3", Work(0.8 * MS)),  # scores each text
        "op5": ("op4", Work(0.05 * MS)),
        "op6": ("op5", Work(0.05 * MS, emits=1.0)),
        "op7": ("op4", Work(0.1 * MS, selectivity=0.8)),  # hashtags
        "op8": ("op7", Work(0.1 * MS, emits=200.0)),  # counts them, and tells at a pace of its own
        "op9": ("op8", Work(0.2 * MS, emits=20.0)),
        "op10": ("op9", Work(0.2 * MS, emits=5.0)),
        "op11": ("op10", Work(0.2 * MS)),
    }
    logic = {"op6", "op8", "op9", "op10"}
    operators = [Operator("op1")]
    operators += [Operator(name, (reads,), logic_dependent=name in logic) for name, (reads, _) in chain.items()]
    works = {"op1": Work(0.1 * MS, 0.05 * MS)} | {name: work for name, (_, work) in chain.items()}
    return Cluster(Application.of(operators), works)
