"""Reading a manifest: every mistake at once, in words, and none that hides another."""

from __future__ import annotations

import copy
import re
from typing import Any

import pytest

import bad_manifests
from bad_manifests import ABSENT, CASES, By
from spillway.controllers import acceptance
from spillway.model import errors, reading

REFUSED = [sentence for sentence, case in CASES.items() if case.by is not By.ACCEPTED]


def mistakes(document: object) -> list[str]:
    return [str(mistake) for mistake in reading.read(document)[2]]


def edited(*edits: tuple[str, Any]) -> dict[str, Any]:
    made = copy.deepcopy(bad_manifests.GOOD)
    for path, value in edits:
        bad_manifests.edit(made["spec"], path, value)
    return made


def test_the_good_manifest_is_read_whole() -> None:
    job, draft, found = reading.read(bad_manifests.GOOD)
    assert found == []
    assert job is not None
    assert job.metadata.name == "good"
    assert [operator.name for _, operator in draft.operators] == [o.name for o in job.spec.operators]
    assert draft.broken == frozenset()


def test_reading_does_not_change_the_document() -> None:
    document = copy.deepcopy(bad_manifests.GOOD)
    reading.read(document)
    assert document == bad_manifests.GOOD


@pytest.mark.parametrize("sentence", REFUSED)
def test_what_the_api_server_refuses_is_refused_here_in_words(sentence: str) -> None:
    case = CASES[sentence]
    found = [str(mistake) for mistake in acceptance.accept(case.manifest).mistakes]
    assert [line for line in found if case.validator in line], found


def test_the_table_knows_all_who_can_refuse() -> None:
    assert {case.by for case in CASES.values()} == set(By)
    assert len(REFUSED) > 80


# What is no StreamJob


@pytest.mark.parametrize(
    ("document", "words"),
    [
        (None, "expected a StreamJob, found nothing"),
        ([], "expected a StreamJob, found a list"),
        ("text", "expected a StreamJob, found 'text'"),
        (42, "expected a StreamJob, found 42"),
        (True, "expected a StreamJob, found true or false"),
    ],
)
def test_a_document_that_is_no_mapping_is_called_what_it_is(document: object, words: str) -> None:
    assert mistakes(document) == [words]


def test_a_document_of_another_kind_is_not_judged_further() -> None:
    assert mistakes({"apiVersion": "v1", "kind": "ConfigMap", "data": {}}) == [
        "apiVersion: is 'v1'; spillway reads 'spillway.dev/v1alpha1'",
        "kind: is 'ConfigMap'; spillway reads 'StreamJob'",
    ]


def test_an_empty_mapping_lacks_its_kind() -> None:
    assert mistakes({}) == [
        "apiVersion: is missing; write apiVersion: spillway.dev/v1alpha1",
        "kind: is missing; write kind: StreamJob",
    ]


@pytest.mark.parametrize("spec", [None, [], "text", 7, ABSENT])
def test_a_spec_that_is_no_mapping_is_one_mistake(spec: object) -> None:
    document = copy.deepcopy(bad_manifests.GOOD)
    bad_manifests.edit(document, "spec", spec)
    found = mistakes(document)
    assert len(found) == 1
    assert re.fullmatch(r"spec: (is missing|expected a mapping, found .*)", found[0])


# One mistake does not hide another


def test_mistakes_in_all_sections_are_found_at_once() -> None:
    document = edited(
        ("kafka.bootstrapServers", ["kafka"]),
        ("latency.quantil", 0.9),
        ("streams[0].format", "avro"),
        ("tables[0].key", []),
        ("operators[1].select", []),
        ("operators[5].join.within", ABSENT),
        ("outputs[0].topic", "a b"),
        ("execution.workers", {"min": 9}),
        ("policy.mode", "dry-run"),
    )
    places = [mistake.place for mistake in reading.read(document)[2]]
    assert sorted(places) == [
        "spec.execution.workers.min",
        "spec.kafka.bootstrapServers[0]",
        "spec.latency.quantil",
        "spec.operators[1].select",
        "spec.operators[5].join",
        "spec.outputs[0].topic",
        "spec.policy.mode",
        "spec.streams[0].format",
        "spec.tables[0].key",
    ]


def test_a_wrong_field_hides_neither_the_topology_nor_the_expressions() -> None:
    document = edited(
        ("policy.mode", "dry-run"),
        ("operators[1].input", "deer"),
        ("operators[5].join.by", ["page"]),
        ("outputs[1].topic", "clicks"),
    )
    places = [mistake.place for mistake in acceptance.accept(document).mistakes]
    assert places == [
        "spec.operators[1].input",
        "spec.operators[5].join.by[0]",
        "spec.outputs[1].topic",
        "spec.policy.mode",
    ]


def test_an_operator_that_can_not_be_read_is_no_unknown_name_to_its_readers() -> None:
    found = [str(mistake) for mistake in acceptance.accept(edited(("operators[0].paradigm", "stream"))).mistakes]
    assert len(found) == 1
    assert found[0].startswith("spec.operators[0].paradigm: 'stream' is not one of")


