"""Where the nodes of a graph stand: layers along the flow, and rows within them. Pure, and always the same.

After Sugiyama, Tagawa and Toda (1981), in four steps:

1. Layers. A node stands one layer behind the last of its inputs (the longest path). What has no input stands right
   before the first of its readers, so that a table is drawn where it is joined.
2. Bends. An edge over several layers passes through a bend in each, so that it goes around nodes.
3. Order. Sweeps along the flow and back sort each layer by the mean place of its neighbours in the layer before. The
   order with the fewest crossings is kept; to find the very fewest is NP-hard, for two layers already.
4. Rows. With the order fixed, rows are as near as can be to the mean row of the neighbours: least squares with
   distances to keep, which pooling adjacent violators solves exactly for one layer.
"""

from __future__ import annotations

import bisect
import dataclasses
import itertools
from collections.abc import Mapping, Sequence

# Graphs of people settle within four; more only cost time.
SWEEPS = 8
# Nodes and bends that all sweeps together look at: about 0.2 s. The largest of jobs, with edges over all of its layers,
# would take seconds otherwise, and there are no good drawings of those anyway.
WORK = 40_000
# Rows between an edge that passes by and its neighbours: a node needs a whole one, a line less.
BEND = 0.4


@dataclasses.dataclass(frozen=True, slots=True)
class Place:
    """Where something stands: the layer, from 0, and the row within it, from 0; rows may be broken numbers."""

    layer: int
    row: float


@dataclasses.dataclass(frozen=True, slots=True)
class Layout:
    """The drawing of a graph.

    Attributes:
        places: of the nodes, by name.
        bends: of the edges that pass layers, by source and target, in the order of the flow.
    """

    places: Mapping[str, Place]
    bends: Mapping[tuple[str, str], tuple[Place, ...]]


def arrange(names: Sequence[str], edges: Sequence[tuple[str, str]]) -> Layout:
    """Draw a graph. Each of `names` comes after those it reads; an edge is a source and a target."""
    numbers = {name: number for number, name in enumerate(names)}
    pairs = list(dict.fromkeys(edges))
    layers = _layers(len(names), [(numbers[source], numbers[target]) for source, target in pairs])
    graph = _Graph(layers)
    chains = {pair: graph.connect(numbers[pair[0]], numbers[pair[1]]) for pair in pairs}
    graph.order()
    rows = graph.rows()
    places = [Place(layer, round(row, 3)) for layer, row in zip(graph.layer, rows, strict=True)]
    return Layout(
        {name: places[number] for name, number in numbers.items()},
        {pair: tuple(places[bend] for bend in chain) for pair, chain in chains.items() if chain},
    )


