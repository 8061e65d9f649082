r"""The regular expressions that Java and Python understand alike, and their translation.

What is in: characters, `.`, `^`, `$`, classes such as `[^a-z0-9_]`, `\d \D \w \W \s \S`, `\t \n \r \f` and escaped
punctuation, alternatives, groups `( )` and `(?: )`, the quantifiers `? * + {n} {n,} {n,m}`, greedy or lazy, and `(?i)`
at the beginning, which ignores the case of a to z.

What is out, because the two differ or fail in different places:

- `\b` (Java 17 takes Unicode letters there and ASCII in `\w`), `\p`, `\h`, `\R`, octal and hexadecimal escapes;
- look-around, back references, atomic groups, possessive quantifiers, flags in the middle;
- classes in classes and `&&`, which only Java has;
- `*`, `+` and `{n,}` behind a group: Java recurses once per round and overflows its stack on a long text, an error that
  Python doesn't have. `{0,99}` says the same within bounds;
- a quantifier behind a group that can be empty, and a capturing group that is repeated, optional or in an alternative:
  what such a group has captured after backtracking differs.

`.` and `$` are translated: Java's line ends are also \r, \u0085, \u2028 and \u2029.
"""

from __future__ import annotations

import dataclasses
import functools
import re

_LINE_ENDS = "\\n\\r\\u0085\\u2028\\u2029"
_DOT = f"[^{_LINE_ENDS}]"
_END = "(?:(?=\\r\\n\\Z)|(?=[\\r\\u0085\\u2028\\u2029]\\Z)|(?<!\\r)(?=\\n\\Z)|\\Z)"
_PUNCTUATION = frozenset("\\^$.|?*+()[]{}-/:,;=!<>\"'#%&@~`_ ")
_CLASSES = frozenset("dDwWsS")
_CONTROLS = frozenset("tnrf")
_META = frozenset("\\^$.|?*+()[]{}")
# More rounds of a group than that and Java's stack, at about 100 bytes a frame, begins to matter.
_MAX_ROUNDS = 100
_MAX_REPEAT = 1000


@dataclasses.dataclass(frozen=True, slots=True)
class _Part:
    """A translated piece: whether it can match nothing, and whether a group in it captures."""

    text: str
    empty: bool
    captures: bool = False
    group: bool = False


