"""From a document (what YAML or the API server gave) to a StreamJob, with every mistake at once and in words."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import pydantic

from spillway.model import errors, kafka, streamjob
from spillway.model.errors import Mistake, Path
from spillway.model.operators import Operator
from spillway.model.streamjob import StreamJob
from spillway.model.topology import Draft

P = TypeVar("P", bound=pydantic.BaseModel)

MAX_PARTS = streamjob.MAX_OPERATORS  # no list of parts may be longer, so no more is read of one that is

MAX_MISTAKES = 100  # of fields, in one document: after that many, nobody reads on


def read(document: object) -> tuple[StreamJob | None, Draft, list[Mistake]]:
    """Read one manifest: the job when all its fields are right, what could be read of it, and the mistakes."""
    if not isinstance(document, Mapping):
        return None, Draft(), [Mistake((), f"expected a StreamJob, found {_kind(document)}")]
    if mistakes := _identity(document):
        return None, Draft(), mistakes
    try:
        job = _validate(StreamJob, document)
    except pydantic.ValidationError as error:
        return None, _draft(document), _mistakes(error, StreamJob)
    except RecursionError:
        return None, Draft(), [Mistake((), "is nested too deep to be read")]
    return job, Draft.of(job.spec), []


def _identity(document: Mapping[str, Any]) -> list[Mistake]:
    """Whether this is a StreamJob at all; if not, nothing else that could be said would help."""
    wanted = {"apiVersion": streamjob.API_VERSION, "kind": streamjob.KIND}
    found = []
    for field, right in wanted.items():
        if field not in document:
            found.append(Mistake((field,), f"is missing; write {field}: {right}"))
        elif document[field] != right:
            found.append(Mistake((field,), f"is {_shown(document[field])}; spillway reads {right!r}"))
    return found


def _validate(part: type[P], document: object) -> P:
    """By way of JSON, as from the API server: there, strict types and tuples and enums go together."""
    return part.model_validate_json(json.dumps(document, default=str))


def _draft(document: Mapping[str, Any]) -> Draft:
    """Read each stream, table, operator and output by itself."""
    spec = document.get("spec")
    spec = spec if isinstance(spec, Mapping) else {}
    broken: set[str] = set()

    def parts(field: str, part: type[P]) -> tuple[tuple[int, P], ...]:
        items = spec.get(field, [])
        if not isinstance(items, list) or (not items and field != "tables") or len(items) > MAX_PARTS:
            broken.add("")
            return ()
        found = []
        for i, item in enumerate(items):
            try:
                found.append((i, _validate(part, item)))
            except pydantic.ValidationError as error:
                name = item.get("name") if isinstance(item, Mapping) else None
                readable = isinstance(name, str) and not any(e["loc"] == ("name",) for e in error.errors())
                broken.add(str(name) if readable else "")
        return tuple(found)

    return Draft(
        parts("streams", kafka.Stream),
        parts("tables", kafka.Table),
        parts("operators", Operator),
        parts("outputs", kafka.Output),
        frozenset(broken),
    )


def _mistakes(error: pydantic.ValidationError, model: type[pydantic.BaseModel]) -> list[Mistake]:
    details = error.errors(include_url=False)[:MAX_MISTAKES]
    # pydantic counts only the entries that are right: a list with a wrong one isn't "empty" as well.
    inside = {detail["loc"][:depth] for detail in details for depth in range(len(detail["loc"]))}
    details = [d for d in details if d["type"] != "too_short" or d["loc"] not in inside]
    return [_mistake(detail, model) for detail in details]


def _mistake(detail: Any, model: type[pydantic.BaseModel]) -> Mistake:
    """One finding of pydantic, in the words of this project."""
    path: Path = tuple(detail["loc"])
    context: Mapping[str, Any] = detail.get("ctx", {})
    match detail["type"]:
        case "missing":
            message = "is missing"
        case "extra_forbidden":
            known = _fields(model, path[:-1])
            message = f"unknown field {str(path[-1])[:60]!r}{errors.did_you_mean(str(path[-1]), known)}"
            message += "" if "did you mean" in message else f"; known are {', '.join(sorted(known))}"
        case "enum" | "literal_error":
            message = f"{_shown(detail['input'])} is not one of {context['expected']}"
            words = [word.strip("'") for word in str(context["expected"]).replace(" or ", ", ").split(", ")]
            message += errors.did_you_mean(str(detail["input"]), words)
        case kind if kind.endswith("_type"):
            message = f"expected {_EXPECTED.get(kind, kind.removesuffix('_type'))}, found {_shown(detail['input'])}"
        case "finite_number":
            message = f"is {_shown(detail['input'])}; must be a finite number"
        case "json_invalid":
            message = f"can't be read: {context['error']}"
        case "too_short" | "string_too_short":
            message = (
                "must not be empty" if context.get("min_length") == 1 else f"needs {context['min_length']} or more"
            )
        case "too_long":
            message = f"has more than {context['max_length']} entries"
        case "string_too_long":
            message = f"is longer than {context['max_length']} characters"
        case "greater_than_equal":
            message = f"is {_shown(detail['input'])}; must be {context['ge']:g} or more"
        case "less_than_equal":
            message = f"is {_shown(detail['input'])}; must be {context['le']:g} or less"
        case _:
            message = str(detail["msg"])
    return Mistake(path, message)


_EXPECTED = {
    "string_type": "text",
    "int_type": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
    "model_attributes_type": "a mapping",
}


def _fields(model: Any, path: Sequence[str | int]) -> list[str]:
    """Names of the fields at a path, as people write them."""
    for step in path:
        if isinstance(step, int):
            continue
        field = next((f for n, f in model.model_fields.items() if step in (n, f.alias)), None)
        model = None if field is None else _model_of(field.annotation)
        if model is None:
            return []
    return [field.alias or name for name, field in model.model_fields.items()]


def _model_of(annotation: Any) -> Any:
    """The model inside `X | None` or `tuple[X, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, pydantic.BaseModel):
        return annotation
    inner = (_model_of(argument) for argument in getattr(annotation, "__args__", ()))
    return next((model for model in inner if model is not None), None)


def _kind(value: object) -> str:
    """What a value is, in the words of YAML."""
    match value:
        case None:
            return "nothing"
        case bool():
            return "true or false"
        case Mapping():
            return "a mapping"
        case list() | tuple():
            return "a list"
    return f"{value!r:.60}"


def _shown(value: object) -> str:
    return _kind(value) if isinstance(value, Mapping | list | tuple) or value is None else f"{value!r:.60}"
