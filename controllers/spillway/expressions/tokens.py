"""The words of an expression, cut as Spark's lexer cuts them; what the subset leaves out is named here already.

The parser is ours because sqlglot's Spark dialect reads some texts differently from Spark: `a = b between 1 and 2`,
`a like b = c` and `a > b = c < d` group differently, `cast` becomes `try_cast`, and functions are renamed. Every such
text would have been a silent difference between the paradigms.
"""

from __future__ import annotations

import dataclasses
import enum
import re

from spillway.expressions import errors

MAX_LENGTH = 8192  # characters: the longest expression that anybody wrote by hand is a tenth of it


class Kind(enum.Enum):
    """What a token is."""

    WORD = enum.auto()  # a keyword or a name; `value` is the word as it stands
    QUOTED = enum.auto()  # a name in backquotes
    STRING = enum.auto()
    NUMBER = enum.auto()
    MARK = enum.auto()
    END = enum.auto()


@dataclasses.dataclass(frozen=True, slots=True)
class Token:
    """One token, with the place where it starts."""

    kind: Kind
    value: str
    at: int
    suffix: str = ""  # of a number: L, D, BD …

    @property
    def word(self) -> str:
        """The word in lower case, as keywords are compared; empty for everything else."""
        return self.value.lower() if self.kind is Kind.WORD else ""


_TOKEN = re.compile(
    r"""
    (?P<space>[ \t\r\n]+)
  | (?P<refused>--|/\*|->)
  | (?P<raw>[rR](?:'[^']*'|"[^"]*"))
  | (?P<string>(?:'(?:[^'\\]|\\.|'')*'|"(?:[^"\\]|\\.|"")*"))
  | (?P<number>(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)(?P<suffix>[A-Za-z_0-9]*)
  | (?P<word>[A-Za-z_][A-Za-z0-9_]*)
  | `(?P<quoted>(?:[^`]|``)+)`
  | (?P<mark><=>|<>|!=|<=|>=|==|\|\||::|[-+*/%=<>!()\[\],.])
    """,
    re.VERBOSE | re.DOTALL,
)

# What people try, and what to write instead.
_REFUSED = {
    "--": "comments are not supported inside an expression; use a YAML comment (#)",
    "/*": "comments are not supported inside an expression; use a YAML comment (#)",
    "->": "lambda functions are not supported; explode the array and use operators",
    "?": "placeholders are not supported; write the value",
    ":": "placeholders are not supported; write the value",
    "$": "variables are not supported; write the value",
    ";": "one expression is expected; ';' would end it",
    "@": "'@' means nothing in Spark SQL",
    "{": "braces are not supported",
    "&": "bitwise operators are not supported; for conditions write AND",
    "|": "bitwise operators are not supported; for conditions write OR",
    "^": "bitwise operators are not supported; for powers use pow(x, y)",
    "~": "bitwise operators are not supported; for conditions write NOT",
    "'": "a string is not closed",
    '"': "a string is not closed",
    "`": "a quoted name is not closed",
}

_ESCAPES = {"0": "\0", "b": "\b", "n": "\n", "r": "\r", "t": "\t", "Z": "\x1a", "%": "\\%", "_": "\\_"}
_ESCAPE = re.compile(r"\\u([0-9A-Fa-f]{4})|\\U([0-9A-Fa-f]{8})|\\([0-1][0-7]{2})|\\(.)|(''|\"\")", re.DOTALL)


def tokenize(text: str) -> list[Token]:
    """Cut the text into tokens, the last of which is END; raises ExpressionError."""
    if len(text) > MAX_LENGTH:
        message = f"an expression has at most {MAX_LENGTH} characters, this one has {len(text)}"
        raise errors.ExpressionError(message)
    if (at := text.find("${")) >= 0:
        # Spark replaces it before it parses, inside of strings too, by environment variables among others.
        message = "'${' is Spark's variable substitution, which is not supported; in a string write concat('$', '{…')"
        raise errors.ExpressionError(message, text, at)
    found: list[Token] = []
    at = 0
    while at < len(text):
        match = _TOKEN.match(text, at)
        if match is None or match.lastgroup == "refused":
            raise errors.ExpressionError(_refusal(text[at], match), text, at)
        if match.lastgroup != "space":
            found.append(_token(match, text))
        at = match.end()
    found.append(Token(Kind.END, "", len(text)))
    return found


def _refusal(character: str, match: re.Match[str] | None) -> str:
    if match:
        return _REFUSED[match[0]]
    return _REFUSED.get(character, f"unexpected character {character!r}")


def _token(match: re.Match[str], text: str) -> Token:
    at = match.start()
    if (number := match["number"]) is not None:
        # Spark reads `1x` as a name and `1.` followed by a letter as something else again.
        suffix = match["suffix"].upper()
        if suffix not in {"", "L", "D", "BD"} or (suffix == "L" and not number.isdigit()):
            message = f"{match[0]!r} is not a number of the subset: suffixes are L (bigint), D (double), BD (decimal)"
            raise errors.ExpressionError(message, text, at)
        return Token(Kind.NUMBER, number, at, suffix)
    if (raw := match["raw"]) is not None:
        return Token(Kind.STRING, raw[2:-1], at)
    if (string := match["string"]) is not None:
        return Token(Kind.STRING, _unescape(string, text, at), at)
    if (quoted := match["quoted"]) is not None:
        return Token(Kind.QUOTED, quoted.replace("``", "`"), at)
    if (word := match["word"]) is not None:
        return Token(Kind.WORD, word, at)
    return Token(Kind.MARK, match[0], at)


def _unescape(literal: str, text: str, at: int) -> str:
    """The value of a string literal: Spark's escapes, and doubled quotes."""
    quote, body = literal[0], literal[1:-1]

    def replace(match: re.Match[str]) -> str:
        four, eight, octal, plain, doubled = match.groups()
        if four or eight:
            code = int(four or eight, 16)
            if code > 0x10FFFF:
                message = f"{match[0]!r} is no character"
                raise errors.ExpressionError(message, text, at)
            return chr(code)
        if octal:
            return chr(int(octal, 8))
        if plain:
            return _ESCAPES.get(plain, plain)
        return quote if doubled[0] == quote else str(doubled)

    value = _ESCAPE.sub(replace, body)
    try:
        # Two escapes may be the halves of one character, as in Java; half a character alone is no text.
        return value.encode("utf-16", "surrogatepass").decode("utf-16")
    except UnicodeDecodeError:
        message = "a string contains half of a surrogate pair"
        raise errors.ExpressionError(message, text, at) from None