class _Reader:
    def __init__(self, pattern: str) -> None:
        self.pattern = pattern
        self.at = 0
        self.groups = 0
        self.folding = pattern.startswith("(?i)")
        if self.folding:
            self.at = 4

    def peek(self, count: int = 1) -> str:
        return self.pattern[self.at : self.at + count]

    def take(self) -> str:
        self.at += 1
        return self.pattern[self.at - 1 : self.at]

    def refuse(self, what: str) -> ValueError:
        return ValueError(f"{what} (at character {self.at + 1} of {self.pattern!r})")

    def whole(self) -> _Part:
        part = self.alternatives()
        if self.peek():
            what = "an unmatched )"
            raise self.refuse(what)
        return dataclasses.replace(part, text="(?i)" + part.text) if self.folding else part

    def alternatives(self) -> _Part:
        found = [self.sequence()]
        while self.peek() == "|":
            self.take()
            found.append(self.sequence())
        if len(found) == 1:
            return found[0]
        if any(part.captures for part in found):
            what = "a capturing group in an alternative: write (?: )"
            raise self.refuse(what)
        return _Part("|".join(part.text for part in found), any(part.empty for part in found))

    def sequence(self) -> _Part:
        found: list[_Part] = []
        while self.peek() not in ("", "|", ")"):
            found.append(self.repeated(self.atom()))
        return _Part("".join(part.text for part in found), all(p.empty for p in found), any(p.captures for p in found))

    def atom(self) -> _Part:
        character = self.take()
        if character == "(":
            return self.group()
        if character == "[":
            return _Part(self.characters(), empty=False)
        if character == "\\":
            return _Part(self.escape(), empty=False)
        if character == ".":
            return _Part(_DOT, empty=False)
        if character in "^$":
            if self.peek() in ("?", "*", "+", "{"):
                what = "a quantifier behind ^ or $"
                raise self.refuse(what)
            return _Part("^" if character == "^" else _END, empty=True)
        if character in _META:
            what = f"{character!r} stands alone; as a character it is \\{character}"
            raise self.refuse(what)
        return _Part(re.escape(character), empty=False)

    def group(self) -> _Part:
        captures = self.peek() != "?"
        if captures:
            self.groups += 1
        elif self.peek(2) == "?:":
            self.at += 2
        else:
            what = "groups are ( ) and (?: ); (?i) stands at the beginning"
            raise self.refuse(what)
        inner = self.alternatives()
        if self.take() != ")":
            what = "a group without )"
            raise self.refuse(what)
        text = f"({inner.text})" if captures else f"(?:{inner.text})"
        return _Part(text, inner.empty, captures or inner.captures, group=True)

    def escape(self) -> str:
        character = self.take()
        if character in _CLASSES or character in _CONTROLS:
            return "\\" + character
        if character in _PUNCTUATION and character:
            return re.escape(character)
        what = f"\\{character} is not in the subset"
        raise self.refuse(what)

    def characters(self) -> str:
        text = "["
        if self.peek() == "^":
            text += self.take()
        first = True
        while (character := self.take()) != "]" or first:
            if character == "" or character in "[]" or (character == "&" and self.peek() == "&"):
                what = "a class [ ] with [, ] or && in it, or without an end"
                raise self.refuse(what)
            low = self.member(character)
            if self.peek() == "-" and self.peek(2) != "-]" and not (len(low) == 2 and low[1] in _CLASSES):
                self.take()
                high = self.member(self.take())
                if (len(high) == 2 and high[1] in _CLASSES) or high in ("[", "]", "") or _code(low) > _code(high):
                    what = "a range in [ ] that has no end, or ends before it begins"
                    raise self.refuse(what)
                low = f"{low}-{high}"
            text += low
            first = False
        return text + "]"

    def member(self, character: str) -> str:
        if character == "\\":
            return self.escape()
        if character in ("[", "]", "") or (character == "^"):
            what = "a class [ ] with [, ] or ^ in it: write it with a backslash"
            raise self.refuse(what)
        return re.escape(character)

    def repeated(self, part: _Part) -> _Part:
        mark = self.peek()
        if mark not in ("?", "*", "+", "{") or not mark:
            return part
        self.take()
        least, most = (0, 1) if mark == "?" else (0, -1) if mark == "*" else (1, -1)
        if mark == "{":
            count = re.compile(r"(\d{1,4})(?:(,)(\d{1,4})?)?\}").match(self.pattern, self.at)
            if not count or not count[0].isascii():
                what = "{ } must be {n}, {n,} or {n,m}"
                raise self.refuse(what)
            self.at = count.end()
            least = int(count[1])
            most = int(count[3]) if count[3] else -1 if count[2] else least
            mark = "{" + count[0]
            if 0 <= most < least or max(least, most) > _MAX_REPEAT:
                what = f"{{ }} goes up to {_MAX_REPEAT}, from the smaller to the larger"
                raise self.refuse(what)
        if self.peek() == "?":
            mark += self.take()
        if self.peek() in ("+", "*", "{", "?") and self.peek():
            what = "a quantifier behind a quantifier"
            raise self.refuse(what)
        if part.captures:
            what = "a capturing group that is repeated or optional: write ((?: )?)"
            raise self.refuse(what)
        if part.group and (part.empty or most < 0 or most > _MAX_ROUNDS):
            what = f"a repeated group must not match nothing, and is repeated at most {_MAX_ROUNDS} times: {{0,99}}"
            raise self.refuse(what)
        return _Part(part.text + mark, part.empty or least == 0)


def _code(member: str) -> int:
    """The code point of a member of a class, escaped or not."""
    controls = {"\\t": 9, "\\n": 10, "\\r": 13, "\\f": 12}
    return controls.get(member) or ord(member[-1:] or "\0")


@functools.lru_cache(maxsize=512)
def compiled(pattern: str) -> re.Pattern[str]:
    """The pattern for Python; raises ValueError that says what is outside the subset."""
    return re.compile(_Reader(pattern).whole().text, re.ASCII)


def objection(pattern: object, *, repeated: bool = False) -> str:
    """Why the pattern is outside the subset, or an empty text.

    For functions that go from match to match (`repeated`) it must match something: after an empty match Java goes on
    in the middle of a character beyond U+FFFF, and where both match, it takes other matches than Python.
    """
    try:
        compiled(str(pattern))
        if repeated and _Reader(str(pattern)).whole().empty:
            return f"pattern: {pattern!r} can match nothing; here it has to match at least one character"
    except ValueError as error:
        return f"pattern: {error}"
    return ""
