"""A real Spark that says what an expression is worth, row by row, errors included.

In ANSI mode one bad row fails a whole query, so asking for thousands of (expression, row) pairs would take thousands
of queries. Catalyst has an internal expression, TryEval, that turns an error into null; around `struct(expression)`,
which is never null itself, a null means that this row raised, and nothing else.

What is switched off is what would answer for more than the row: the optimizer's rules that evaluate literals before
there are rows (their error would fail the query), the rules that drop what may raise, and subexpression elimination.
Expressions are interpreted, because compiling thousands of them takes minutes; `codegen=True` asks the compiled form.
"""

from __future__ import annotations

import contextlib
import dataclasses
import decimal
import functools
import logging
import math
import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pyarrow as pa
from py4j.protocol import Py4JJavaError
from pyspark.errors import PySparkException
from pyspark.sql import SparkSession
from pyspark.sql.classic.dataframe import DataFrame

from spillway.model import types
from spillway.model.types import ColumnType, Kind, Schema

Value = Any  # in the run-time representation, or ERROR


NO_COLUMNS = Schema()


class _Error:
    """The row raised."""

    def __repr__(self) -> str:
        return "ERROR"


ERROR = _Error()

# One select of this width takes Spark's analyzer well under a second; at a thousand it is quadratic in places.
_WIDTH = 150

_RULES = (
    "BooleanSimplification",
    "CombineConcats",
    "ConstantFolding",
    "ConstantPropagation",
    "ConvertToLocalRelation",
    "FoldablePropagation",
    "LikeSimplification",
    "NullDownPropagation",
    "NullPropagation",
    "OptimizeCsvJsonExprs",
    "OptimizeIn",
    "PushFoldableIntoBranches",
    "ReorderAssociativeOperator",
    "ReplaceNullWithFalseInPredicate",
    "SimplifyBinaryComparison",
    "SimplifyCaseConversionExpressions",
    "SimplifyCasts",
    "SimplifyConditionals",
    "SimplifyExtractValueOps",
    "UnwrapCastInBinaryComparison",
)


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """What Spark says about one expression: a type and a value per row, or why it doesn't accept it.

    Attributes:
        planned: it raised before there were rows, whatever they are.
    """

    type: ColumnType | None
    values: list[Value]
    rejected: str = ""
    planned: bool = False


