"""Reads an expression, grouping as the grammar of Spark does.

From loose to tight, with what is particular in Spark:

| | |
|---|---|
| 1 | `or` |
| 2 | `and` |
| 3 | `not`, `!` before a condition |
| 4 | one of `between`, `in`, `like`, `rlike`, `is` after a value; not two, and no operator after it |
| 5 | `= == <> != < <= > >= <=>`, all alike, from left to right |
| 6 | `+ - ||` alike |
| 7 | `* / % div` alike |
| 8 | signs; a minus before a number belongs to the number |
| 9 | `x[i]`, `x::type` |

The operands of 4 are values of level 5: `a like b = c` is `a like (b = c)`, `a = b between c and d` is
`(a = b) between c and d`.
"""

from __future__ import annotations

from typing import NoReturn

from spillway.expressions import errors, literals, syntax, tokens
from spillway.expressions.tokens import Kind, Token
from spillway.model import types

# Groups inside of groups: one takes 14 calls of the parser, and Python stops at 1000, of which the caller has some.
MAX_NESTING = 32
# Nodes from the root to a leaf; a chain a + b + c + … grows to the left, one node for each operator. Generated code
# needs two parentheses for each, and Python's own parser stops at 200.
MAX_DEPTH = 64

_COMPARISONS = {"=": "=", "==": "=", "<>": "<>", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">=", "<=>": "<=>"}
_LEVELS: tuple[dict[str, str], ...] = (
    _COMPARISONS,
    {"+": "+", "-": "-", "||": "||"},
    {"*": "*", "/": "/", "%": "%", "div": "div"},
)

# Words that mean something of their own where a value may stand; as names of columns they need backquotes.
_RESERVED = frozenset(
    """
    all and any anti array as between by case cast check collate column constraint create cross distinct div
    else end escape except exists extract false filter for foreign from full group having if ilike in inner
    intersect interval into is join lambda lateral left like map minus natural not null offset on or order
    over overlay overlaps percentile_cont percentile_disc position primary references regexp right rlike
    select semi set setminus some struct substr substring table then to trim true try_cast union unique
    unknown using values when where window with within
    """.split()  # noqa: SIM905 - a list would be a page of single words
)
# Of these, the ones that Spark also takes as the name of an ordinary function.
_FUNCTIONS = frozenset(
    {"array", "if", "left", "right", "substr", "substring", "trim", "map", "struct", "filter", "position"}
)
_PREDICATES = frozenset({"between", "in", "like", "ilike", "rlike", "regexp", "is"})
_OUTSIDE = {
    "select": "subqueries are not supported; write a join operator",
    "exists": "subqueries are not supported; write a join operator",
    "interval": "intervals are not supported; use the functions on dates and timestamps",
    "over": "window functions are not supported; write an aggregate operator with a window",
    "filter": "FILTER is not supported; use count_if(condition), or sum(if(condition, x, NULL))",
    "collate": "collations are not supported",
}  # fmt: skip


