"""What flows along each edge of a topology: columns, for a table its key, for a stream whether a join corrects it.

Every expression of the job is checked on the way. Where an operator can't be understood, its readers are left out
quietly: their mistakes would only be echoes of its own.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterator, Mapping, Sequence

from spillway import expressions
from spillway.expressions import terms
from spillway.model import errors, kafka, operators, topology, types
from spillway.model.errors import Mistake, Path
from spillway.model.operators import AsOf, JoinType, Operator, PythonKind
from spillway.model.topology import Draft, Node, Topology
from spillway.model.types import Column, Schema

WINDOW_COLUMNS = (Column("window_start", types.TIMESTAMP), Column("window_end", types.TIMESTAMP))

# After so many, no further node is looked at. A thousand near misses each in 256 operators would take minutes, because
# each one is compared with every column to find what was meant; and the manager judges jobs one after the other.
MAX_MISTAKES = 100

# Aggregates that can take a value back, which a table asks for when one of its rows changes, and a join that corrects
# what it has given.
_SUBTRACTABLE = ("count", "count_if", "sum", "avg")


@dataclasses.dataclass(frozen=True, slots=True)
class Correction:
    """Records of a stream are taken back, and given anew.

    Attributes:
        join: the operator that does it: it shows a record before all that it may meet is there.
        instead: how to have a join that doesn't.
    """

    join: str
    instead: str


@dataclasses.dataclass(frozen=True, slots=True)
class Relation:
    """The output of a node: a stream of facts, or, where it has a key, a table.

    Attributes:
        schema: the columns.
        key: those that name a row of a table.
        correction: why records of a stream may be taken back; None where they are facts, and for a table.
    """

    schema: Schema
    key: tuple[str, ...] | None = None
    correction: Correction | None = None

    @property
    def is_table(self) -> bool:
        """Whether rows are updated by key."""
        return self.key is not None

    @property
    def is_revised(self) -> bool:
        """Whether rows are taken back: readers get old and new ones."""
        return self.is_table or self.correction is not None


class _Wrong(Exception):  # noqa: N818 - control flow within this module
    """The node can't be understood; carries why."""

    def __init__(self, *mistakes: Mistake) -> None:
        super().__init__()
        self.mistakes = mistakes


def infer(graph: Topology) -> tuple[dict[str, Relation], list[Mistake]]:
    """The relation of every node that can be understood, and the mistakes on the way."""
    found: dict[str, Relation] = {}
    mistakes: list[Mistake] = []
    small = {node.name for node in graph.nodes if _is_broadcast(node.part)}
    for node in graph.nodes:
        if len(mistakes) >= MAX_MISTAKES:
            break
        try:
            relation = _relation(node, found)
        except _Wrong as wrong:
            mistakes += [mistake.under(*node.path) for mistake in wrong.mistakes]
        else:
            if relation is not None:
                found[node.name] = dataclasses.replace(relation, correction=_correction(node, relation, found, small))
    for i, output in graph.outputs:
        if output.input in found:
            mistakes += [m.under("spec", "outputs", i) for m in _output(output, found[output.input])]
    return found, mistakes


def check(draft: Draft) -> tuple[dict[str, Relation], list[Mistake], list[Mistake]]:
    """Relations of a draft; mistakes of the graph; mistakes of expressions and columns."""
    graph, of_graph = topology.build(draft)
    relations, of_expressions = infer(graph)
    return relations, of_graph, of_expressions


def _relation(node: Node, found: Mapping[str, Relation]) -> Relation | None:
    if isinstance(node.part, kafka.Stream):
        return _stream(node.part)
    if isinstance(node.part, kafka.Table):
        return _table(node.part)
    if not all(name in found for name in node.reads):
        return None
    return _KINDS[node.part.kind](node.part, [found[name] for name in node.reads])


# Corrections


def _is_broadcast(part: topology.Part) -> bool:
    return isinstance(part, kafka.Table) and part.distribution is kafka.Distribution.BROADCAST


def _correction(
    node: Node, relation: Relation, found: Mapping[str, Relation], small: Collection[str]
) -> Correction | None:
    """Who takes rows of a stream back: a join that gives records at once and more of them later, or one before it.

    A look-up does so for as long as its retention says, unless its table is small, and read as a whole by all.
    """
    if not isinstance(node.part, Operator) or relation.is_table:
        return None
    join = node.part.join
    if join is not None and join.stream is not None:
        if join.type is JoinType.INNER:
            return None
        return Correction(node.name, "with type inner, it shows no record before its partner")
    if join is not None and node.part.retention is not None and join.as_of is not AsOf.LATEST:
        if join.table not in small:
            return Correction(node.name, "without retention, or with asOf latest, it joins each record once")
        return found[node.reads[0]].correction
    given = node.reads if join is None else node.reads[:1]
    return next((found[name].correction for name in given if found[name].correction is not None), None)


