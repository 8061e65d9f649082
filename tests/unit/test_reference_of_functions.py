"""The generated reference: it has every function, and its tables hold together."""

from __future__ import annotations

from spillway.expressions import reference
from spillway.expressions.functions import registry


def test_every_function_has_a_row_and_every_alias_is_named() -> None:
    text = reference.expression_reference()
    for name, function in registry.FUNCTIONS.items():
        assert f"| `{function.name}(" in text
        assert name == function.name or f"`{name}`" in text


def test_every_row_has_three_cells() -> None:
    rows = [line for line in reference.expression_reference().splitlines() if line.startswith("|")]
    assert {line.replace("\\|", "").count("|") for line in rows} == {4}


def test_a_signature_that_only_explains_a_refusal_is_not_shown() -> None:
    assert "dividend decimal" not in reference.expression_reference()
