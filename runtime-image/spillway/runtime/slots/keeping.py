"""Where a slot keeps the rows of its tables: in memory, or in a directory of its own on the disk of its worker."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from spillway.model.execution import Store
from spillway.runtime.slots.settings import Settings
from spillway.runtime.tables.store import MEMORY, Keeping


def of(settings: Settings) -> Keeping:
    """As the job asks for it; a new life begins with an empty directory, for nobody knows how far the last one came."""
    state = settings.job.spec.execution.state
    if state.store is not Store.DISK:
        return MEMORY
    from spillway.runtime.tables.disk import Disk

    job = settings.job.metadata
    folder = settings.scratch or Path(tempfile.gettempdir()) / f"spillway-{os.getuid()}" / job.namespace / job.name
    return Disk(folder / settings.slot, state.cached_rows)
