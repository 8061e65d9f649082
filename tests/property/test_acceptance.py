"""Whatever somebody sends: a verdict, never an exception; refused with at least one place that makes sense."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import bad_manifests
import fuzzing
from bad_manifests import CASES
from spillway.controllers import acceptance
from spillway.controllers.acceptance import MAX_MESSAGE
from spillway.model import errors, reading

pytestmark = pytest.mark.fuzz

# Texts that mean something somewhere, so that a random edit often gets past the first check.
MEANINGFUL = [
    "clicks", "sales", "users", "dear", "pages", "counts", "user", "page", "price", "at", "country", "user string",
    "json", "raw", "1s", "500ms", "1Gi", "batch", "record", "true", "price > 1", "count(*) as n", "upper(page) as t",
    "m:f", "map", "a decimal(38,38)", "k:1", "array(1) as a", "user as page", "spillway.dev/v1alpha1", "StreamJob",
]  # fmt: skip
FIELDS = [
    "name", "input", "inputs", "filter", "select", "explode", "python", "aggregate", "join", "table", "stream", "by",
    "window", "size", "values", "columns", "key", "topic", "as", "keep", "mode", "format", "paradigm", "retention",
    "costs", "within", "returns", "spec", "metadata", "status", "execution", "policy", "security", "podTemplate",
]  # fmt: skip
KEYS = st.one_of(st.sampled_from(FIELDS), st.text(max_size=8))
LEAVES = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.sampled_from(MEANINGFUL), st.text(max_size=20)
)
JSON: st.SearchStrategy[Any] = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=4), max_leaves=8
)
HEAD = {"apiVersion": "spillway.dev/v1alpha1", "kind": "StreamJob", "metadata": {"name": "x"}}
ACTIONS = st.sampled_from(["delete", "replace", "insert"])
EDITS = st.lists(st.tuples(st.integers(0, 10**6), ACTIONS, KEYS, JSON), min_size=1, max_size=4)


def places(value: Any) -> list[tuple[Any, Any]]:
    """Every place in a document, as its container and the step into it."""
    found: list[tuple[Any, Any]] = []
    todo = [value]
    while todo:
        inner = todo.pop()
        steps = list(inner) if isinstance(inner, dict) else list(range(len(inner))) if isinstance(inner, list) else []
        found += [(inner, step) for step in steps]
        todo += [inner[step] for step in steps]
    return found


def edited(edits: list[tuple[int, str, str, Any]]) -> Any:
    """The good manifest after some edits at random places."""
    made = copy.deepcopy(bad_manifests.GOOD)
    for number, what, key, value in edits:
        choice = places(made)
        if not choice:
            break
        container, step = choice[number % len(choice)]
        if what == "delete":
            del container[step]
        elif what == "replace":
            container[step] = value
        elif isinstance(container, list):
            container.insert(step, value)
        else:
            container[key] = value
    return made


def reachable(document: Any, path: errors.Path) -> bool:
    """Whether the path leads through the document; its last step may be what is missing."""
    for step in path[:-1]:
        try:
            document = document[step]
        except (KeyError, IndexError, TypeError):
            return False
    return not path or isinstance(document, dict | list)


def is_told_well(document: Any, verdict: acceptance.Verdict) -> bool:
    """Whether somebody who reads the verdict learns what to do; asserts, so that a failure names what is wrong."""
    assert verdict.accepted == (verdict.job is not None) == (not verdict.mistakes)
    assert 0 < len(verdict.message) <= MAX_MESSAGE
    for mistake in verdict.mistakes:
        assert reachable(document, mistake.path), mistake
        assert len(mistake.message) < 20_000
        # What pydantic says by itself is in the words of a programmer.
        assert not mistake.message.startswith(("Input should", "Value error", "Assertion", "JSON")), mistake
        assert mistake.message.strip(), mistake
    return True


@fuzzing.cases(150)
@given(JSON)
def test_any_document_gets_a_verdict(document: Any) -> None:
    assert is_told_well(document, acceptance.accept(document))


@fuzzing.cases(150)
@given(JSON, JSON)
def test_any_spec_of_a_streamjob_gets_a_verdict(spec: Any, operator: Any) -> None:
    for document in ({**HEAD, "spec": spec}, {**HEAD, "spec": {**bad_manifests.GOOD["spec"], "operators": [operator]}}):
        assert is_told_well(document, acceptance.accept(document))


@fuzzing.cases(400)
@given(EDITS)
def test_the_good_manifest_after_any_edits_gets_a_verdict(edits: list[tuple[int, str, str, Any]]) -> None:
    document = edited(edits)
    before = copy.deepcopy(document)
    assert is_told_well(document, acceptance.accept(document))
    assert repr(document) == repr(before), "judging changed the document"


def section(sentence: str) -> str:
    """The part of the manifest that a case of the table edits."""
    return re.split(r"(?<=\])|\.", CASES[sentence].path)[0]


# Cases about fields of one part: any two of them, in different parts, have nothing to do with one another.
OF_FIELDS = sorted(
    sentence
    for sentence, case in CASES.items()
    if section(sentence) not in ("streams", "tables", "operators", "outputs")  # the whole list
    and any(case.validator in str(mistake) for mistake in reading.read(case.manifest)[2])
)


@fuzzing.cases(150)
@given(st.lists(st.sampled_from(OF_FIELDS), min_size=2, max_size=6, unique_by=section))
def test_no_mistake_in_a_field_hides_one_elsewhere(sentences: list[str]) -> None:
    document = copy.deepcopy(bad_manifests.GOOD)
    for sentence in sentences:
        CASES[sentence].apply(document)
    verdict = acceptance.accept(document)
    assert is_told_well(document, verdict)
    told = [str(mistake) for mistake in verdict.mistakes]
    assert [s for s in sentences if not any(CASES[s].validator in line for line in told)] == []


@pytest.mark.parametrize(
    ("path", "leads_there"),
    [
        ((), True),
        (("spec",), True),
        (("spec", "operators", 0, "nothing"), True),
        (("spec", "operators", 99, "name"), False),
        (("spec", "operators", "name", "x"), False),
        (("spec", "latency", "bound", "x"), False),
    ],
)
def test_a_path_that_leads_nowhere_would_be_noticed(path: errors.Path, *, leads_there: bool) -> None:
    assert reachable(bad_manifests.GOOD, path) is leads_there