def _layers(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    """The layer of each node; nodes are numbered along the flow."""
    before: list[list[int]] = [[] for _ in range(count)]
    behind: list[list[int]] = [[] for _ in range(count)]
    for source, target in edges:
        if source >= target:
            message = f"node {target} stands before node {source}, which it reads"
            raise ValueError(message)
        before[target].append(source)
        behind[source].append(target)
    layers = [0] * count
    for node in range(count):
        layers[node] = max((layers[source] + 1 for source in before[node]), default=0)
    for node in range(count):
        if not before[node] and behind[node]:
            layers[node] = min(layers[reader] for reader in behind[node]) - 1
    return layers


class _Graph:
    """Nodes and bends by number, with their neighbours in the layer before and behind."""

    def __init__(self, layers: list[int]) -> None:
        self.layer = list(layers)
        self._nodes = len(layers)
        self._before: list[list[int]] = [[] for _ in layers]
        self._behind: list[list[int]] = [[] for _ in layers]
        self._orders: list[list[int]] = [[] for _ in range(max(layers, default=-1) + 1)]
        for node, layer in enumerate(layers):
            self._orders[layer].append(node)

    def connect(self, source: int, target: int) -> list[int]:
        """Add an edge, with a bend in each layer that it passes; the bends."""
        bends = []
        last = source
        for layer in range(self.layer[source] + 1, self.layer[target]):
            bend = len(self.layer)
            self.layer.append(layer)
            self._before.append([])
            self._behind.append([])
            self._orders[layer].append(bend)
            self._join(last, bend)
            bends.append(bend)
            last = bend
        self._join(last, target)
        return bends

    def _join(self, source: int, target: int) -> None:
        self._behind[source].append(target)
        self._before[target].append(source)

    # Order

    @property
    def _sweeps(self) -> int:
        return max(1, min(SWEEPS, WORK // max(1, len(self.layer))))

    def order(self) -> None:
        """Find an order of each layer with few crossings."""
        best, fewest = [list(order) for order in self._orders], self._crossings()
        for sweep in range(self._sweeps):
            if not fewest:
                break
            along = sweep % 2 == 0
            neighbours = self._before if along else self._behind
            layers = range(1, len(self._orders)) if along else range(len(self._orders) - 2, -1, -1)
            for layer in layers:
                self._sort(layer, neighbours, self._orders[layer - 1 if along else layer + 1])
            crossings = self._crossings()
            if crossings < fewest:
                best, fewest = [list(order) for order in self._orders], crossings
        self._orders = best

    def _sort(self, layer: int, neighbours: list[list[int]], fixed: list[int]) -> None:
        """Sort a layer by the mean place of its neighbours; what has none keeps its place."""
        place = {node: float(number) for number, node in enumerate(fixed)}
        means = {
            node: sum(place[other] for other in neighbours[node]) / len(neighbours[node])
            for node in self._orders[layer]
            if neighbours[node]
        }
        moved = iter(sorted(means, key=means.__getitem__))
        self._orders[layer] = [next(moved) if node in means else node for node in self._orders[layer]]

    def _crossings(self) -> int:
        """How many pairs of edges cross."""
        total = 0
        for order, following in itertools.pairwise(self._orders):
            place = {node: number for number, node in enumerate(following)}
            seen: list[int] = []
            for node in order:
                targets = sorted(place[target] for target in self._behind[node])
                total += sum(len(seen) - bisect.bisect_right(seen, target) for target in targets)
                for target in targets:
                    bisect.insort(seen, target)
        return total

    # Rows

    def rows(self) -> list[float]:
        """The row of each node and bend."""
        found = [0.0] * len(self.layer)
        for order in self._orders:
            for node, row in zip(order, self._apart(order), strict=True):
                found[node] = row
        both = [[*before, *behind] for before, behind in zip(self._before, self._behind, strict=True)]
        for _ in range(self._sweeps):
            for layers, neighbours in (
                (range(len(self._orders)), self._before),
                (range(len(self._orders) - 1, -1, -1), self._behind),
                (range(len(self._orders)), both),
            ):
                for layer in layers:
                    self._settle(layer, neighbours, found)
        least = min(found, default=0.0)
        return [row - least for row in found]

    def _apart(self, order: Sequence[int]) -> list[float]:
        """The least row of each of a layer, one beside the other."""
        sizes = [1.0 if node < self._nodes else BEND for node in order]
        rows = [0.0]
        for one, following in itertools.pairwise(sizes):
            rows.append(rows[-1] + (one + following) / 2)
        return rows[: len(order)]

    def _settle(self, layer: int, neighbours: list[list[int]], rows: list[float]) -> None:
        """Move the nodes of a layer towards their neighbours, as far as order and distances let them.

        With z = row - least row, distances are the condition that z never falls: isotonic regression.
        """
        order, least = self._orders[layer], self._apart(self._orders[layer])
        pools: list[tuple[float, float, int]] = []  # mean of z, weight, how many
        for node, offset in zip(order, least, strict=True):
            near = neighbours[node]
            wish = sum(rows[other] for other in near) / len(near) if near else rows[node]
            # A bend that is out of line is seen more than a node that is out of the middle.
            weight = float(len(near)) * (1 if node < self._nodes else 2) if near else 0.1
            pools.append((wish - offset, weight, 1))
            while len(pools) > 1 and pools[-2][0] > pools[-1][0]:
                (one, of_one, first), (other, of_other, second) = pools[-2:]
                mean = (one * of_one + other * of_other) / (of_one + of_other)
                pools[-2:] = [(mean, of_one + of_other, first + second)]
        settled = [mean for mean, _, many in pools for _ in range(many)]
        for node, offset, z in zip(order, least, settled, strict=True):
            rows[node] = offset + z