class Parser:
    """Reads one text from left to right."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens.tokenize(text)
        self.next = 0
        self.depth = 0

    # What stands next.

    @property
    def token(self) -> Token:
        """The next token."""
        return self.tokens[self.next]

    def fail(self, message: str, at: int | None = None) -> NoReturn:
        """There is a mistake, at the next token unless it is said where."""
        raise errors.ExpressionError(message, self.text, self.token.at if at is None else at)

    def take(self) -> Token:
        """The next token, and go on."""
        token = self.token
        self.next += token.kind is not Kind.END
        return token

    def at_mark(self, *marks: str) -> bool:
        """Whether one of the marks stands next."""
        return self.token.kind is Kind.MARK and self.token.value in marks

    def at_word(self, *words: str) -> bool:
        """Whether one of the keywords stands next."""
        return self.token.word in words

    def followed_by(self, mark: str) -> bool:
        """Whether the mark stands after the next token."""
        following = self.tokens[self.next + 1]
        return following.kind is Kind.MARK and following.value == mark

    def took(self, what: str) -> bool:
        """Go past the mark or keyword, if it is there."""
        if (self.token.kind is Kind.MARK and self.token.value == what) or self.token.word == what:
            self.next += 1
            return True
        return False

    def expect(self, what: str, after: str) -> None:
        """Go past the mark or keyword, which has to be there."""
        if not self.took(what):
            self.fail(f"expected {what.upper()!r} after {after}, found {self.found()}")

    def found(self) -> str:
        """The next token as a message shows it."""
        return "the end" if self.token.kind is Kind.END else repr(self.token.value)

    def end(self) -> None:
        """Nothing may follow."""
        if self.token.kind is Kind.END:
            return
        if outside := _OUTSIDE.get(self.token.word):
            self.fail(outside)
        if self.token.word in _PREDICATES or (self.token.kind is Kind.MARK and self.token.value in _COMPARISONS):
            self.fail(f"{self.found()} cannot follow a condition directly: put the condition in parentheses")
        if self.token.kind is Kind.STRING:
            self.fail("unexpected string; names of columns are written `name`, strings 'text'")
        self.fail(f"unexpected {self.found()} after the end of the expression")

    # Conditions: levels 1 to 4.

    def expression(self) -> syntax.Node:
        """Level 1, and the door for everything that nests."""
        self.depth += 1
        if self.depth > MAX_NESTING:
            self.fail(f"the expression is nested more than {MAX_NESTING} deep: split it over two operators")
        node = self.chain("or")
        self.depth -= 1
        return node

    def chain(self, word: str) -> syntax.Node:
        """Levels 1 and 2: `a or b or c`."""
        at = self.token.at
        terms = [self.chain("and") if word == "or" else self.negation()]
        while self.took(word):
            terms.append(self.chain("and") if word == "or" else self.negation())
        return terms[0] if len(terms) == 1 else syntax.Logic(word, tuple(terms), at)

    def negation(self) -> syntax.Node:
        """Level 3."""
        signs = []
        while self.at_word("not") or self.at_mark("!"):
            signs.append(self.take().at)
        node = self.predicate()
        for at in reversed(signs):
            node = syntax.Unary("not", node, at)
        return node

    def predicate(self) -> syntax.Node:
        """Level 4."""
        value = self.binary(0)
        at = self.token.at
        negated = self.at_word("not") or self.at_mark("!")
        if negated:
            if self.tokens[self.next + 1].word not in _PREDICATES - {"is"}:
                return value
            self.take()
        word = self.token.word
        if word not in _PREDICATES:
            return value
        self.take()
        if word == "is":
            return self.state(value, at)
        if word == "between":
            low = self.binary(0)
            self.expect("and", "the lower bound of BETWEEN")
            node: syntax.Node = syntax.Between(value, low, self.binary(0), at)
        elif word == "in":
            node = self.membership(value, at)
        else:
            node = self.match(word, value, at)
        return syntax.Unary("not", node, at) if negated else node

    def state(self, value: syntax.Node, at: int) -> syntax.Node:
        """`is [not] null`, `true`, `false`, `distinct from`."""
        negated = self.took("not")
        if self.took("distinct"):
            self.expect("from", "IS DISTINCT")
            same: syntax.Node = syntax.Binary("<=>", value, self.binary(0), at)
            return same if negated else syntax.Unary("not", same, at)
        what = self.token.word
        if what not in {"null", "true", "false"}:
            self.fail(f"expected NULL, TRUE, FALSE or DISTINCT FROM after IS, found {self.found()}")
        self.take()
        node = syntax.Is(value, what, at)
        return syntax.Unary("not", node, at) if negated else node

    def membership(self, value: syntax.Node, at: int) -> syntax.Node:
        """`in (a, b)`."""
        self.expect("(", "IN")
        if self.at_word("select", "with", "values", "from"):
            self.fail(_OUTSIDE["select"])
        options = self.arguments("IN (…")
        if not options:
            self.fail("IN needs at least one value")
        return syntax.In(value, options, at)

    def match(self, word: str, value: syntax.Node, at: int) -> syntax.Node:
        """`like` and `rlike`."""
        if word == "ilike" or self.at_word("any", "some", "all"):
            self.fail("ILIKE and LIKE ANY/SOME/ALL are not supported: use lower(x) LIKE '…', and OR")
        pattern = self.binary(0)
        escape = "\\"
        if word == "like" and self.took("escape"):
            token = self.take()
            if token.kind is not Kind.STRING or len(token.value) != 1:
                self.fail("ESCAPE needs a string of one character", token.at)
            escape = token.value
        return syntax.Match("like" if word == "like" else "rlike", value, pattern, escape, at)

    # Values: levels 5 to 9.

    def binary(self, level: int) -> syntax.Node:
        """Levels 5 to 7: operators of one level group from left to right."""
        if level == len(_LEVELS):
            return self.sign()
        node = self.binary(level + 1)
        while True:
            token = self.token
            op = _LEVELS[level].get(token.value if token.kind is Kind.MARK else token.word)
            if op is None:
                return node
            self.take()
            node = syntax.Binary(op, node, self.binary(level + 1), token.at)

    def sign(self) -> syntax.Node:
        """Level 8."""
        signs: list[Token] = []
        while self.at_mark("-", "+"):
            if self.at_mark("-") and self.tokens[self.next + 1].kind is Kind.NUMBER:
                break
            signs.append(self.take())
        node = self.suffixed()
        for token in reversed(signs):
            node = syntax.Unary(token.value, node, token.at)
        return node

    def suffixed(self) -> syntax.Node:
        """Level 9."""
        node = self.primary()
        while self.at_mark("[", "::", "."):
            token = self.take()
            if token.value == "[":
                node = syntax.Subscript(node, self.expression(), token.at)
                self.expect("]", "the index")
            elif token.value == "::":
                node = syntax.Cast(node, self.type(), safe=False, at=token.at)
            else:
                self.fail("columns have no fields: write the name of the column without a prefix", token.at)
        return node

    def primary(self) -> syntax.Node:
        """A literal, a name, a call, a group."""
        token = self.token
        if token.kind is Kind.NUMBER or self.at_mark("-"):
            minus = self.took("-")
            return self.literal(literals.number(self.take(), minus), token.at)
        if token.kind is Kind.STRING:
            return self.literal((self.strings(), types.STRING), token.at)
        if self.took("("):
            node = self.expression()
            if self.at_mark(","):
                self.fail("rows (a, b) are not supported: compare the columns one by one with AND")
            self.expect(")", "the expression in parentheses")
            return node
        if token.kind is Kind.QUOTED:
            self.take()
            if self.at_mark("("):
                self.fail("the name of a function is written without backquotes", token.at)
            return syntax.Name(token.value, token.at)
        if token.kind is Kind.WORD:
            return self.named()
        if self.at_mark("*"):
            self.fail("'*' stands only in count(*)")
        if token.kind is Kind.END:
            self.fail("the expression is empty" if not self.next else "the expression ends too early")
        self.fail(f"expected a value, found {self.found()}")

    def named(self) -> syntax.Node:
        """What starts with a word."""
        token, following = self.token, self.tokens[self.next + 1]
        word = token.word
        if word in {"null", "true", "false"}:
            self.take()
            return self.literal(literals.WORDS[word], token.at)
        if word == "case":
            return self.case()
        call = self.followed_by("(")
        if word in {"cast", "try_cast"} and call:
            return self.cast()
        if following.kind is Kind.STRING:
            self.take()
            return self.literal(literals.typed(word, self.strings()), token.at)
        if word in _OUTSIDE and (word != "filter" or not call):
            self.fail(_OUTSIDE[word])
        if word in _RESERVED and not (call and word in _FUNCTIONS):
            self.fail(f"{token.value!r} is a word of SQL; for a column of that name write `{token.value}`")
        self.take()
        if not call:
            return syntax.Name(token.value, token.at)
        return self.call(token)

    def literal(self, found: tuple[object, types.ColumnType] | str, at: int) -> syntax.Node:
        """A literal, or the mistake in it."""
        if isinstance(found, str):
            self.fail(found, at)
        value, kind = found
        return syntax.Literal(value, kind, at)

    def strings(self) -> str:
        """String literals that stand side by side are one, as in Spark."""
        parts = []
        while self.token.kind is Kind.STRING:
            parts.append(self.take().value)
        return "".join(parts)

    def case(self) -> syntax.Node:
        """`case … end`."""
        at = self.take().at
        operand = None if self.at_word("when") else self.expression()
        branches = []
        while self.took("when"):
            condition = self.expression()
            self.expect("then", "the condition of WHEN")
            branches.append((condition, self.expression()))
        if not branches:
            self.fail(f"expected WHEN in CASE, found {self.found()}")
        otherwise = self.expression() if self.took("else") else None
        self.expect("end", "the branches of CASE")
        return syntax.Case(operand, tuple(branches), otherwise, at)

    def cast(self) -> syntax.Node:
        """`cast(x as type)`."""
        token = self.take()
        self.expect("(", token.value)
        value = self.expression()
        self.expect("as", "the value of CAST")
        kind = self.type()
        self.expect(")", "the type of CAST")
        return syntax.Cast(value, kind, token.word == "try_cast", token.at)

    def type(self) -> types.ColumnType:
        """A type: up to the bracket that closes what is around it."""
        start, depth = self.token, 0
        words: list[str] = []
        while self.token.kind in {Kind.WORD, Kind.NUMBER} or self.at_mark("(", "<", ">", ",", ")"):
            depth += self.at_mark("(", "<") - self.at_mark(")", ">")
            if depth < 0 or (depth == 0 and self.at_mark(",")):
                break
            if words and depth == 0 and not self.at_mark(")", ">"):
                break
            words.append(self.take().value)
        try:
            return literals.type_named(" ".join(words))
        except ValueError as mistake:
            self.fail(str(mistake), start.at)

    def call(self, token: Token) -> syntax.Node:
        """`name(…)`."""
        self.expect("(", token.value)
        if self.at_mark("*") and self.followed_by(")"):
            self.next += 2
            return syntax.Call(token.word, (), token.at, star=True)
        distinct = self.took("distinct")
        arguments = self.arguments(f"{token.value}(…")
        if self.at_word("over", "filter", "within", "ignore", "respect"):
            self.fail(_OUTSIDE.get(self.token.word, f"{self.token.value.upper()} is not supported here"))
        return syntax.Call(token.word, arguments, token.at, distinct=distinct)

    def arguments(self, after: str) -> tuple[syntax.Node, ...]:
        """Expressions up to the closing parenthesis."""
        found: list[syntax.Node] = []
        if self.took(")"):
            return ()
        while True:
            found.append(self.expression())
            if not self.took(","):
                break
        if self.at_word("from", "for", "in"):
            self.fail(f"{self.token.value.upper()} inside of a call is not supported: separate arguments by commas")
        self.expect(")", after)
        return tuple(found)


def parse(text: str) -> syntax.Node:
    """Read one expression; raises ExpressionError."""
    parser = Parser(text)
    node = parser.expression()
    parser.end()
    _bound(node, text)
    return node


def parse_item(text: str) -> tuple[syntax.Node, str]:
    """Read `expression [as name]`; the name is empty where none is given."""
    parser = Parser(text)
    node = parser.expression()
    name = ""
    if parser.took("as") or (parser.token.kind in {Kind.WORD, Kind.QUOTED} and parser.token.word not in _RESERVED):
        token = parser.take()
        if token.kind not in {Kind.WORD, Kind.QUOTED} or not types.NAME.fullmatch(token.value):
            parser.fail("expected a name (letters, digits, _) after AS", token.at)
        name = token.value
    parser.end()
    _bound(node, text)
    return node, name


def _bound(node: syntax.Node, text: str) -> None:
    """No deeper than what everything after the parser may walk recursively."""
    level = [node]
    for _ in range(MAX_DEPTH):
        level = [child for parent in level for child in syntax.children(parent)]
        if not level:
            return
    message = f"the expression is more than {MAX_DEPTH} operators deep: split it over two operators"
    raise errors.ExpressionError(message, text, level[0].at)
