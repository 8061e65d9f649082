"""Every function of the subset, as it is written in the registry, against a real Spark: values, errors, types.

`make test` compares 150 rows of edge values per call; `make fuzz` eight times as many, and more literals.
"""

from __future__ import annotations

from collections.abc import Sequence

import pytest

import fuzzing
import spark_oracle
from function_cases import RAISED, Case, Table, cases, orders, value_of
from spark_oracle import ERROR, Answer, Oracle
from spillway.expressions.functions import registry
from spillway.expressions.functions.signature import Function

pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("spark"), pytest.mark.fuzz]

FUZZ = min(fuzzing.FACTOR, 8)  # the edge values are all there by then; more would only repeat them
ROWS = 150 * FUZZ
LITERALS = 15 * FUZZ  # choices per signature: each is an expression that Spark has to analyse
SHOWN = 20  # differences in a message: enough to see what they have in common

ALL: list[Function] = list({id(function): function for function in registry.FUNCTIONS.values()}.values())


def differences(found: Sequence[Case], answers: Sequence[Answer], table: Table) -> list[str]:
    """Where Spark and Python disagree, in words."""
    rows = [dict(zip(table.schema.names, row, strict=True)) for row in table.rows]
    different: list[str] = []
    for case, answer in zip(found, answers, strict=True):
        if answer.type != case.call.result:
            different.append(f"{case.sql}: Spark {answer.type}{answer.rejected}, here {case.call.result}")
            continue
        for row, theirs in zip(rows, answer.values, strict=True):
            ours = value_of(case, row)
            if not spark_oracle.same(theirs, ERROR if ours is RAISED else ours):
                different.append(f"{case.sql} of {case.shown(row)!a}: Spark {theirs!a}, here {ours!a}")
                break  # one row per call says enough
    return different


def ask(oracle: Oracle, found: Sequence[Case], table: Table, *, codegen: bool = False) -> list[str]:
    answers = oracle.evaluate([case.sql for case in found], table.schema, table.rows, codegen=codegen)
    return differences(found, answers, table)[:SHOWN]


@pytest.mark.parametrize("group", registry.GROUPS)
def test_a_function_gives_what_spark_gives_for_edge_values_of_all_its_types(oracle: Oracle, group: str) -> None:
    table = Table(ROWS)
    functions = [function for module in registry.GROUPS[group] for function in module.FUNCTIONS]
    found = [case for function in functions for case in cases(function, table, LITERALS)]
    assert {case.function.name for case in found} == {function.name for function in functions}
    assert ask(oracle, found, table) == []


def test_an_argument_that_raises_and_one_that_is_null_meet_in_the_order_of_spark(oracle: Oracle) -> None:
    table = Table(12)
    found = [case for function in ALL for case in orders(function, table)]
    assert ask(oracle, found, table, codegen=True) == []


def test_the_compiled_form_of_spark_agrees_as_well(oracle: Oracle) -> None:
    table = Table(60)
    found = [case for function in ALL for case in list(cases(function, table, 1))[:1]]
    assert ask(oracle, found, table, codegen=True) == []


def test_the_examples_of_the_reference_are_true(oracle: Oracle) -> None:
    examples = [(sql, value) for function in ALL for sql, value in function.examples]
    left = oracle.evaluate([sql for sql, _ in examples])
    right = oracle.evaluate([value for _, value in examples])
    wrong = [
        (example, one, other)
        for example, one, other in zip(examples, left, right, strict=True)
        if one.rejected
        or other.rejected
        or one.type != other.type
        or not spark_oracle.same(one.values[0], other.values[0])
    ]
    assert wrong == []


def test_an_alias_is_the_same_function(oracle: Oracle) -> None:
    questions: list[str] = []
    for function in ALL:
        sql, _ = function.examples[0]
        questions += [sql.replace(f"{function.name}(", f"{alias}(", 1) for alias in function.aliases]
    expected = [function.examples[0][1] for function in ALL for _ in function.aliases]
    for question, one, other in zip(questions, oracle.evaluate(questions), oracle.evaluate(expected), strict=True):
        assert one.values, f"{question}: {one.rejected}"
        assert spark_oracle.same(one.values[0], other.values[0]), question


def test_a_wrong_template_is_noticed(oracle: Oracle) -> None:
    table = Table(150)
    found = list(cases(registry.FUNCTIONS["upper"], table, 1))
    answers = oracle.evaluate([case.sql.replace("upper(", "lower(") for case in found], table.schema, table.rows)
    assert len(differences(found, answers, table)) == len(found) == 1
