"""The verdict about a manifest: one reason, every mistake in the order of the manifest, and a message that fits."""

from __future__ import annotations

import copy
from typing import Any

import pytest

import bad_manifests
from bad_manifests import ABSENT, CASES, By
from spillway.controllers import acceptance
from spillway.controllers.acceptance import MAX_MESSAGE, Verdict
from spillway.model.errors import Mistake
from spillway.model.status import REASONS, ConditionType, Reason

FIELD: tuple[str, Any] = ("policy.mode", "dry-run")
GRAPH: tuple[str, Any] = ("operators[1].input", "deer")
EXPRESSION: tuple[str, Any] = ("streams[0].timestamp", "att")


def judged(*edits: tuple[str, Any]) -> Verdict:
    made = copy.deepcopy(bad_manifests.GOOD)
    for path, value in edits:
        bad_manifests.edit(made["spec"], path, value)
    return acceptance.accept(made)


def verdict_of(*mistakes: Mistake) -> Verdict:
    return Verdict(Reason.INVALID_FIELD, None, {}, mistakes)


def test_a_good_manifest_is_accepted_with_all_that_flows_in_it() -> None:
    verdict = acceptance.accept(bad_manifests.GOOD)
    assert verdict.accepted
    assert verdict.message == "the spec is valid"
    assert verdict.job is not None
    spec = bad_manifests.GOOD["spec"]
    parts = (*spec["streams"], *spec["tables"], *spec["operators"])
    assert set(verdict.relations) == {part["name"] for part in parts}


@pytest.mark.parametrize("sentence", [sentence for sentence, case in CASES.items() if case.by is By.ACCEPTED])
def test_what_passes_the_api_server_is_judged_with_the_words_of_the_table(sentence: str) -> None:
    case = CASES[sentence]
    verdict = acceptance.accept(case.manifest)
    assert not verdict.accepted
    assert verdict.reason in {Reason.INVALID_TOPOLOGY, Reason.INVALID_EXPRESSION}
    assert [str(m) for m in verdict.mistakes if case.validator in str(m)], verdict.mistakes


@pytest.mark.parametrize("sentence", CASES)
def test_a_refused_manifest_gives_no_job_and_says_why(sentence: str) -> None:
    verdict = acceptance.accept(CASES[sentence].manifest)
    assert verdict.job is None
    assert verdict.mistakes
    assert 0 < len(verdict.message) <= MAX_MESSAGE


REASON_OF = {
    "nothing": ((), Reason.VALID),
    "a field": ((FIELD,), Reason.INVALID_FIELD),
    "the graph": ((GRAPH,), Reason.INVALID_TOPOLOGY),
    "an expression": ((EXPRESSION,), Reason.INVALID_EXPRESSION),
    "an expression and the graph": ((EXPRESSION, GRAPH), Reason.INVALID_TOPOLOGY),
    "an expression and a field": ((EXPRESSION, FIELD), Reason.INVALID_FIELD),
    "all three": ((EXPRESSION, GRAPH, FIELD), Reason.INVALID_FIELD),
}


@pytest.mark.parametrize("wrong", REASON_OF)
def test_the_reason_is_the_deepest_one(wrong: str) -> None:
    edits, reason = REASON_OF[wrong]
    verdict = judged(*edits)
    assert verdict.reason is reason
    assert len(verdict.mistakes) == len(edits)


def test_every_reason_of_a_verdict_is_one_of_the_condition_accepted() -> None:
    for _, reason in REASON_OF.values():
        assert ConditionType.ACCEPTED in REASONS[reason][0]


def test_mistakes_stand_in_the_order_of_the_manifest() -> None:
    many = [f"nothing_{i} as n{i}" for i in range(12)]
    verdict = judged(
        FIELD,
        ("outputs[0].key", ["land"]),
        ("operators[5].join.by", ["page"]),
        ("operators[1].select", many),
        ("streams[1].columns", "user strng"),
        ("latency.bound", "5"),
        ("kafka.bootstrapServers", ABSENT),
    )
    assert [mistake.place for mistake in verdict.mistakes] == [
        "spec.kafka.bootstrapServers",
        "spec.latency.bound",
        "spec.streams[1].columns",
        *(f"spec.operators[1].select[{i}]" for i in range(12)),
        "spec.policy.mode",
    ]


def test_operators_are_counted_not_spelt() -> None:
    extra = [("operators[+]", {"name": f"x{i}", "input": "clicks", "filter": 1}) for i in range(5)]
    places = [mistake.place for mistake in judged(*extra).mistakes]
    assert places == [f"spec.operators[{i}].filter" for i in range(7, 12)]


# The message of the condition


def test_a_few_mistakes_are_all_in_the_message() -> None:
    verdict = verdict_of(Mistake(("spec", "a"), "is odd"), Mistake(("spec", "b"), "is even"))
    assert verdict.message == "spec.a: is odd; spec.b: is even"


@pytest.mark.parametrize("count", [2, 10, 11, 12, 50, 1000])
@pytest.mark.parametrize("length", [1, 40, 96, 97, 98, 99, 100, 500, 2000])
def test_a_message_fits_and_accounts_for_every_mistake(count: int, length: int) -> None:
    message = verdict_of(*(Mistake((), f"«{i}» {'x' * length}") for i in range(count))).message
    assert len(message) <= MAX_MESSAGE
    shown = message.count("«")
    text, _, rest = message.rpartition(" … and ")
    if shown == count:
        assert not text
    else:
        assert rest == f"{count - shown} more; run spillway validate"


def test_a_message_that_just_fits_is_whole() -> None:
    assert verdict_of(Mistake((), "x" * MAX_MESSAGE)).message == "x" * MAX_MESSAGE
    half = MAX_MESSAGE // 2 - 1
    assert verdict_of(Mistake((), "x" * half), Mistake((), "y" * half)).message == f"{'x' * half}; {'y' * half}"


def test_one_mistake_that_is_too_long_is_cut_with_a_mark() -> None:
    message = verdict_of(Mistake((), "x" * 5000)).message
    assert len(message) == MAX_MESSAGE
    assert message.endswith("xx …")


def test_a_long_mistake_in_front_does_not_hide_how_many_follow() -> None:
    message = verdict_of(Mistake((), "x" * 5000), Mistake((), "y"), Mistake((), "z")).message
    assert len(message) == MAX_MESSAGE
    assert message.endswith("x … and 2 more; run spillway validate")
