"""Quantities that people write with a unit: `500ms`, `7400ns`, `1Gi`. Parsed once, into values with arithmetic.

`Duration` counts nanoseconds, because costs per record are that small; `datetime.timedelta` stops at microseconds.
Both notations are ones that the API server's CEL understands as well (`duration(…)`, `quantity(…)`), so that one
bound can be checked in both places.
"""

from __future__ import annotations

import dataclasses
import datetime
import decimal
import re
from typing import Any, Self

import pydantic
import pydantic_core
from pydantic_core import core_schema


@dataclasses.dataclass(frozen=True, slots=True, order=True)
class _Quantity:
    """A whole number of a smallest unit, and the text that people write for it."""

    amount: int

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text; raises ValueError that says what a right one looks like."""
        match = re.fullmatch(_PATTERNS[cls], text)
        if match is None:
            message = f"{_quoted(text)} is not {_MEANING[cls]}"
            raise ValueError(message)
        number, unit = match["number"], match["unit"] or ""
        return cls(int(decimal.Decimal(number) * _UNITS[cls][unit]))

    def __str__(self) -> str:
        """As people would write it; for everything that `parse` gives, the way back."""
        sizes = _WRITTEN[type(self)]
        whole = (f"{self.amount // size}{unit}" for unit, size in sizes.items() if self.amount % size == 0)
        split = (f"{decimal.Decimal(self.amount) / size:f}{unit}" for unit, size in sizes.items())
        smallest = f"{self.amount}{min(sizes, key=sizes.__getitem__)}"
        texts = (*whole, *split) if self.amount else ()
        return next((text for text in texts if re.fullmatch(_PATTERNS[type(self)], text)), smallest)

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: Any, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Text comes in, or a value that was parsed already; text goes out."""
        return core_schema.no_info_plain_validator_function(
            cls._validate, serialization=core_schema.plain_serializer_function_ser_schema(str)
        )

    @classmethod
    def _validate(cls, value: object) -> Self:
        if isinstance(value, cls):
            return value
        if not isinstance(value, str):
            kind, message = "quantity", f"{_quoted(value)} is not {_MEANING[cls]}"
            raise pydantic_core.PydanticCustomError(kind, "{message}", {"message": message})
        try:
            return cls.parse(value)
        except ValueError as error:
            kind = "quantity"
            raise pydantic_core.PydanticCustomError(kind, "{message}", {"message": str(error)}) from None

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        """A bounded string with a pattern: the API server refuses what `parse` would refuse."""
        pattern = re.sub(r"\?P<\w+>", "", _PATTERNS[cls])
        return {"type": "string", "pattern": f"^{pattern}$", "maxLength": _MAX_LENGTH}


class Duration(_Quantity):
    """A span of time in whole nanoseconds."""

    @property
    def timedelta(self) -> datetime.timedelta:
        """The same span for clocks and timers, rounded down to microseconds."""
        return datetime.timedelta(microseconds=self.amount // 1000)

    @property
    def seconds(self) -> float:
        """The same span for formulas."""
        return self.amount / 1e9

    @property
    def milliseconds(self) -> float:
        """The same span for people."""
        return self.amount / 1e6


class MemorySize(_Quantity):
    """An amount of memory in bytes."""


_MAX_LENGTH = 24  # of the text: nine digits on each side of the point and a unit fit, a page of zeros does not
_PATTERNS: dict[type[_Quantity], str] = {
    Duration: r"(?P<number>[0-9]{1,9}(\.[0-9]{1,9})?)(?P<unit>ns|us|ms|s|m|h)",
    MemorySize: r"(?P<number>[0-9]{1,12})(?P<unit>Ki|Mi|Gi|Ti|k|M|G|T)?",
}
_MEANING: dict[type[_Quantity], str] = {
    Duration: "a duration; write a number and a unit (ns, us, ms, s, m, h), such as 500ms or 1.5s",
    MemorySize: "an amount of memory; write a whole number and a unit (Ki, Mi, Gi, Ti, k, M, G, T), such as 512Mi",
}
_SECOND = 10**9
_UNITS: dict[type[_Quantity], dict[str, int]] = {
    Duration: {"ns": 1, "us": 10**3, "ms": 10**6, "s": _SECOND, "m": 60 * _SECOND, "h": 3600 * _SECOND},
    MemorySize: {
        "": 1, "k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12,
        "Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40,
    },
}  # fmt: skip
# In the order in which units are tried: large ones first, and memory in powers of two, as people write it.
_WRITTEN: dict[type[_Quantity], dict[str, int]] = {
    kind: {unit: _UNITS[kind][unit] for unit in units}
    for kind, units in {
        Duration: ("h", "m", "s", "ms", "us", "ns"),
        MemorySize: ("Ti", "Gi", "Mi", "Ki", "", "T", "G", "M", "k"),
    }.items()
}


def _quoted(value: object) -> str:
    """A value as it stands in a message: short, whatever somebody sent."""
    text = repr(value)
    return text if len(text) <= 40 else f"{text[:36]}…{text[-1]}"


@dataclasses.dataclass(frozen=True, slots=True)
class Between:
    """Bounds of a quantity, for `Annotated`: checked here, and by the API server through CEL."""

    least: str
    most: str

    def __get_pydantic_core_schema__(
        self, source: Any, handler: pydantic.GetCoreSchemaHandler
    ) -> core_schema.CoreSchema:
        """Check the bounds after the quantity was parsed."""
        least, most = source.parse(self.least), source.parse(self.most)

        def check(value: _Quantity) -> _Quantity:
            if not least <= value <= most:
                kind, message = "bounds", f"must be between {self.least} and {self.most}, is {value}"
                raise pydantic_core.PydanticCustomError(kind, "{message}", {"message": message})
            return value

        return core_schema.no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: Any, handler: pydantic.GetJsonSchemaHandler) -> dict[str, Any]:
        """Add the bounds as a CEL rule."""
        found = handler(schema)
        if "Gi" in found["pattern"]:
            rule = (
                f"quantity(self).compareTo(quantity('{self.least}')) >= 0"
                f" && quantity(self).compareTo(quantity('{self.most}')) <= 0"
            )
        else:
            rule = f"duration(self) >= duration('{self.least}') && duration(self) <= duration('{self.most}')"
        message = f"must be between {self.least} and {self.most}"
        return {**found, "x-kubernetes-validations": [{"rule": rule, "message": message}]}