# Sources


def _columns(text: str, field: str) -> Schema:
    try:
        return types.parse_schema(text)
    except ValueError as error:
        raise _Wrong(Mistake((field,), str(error))) from None


def _stream(stream: kafka.Stream) -> Relation:
    schema = _columns(stream.columns, "columns")
    wrong = []
    if stream.format is kafka.Format.RAW and [c.type for c in schema] not in ([types.STRING], [types.BINARY]):
        message = f"format raw has exactly one column, of type string or binary, not `{stream.columns[:80]}`"
        wrong.append(Mistake(("columns",), message))
    if stream.key_column is not None:
        wrong += _clash(schema, stream.key_column, ("keyColumn",))
        schema = Schema((*schema.columns, Column(stream.key_column, types.STRING)))
    wrong += _timestamp(schema, stream.timestamp)
    if wrong:
        raise _Wrong(*wrong)
    return Relation(schema)


def _table(table: kafka.Table) -> Relation:
    schema = _columns(table.columns, "columns")
    wrong = [*_keys(schema, table.key, ("key",)), *_timestamp(schema, table.timestamp)]
    if wrong:
        raise _Wrong(*wrong)
    return Relation(schema, table.key)


def _timestamp(schema: Schema, name: str | None) -> Iterator[Mistake]:
    if name is None:
        return
    found = schema.get(name)
    if found is None:
        yield Mistake(("timestamp",), _unknown(name, schema))
    elif found != types.TIMESTAMP:
        yield Mistake(("timestamp",), f"column {name!r} is {found}; event time has to be a timestamp")


def _unknown(name: str, schema: Schema) -> str:
    guess = errors.did_you_mean(name, schema.names)
    return f"unknown column {name!r}{guess or f'; there are {_listed(schema.names)}'}"


def _listed(names: Sequence[str], most: int = 12) -> str:
    return ", ".join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def _clash(schema: Schema, name: str, path: Path) -> Iterator[Mistake]:
    """Names are unique also without case, because Spark ignores it."""
    twin = next((known for known in schema.names if known.lower() == name.lower()), None)
    if twin is not None:
        yield Mistake(path, f"column {twin!r} is there already; choose another name than {name!r}")


def _keys(schema: Schema, names: Sequence[str], path: Path) -> Iterator[Mistake]:
    """The columns of a key are there, once each, and can be one."""
    for i, name in enumerate(names):
        found = schema.get(name)
        if found is None:
            yield Mistake((*path, i), _unknown(name, schema))
        elif message := _unfit(Column(name, found)):
            yield Mistake((*path, i), message)
    if len(set(names)) < len(names):
        yield Mistake(path, "names a column twice")


_AS_KEY = {
    types.Kind.DOUBLE: "cast it to a decimal, a bigint or a string",
    types.Kind.ARRAY: "use one of its elements, or array_join",
}


def _unfit(column: Column) -> str:
    """Why a column can't be a key, which has one encoding for equal values: no doubles (-0.0, NaN), no arrays."""
    instead = _AS_KEY.get(column.type.kind)
    return f"column {column.name!r} is {column.type}, which can't be a key; {instead}" if instead else ""


# Operators


def _stream_only(operator: Operator, relation: Relation, instead: str) -> None:
    if relation.is_table:
        message = f"{operator.kind} works on streams, and {operator.input!r} is a table; {instead}"
        raise _Wrong(Mistake(("input",), message))


