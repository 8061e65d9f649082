"""Patterns of LIKE and RLIKE, turned into what Python computes fastest; patterns are literals."""

from __future__ import annotations

import re
from collections.abc import Iterator

from spillway.expressions.functions import regexes

Plan = tuple[str, object]  # the template, and what its {k} stands for


def like(pattern: str, escape: str) -> Plan:
    """A LIKE: `%` any text, `_` one character; raises ValueError where the escape is misplaced."""
    parts = list(_like_parts(pattern, escape))
    texts = [part for part in parts if part not in {"%", "_"}]
    if not any(part == "_" for part in parts) and len(texts) <= 1:
        text = texts[0][1:] if texts else ""
        front, back = parts[:1] == ["%"], parts[-1:] == ["%"]
        if not parts or parts == texts:
            return "({0} == {k})", text
        if front and back:
            return "({k} in {0})", text
        return ("{0}.endswith({k})" if front else "{0}.startswith({k})"), text
    source = "".join({"%": ".*", "_": "."}.get(part) or re.escape(part[1:]) for part in parts)
    return "({k}({0}) is not None)", re.compile(source, re.DOTALL).fullmatch


def _like_parts(pattern: str, escape: str) -> Iterator[str]:
    """`%` (several in a row are one), `_`, and texts, which begin with a mark."""
    text, last = "", ""
    characters = iter(pattern)
    for character in characters:
        if character == escape:
            following = next(characters, "")
            if following not in {"_", "%", escape} or not following:
                message = f"in the pattern {pattern!r}, {escape!r} must stand before '_', '%' or itself"
                raise ValueError(message)
            text += following
        elif character in "%_":
            if text:
                yield "=" + text
                text, last = "", "="
            if character == "_" or last != "%":
                yield character
            last = character
            continue
        else:
            text += character
        last = "="
    if text:
        yield "=" + text


def rlike(pattern: str) -> Plan:
    """An RLIKE: whether the pattern matches somewhere; raises ValueError where it is outside the common subset."""
    if objection := regexes.objection(pattern):
        raise ValueError(objection)
    return "({k}({0}) is not None)", regexes.compiled(pattern).search
