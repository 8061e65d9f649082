"""Turns checked expressions into Python source: one Python expression for each, over variables that hold the columns.

A term becomes a `Fragment`: what has to be looked at for null, in the order in which Spark looks, and the value for
the case that nothing was. `price * quantity` is guarded by `price` and `quantity`, and becomes

    None if price is None or quantity is None else price * quantity

Where a part may raise and a later part may be null, the part is computed among the guards, into a temporary, so that
errors come where they come in Spark. A filter needs less: there, null counts as false, and most guards disappear.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from spillway.expressions import arithmetic, casts, snippets, terms
from spillway.expressions.functions import registry
from spillway.expressions.snippets import AND, ATOM, CHOICE, COMPARE, NOT, OR, SUM
from spillway.expressions.terms import Term
from spillway.model.types import Kind

# What generated code calls by the name of a module.
MODULES: Mapping[str, Any] = {"arithmetic": arithmetic, "casts": casts, "Decimal": Decimal, **registry.NAMESPACE}

_INVERSE = {"=": "!=", "<>": "==", "<": ">=", "<=": ">", ">": "<=", ">=": "<"}
_PYTHON = {"=": "==", "<>": "!="}


@dataclasses.dataclass(frozen=True, slots=True)
class Fragment:
    """Source of a term: null if one of the guards is None, otherwise the value."""

    guards: tuple[str, ...]
    value: str
    level: int
    maybe: bool = False  # whether the value itself may be None

    def at(self, level: int) -> str:
        """The value, in parentheses if it is looser than the level."""
        return self.value if self.level >= level else f"({self.value})"

    @property
    def full(self) -> Fragment:
        """The value or None, as one expression."""
        if not self.guards:
            return self
        if self.guards == (self.value,):
            return Fragment((), self.value, ATOM, maybe=True)
        tests = " or ".join(f"{guard} is None" for guard in dict.fromkeys(self.guards))
        return Fragment((), f"None if {tests} else {self.at(OR)}", CHOICE, maybe=True)


_NOTHING = Fragment((), "None", ATOM, maybe=True)


class Scope:
    """What the generated code of one program shares: names of temporaries, constants, modules.

    Variables are named by the caller; `t0…`, `k0…` and the names of `MODULES` belong to the scope.
    """

    def __init__(self) -> None:
        self.constants: dict[str, object] = {}
        self._temporaries = 0

    def value(self, term: Term, variables: Mapping[str, str]) -> str:
        """A Python expression for the value, None for null; variables maps columns to names of local variables."""
        return _Writer(self, variables).write(term).full.value

    def condition(self, term: Term, variables: Mapping[str, str]) -> str:
        """A Python expression that is truthy exactly where the condition is true (neither false nor null)."""
        return _Writer(self, variables).true(term).at(OR)

    def namespace(self) -> dict[str, Any]:
        """The global names that the generated code needs."""
        return {**MODULES, **self.constants}

    def temporary(self) -> str:
        """A name that nothing else has."""
        self._temporaries += 1
        return f"t{self._temporaries - 1}"

    def constant(self, value: object) -> str:
        """A name for a value that has no short literal of its own."""
        for name, known in self.constants.items():
            if known is value or (type(known) is type(value) and repr(known) == repr(value)):
                return name
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name


class _Writer:
    """Writes the terms of one expression."""

    def __init__(self, scope: Scope, variables: Mapping[str, str]) -> None:
        self.scope = scope
        self.variables = variables

    def write(self, term: Term) -> Fragment:
        """A term as a value."""
        match term:
            case terms.Constant():
                return self.constant(term.value)
            case terms.Column():
                name = self.variables[term.name]
                return Fragment((name,) if term.nullable else (), name, ATOM)
            case terms.Apply():
                return self.apply(term)
            case terms.Compare():
                return self.compare(term)
            case terms.Same():
                return self.same(term)
            case terms.Between():
                return self.between(term)
            case terms.In():
                return self.membership(term)
            case terms.Logic():
                return self.logic(term)
            case terms.Not():
                inner = self.write(term.operand)
                if inner.maybe:
                    inner = self.bound(inner)
                return Fragment(inner.guards, f"not {inner.at(NOT)}", NOT)
            case terms.Test():
                return self.test(term)
            case terms.Choice():
                return self.choice(term)
            case terms.First():
                return self.first(term)

    def constant(self, value: object) -> Fragment:
        """A literal, or a name for it."""
        if value is None:
            return Fragment(("None",), "None", ATOM)
        if isinstance(value, float) and not math.isfinite(value):
            return Fragment((), self.scope.constant(value), ATOM)
        if isinstance(value, Decimal):
            return Fragment((), self.scope.constant(value), ATOM)
        source = repr(value)
        return Fragment((), source, SUM if source.startswith("-") else ATOM)

    def bound(self, fragment: Fragment) -> Fragment:
        """The same, its value computed among the guards."""
        name = self.scope.temporary()
        return Fragment((*fragment.guards, f"({name} := {fragment.value})"), name, ATOM)

    # Computations.

    def apply(self, term: terms.Apply) -> Fragment:
        """A template with its arguments."""
        if not term.strict:
            return self.filled(term, (), [self.argument(argument) for argument in term.arguments])
        guards, parts = self.arguments(term)
        if any(isinstance(argument, terms.Constant) and argument.value is None for argument in term.arguments):
            return Fragment(guards, "None", ATOM, maybe=True)
        return self.filled(term, guards, [part.at(ATOM) for part in parts])

    def argument(self, term: Term) -> str:
        """The source of an argument, null or not, for a template that asks `is None` itself.

        Never a literal: of `is` with one, Python's compiler warns.
        """
        full = self.write(term).full
        if isinstance(term, terms.Constant) and term.value is not None:
            return self.scope.constant(term.value)
        return f"({self.scope.temporary()} := {full.value})" if snippets.is_folded(full.value) else full.at(ATOM)

    def arguments(self, term: terms.Apply) -> tuple[tuple[str, ...], list[Fragment]]:
        """Guards and values of the arguments, evaluated in Spark's order."""
        repeated = snippets.repeated(term.source, len(term.arguments))
        order = term.order or tuple(range(len(term.arguments)))
        guards: tuple[str, ...] = ()
        parts: dict[int, Fragment] = {}
        for position in order:
            argument = term.arguments[position]
            part = self.write(argument)
            if part.guards or part.maybe:
                # What comes before it and may raise has to raise even if this one is null.
                for earlier, known in parts.items():
                    if term.arguments[earlier].raises and not known.value.isidentifier():
                        parts[earlier] = bound = self.bound(dataclasses.replace(known, guards=()))
                        guards += bound.guards
            computed = not part.value.isidentifier() and not isinstance(argument, terms.Constant)
            if part.maybe or (repeated[position] and computed):
                part = self.bound(part)
            guards += part.guards
            parts[position] = part
        return guards, [parts[position] for position in range(len(order))]

    def filled(self, term: terms.Apply, guards: tuple[str, ...], sources: Sequence[str]) -> Fragment:
        """The template with the sources in its fields."""
        if callable(term.source):
            value = term.source(sources)
        elif "{t}" in term.source or "{k}" in term.source:
            temporary = self.scope.temporary() if "{t}" in term.source else ""
            constant = self.constant_name(term.constant) if "{k}" in term.source else ""
            value = term.source.format(*sources, t=temporary, k=constant)
        else:
            value = term.source.format(*sources)
        level = snippets.level(value)
        if snippets.closes(value):
            value, level = snippets.stripped(value)
        return Fragment(guards, value, level, maybe=term.gives_null)

    def constant_name(self, value: object) -> str:
        """A constant of a template: short texts as they are, everything else by name."""
        return repr(value) if isinstance(value, str) else self.scope.constant(value)

    # Conditions as values: true, false or None.

    def pair(self, left: Term, right: Term) -> tuple[tuple[str, ...], Fragment, Fragment]:
        """The two sides of a comparison, the left one first."""
        repeats = Kind.DOUBLE in {left.type.kind, right.type.kind}
        source = "{0}{0}{1}{1}" if repeats else "{0}{1}"
        guards, (one, two) = self.arguments(terms.Apply(source, (left, right), left.type))
        return guards, one, two

    def compare(self, term: terms.Compare) -> Fragment:
        """A comparison."""
        guards, left, right = self.pair(term.left, term.right)
        value, level = self.relation(term, left, right)
        return Fragment(guards, value, level)

    def relation(self, term: terms.Compare, left: Fragment, right: Fragment) -> tuple[str, int]:
        """The comparison of two values that are not null. In Spark NaN equals NaN, and is greater than all others."""
        one, two = left.at(SUM), right.at(SUM)
        op = _PYTHON.get(term.op, term.op)
        if not _doubles(term):
            return f"{one} {op} {two}", COMPARE
        if _is_number(term.right):
            # Against a number that is not NaN, only "greater" goes wrong.
            return (f"not {one} {_INVERSE[op]} {two}", NOT) if op in {">", ">="} else (f"{one} {op} {two}", COMPARE)
        if _is_number(term.left):
            return (f"not {one} {_INVERSE[op]} {two}", NOT) if op in {"<", "<="} else (f"{one} {op} {two}", COMPARE)
        match op:
            case "==":
                return f"{one} == {two} or ({one} != {one} and {two} != {two})", OR
            case "!=":
                return f"{one} != {two} and ({one} == {one} or {two} == {two})", AND
            case ">" | "<=":
                one, two = two, one
        less = f"{one} < {two} or ({one} == {one} and {two} != {two})"
        return (less, OR) if op in {"<", ">"} else (f"not ({less})", NOT)

    def same(self, term: terms.Same) -> Fragment:
        """`<=>`: both sides are evaluated, null or not."""
        left, right = self.write(term.left).full, self.write(term.right).full
        if not _doubles(term):
            return Fragment((), f"{left.at(SUM)} == {right.at(SUM)}", COMPARE)
        one, two = left.value, right.value
        tests = []
        if not left.value.isidentifier():
            one = self.scope.temporary()
            tests.append(f"({one} := {left.value})")
        if not right.value.isidentifier():
            two = self.scope.temporary()
            tests.append(f"({two} := {right.value})")
        value = f"{one} == {two} or ({one} != {one} and {two} != {two})"
        if not tests:
            return Fragment((), value, OR)
        # A tuple evaluates both before anything is compared, and is never empty.
        return Fragment((), f"({', '.join(tests)},) and ({value})", AND)

    def between(self, term: terms.Between) -> Fragment:
        """`between`: one chained comparison where the bounds are constants."""
        bounds = (term.low, term.high)
        double = term.value.type.kind is Kind.DOUBLE
        if all(_is_number(bound) if double else _is_value(bound) for bound in bounds):
            value = self.write(term.value)
            value = self.bound(value) if value.maybe else value
            low, high = (self.write(bound).at(SUM) for bound in bounds)
            return Fragment(value.guards, f"{low} <= {value.at(SUM)} <= {high}", COMPARE)
        return self.write(self.spread(term))

    def spread(self, term: terms.Between | terms.In) -> Term:
        """The comparisons that a BETWEEN or an IN stands for; its value is evaluated by the first of them."""
        first = second = term.value
        if not isinstance(first, terms.Column | terms.Constant):
            name = self.scope.temporary()
            self.variables = {**self.variables, name: name}
            second = terms.Column(name, first.type, nullable=first.nullable)
            # As if it could be null: then it is computed among the guards, before those of the other side.
            first = terms.Apply(
                lambda sources: f"({name} := {sources[0]})", (first,), first.type, gives_null=True, strict=False
            )
        if isinstance(term, terms.Between):
            return terms.Logic("and", (terms.Compare(">=", first, term.low), terms.Compare("<=", second, term.high)))
        compared = [terms.Compare("=", first if not i else second, option) for i, option in enumerate(term.options)]
        return terms.Logic("or", tuple(compared))

    def membership(self, term: terms.In) -> Fragment:
        """`in`: one look-up where all options are constants."""
        double = term.value.type.kind is Kind.DOUBLE
        if not all(_is_number(option) if double else _is_value(option) for option in term.options):
            return self.write(self.spread(term))
        value = self.write(term.value)
        value = self.bound(value) if value.maybe else value
        options = ", ".join(self.write(option).value for option in term.options)
        # Python turns a tuple or set of literals into one constant.
        listed = f"({options}{',' * (len(term.options) == 1)})" if len(term.options) < 4 else f"{{{options}}}"
        if any(isinstance(option.value, Decimal) for option in term.options if isinstance(option, terms.Constant)):
            listed = self.scope.constant(frozenset(o.value for o in term.options if isinstance(o, terms.Constant)))
        return Fragment(value.guards, f"{value.at(SUM)} in {listed}", COMPARE)

    def logic(self, term: terms.Logic) -> Fragment:
        """A chain: the first term that decides it ends it; a null doesn't decide, but is remembered."""
        if not term.nullable:
            level = AND if term.op == "and" else OR
            pieces = [self.true(part) for part in term.terms]
            return Fragment((), f" {term.op} ".join(piece.at(level + 1) for piece in pieces), level)
        decides, other = ("False", "True") if term.op == "and" else ("True", "False")
        deciding, unknown = [], []
        for part in term.terms:
            fragment = self.write(part).full
            if not part.nullable:
                deciding.append(f"not {fragment.at(NOT)}" if term.op == "and" else fragment.at(AND))
            elif fragment.level == ATOM and fragment.value.isidentifier():
                deciding.append(f"{fragment.value} is {decides}")
                unknown.append(f"{fragment.value} is None")
            else:
                name = self.scope.temporary()
                deciding.append(f"({name} := {fragment.value}) is {decides}")
                unknown.append(f"{name} is None")
        value = f"{decides} if {' or '.join(deciding)} else None if {' or '.join(unknown)} else {other}"
        return Fragment((), value, CHOICE, maybe=True)

    def test(self, term: terms.Test) -> Fragment:
        """`is null`, `is true`, `is false`."""
        if term.what == "true" and not term.value.nullable:
            return self.true(term.value)
        if term.what == "null" and not term.value.nullable and not term.value.raises:
            return Fragment((), "False", ATOM)
        full = self.write(term.value).full
        if term.what == "null" and not term.value.nullable:
            return Fragment((), f"not [{full.value}]", NOT)  # never null: computed for its error alone
        return Fragment((), f"{full.at(SUM)} is {term.what.replace('null', 'none').title()}", COMPARE)

    def choice(self, term: terms.Choice) -> Fragment:
        """`case`: conditional expressions, one after the other."""
        text = ""
        for condition, value in term.branches:
            text += f"{self.write(value).full.at(OR)} if {self.true(condition).at(OR)} else "
        return Fragment((), text + self.write(term.otherwise).full.at(OR), CHOICE, maybe=term.nullable)

    def first(self, term: terms.First) -> Fragment:
        """`coalesce`."""
        text = ""
        for value in term.values[:-1]:
            full = self.write(value).full
            if not value.nullable:
                return Fragment((), text + full.at(OR), CHOICE)
            if full.level == ATOM and full.value.isidentifier():
                text += f"{full.value} if {full.value} is not None else "
            else:
                name = self.scope.temporary()
                text += f"{name} if ({name} := {full.value}) is not None else "
        return Fragment((), text + self.write(term.values[-1]).full.at(OR), CHOICE, maybe=term.nullable)

    # Conditions of which only one outcome matters.

    def true(self, term: Term) -> Fragment:
        """Truthy exactly where the term is true."""
        match term:
            case terms.Constant():
                return Fragment((), str(term.value is True), ATOM)
            case terms.Column():
                return Fragment((), self.variables[term.name], ATOM)
            case terms.Not():
                return self.false(term.operand)
            case terms.Logic() if term.op == "or" or _sequential(term):
                return self.joined(term.op, [self.true(part) for part in term.terms])
            case terms.Logic():
                full = self.write(term).full
                return full if not full.maybe else Fragment((), f"{full.at(SUM)} is True", COMPARE)
            case terms.Compare(op="=") if self.quiet(term):
                fragment = self.compare(term)
                return Fragment((), fragment.value, fragment.level)
            case terms.Between() | terms.In() if not isinstance(wide := self.simple(term), Fragment):
                return self.true(wide)
            case terms.In() if isinstance(term.value, terms.Column):
                return Fragment((), self.membership(term).value, COMPARE)
            case _:
                return self.positive(self.write(term))

    def false(self, term: Term) -> Fragment:
        """Truthy exactly where the term is false."""
        match term:
            case terms.Constant():
                return Fragment((), str(term.value is False), ATOM)
            case terms.Not():
                return self.true(term.operand)
            case terms.Logic() if term.op == "and" or _sequential(term):
                op = "or" if term.op == "and" else "and"
                return self.joined(op, [self.false(part) for part in term.terms])
            case terms.Compare() if not _doubles(term):
                inverse = {"==": "=", "!=": "<>"}.get(_INVERSE[term.op], _INVERSE[term.op])
                return self.true(terms.Compare(inverse, term.left, term.right))
            case terms.Between() | terms.In() if not isinstance(wide := self.simple(term), Fragment):
                return self.false(wide)
            case _:
                fragment = self.write(term)
                if fragment.maybe:
                    return Fragment((), f"{fragment.full.at(SUM)} is False", COMPARE)
                return self.positive(Fragment(fragment.guards, f"not {fragment.at(NOT)}", NOT))

    def simple(self, term: terms.Between | terms.In) -> Fragment | Term:
        """The fragment of a BETWEEN or IN among constants, or the comparisons that the others stand for."""
        double = term.value.type.kind is Kind.DOUBLE
        parts = terms.children(term)[1:]
        if all(_is_number(part) if double else _is_value(part) for part in parts):
            return _NOTHING
        return self.spread(term)

    def positive(self, fragment: Fragment) -> Fragment:
        """Guards turned round, and the value."""
        if not fragment.guards:
            return fragment
        tests = [f"{guard} is not None" for guard in dict.fromkeys(fragment.guards)]
        return Fragment((), " and ".join([*tests, fragment.at(NOT)]), AND)

    def joined(self, op: str, parts: list[Fragment]) -> Fragment:
        """A chain of `and` or `or` in Python."""
        level = AND if op == "and" else OR
        # A chain inside of the same chain needs no parentheses.
        return Fragment((), f" {op} ".join(part.at(level) for part in parts), level)

    def quiet(self, term: terms.Compare) -> bool:
        """Whether `==` alone is right also for nulls: None equals no constant."""
        sides = (term.left, term.right)
        plain = all(isinstance(side, terms.Column) or _is_value(side) for side in sides)
        nulls = sum(side.nullable for side in sides)
        if _doubles(term) and not any(map(_is_number, sides)):
            return False
        return plain and nulls < 2


def _sequential(term: terms.Logic) -> bool:
    """Whether stopping at the first null loses no error of a later term."""
    nulls = False
    for part in term.terms:
        if nulls and part.raises:
            return False
        nulls = nulls or part.nullable
    return True


def _doubles(term: terms.Compare | terms.Same) -> bool:
    return Kind.DOUBLE in {term.left.type.kind, term.right.type.kind}


def _is_value(term: Term) -> bool:
    return isinstance(term, terms.Constant) and term.value is not None


def _is_number(term: Term) -> bool:
    """A constant that is not NaN."""
    return isinstance(term, terms.Constant) and isinstance(term.value, float) and not math.isnan(term.value)