def _merged(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    """The main input; several are read as one stream, so they have the same columns in the same order."""
    first = inputs[0]
    if operator.inputs is None:
        return first
    wrong = []
    for i, (name, relation) in enumerate(zip(operator.inputs, inputs, strict=False)):
        if relation.is_table:
            wrong.append(Mistake(("inputs", i), f"{name!r} is a table; only streams can be read as one"))
        elif relation.schema != first.schema:
            message = f"{name!r} has the columns `{relation.schema}`, but {operator.inputs[0]!r} has `{first.schema}`"
            wrong.append(Mistake(("inputs", i), f"{message}; bring them together with select"))
    if wrong:
        raise _Wrong(*wrong)
    return first


def _filter(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    relation = _merged(operator, inputs)
    try:
        expressions.check_condition(operator.filter or "", relation.schema)
    except expressions.ExpressionError as error:
        raise _Wrong(Mistake(("filter",), str(error))) from None
    return relation


def _items(texts: Sequence[str], schema: Schema, path: Path) -> tuple[dict[int, expressions.Item], list[Mistake]]:
    """Check select items, by their places; their names are unique."""
    found: dict[int, expressions.Item] = {}
    wrong: list[Mistake] = []
    seen: dict[str, str] = {}
    for i, text in enumerate(texts):
        try:
            item = expressions.check_item(text, schema)
        except expressions.ExpressionError as error:
            wrong.append(Mistake((*path, i), str(error)))
            continue
        if (twin := seen.get(item.name.lower())) is not None:
            wrong.append(Mistake((*path, i), f"column {twin!r} is there already; rename one with `as`"))
            continue
        seen[item.name.lower()] = item.name
        found[i] = item
    return found, wrong


def _select(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    relation = _merged(operator, inputs)
    found, wrong = _items(operator.select or (), relation.schema, ("select",))
    if wrong:
        raise _Wrong(*wrong)
    items = found.values()
    kept = {item.name for item in items if item.expression.term == terms.Column(item.name, item.type)}
    if relation.key is not None and (lost := [name for name in relation.key if name not in kept]):
        message = (
            f"{operator.input!r} is a table with the key {', '.join(relation.key)}; select must keep {', '.join(lost)}"
        )
        raise _Wrong(Mistake(("select",), message))
    return Relation(Schema(tuple(Column(item.name, item.type) for item in items)), relation.key)


def _explode(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    relation = _merged(operator, inputs)
    _stream_only(operator, relation, "explode the stream that it is made from")
    explode = operator.explode
    assert explode is not None  # noqa: S101 - the kind of the operator says so
    wrong: list[Mistake] = []
    element = None
    try:
        array = expressions.check(explode.array, relation.schema)
    except expressions.ExpressionError as error:
        wrong.append(Mistake(("explode", "array"), str(error)))
    else:
        element = array.type.element
        if element is None or element.kind is types.Kind.NULL:
            wrong.append(
                Mistake(("explode", "array"), f"gives {array.type}, not an array; split(…) makes one of a string")
            )
    names = relation.schema.names if explode.keep is None else explode.keep
    for i, name in enumerate(explode.keep or ()):
        if relation.schema.get(name) is None:
            wrong.append(Mistake(("explode", "keep", i), _unknown(name, relation.schema)))
    if len(set(names)) < len(names):
        wrong.append(Mistake(("explode", "keep"), "names a column twice"))
    kept = Schema(tuple(column for column in relation.schema if column.name in names))
    wrong += _clash(kept, explode.as_, ("explode", "as"))
    if wrong or element is None:
        raise _Wrong(*wrong)
    return Relation(Schema((*kept.columns, Column(explode.as_, element))))


def _python(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    relation = _merged(operator, inputs)
    python = operator.python
    assert python is not None  # noqa: S101 - the kind of the operator says so
    if python.as_ is PythonKind.FILTER:
        return relation
    _stream_only(operator, relation, "only a Python filter can read a table, because a key must not change")
    try:
        return Relation(_columns(python.returns or "", "returns"))
    except _Wrong as wrong:
        raise _Wrong(*(mistake.under("python") for mistake in wrong.mistakes)) from None


def _aggregate(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    relation = _merged(operator, inputs)
    aggregate = operator.aggregate
    assert aggregate is not None  # noqa: S101 - the kind of the operator says so
    groups, wrong = _items(aggregate.by, relation.schema, ("aggregate", "by"))
    columns = [Column(item.name, item.type) for item in groups.values()]
    for i, column in zip(groups, columns, strict=True):
        if message := _unfit(column):
            wrong.append(Mistake(("aggregate", "by", i), message))
    if aggregate.window is not None:
        if relation.is_table and relation.schema.get("window_start") is None:
            message = f"{operator.input!r} is a table whose rows have no event time; only windowed tables have one"
            wrong.append(Mistake(("aggregate", "window"), message))
        for column in WINDOW_COLUMNS:
            wrong += _clash(Schema(tuple(columns)), column.name, ("aggregate", "by"))
        columns += WINDOW_COLUMNS
    key = tuple(column.name for column in columns)
    for i, text in enumerate(aggregate.values):
        path: Path = ("aggregate", "values", i)
        try:
            value = expressions.check_aggregate(text, relation.schema)
        except expressions.ExpressionError as error:
            wrong.append(Mistake(path, str(error)))
            continue
        if value.function not in _SUBTRACTABLE:
            wrong += _untakeable(value.function, operator, inputs, path)
        wrong += _clash(Schema(tuple(columns)), value.name, path)
        columns.append(Column(value.name, value.type))
    if wrong:
        raise _Wrong(*wrong)
    return Relation(Schema(tuple(columns)), key)


def _untakeable(function: str, operator: Operator, inputs: Sequence[Relation], path: Path) -> Iterator[Mistake]:
    """What is wrong with an aggregate that can't take a value back, where values are."""
    correction = next((given.correction for given in inputs if given.correction is not None), None)
    message = f"{function} can't take a value back when"
    if inputs[0].is_table:
        message += f" a row of table {operator.input!r} changes"
        yield Mistake(path, f"{message}; {', '.join(_SUBTRACTABLE)} can")
    elif correction is not None:
        message += f" join {correction.join!r} corrects a record"
        yield Mistake(path, f"{message}; {', '.join(_SUBTRACTABLE)} can; or change the join: {correction.instead}")


def _join(operator: Operator, inputs: Sequence[Relation]) -> Relation:
    left, right = inputs
    join = operator.join
    assert join is not None  # noqa: S101 - the kind of the operator says so
    matching = [*_matching(join, left.schema, right.schema)]
    wrong = [*_sides(operator, left, right), *matching]
    rest = [column for column in right.schema if column.name not in join.by]
    taken = {name.lower() for name in left.schema.names}
    for column in rest:
        if column.name.lower() in taken and not matching:  # else it may only be an echo of a wrong `by`
            message = f"both sides have a column {column.name!r}; rename one with select before"
            wrong.append(Mistake(("join",), message))
    if (columns := len(taken) + len(rest)) > types.MAX_COLUMNS:
        message = f"gives {columns} columns; at most {types.MAX_COLUMNS} are allowed: leave some out with select before"
        wrong.append(Mistake(("join",), message))
    if wrong:
        raise _Wrong(*wrong)
    return Relation(Schema((*left.schema.columns, *rest)), left.key if left.is_table else None)


def _sides(operator: Operator, left: Relation, right: Relation) -> Iterator[Mistake]:
    """Which joins there are: stream with table, stream with stream, table with table."""
    join = operator.join
    assert join is not None  # noqa: S101 - the kind of the operator says so
    if join.table is not None:
        if not right.is_table:
            message = f"{join.table!r} is a stream; write `stream: {join.table}` and `within`"
            yield Mistake(("join", "table"), message)
        elif set(join.by) != set(right.key or ()):
            message = (
                f"a row of {join.table!r} is found by its key {', '.join(right.key or ())}; `by` must name just that"
            )
            yield Mistake(("join", "by"), message)
        elif left.is_table and set(left.key or ()) != set(join.by):
            message = f"two tables join by the key of both; {operator.input!r} has the key {', '.join(left.key or ())}"
            yield Mistake(("join", "by"), message)
        if not left.is_table and join.type not in (JoinType.INNER, JoinType.LEFT):
            message = f"a stream joins a table by inner or left, not {join.type}: a table's rows are not events"
            yield Mistake(("join", "type"), message)
        if left.is_table and join.as_of is not None:
            yield Mistake(("join", "asOf"), "two tables are joined as they change; remove asOf")
        return
    for side, relation, path in ((operator.input, left, ("input",)), (join.stream, right, ("join", "stream"))):
        if relation.is_table:
            yield Mistake(path, f"{side!r} is a table; a table is joined with `table:`, and stands on the right")
        elif (by := relation.correction) is not None:
            message = f"a join of streams takes no record back, and join {by.join!r} corrects those of {side!r}"
            yield Mistake(path, f"{message}; change that one: {by.instead}")


def _matching(join: operators.Join, left: Schema, right: Schema) -> Iterator[Mistake]:
    for i, name in enumerate(join.by):
        path: Path = ("join", "by", i)
        sides = left.get(name), right.get(name)
        if sides[0] is None or sides[1] is None:
            side, schema = ("input", left) if sides[0] is None else ("other side", right)
            yield Mistake(path, f"on the {side}: {_unknown(name, schema)}")
        elif sides[0] != sides[1]:
            message = f"column {name!r} is {sides[0]} on one side and {sides[1]} on the other; cast one in a select"
            yield Mistake(path, message)
        elif message := _unfit(Column(name, sides[0])):
            yield Mistake(path, message)


_KINDS = {
    "filter": _filter,
    "select": _select,
    "explode": _explode,
    "python": _python,
    "aggregate": _aggregate,
    "join": _join,
}

# Outputs


def _output(output: kafka.Output, relation: Relation) -> Iterator[Mistake]:
    if output.key is not None:
        yield from _keys(relation.schema, output.key, ("key",))
    if output.mode is not kafka.OutputMode.CHANGELOG:
        return
    if not relation.is_table:
        message = f"{output.input!r} is a stream, which has no updates; use append, or aggregate it into a table"
        yield Mistake(("mode",), message)
    elif output.key is not None and not set(relation.key or ()) <= set(output.key):
        message = f"updates would overwrite one another: the key must hold all of {', '.join(relation.key or ())}"
        yield Mistake(("key",), message)
