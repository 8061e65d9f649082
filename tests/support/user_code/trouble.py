"""A function that does what its record says: all that users' functions do wrong."""

from __future__ import annotations

import os
import sys
import time
from pathlib import Path
from typing import Any

Record = dict[str, Any]


def work(record: Record) -> Record:
    """`k` is the row that comes out, unless `does` says something else; `n` is how much of it, or for how long."""
    does, much = record["does"], record["n"] or 0
    match does:
        case "raise":
            message = "no such thing"
            raise ValueError(message)
        case "sleep":
            time.sleep(much)
        case "spin":
            end = time.monotonic() + much
            while time.monotonic() < end:
                pass
        case "exit":
            sys.exit(much)
        case "die":
            os._exit(much)
        case "eat":
            return {**record, "k": str(len(bytearray(much)))}
        case "hoard":
            return {**record, "k": str(len([str(i) for i in range(much)]))}
        case "repeat":
            return {**record, "k": record["k"] * much}
        case "half":
            return {**record, "k": "\ud800"}
        case "wrong":
            return {**record, "n": "many"}
        case "nothing":
            return {}
        case "need":
            Path(record["k"]).read_text(encoding="utf-8")
    return record


def mended(record: Record) -> Record:
    """What `work` should have been."""
    return record
