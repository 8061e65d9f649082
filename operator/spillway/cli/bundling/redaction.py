"""What is secret in texts and objects, and put out of sight. Pure.

1. Values that are known to be secret, because they stand in a Secret that the job uses: wherever they appear, as they
   are, in base64, and as addresses quote them.
2. Values of environment variables: who wrote them may have thought that nobody else looks.
3. Values of fields whose name says that they are secret.
4. In texts: what follows such a name, credentials in addresses, bearers, signed tokens, private keys.

It takes out too much rather than too little. What it can't know is a secret that looks like any other word, stands in
no Secret, and follows no such name; and of values that are shorter than `SHORTEST` only those with a name are found.
"""

from __future__ import annotations

import base64
import re
import urllib.parse
from collections.abc import Iterable, Iterator
from typing import Any

OUT = "[redacted]"
# Characters. Shorter values are words and numbers of everything else, too: a password "a" would take all letters a.
SHORTEST = 4

_SAYS_SO = r"pass(?:word|wd|phrase)?|pwd|secret|token|credentials?|api[_.-]?key|access[_.-]?key|private[_.-]?key|jaas"
# What may stand behind it in a name of a text; `TokenMissing: …` is a reason, and no token.
_MORE = r"(?:s|value|data|hash|string|\d+|[_.-][\w.-]*)?"
_NAME = re.compile(rf"(?:{_SAYS_SO})", re.IGNORECASE)
# Fields of Kubernetes, and ours, whose names sound like it: names of Secrets, paths, and whether there is one.
_HARMLESS = frozenset(
    {"secretName", "secretRef", "secretKeyRef", "secret", "serviceAccountToken", "automountServiceAccountToken",
     "imagePullSecrets", "tokenExpirationSeconds", "expirationSeconds"}
)  # fmt: skip
# Of objects: who wrote which field says nothing, and the other has the whole manifest once more, as text.
_LEFT_OUT = frozenset({"managedFields", "kubectl.kubernetes.io/last-applied-configuration"})

_NAMED = rf"(?P<name>(?<![\w.-])(?!(?:{'|'.join(sorted(_HARMLESS))})\b)[\w.-]*(?:{_SAYS_SO}){_MORE}\\*['\"]?\s*[:=]\s*)"
_TEXTS: tuple[tuple[re.Pattern[str], str], ...] = (
    (re.compile(r"-----BEGIN [A-Z ]*PRIVATE KEY-----.*?(?:-----END [A-Z ]*PRIVATE KEY-----|\Z)", re.DOTALL), OUT),
    (re.compile(r"\b(authorization)(['\"]?\s*[:=]\s*)[^\r\n,}]+", re.IGNORECASE), rf"\1\2{OUT}"),
    (re.compile(r"\b(bearer|basic)(\s+)[A-Za-z0-9._~+/=-]{6,}", re.IGNORECASE), rf"\1\2{OUT}"),
    (re.compile(r"\beyJ[\w-]{4,}\.[\w-]{4,}(?:\.[\w-]*)?"), OUT),
    (re.compile(r"(\w://)[^\s/@:]+:[^\s/@]+@"), rf"\1{OUT}@"),
    # As `name: "value"`, also where that stands in a text of its own, and as `name=value`.
    (
        re.compile(rf"{_NAMED}(?P<quote>\\*[\"'])(?:(?!(?P=quote)).)*(?P=quote)", re.IGNORECASE),
        rf"\g<name>\g<quote>{OUT}\g<quote>",
    ),
    (re.compile(rf"{_NAMED}(?![\\\"'])[^\s,;&}}\]]+", re.IGNORECASE), rf"\g<name>{OUT}"),
    (
        re.compile(rf"(?P<name>--[\w-]*(?:{_SAYS_SO})[\w-]*)(?P<is>\s+)(?!-)[^\s]+", re.IGNORECASE),
        rf"\g<name>\g<is>{OUT}",
    ),
)


class Redactor:
    """Takes out what is secret."""

    def __init__(self, known: Iterable[str] = ()) -> None:
        """`known` are values that are secret wherever they stand."""
        forms = {form for value in known for form in _forms(value)}
        # The longest first: one may be the beginning of another.
        listed = sorted(forms, key=lambda form: (-len(form), form))
        self._known = re.compile("|".join(map(re.escape, listed))) if listed else None

    def known(self, text: str) -> str:
        """A text without the values that are known."""
        return text if self._known is None else self._known.sub(OUT, text)

    def text(self, text: str) -> str:
        """A text without anything that is secret."""
        text = self.known(text)
        for pattern, instead in _TEXTS:
            text = pattern.sub(instead, text)
        return text

    def value(self, value: Any, name: str = "") -> Any:
        """An object without it; `name` is that of the field in which it stands."""
        if isinstance(value, dict):
            return {str(key): self._field(str(key), one, name) for key, one in value.items() if key not in _LEFT_OUT}
        if isinstance(value, list | tuple):
            return [self.value(one, name) for one in value]
        return self.text(value) if isinstance(value, str) else value

    def _field(self, key: str, value: Any, of: str) -> Any:
        if of == "env" and key == "value":
            return OUT
        if isinstance(value, str) and value and key not in _HARMLESS and _NAME.search(key):
            return OUT
        return self.value(value, key)


def _forms(value: str) -> Iterator[str]:
    """How a value may be written."""
    # As it stands in a Secret, which may end with a newline, as programs read it, and each line of a file.
    for line in {value, value.strip(), *value.splitlines()}:
        if len(line) < SHORTEST:
            continue
        yield line
        yield urllib.parse.quote(line, safe="")
        yield base64.b64encode(line.encode()).decode()
        yield base64.b64encode(f"{line}\n".encode()).decode()
        yield line.encode("unicode_escape").decode().replace('"', '\\"')