def test_where_a_name_can_not_be_read_nothing_is_said_about_references() -> None:
    found = [str(mistake) for mistake in acceptance.accept(edited(("operators[0].name", "Dear!"))).mistakes]
    assert len(found) == 1
    assert found[0].startswith("spec.operators[0].name: 'Dear!' is not a name")


def test_a_list_with_a_wrong_entry_is_not_called_empty_as_well() -> None:
    assert mistakes(edited(("streams", [{"name": "clicks"}]))) == [
        "spec.streams[0].topic: is missing",
        "spec.streams[0].columns: is missing",
    ]


# Words


WORDS = {
    "an unknown field without a near one lists those that there are": (
        ("latency.zzz", 1),
        "spec.latency.zzz: unknown field 'zzz'; known are bound, quantile",
    ),
    "an unknown field in a list of parts": (
        ("operators[0].filtre", "true"),
        "spec.operators[0].filtre: unknown field 'filtre', did you mean 'filter'?",
    ),
    "a field by its name in Python": (("streams[0].key_columns", "k"), "did you mean 'keyColumn'?"),
    "a null": (("latency.quantile", None), "spec.latency.quantile: expected a number, found nothing"),
    "a whole number with a point": (
        ("execution.workers", {"max": 2.5}),
        "spec.execution.workers.max: expected a whole number, found 2.5",
    ),
    "a number beyond all": (("latency.quantile", float("inf")), "latency.quantile: is inf; must be a finite number"),
    "no number": (("latency.quantile", float("nan")), "spec.latency.quantile: is nan; must be a finite number"),
    "a whole number of thirty digits": (("execution.workers", {"max": 10**30}), "must be 1000 or less"),
    "text with half a character": (("operators[0].filter", "\ud800"), "can't be read: "),
}  # fmt: skip


@pytest.mark.parametrize("sentence", WORDS)
def test_a_mistake_is_put_in_words(sentence: str) -> None:
    edit, words = WORDS[sentence]
    found = mistakes(edited(edit))
    assert [line for line in found if words in line], found


@pytest.mark.parametrize("value", ["x" * 100_000, ["x" * 100_000], {"x" * 100_000: 1}])
def test_a_value_of_many_kilobytes_is_not_repeated(value: object) -> None:
    for path in ("latency.bound", "latency.quantile", "streams[0].format", "operators[0].name", "policy.paused"):
        found = mistakes(edited((path, value)))
        assert found
        assert max(map(len, found)) < 400


def test_of_very_many_mistakes_the_first_hundred_are_told() -> None:
    wrong = [{"name": f"o{i}", "input": "clicks", "filter": 1} for i in range(256)]
    assert len(mistakes(edited(("operators", wrong)))) == reading.MAX_MISTAKES


@pytest.mark.parametrize("depth", [100, 300, 100_000])
def test_nesting_of_any_depth_ends_with_a_verdict(depth: int) -> None:
    deep: dict[str, Any] = {}
    for _ in range(depth):
        deep = {"a": deep}
    document = edited(("execution.workers", {"podTemplate": {"spec": deep}}))
    found = mistakes(document)
    assert found == [] if depth == 100 else found
    _unravel(deep)


def test_an_operator_without_a_name_and_very_deep_inside_is_no_surprise() -> None:
    deep: dict[str, Any] = {}
    for _ in range(300):
        deep = {"a": deep}
    for operator in ({"filter": deep}, {"name": ["a"], "filter": deep}, {"name": deep}):
        assert mistakes(edited(("operators[0]", operator)))


def _unravel(deep: dict[str, Any]) -> None:
    """Take it apart from the outside, because freeing it at once would recurse."""
    while deep:
        deep = deep.pop("a")


# Places


def test_a_place_is_written_as_people_write_it() -> None:
    mistake = errors.Mistake(("operators", 2, "select", 0), "is odd").under("spec")
    assert mistake.place == "spec.operators[2].select[0]"
    assert str(mistake) == "spec.operators[2].select[0]: is odd"
    assert str(errors.Mistake((), "is odd")) == "is odd"


def test_an_invalid_error_carries_all_mistakes() -> None:
    found = [errors.Mistake(("spec",), "is missing"), errors.Mistake(("kind",), "is odd")]
    raised = errors.InvalidError(found)
    assert str(raised) == "spec: is missing; kind: is odd"
    assert raised.mistakes == tuple(found)
    assert isinstance(raised, errors.TerminalError)


@pytest.mark.parametrize(
    ("word", "hint"),
    [("quantil", ", did you mean 'quantile'?"), ("zzz", ""), ("", ""), ("q" * 100_000, "")],
)
def test_only_a_near_word_is_suggested(word: str, hint: str) -> None:
    assert errors.did_you_mean(word, ["quantile", "bound"]) == hint
