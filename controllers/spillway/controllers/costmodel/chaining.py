"""Chaining: operators that call one another on the same slot, as one node.

A chain or tree of operators with root r takes a frame in once, at the root, and sends frames only where somebody
outside reads; what passes inside is a function call, part of c_cpu. Of one record that comes in at the root,

    w_r = 1,   w_i = w_p·s_p                 records reach operator i, which reads its parent p
    c_cpu   = Σ w_i·c_cpu,i                  seconds they cost on the way
    c_fetch = c_fetch,r
    s_o     = w_o·s_o                        records leave by output o, in frames that cost c_emit,o
    rs_o    as it was

so that Eq. 3.8 for the whole is c_p = c_fetch/b_in + Σ w_i·c_cpu,i + Σ_o w_o·s_o·c_emit,o/b_out. Against the same
operators on slots of their own, a chain of two saves s_1·c_emit,1/b_1 + s_1·c_fetch,2/b_1 for each record, and
gives up that they can be sized apart. Fusing is associative: w is a product along a path, and the sums are over the
same operators however they were grouped.

Only trees can be fused: an operator with two inputs inside would have to wait for both.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Mapping
from fractions import Fraction

from spillway.controllers.costmodel import exact
from spillway.controllers.costmodel.flow import Flow, Node, Output


def fuse(data_flow: Flow, name: str, members: Collection[str]) -> Node:
    """The members, a tree of the flow, as one node; outputs are those that others read, or nobody does."""
    inside = [node for node in data_flow.nodes if node.name in members]  # each after its parent, the root first
    unknown = set(members) - {node.name for node in inside}
    if unknown or not inside:
        message = f"cannot fuse {sorted(members)}: {sorted(unknown) or 'nothing'} is no node of the flow"
        raise ValueError(message)
    root = inside[0]
    arriving: dict[str, Fraction] = {}  # by output, w_o·s_o
    cpu = Fraction(0)
    outputs: list[Output] = []
    for node in inside:
        weight = Fraction(1) if node is root else _weight(node, arriving)
        cpu += weight * exact.exact(node.cpu)
        for output in node.outputs:
            arriving[output.name] = leaving = weight * exact.exact(output.selectivity)
            readers = data_flow.readers[output.name]
            if not readers or any(reader not in members for reader in readers):
                outputs.append(dataclasses.replace(output, selectivity=leaving))
    return Node(name, root.inputs, cpu, root.fetch, tuple(outputs), root.keyed)


def fused(data_flow: Flow, groups: Mapping[str, Collection[str]]) -> Flow:
    """The flow with each group of operators as one node of that name; whatever is in no group stays as it is.

    It has no circle: who gets from a group back into it would have to enter at the root, which stands before all.
    """
    taken = [member for group in groups.values() for member in set(group)]
    if len(taken) != len(set(taken)):
        message = f"an operator is in two groups: {sorted({name for name in taken if taken.count(name) > 1})}"
        raise ValueError(message)
    whole = [fuse(data_flow, name, members) for name, members in groups.items()]
    return Flow([*whole, *(node for node in data_flow.nodes if node.name not in taken)])


def _weight(node: Node, arriving: Mapping[str, Fraction]) -> Fraction:
    """Weight w of a node that has a parent inside, and no other input."""
    if len(node.inputs) != 1 or node.inputs[0] not in arriving:
        message = f"node {node.name!r} reads {', '.join(node.inputs) or 'a source'}: only a tree can be fused"
        raise ValueError(message)
    return arriving[node.inputs[0]]
