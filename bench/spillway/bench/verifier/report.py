"""A verdict for people and for programs."""

from __future__ import annotations

import dataclasses
import json

import msgspec
from rich.console import Console
from rich.table import Table

from spillway.bench.verifier.verdict import Latency, Verdict


def as_json(verdict: Verdict) -> bytes:
    """The verdict as one object; `verdict` says it in a word."""
    word = "void" if verdict.void else "right" if verdict.right else "not right"
    return msgspec.json.encode({"verdict": word, **dataclasses.asdict(verdict)})


def show(verdict: Verdict, console: Console | None = None) -> None:
    """As tables and a sentence."""
    console = console or Console(highlight=False, soft_wrap=True)
    # A column for each output: beside one another, ten numbers of each fit no terminal.
    table = Table("", *(output.name for output in verdict.outputs), box=None)
    for name in ("mode", "expected", "found", "lost", "duplicated", "reordered", "wrong", "undetermined"):
        table.add_row(name, *(str(getattr(output, name)) for output in verdict.outputs))
    table.add_row("ms p50 / p99", *(_latency(output.latency) for output in verdict.outputs))
    if verdict.outputs:
        console.print(table)
    for output in verdict.outputs:
        if output.open:
            console.print(f"{output.name}: nothing was compared: {output.open}", markup=False)
        for example in output.examples:
            where = "" if example.offset is None else f" at {example.partition}/{example.offset}"
            console.print(f"{output.name}: {example.kind}{where}, key {example.key}: {example.why}", markup=False)
            for what, content in (("expected", example.expected), ("found", example.found)):
                if content is not None:
                    console.print(f"    {what} {json.dumps(content, default=str)}", markup=False)
    for words in verdict.assumed:
        console.print(f"assumed: {words}", markup=False)
    if verdict.void:
        console.print(f"void: {verdict.void}", markup=False)
        return
    state = "right" if verdict.right else "not right"
    console.print(
        f"{state}: {verdict.records_in} records in, {verdict.records_out} out, {verdict.delivery}", markup=False
    )


def _latency(latency: Latency) -> str:
    if latency.p50 is None or latency.p99 is None:
        return "-"
    return f"{latency.p50:.0f} / {latency.p99:.0f}"
