"""Functions of the sentiment example."""

from __future__ import annotations

import re

GOOD = {"good", "great", "love", "happy", "best", "wonderful", "excellent", "nice", "awesome", "thanks", "win"}
BAD = {"bad", "awful", "hate", "sad", "worst", "terrible", "poor", "ugly", "angry", "fail", "broken", "boring"}
NOT = {"not", "no", "never", "hardly"}
WORD = re.compile(r"[a-z']+")


def score(record: dict[str, str]) -> dict[str, str | float]:
    """From -1 (all bad) to 1 (all good); a `not` turns the word after it round."""
    total = found = 0
    sign = 1
    for word in WORD.findall(record["text"].lower()):
        if word in NOT:
            sign = -1
            continue
        value = (word in GOOD) - (word in BAD)
        total += sign * value
        found += abs(value)
        sign = 1
    return {"text": record["text"], "score": total / found if found else 0.0}
