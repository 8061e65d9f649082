"""Conditions and reasons are an interface: a closed set, each documented, none without a use."""

from __future__ import annotations

import re

import pytest

from spillway.model import status
from spillway.model.status import ConditionType, Reason


def undocumented(
    types: dict[ConditionType, str], reasons: dict[Reason, tuple[tuple[ConditionType, ...], str]]
) -> list[str]:
    """What somebody who looks it up in the reference would not find, or not understand."""
    texts = {str(word): text for word, text in types.items()}
    texts |= {str(reason): text for reason, (_, text) in reasons.items()}
    words = [str(word) for word in (*ConditionType, *Reason)]
    return [word for word in words if not re.fullmatch(r"[A-Z`].{10,}\.", texts.get(word, ""))]


def orphans(reasons: dict[Reason, tuple[tuple[ConditionType, ...], str]]) -> list[str]:
    """Reasons under no condition, and conditions without a reason."""
    used = {kind for kinds, _ in reasons.values() for kind in kinds}
    lonely: list[Reason | ConditionType] = [reason for reason, (kinds, _) in reasons.items() if not kinds]
    return [str(word) for word in (*lonely, *(kind for kind in ConditionType if kind not in used))]


def test_every_condition_and_every_reason_is_documented_in_a_sentence() -> None:
    assert undocumented(status.TYPES, status.REASONS) == []


def test_no_reason_and_no_condition_is_an_orphan() -> None:
    assert orphans(status.REASONS) == []


@pytest.mark.parametrize("reason", Reason)
def test_a_reason_without_documentation_would_be_noticed(reason: Reason) -> None:
    missing = {known: entry for known, entry in status.REASONS.items() if known is not reason}
    assert undocumented(status.TYPES, missing) == [reason]
    empty = {**status.REASONS, reason: (status.REASONS[reason][0], "")}
    assert undocumented(status.TYPES, empty) == [reason]


@pytest.mark.parametrize("kind", ConditionType)
def test_a_condition_without_a_reason_would_be_noticed(kind: ConditionType) -> None:
    without = {r: (tuple(k for k in kinds if k is not kind), text) for r, (kinds, text) in status.REASONS.items()}
    assert kind in orphans(without)
    undescribed = {known: text for known, text in status.TYPES.items() if known is not kind}
    assert undocumented(undescribed, status.REASONS) == [kind]


@pytest.mark.parametrize("word", [*ConditionType, *Reason])
def test_a_word_of_the_status_is_what_kubernetes_asks_of_one(word: str) -> None:
    assert re.fullmatch(r"[A-Z][A-Za-z]{1,39}", word)


def test_every_condition_can_be_good_and_can_be_bad() -> None:
    by_type = {
        kind: [reason for reason, (kinds, _) in status.REASONS.items() if kind in kinds] for kind in ConditionType
    }
    assert [kind for kind, reasons in by_type.items() if len(reasons) < 2] == []


def test_an_empty_status_is_one() -> None:
    assert status.Status.model_validate_json("{}") == status.Status()