class Oracle:
    """Asks a running Spark session."""

    def __init__(self, spark: SparkSession) -> None:
        self.spark = spark
        jvm = spark._jvm  # noqa: SLF001 (TryEval and the parser have no public door)
        self._parser = spark._jsparkSession.sessionState().sqlParser()  # noqa: SLF001
        self._try_eval = jvm.org.apache.spark.sql.catalyst.expressions.TryEval
        self._column = jvm.org.apache.spark.sql.classic.ExpressionUtils.column

    def evaluate(
        self,
        expressions: Sequence[str],
        schema: Schema = NO_COLUMNS,
        rows: Sequence[Sequence[Value]] = ((),),
        *,
        codegen: bool = False,
    ) -> list[Answer]:
        """The answer to each expression, over all rows; one that is rejected doesn't disturb the others."""
        frame = self._frame(schema, rows)
        answers: list[Answer] = []
        with self._codegen(codegen):
            for start in range(0, len(expressions), _WIDTH):
                answers += self._select(frame, expressions[start : start + _WIDTH], guarded=True)
        return answers

    def plain(self, expression: str, schema: Schema = NO_COLUMNS, row: Sequence[Value] = ()) -> Value:
        """The value for one row as a user's query gives it: no TryEval, the optimizer as it comes."""
        excluded = self.spark.conf.get("spark.sql.optimizer.excludedRules")
        self.spark.conf.unset("spark.sql.optimizer.excludedRules")
        try:
            with self._codegen(True):
                answer = self._select(self._frame(schema, [row]), [expression], guarded=False)[0]
        except (PySparkException, Py4JJavaError):
            return ERROR
        finally:
            self.spark.conf.set("spark.sql.optimizer.excludedRules", excluded or "")
        if answer.rejected:
            raise ValueError(answer.rejected)
        return answer.values[0]

    def aggregate(
        self, expressions: Sequence[str], schema: Schema, rows: Sequence[Sequence[Value]]
    ) -> list[tuple[ColumnType | None, Value]]:
        """Type and value of aggregates over all rows; one that raises has the value ERROR and no type."""
        return self._folded(self._frame(schema, rows), expressions)

    def _folded(self, frame: Any, expressions: Sequence[str]) -> list[tuple[ColumnType | None, Value]]:
        try:
            answers = self._select(frame, expressions, guarded=False)
        except (PySparkException, Py4JJavaError):
            if len(expressions) == 1:
                return [(None, ERROR)]
            half = len(expressions) // 2
            return self._folded(frame, expressions[:half]) + self._folded(frame, expressions[half:])
        if rejected := next((answer.rejected for answer in answers if answer.rejected), ""):
            raise ValueError(rejected)
        return [(answer.type, answer.values[0]) for answer in answers]

    @contextlib.contextmanager
    def _codegen(self, on: bool) -> Iterator[None]:
        self.spark.conf.set("spark.sql.codegen.factoryMode", "CODEGEN_ONLY" if on else "NO_CODEGEN")
        self.spark.conf.set("spark.sql.codegen.wholeStage", str(on).lower())
        yield

    def _frame(self, schema: Schema, rows: Sequence[Sequence[Value]]) -> Any:
        # A column of our own, so that a schema without columns has rows as well.
        fields = [pa.field("_row", pa.int64())] + [pa.field(c.name, _arrow(c.type)) for c in schema]
        columns: list[list[Value]] = [list(range(len(rows)))]
        columns += [[row[index] for row in rows] for index in range(len(schema))]
        arrays = [_column(values, field.type) for values, field in zip(columns, fields, strict=True)]
        return self.spark.createDataFrame(pa.Table.from_arrays(arrays, schema=pa.schema(fields)))

    def _select(self, frame: Any, expressions: Sequence[str], *, guarded: bool) -> list[Answer]:
        """Select all at once; where the analyzer objects, halve until it is clear to whom."""
        try:
            columns = [self._parsed(text, guarded).alias(f"e{index}") for index, text in enumerate(expressions)]
            selected = frame._jdf.select(self._sequence(columns))  # noqa: SLF001
        except PySparkException as error:  # the analyzer computes what has to be a literal, with its errors
            if len(expressions) == 1:
                return [Answer(None, [], str(error))]
            return self._halves(frame, expressions, guarded=guarded)
        result = DataFrame(selected, self.spark)
        names = [field.dataType["v"].dataType.simpleString() for field in result.schema.fields]
        try:
            table = pa.Table.from_batches(result._collect_as_arrow())  # noqa: SLF001 (toArrow objects to a null struct)
        except PySparkException:
            if not guarded:
                raise
            if len(expressions) > 1:
                return self._halves(frame, expressions, guarded=guarded)
            # Calls of literals alone are computed while the query is planned, whatever rules are excluded.
            answer = _answer(names[0], lambda _: [ERROR] * frame.count())
            return [dataclasses.replace(answer, planned=True)]
        return [_answer(name, functools.partial(_values, table.column(i))) for i, name in enumerate(names)]

    def _halves(self, frame: Any, expressions: Sequence[str], *, guarded: bool) -> list[Answer]:
        half = len(expressions) // 2
        left = self._select(frame, expressions[:half], guarded=guarded)
        return left + self._select(frame, expressions[half:], guarded=guarded)

    def _parsed(self, text: str, guarded: bool) -> Any:
        # The line break ends a comment that the expression may end with.
        expression = self._parser.parseExpression(f"named_struct('v', {text}\n)")
        return self._column(self._try_eval(expression) if guarded else expression)

    def _sequence(self, columns: Sequence[Any]) -> Any:
        return self.spark._jvm.PythonUtils.toSeq(list(columns))  # noqa: SLF001


