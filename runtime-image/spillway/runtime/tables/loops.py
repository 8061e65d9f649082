"""The generated code of an aggregation: what runs for each record, written for its groups, window and aggregates.

For `by: [campaign], window: {size: 10s}, values: ["count(*) as views"]` it reads

    start = end = 0

    def record(timestamp, row):
        nonlocal start, end
        c_campaign = row[0]
        if not start <= timestamp < end:
            start = timestamp - timestamp % 10000000
            end = start + 10000000
        key = (c_campaign, start)
        entry = rows.get(key)
        if entry is None:
            old, last = None, timestamp
            s0 = z0
        else:
            old, last, s0 = entry
            if timestamp > last:
                last = timestamp
        s0 = s0 + 1
        new = (c_campaign, start, end, s0)
        rows[key] = (new, last, s0)
        dirty[key] = None
        return [(last, old, new)]

which is what somebody would write by hand for this one aggregate. Nothing is written before everything is computed: a
record on which an expression or a total raises leaves no trace.
"""

from __future__ import annotations

import functools
import linecache
import textwrap
import types
import warnings
from collections.abc import Callable
from typing import Any

from spillway import expressions
from spillway.expressions import aggregates, terms
from spillway.expressions.aggregates import Steps
from spillway.expressions.source import Scope
from spillway.model.operators import Operator
from spillway.model.types import Kind, Schema
from spillway.runtime.tables import folding
from spillway.runtime.tables.folding import Folding
from spillway.runtime.tables.windows import Window


