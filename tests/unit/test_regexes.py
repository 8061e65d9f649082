"""The regular expressions of the subset: what is refused, and what is translated because Java means something else."""

from __future__ import annotations

import pytest

from spillway.expressions.functions import patterns, regexes

REFUSED = {
    "Java takes Unicode letters": "\\bword\\b",
    "classes of Unicode": "\\p{L}",
    "look-ahead": "a(?=b)",
    "look-behind": "(?<!a)b",
    "a back reference": "(a)\\1",
    "possessive": "a*+",
    "a flag in the middle": "a(?i)b",
    "a named group": "(?<name>a)",
    "a class in a class": "[a[b]]",
    "an intersection": "[a-z&&[^b]]",
    "an unbounded group": "(?:ab)*",
    "a group that can be empty, repeated": "(?:a*){2}",
    "a capturing group that is optional": "(a)?b",
    "a capturing group in an alternative": "(a)|b",
    "hexadecimal": "\\x41",
    "an open group": "(a",
    "a lonely closing one": "a)",
    "a quantifier of nothing": "*a",
    "a brace that counts nothing": "a{x}",
    "too many rounds": "a{2000}",
    "a range backwards": "[z-a]",
    "quoting": "\\Qa\\E",
}


@pytest.mark.parametrize("pattern", REFUSED.values(), ids=REFUSED.keys())
def test_what_differs_between_java_and_python_is_refused(pattern: str) -> None:
    assert regexes.objection(pattern)


@pytest.mark.parametrize(
    "pattern", ["", "a|b", "(\\d+)-(\\d+)", "^[^@\\s]+@[^@\\s]+$", "(?i)error", "a{2,3}?", "[-a]", "[\\]]"]
)
def test_everyday_patterns_are_accepted(pattern: str) -> None:
    assert regexes.objection(pattern) == ""


def test_a_pattern_that_matches_nothing_is_refused_where_matches_follow_one_another() -> None:
    assert regexes.objection("x*") == ""
    assert regexes.objection("x*", repeated=True)
    assert regexes.objection("^x", repeated=True) == ""


@pytest.mark.parametrize("end", ["\n", "\r", "\r\n", "\u0085", "\u2028", "\u2029"])
def test_a_dot_matches_no_line_end_of_java_and_a_dollar_stands_before_the_last(end: str) -> None:
    assert not patterns.regexp_like(end, ".")
    assert patterns.regexp_like(f"a{end}", "a$")
    assert not patterns.regexp_like(f"a{end}b", "a$")


def test_a_dollar_does_not_stand_inside_of_a_windows_line_end() -> None:
    assert patterns.regexp_extract_all("a\r\n", "\\s$", 0) == ["\n"]


def test_digits_and_words_are_ascii() -> None:
    assert not patterns.regexp_like("\u0661\u00e9", "\\d|\\w")


def test_the_last_piece_of_a_limited_split_has_the_rest() -> None:
    assert patterns.split("a,b,c", ",", 2) == ["a", "b,c"]
    assert patterns.split("a,,", ",", 0) == ["a", "", ""]
    assert patterns.split("", "", -1) == [""]
