"""What all parts of a StreamJob share: strictness, rules that hold between fields, and kinds of text.

A `Rule` is written once and checked twice: by the API server as CEL, and here in Python, where the message can
name more. `Part` puts the CEL into the JSON schema from which the CRD is made.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Self

import pydantic
import pydantic_core
from pydantic import alias_generators
from pydantic_core import core_schema


@dataclasses.dataclass(frozen=True, slots=True)
class Rule:
    """Something that must hold between the fields of one part.

    `holds` is None where the rule looks across the whole spec: then `topology` checks it, and says more.
    """

    cel: str
    message: str
    holds: Callable[[Any], bool] | None = None
    field: str | None = None  # the field to point at; the part itself where none is to blame


class Part(pydantic.BaseModel):
    """The base of every part: frozen, strict, no unknown fields, camelCase outside."""

    model_config = pydantic.ConfigDict(
        frozen=True,
        strict=True,
        extra="forbid",
        allow_inf_nan=False,
        defer_build=True,  # the schema of a job is built once, not once more for each of its parts
        alias_generator=alias_generators.to_camel,
        validate_by_name=True,
        validate_by_alias=True,
        serialize_by_alias=True,
    )
    rules: ClassVar[tuple[Rule, ...]] = ()

    @pydantic.model_validator(mode="after")
    def _rules_hold(self) -> Self:
        """Check every rule, and report all that are broken at once."""
        broken = [rule for rule in self.rules if rule.holds is not None and not rule.holds(self)]
        if broken:
            details: list[pydantic_core.InitErrorDetails] = [
                {
                    "type": pydantic_core.PydanticCustomError("rule", "{message}", {"message": rule.message}),
                    "loc": (rule.field,) if rule.field else (),
                    "input": None,
                }
                for rule in broken
            ]
            raise pydantic_core.ValidationError.from_exception_data(type(self).__name__, details)
        return self

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the rules to the schema, as the API server reads them."""
        found = handler.resolve_ref_schema(handler(schema))
        if cls.rules:
            found["x-kubernetes-validations"] = [{"rule": rule.cel, "message": rule.message} for rule in cls.rules]
        return found


@dataclasses.dataclass(frozen=True, slots=True)
class Text:
    """A bounded string that looks like `pattern`, for `Annotated`; `meaning` completes the sentence "'x' is not …"."""

    pattern: str
    most: int
    meaning: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Check length and pattern, with a message that says what a right one looks like."""
        matches = re.compile(self.pattern).fullmatch

        def check(value: str) -> str:
            if len(value) > self.most:
                message = f"is {len(value)} characters long; at most {self.most} are allowed"
            elif not matches(value):
                message = f"{value[:80]!r} is not {self.meaning}"
            else:
                return value
            kind = "text"
            raise pydantic_core.PydanticCustomError(kind, "{message}", {"message": message})

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        """The same bounds for the API server."""
        return {"type": "string", "pattern": f"^{self.pattern}$", "maxLength": self.most}


@dataclasses.dataclass(frozen=True, slots=True)
class Within:
    """Bounds of a number that are no whole numbers, for `Annotated`.

    As a CEL rule, because the schema's own `minimum` and `maximum` are cut to whole numbers when the API server meets
    a whole number: it takes 0 where 0.5 is the least, and says "less than or equal to 0" where it means 0.9.
    """

    least: float
    most: float

    def __get_pydantic_core_schema__(
        self, source: Any, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Check the bounds, with both in the message."""

        def check(value: float) -> float:
            if not self.least <= value <= self.most:
                kind, message = "bounds", f"must be between {self.least} and {self.most}, is {value:g}"
                raise pydantic_core.PydanticCustomError(kind, "{message}", {"message": message})
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        """The same bounds for the API server."""
        rule = f"self >= {float(self.least)} && self <= {float(self.most)}"
        message = f"must be between {self.least} and {self.most}"
        return {"type": "number", "x-kubernetes-validations": [{"rule": rule, "message": message}]}


Name = Annotated[
    str,
    Text(
        r"[a-z]([-a-z0-9]{0,48}[a-z0-9])?",
        most=50,
        meaning="a name; use small letters, digits and '-', begin with a letter, 50 at most",
    ),
]
ColumnName = Annotated[
    str,
    Text(r"[A-Za-z_][A-Za-z0-9_]{0,127}", most=128, meaning="the name of a column; use letters, digits and '_'"),
]
Topic = Annotated[
    str,
    Text(
        r"[a-zA-Z0-9_-][a-zA-Z0-9._-]{0,248}",
        most=249,
        meaning="the name of a Kafka topic; use letters, digits, '.', '_' and '-'",
    ),
]
Expression = Annotated[
    str,
    pydantic.Field(min_length=1, max_length=4096),
]
Columns = Annotated[
    str,
    pydantic.Field(min_length=1, max_length=16384),
]
ObjectName = Annotated[
    str,
    Text(
        r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?",
        most=253,
        meaning="the name of a Kubernetes object; use small letters, digits, '-' and '.'",
    ),
]
