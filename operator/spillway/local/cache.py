"""What is made once and kept on this machine: jars, class archives, built programs.

Everything lies under one directory, `$SPILLWAY_CACHE` or `~/.cache/spillway`, in folders whose names contain the
version of what is in them. So nothing has to be invalidated, and removing the whole directory is always safe.
"""

import contextlib
import fcntl
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path


def root() -> Path:
    """The directory of everything that is kept; made when it is not there."""
    named = os.environ.get("SPILLWAY_CACHE")
    directory = Path(named).expanduser() if named else Path.home() / ".cache" / "spillway"
    directory.mkdir(parents=True, exist_ok=True)
    return directory.resolve()


@contextlib.contextmanager
def exclusive(name: str) -> Iterator[None]:
    """Hold the lock `name` against all processes of this machine; the kernel frees it when its holder dies."""
    locks = root() / "locks"
    locks.mkdir(exist_ok=True)
    with (locks / f"{name}.lock").open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def kept(name: str, make: Callable[[Path], None], intact: Callable[[Path], bool] = Path.is_dir) -> Path:
    """The folder `name` of the cache; when it is not there or not `intact`, `make` fills a new one.

    Whoever sees the folder sees all of it: it is made under another name and renamed, under a lock, after `make`
    returned. An interrupted `make` leaves a scratch folder that nobody reads, and that the next one removes.
    """
    folder = root() / name
    if folder.is_dir() and intact(folder):
        return folder
    with exclusive(name):
        if folder.is_dir() and intact(folder):  # another process made it while this one waited
            return folder
        for leftover in root().glob(f".{name}.*"):
            shutil.rmtree(leftover, ignore_errors=True)
        # A new name each time: a child of a killed predecessor may still be writing into the old one.
        scratch = Path(tempfile.mkdtemp(prefix=f".{name}.", dir=root()))
        try:
            make(scratch)
            shutil.rmtree(folder, ignore_errors=True)
            scratch.rename(folder)
        finally:
            shutil.rmtree(scratch, ignore_errors=True)
    return folder
