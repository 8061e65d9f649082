"""The function of the sentiment workload."""

from typing import Any

GOOD = frozenset({"good", "great", "love", "happy", "best", "nice", "thanks"})
BAD = frozenset({"bad", "awful", "hate", "sad", "worst", "poor", "boring"})


def score(record: dict[str, Any]) -> dict[str, Any]:
    """Good words less bad ones; a `not` turns the word after it round."""
    total, sign = 0, 1
    for word in record["text"].split(" "):
        total += sign * ((word in GOOD) - (word in BAD))
        sign = -1 if word == "not" else 1
    return {"text": record["text"], "score": float(total)}
