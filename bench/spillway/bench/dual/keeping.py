"""What is left of the runs: a line of JSON for each, in one file for each measurement."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

from spillway.bench.dual.courses import Run


class Keeper:
    """Keeps runs in a folder, or nowhere."""

    def __init__(self, folder: Path | None) -> None:
        self.folder = folder

    def keep(self, what: str, run: Run) -> None:
        """One line more; at once, so that what is interrupted leaves what it had."""
        if self.folder is None:
            return
        self.folder.mkdir(parents=True, exist_ok=True)
        with (self.folder / f"{what}.jsonl").open("a", encoding="utf-8") as lines:
            lines.write(json.dumps(plain(run.told())) + "\n")


def plain(value: Any) -> Any:
    """Without what JSON can't say: what isn't a number is nothing."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {str(name): plain(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain(one) for one in value]
    return value
