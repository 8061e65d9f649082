"""What can be wrong with an expression: its text, or one row that it meets.

TerminalError (spillway.model.errors)
├── EvaluationError    a row on which Spark, in ANSI mode, would raise too; carries what Spark calls it
└── ExpressionError    a text that is no expression of the subset; carries the place in the text

Generated code raises EvaluationError, and ZeroDivisionError where Python itself notices the zero:
`ROW_ERRORS` is what to catch around it.
"""

from __future__ import annotations

import enum
import re

from spillway.model import errors


class Condition(enum.StrEnum):
    """What Spark calls the error of a row."""

    OVERFLOW = "ARITHMETIC_OVERFLOW"
    OUT_OF_RANGE = "NUMERIC_VALUE_OUT_OF_RANGE"
    DIVIDE_BY_ZERO = "DIVIDE_BY_ZERO"
    INVALID_CAST = "CAST_INVALID_INPUT"
    CAST_OVERFLOW = "CAST_OVERFLOW"
    INVALID_INDEX = "INVALID_ARRAY_INDEX"
    INVALID_DATETIME = "DATETIME_FIELD_OUT_OF_BOUNDS"
    INVALID_ARGUMENT = "INVALID_PARAMETER_VALUE"


class EvaluationError(errors.TerminalError):
    """A row on which the expression has no value: an overflow, a division by zero, a text that is no number."""

    def __init__(self, message: str, condition: Condition = Condition.INVALID_ARGUMENT) -> None:
        super().__init__(f"[{condition}] {message}")
        self.condition = condition


class ExpressionError(errors.TerminalError):
    """A text outside the subset: what is wrong, what to write instead, and where it stands."""

    def __init__(self, message: str, text: str = "", at: int = 0) -> None:
        super().__init__(
            message if _plain(message, text) else f"{message} (at character {at + 1}, near {_near(text, at)!r})"
        )
        self.message = message
        self.text = text
        self.at = at


ROW_ERRORS = (EvaluationError, ZeroDivisionError)

_SHORT = 40  # characters: in such a text, nobody needs to be told where to look
_QUOTED = re.compile(r"'([^']+)'")


def _plain(message: str, text: str) -> bool:
    """Whether the message alone shows the place: the text is short, or has what the message quotes just once."""
    quoted = _QUOTED.search(message)
    return len(text) <= _SHORT or (quoted is not None and text.count(quoted[1]) == 1)


_CONTEXT = 30  # characters on each side of the mistake: enough to recognise the place, short enough for a status


def _near(text: str, at: int) -> str:
    """The part of the text around the mistake."""
    start, end = max(0, at - _CONTEXT), at + _CONTEXT
    return f"{'…' if start else ''}{text[start:end]}{'…' if end < len(text) else ''}"
