"""The manifest that somebody edits while the job runs, and the folder with its functions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from spillway.cli import jobs, terminal
from spillway.local import code
from spillway.local.edits import Edit, Refusal
from spillway.model.errors import Mistake

Stamp = tuple[tuple[str, int, int], ...]


class Files:
    """A manifest and its code, read again when they change."""

    def __init__(self, manifest: Path, folder: Path | None) -> None:
        """`folder` has the functions; without one, that of the manifest."""
        self._manifest, self._folder = manifest, folder or manifest.absolute().parent
        self._stamp = self._waiting = self._stamped()
        self._last: tuple[dict[str, Any], str] | None = None

    def read(self) -> Edit | Refusal:
        """The version that is there."""
        try:
            found = jobs.read(str(self._manifest), "a run is of one")
        except jobs.UnfitError as unfit:
            self._last = None
            return Refusal(unfit.lines)
        wanted = code.references(found.job)
        digest, wrong = self._checked(found, wanted) if wanted else ("", ())
        self._last = (found.document, digest) if not wrong else None
        return Refusal(wrong) if wrong else Edit(found.job, found.document, self._folder if wanted else None)

    def look(self) -> Edit | Refusal | None:
        """The version that is there now; None when it is the one of the last look, or is being written."""
        stamp = self._stamped()
        if stamp == self._stamp:
            return None
        if stamp != self._waiting:  # an editor that writes it in pieces is done by the next look
            self._waiting = stamp
            return None
        self._stamp = stamp
        before = self._last
        found = self.read()
        return None if before is not None and self._last == before else found

    def _checked(self, found: jobs.Found, wanted: dict[str, int]) -> tuple[str, tuple[str, ...]]:
        """What the code is, and what is wrong with it."""
        try:
            digest = code.digest(self._folder)
            problems = code.problems(self._folder, list(wanted))
        except (code.CodeError, OSError) as error:
            return "", (f"{found.manifest.file}: {terminal.clean(str(error))}",)
        places = {name: ("spec", "operators", place, "python", "function") for name, place in wanted.items()}
        return digest, tuple(jobs.line(found.manifest, Mistake(places[name], why)) for name, why in problems.items())

    def _stamped(self) -> Stamp:
        """Something else when a file may have changed; cheap enough for twice a second."""
        try:
            files = [self._manifest, *code.files(self._folder)]
        except (code.CodeError, OSError):
            files = [self._manifest]
        return tuple(_stamp(file) for file in files)


def _stamp(file: Path) -> tuple[str, int, int]:
    try:
        status = file.stat()
    except OSError:
        return str(file), 0, 0
    return str(file), status.st_mtime_ns, status.st_size
