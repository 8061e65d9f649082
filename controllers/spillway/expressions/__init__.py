"""The SQL subset: parse, check names and types, compile to Python source. Pure; no engine.

    expression = check("upper(trim(name))", schema)      # .type, .columns, .text; ExpressionError otherwise
    condition = check_condition("event_type = 'view'", schema)
    item = check_item("price * quantity as total", schema)   # .name, .type
    aggregate = check_aggregate("count(*) as views", schema)

Compiling is imported when it is asked for: whoever only validates a job doesn't pay for it.
`compiler.compile_row` and `compiler.compile_condition` make functions, `source.Scope` is for bigger generators,
`aggregates.steps` has the steps of an aggregate.
"""

from spillway.expressions.aggregate import Aggregate, check_aggregate
from spillway.expressions.errors import ROW_ERRORS, EvaluationError, ExpressionError
from spillway.expressions.expression import Expression, Item, check, check_condition, check_item

__all__ = [
    "ROW_ERRORS",
    "Aggregate",
    "EvaluationError",
    "Expression",
    "ExpressionError",
    "Item",
    "check",
    "check_aggregate",
    "check_condition",
    "check_item",
]
