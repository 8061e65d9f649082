"""Functions that wait as long as the record says: what a service takes is then known, record by record."""

import time
from typing import Any


def first(record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is, after a while."""
    time.sleep(record["first"])
    return record


def second(record: dict[str, Any]) -> dict[str, Any]:
    """The record as it is, after another while."""
    time.sleep(record["second"])
    return record
