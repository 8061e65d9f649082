"""The Python functions of the examples do what their manifests say of them."""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml

from spillway.model import types

FOLDER = Path(__file__).parents[2] / "examples"


def _functions() -> Iterator[tuple[str, dict[str, Any]]]:
    for path in sorted(FOLDER.glob("*.yaml")):
        for operator in yaml.safe_load(path.read_text())["spec"]["operators"]:
            if "python" in operator:
                yield operator["python"]["function"], operator["python"]


FUNCTIONS = dict(_functions())
RECORDS = {
    "linear_road:parse": {"line": "0,1,2,55,0,1,0,17,9000"},
    "sentiment:score": {"text": "not good but great"},
}


def _load(module: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(module, FOLDER / f"{module}.py")
    assert spec is not None
    assert spec.loader is not None
    loaded = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(loaded)
    return loaded


def test_every_function_of_an_example_is_tried_here() -> None:
    assert FUNCTIONS.keys() == RECORDS.keys()


@pytest.mark.parametrize("name", FUNCTIONS)
def test_a_function_gives_the_columns_that_its_manifest_says(name: str) -> None:
    module, function = name.split(":")
    result = getattr(_load(module), function)(RECORDS[name])
    (record,) = result if FUNCTIONS[name]["as"] == "flatMap" else [result]

    assert tuple(record) == types.parse_schema(FUNCTIONS[name]["returns"]).names


def test_a_line_that_is_no_position_report_gives_nothing() -> None:
    parse = _load("linear_road").parse

    assert [list(parse({"line": line})) for line in ("", "2,1,2", "0,1,2,x,0,1,0,17,9000")] == [[], [], []]


def test_a_not_turns_the_next_word_round() -> None:
    score = _load("sentiment").score

    assert [score({"text": text})["score"] for text in ("good", "not good", "bad", "chair", "good bad")] == [
        1.0,
        -1.0,
        -1.0,
        0.0,
        0.0,
    ]
