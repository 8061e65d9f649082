"""The part of a program from one place on: for a row that was stopped there, and has to go on from there alone."""

from __future__ import annotations

import dataclasses

from spillway.runtime.programs.program import MAIN, Edge, Output, Port, Program


def rest(program: Program, label: str) -> Program | None:
    """A program of an operator and all that is behind it, of one edge, or of one output; None if it has none so called.

    Its one port takes the rows that the operator, the edge or the output takes; the port's name is the label, or that
    of the node that the edge or the output reads. Ports of broadcast tables come along.
    """
    for edge in program.edges:
        if edge.label == label:
            return _exit(program, edge.sources[0], edge)
    for output in program.outputs:
        if output.label == label:
            return _exit(program, output.source, output)
    return _behind(program, label)


def _exit(program: Program, source: str, way: Edge | Output) -> Program:
    port = Port(source, None, MAIN, way.schema, updates=False)
    if isinstance(way, Edge):
        return Program(program.name, (port,), (), (dataclasses.replace(way, sources=(source,)),), ())
    return Program(program.name, (port,), (), (), (way,))


def _behind(program: Program, operator: str) -> Program | None:
    inside = {operator}
    steps = []
    for step in program.steps:  # each stands behind what it reads
        if step.name == operator:
            steps.append(dataclasses.replace(step, reads=()))
        elif inside.intersection(step.reads):
            inside.add(step.name)
            steps.append(step)
    if not steps:
        return None
    head = steps[0]
    port = Port(operator, None, MAIN, head.given[MAIN].schema, updates=False, into=operator)
    used = {step.operator.python.function for step in steps if step.operator.python is not None}
    return Program(
        name=program.name,
        ports=(port, *(port for port in program.ports if port.broadcast and port.into in inside)),
        steps=tuple(steps),
        edges=tuple(
            dataclasses.replace(edge, sources=tuple(name for name in edge.sources if name in inside))
            for edge in program.edges
            if inside.intersection(edge.sources)
        ),
        outputs=tuple(output for output in program.outputs if output.source in inside),
        digests=tuple((name, digest) for name, digest in program.digests if name in used),
    )