def start() -> SparkSession:
    """A small local Spark in the mode that the subset promises: ANSI, UTC."""
    # PySpark logs every exception that it hands on, with the whole stack of the JVM; here they are answers.
    logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)
    os.environ["PYSPARK_PYTHON"] = sys.executable
    os.environ["SPARK_LOCAL_IP"] = "127.0.0.1"
    settings = {
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.sql.ansi.enabled": "true",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.subexpressionElimination.enabled": "false",
        # BETWEEN and NULLIF: otherwise their value is computed in a step of its own, before and without the guard.
        "spark.sql.alwaysInlineCommonExpr": "true",
        "spark.sql.optimizer.excludedRules": ",".join(
            f"org.apache.spark.sql.catalyst.optimizer.{rule}" for rule in _RULES
        ),
        "spark.sql.catalogImplementation": "in-memory",
        "spark.sql.execution.arrow.pyspark.fallback.enabled": "false",
        "spark.driver.extraJavaOptions": "-XX:TieredStopAtLevel=1",  # short-lived: the second compiler never pays off
        "spark.log.level": "OFF",
        "spark.driver.memory": "2g",
    }
    builder = SparkSession.builder.master("local[1]").appName("oracle")
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def same(one: Value, other: Value) -> bool:
    """Whether two values are the same result.

    NaN is NaN. The two zeros differ: they compare equal in SQL, but Spark writes -0.0 into an output. A decimal has
    its digits after the point, and a number its type: 1, 1.0 and true are three results.
    """
    if one is None or other is None or one is ERROR or other is ERROR:
        return one is other
    if type(one) is not type(other):
        return False
    if isinstance(one, float):
        if math.isnan(one) or math.isnan(other):
            return math.isnan(one) and math.isnan(other)
        return bool(one == other) and math.copysign(1, one) == math.copysign(1, other)
    if isinstance(one, decimal.Decimal):
        return bool(one == other) and one.as_tuple().exponent == other.as_tuple().exponent
    if isinstance(one, list):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(one == other)


_ARROW = {
    Kind.BOOLEAN: pa.bool_(),
    Kind.INT: pa.int32(),
    Kind.BIGINT: pa.int64(),
    Kind.DOUBLE: pa.float64(),
    Kind.STRING: pa.string(),
    Kind.BINARY: pa.binary(),
    Kind.DATE: pa.date32(),
    Kind.TIMESTAMP: pa.timestamp("us", tz="UTC"),
    Kind.NULL: pa.null(),
}
_PLAIN = {Kind.DATE: pa.int32(), Kind.TIMESTAMP: pa.int64()}


def _arrow(kind: ColumnType, *, plain: bool = False) -> pa.DataType:
    """The Arrow type; `plain` with whole numbers for dates and timestamps, which reach beyond the years of Python."""
    if kind.kind is Kind.DECIMAL:
        return pa.decimal128(kind.precision, kind.scale)
    if kind.kind is Kind.ARRAY and kind.element:
        return pa.list_(_arrow(kind.element, plain=plain))
    return (plain and _PLAIN.get(kind.kind)) or _ARROW[kind.kind]


def _column(values: Sequence[Value], kind: pa.DataType) -> pa.Array:
    return pa.array(values, type=_numbers(kind)).cast(kind)


def _numbers(kind: pa.DataType) -> pa.DataType:
    if pa.types.is_list(kind):
        return pa.list_(_numbers(kind.value_type))
    if pa.types.is_date(kind):
        return pa.int32()
    return pa.int64() if pa.types.is_timestamp(kind) else kind


def _values(column: pa.ChunkedArray, kind: ColumnType) -> list[Value]:
    structs = column.combine_chunks()
    if isinstance(structs, pa.ChunkedArray):
        structs = pa.concat_arrays(structs.chunks)
    values = structs.field("v").cast(_arrow(kind, plain=True)).to_pylist()
    valid = structs.is_valid().to_pylist()
    return [value if fine else ERROR for value, fine in zip(values, valid, strict=True)]


def _answer(name: str, values: Callable[[ColumnType], list[Value]]) -> Answer:
    """The answer of one column; `void` is a type that no column can have, tinyint one that we don't have."""
    try:
        kind = types.NULL if name == "void" else types.parse_type(name)
    except ValueError as error:
        return Answer(None, [], str(error))
    return Answer(kind, values(kind))