class Loop:
    """Writes the functions of one aggregation.

    Attributes:
        steps: the steps of each state; one count of rows more at the end where rows come and go.
        decimals: which states hold decimals, that are texts after decoding.
        width: how many values the key of a group has, without the window.
        window: the windows, if there are any.
    """

    def __init__(
        self, operator: Operator, schema: Schema, *, updates: bool, retention: int | None, folds: bool = False
    ) -> None:
        """`folds`: whether many records are added up, of which nobody wants to hear one by one."""
        aggregate = operator.aggregate
        assert aggregate is not None  # noqa: S101 - the kind of the operator says so
        self._name = operator.name
        self._updates, self._folds = updates, folds
        self._schema = schema
        self.window = Window.of(aggregate)
        self._retention = retention
        self._scope = Scope()
        self._groups = [expressions.check_item(text, schema).expression.term for text in aggregate.by]
        values = [expressions.check_aggregate(text, schema) for text in aggregate.values]
        self._shown = len(values)
        self._always_new = any(v.function == "count" and not v.arguments for v in values)
        if updates:
            stuck = [v.text for v in values if aggregates.steps(v).subtract is None]
            if stuck:
                message = f"operator '{operator.name}': {', '.join(stuck)} can't take a value back when a row changes"
                raise ValueError(message)
            values.append(expressions.check_aggregate("count(*) as rows", schema))
        self._arguments = [[argument.term for argument in value.arguments] for value in values]
        self._foldings: list[Folding] = [folding.folding(value, self._scope) for value in values]
        self.steps: list[Steps] = [fold.steps for fold in self._foldings]
        self.decimals = [
            i for i, value in enumerate(values) if any(a.type.kind is Kind.DECIMAL for a in value.arguments)
        ]
        self.width = len(self._groups)

    def compiled(self, **bound: Any) -> dict[str, Callable[..., Any]]:
        """The functions by their names, around the state that is bound to the names of the arguments.

        finish(key, states): the row of a group; and for records
        record(timestamp, row): fold a record, and return the updates; or for updates
        place(row): its group, and the values of all arguments,
        shift(states, before, after): take the values of one row back, and add those of another; None for neither.
        Where that was asked for, and each record is in one group,
        fold(given, refused): records as edges have them; what can't be added up is told, with its values.
        """
        functions = {"finish": self._finish()}
        if self._updates:
            functions |= {"place": self._place(), "shift": self._shift()}
        else:
            functions["record"] = self._record()
            if self._folds and (self.window is None or self._tumbles):
                functions["fold"] = self._fold()
        text = f"def bind({', '.join(bound)}):\n"
        text += "".join(textwrap.indent(function, "    ") for function in functions.values())
        text += f"    return {{{', '.join(f'{name!r}: {name}' for name in functions)}}}\n"
        zeros = {f"z{i}": steps.zero for i, steps in enumerate(self.steps)}
        # The same name for the same text: who builds one for each partition doesn't fill the cache of lines.
        file = f"<spillway aggregate {self._name}>"
        linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
        namespace = {**self._scope.namespace(), **zeros}
        exec(_code(text, file), namespace)  # noqa: S102 - generated from checked terms
        functions_: dict[str, Callable[..., Any]] = namespace["bind"](**bound)
        return functions_

    # Pieces.

    def _values(self, *, apart: bool = True) -> tuple[list[str], list[str], list[list[str]]]:
        """Lines that take a row apart, and names: of the values of the group, of the arguments of each aggregate.

        Not `apart`: its columns are in variables already.
        """
        used = [*self._groups, *(term for arguments in self._arguments for term in arguments)]
        needed = {name for term in used for name in terms.columns(term)}
        known = enumerate(self._schema) if apart else ()
        lines = [f"c_{column.name} = row[{i}]" for i, column in known if column.name in needed]
        variables = {name: f"c_{name}" for name in needed}

        def named(term: terms.Term, name: str) -> str:
            value = self._scope.value(term, variables)
            if value in variables.values():
                return value
            lines.append(f"{name} = {value}")
            return name

        groups = [named(term, f"g{i}") for i, term in enumerate(self._groups)]
        arguments = [
            [named(term, f"a{i}_{j}") for j, term in enumerate(those)] for i, those in enumerate(self._arguments)
        ]
        return lines, groups, arguments

    def _states(self) -> list[str]:
        return [f"s{i}" for i in range(len(self._foldings))]

    def _key(self, groups: list[str]) -> str:
        """The key of an entry: the value itself where it is one, which hashes faster than a tuple of it."""
        parts = [*groups, "start"] if self.window else groups
        return parts[0] if len(parts) == 1 else f"({', '.join(parts)})"

    @property
    def _tumbles(self) -> bool:
        return self.window is not None and self.window.size == self.window.slide

    def _row(self, groups: list[str], *, end: str = "") -> str:
        window = ["start", end or f"start + {self.window.size}"] if self.window else []
        finished = [fold.finish(state) for fold, state in zip(self._foldings, self._states(), strict=True)]
        return f"({', '.join([*groups, *window, *finished[: self._shown]])},)"

    # Functions.

    def _record(self) -> str:
        lines, groups, arguments = self._values()
        states = self._states()
        fold = [
            f"{state} = {fold.add(state, values)}"
            for state, fold, values in zip(states, self._foldings, arguments, strict=True)
        ]
        body = [
            f"key = {self._key(groups)}",
            "entry = rows.get(key)",
            *(
                [f"if entry is None or entry[1] < timestamp - {self._retention}:"]
                if self._ages
                else ["if entry is None:"]
            ),
            "    old, last = None, timestamp",
            *[f"    {state} = z{i}" for i, state in enumerate(states)],
            "else:",
            f"    old, last, {', '.join(states)} = entry",
            "    if timestamp > last:",
            "        last = timestamp",
            *fold,
            f"new = {self._row(groups, end='end' if self._tumbles else '')}",
        ]
        entry = f"(new, last, {', '.join(states)})"
        if self.window is None or self._tumbles:
            lines += self._single(body, entry)
        else:
            lines += self._several(body, entry)
        before = ""
        if self._tumbles:
            before, lines = "start = end = 0\n", ["nonlocal start, end", *lines]
        return f"{before}def record(timestamp, row):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"

    def _fold(self) -> str:
        """What `record` does, for many, without what their readers would have to be told.

        Entries are lists that change in place: to make one anew for each record took a third of all this does.
        """
        lines, groups, arguments = self._values(apart=False)
        states = self._states()
        finished = [fold.finish(state) for fold, state in zip(self._foldings, states, strict=True)]
        window = ["nonlocal start, end"] if self.window else []
        if self.window:
            lines += self._tumbled()
        lines += [
            f"key = {self._key(groups)}",
            "entry = rows.get(key)",
            "if entry is None:",
            *[f"    {state} = z{i}" for i, state in enumerate(states)],
            "else:",
            *[f"    {state} = entry[{i}]" for i, state in enumerate(states, 2)],
            *[
                f"{state} = {fold.add(state, values)}"
                for state, fold, values in zip(states, self._foldings, arguments, strict=True)
            ],
            # A total that raises has to do so now, while it is known of which record it is.
            *[value for value, state in zip(finished, states, strict=True) if value != state],
            "if entry is None:",
            f"    rows[key] = [None, timestamp, {', '.join(states)}]",
            "else:",
            *[f"    entry[{i}] = {state}" for i, state in enumerate(states, 2)],
            "    if timestamp > entry[1]:",
            "        entry[1] = timestamp",
        ]
        columns = [f"c_{column.name}" for column in self._schema]
        body = [
            *window,
            f"for {', '.join(['offset', 'index', 'timestamp', *columns])} in given:",
            "    try:",
            *_indented(_indented(lines)),
            "    except Exception as error:",
            f"        refused(error, offset, index, timestamp, ({''.join(f'{name}, ' for name in columns)}))",
        ]
        return "def fold(given, refused):\n" + textwrap.indent("\n".join(body), "    ") + "\n"

    @property
    def _ages(self) -> bool:
        """Whether an entry may be due although it is still there: the due time of a window never moves."""
        return self._retention is not None and self.window is None

    def _tumbled(self) -> list[str]:
        """Mostly it is the window of the record before: its two numbers are at hand, and shared by all its rows."""
        assert self.window is not None  # noqa: S101 - who asks has one
        return [
            "if not start <= timestamp < end:",
            f"    start = timestamp - timestamp % {self.window.size}",
            f"    end = start + {self.window.size}",
        ]

    def _single(self, body: list[str], entry: str) -> list[str]:
        """Each record is in one group."""
        lines = []
        if self.window:
            lines += self._tumbled()
        due = "end - 1" if self.window else "timestamp"
        lines += self._late(due, ["return []"])
        lines += [*body, *self._advance(), f"rows[key] = {entry}", "dirty[key] = None"]
        if self._retention is not None:
            lines += ["if old is None:", f"    watch({due if self.window else 'last'}, key)"]
        unchanged = [] if self._always_new else ["if new == old:", f"    return {'gone' if self._ages else '[]'}"]
        given = "gone.append((last, old, new))\nreturn gone" if self._ages else "return [(last, old, new)]"
        return [*lines, *unchanged, *given.split("\n")]

    def _several(self, body: list[str], entry: str) -> list[str]:
        """Each record is in several windows: computed for all, then written for all."""
        window = self.window
        assert window is not None  # noqa: S101 - only windows overlap
        due = f"start + {window.size - 1}"
        changed = [] if self._always_new else ["if new != old:"]
        emit = "updates.append((entry[1], old, new))"
        return [
            "found = []",
            f"first = (timestamp - {window.size}) // {window.slide} * {window.slide} + {window.slide}",
            f"for start in range(first, timestamp + 1, {window.slide}):",
            *_indented(self._late(due, ["continue"])),
            *_indented(body),
            f"    found.append((key, {entry}, old, new{', start' if self._retention is not None else ''}))",
            *self._advance(),
            "updates = []",
            f"for key, entry, old, new{', start' if self._retention is not None else ''} in found:",
            "    rows[key] = entry",
            "    dirty[key] = None",
            *([] if self._retention is None else ["    if old is None:", f"        watch({due}, key)"]),
            *_indented([*changed, *(_indented([emit]) if changed else [emit])]),
            "return updates",
        ]

    def _late(self, due: str, then: list[str]) -> list[str]:
        if self._retention is None:
            return []
        return [f"if {due} < store.time - {self._retention}:", "    table.late += 1", *_indented(then)]

    def _advance(self) -> list[str]:
        if self._retention is None:
            return []
        drop = "gone = drop()" if self._ages else "drop()"
        lines = ["if timestamp > store.time:", "    store.time = timestamp", "    if timestamp > expiry.next:"]
        return [*(["gone = []"] if self._ages else []), *lines, f"        {drop}"]

    def _place(self) -> str:
        lines, groups, arguments = self._values()
        flat = "".join(f"{name}, " for names in arguments for name in names)
        lines.append(f"return ({''.join(f'{name}, ' for name in groups)}), ({flat})")
        return "def place(row):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"

    def _shift(self) -> str:
        names = [[f"a{i}_{j}" for j in range(len(those))] for i, those in enumerate(self._arguments)]
        flat = "".join(f"{name}, " for those in names for name in those)
        states = self._states()
        lines = [f"{''.join(f'{state}, ' for state in states)} = states"]
        for side, step in (("before", "subtract"), ("after", "add")):
            lines.append(f"if {side} is not None:")
            lines += [f"    {flat} = {side}"] if flat else []
            lines += [
                f"    {state} = {getattr(fold, step)(state, values)}"
                for state, fold, values in zip(states, self._foldings, names, strict=True)
            ]
        lines.append(f"return ({''.join(f'{state}, ' for state in states)})")
        return "def shift(states, before, after):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"

    def _finish(self) -> str:
        groups = [f"g{i}" for i in range(self.width)]
        parts = [*groups, "start"] if self.window else groups
        take = f"{''.join(f'{part}, ' for part in parts)} = key" if len(parts) > 1 else f"{''.join(parts)} = key"
        lines = [take] if parts else []
        lines += [f"{''.join(f'{state}, ' for state in self._states())} = states", f"return {self._row(groups)}"]
        return "def finish(key, states):\n" + textwrap.indent("\n".join(lines), "    ") + "\n"


@functools.lru_cache(maxsize=256)  # one for each operator, however many partitions of it there are
def _code(text: str, file: str) -> types.CodeType:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SyntaxWarning)  # of literals in templates, as everywhere in generated code
        return compile(text, file, "exec")


def _indented(lines: list[str]) -> list[str]:
    return [f"    {line}" for line in lines]
