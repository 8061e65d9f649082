"""The manifest and the code of a job, read again when they change."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from pathlib import Path

from spillway.model.errors import InvalidError, SpillwayError
from spillway.model.streamjob import Spec, StreamJob
from spillway.runtime import functions, jobs
from spillway.runtime.driver.conditions import Reason
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program


class UnfitError(SpillwayError):
    """A manifest that can't be used; `reason` says why in one word."""

    def __init__(self, reason: Reason, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclasses.dataclass(frozen=True)
class Candidate:
    """A manifest that can be run as it is written, with the digests of its functions."""

    job: StreamJob
    digests: Mapping[str, str]


class Manifest:
    """A file, and a directory with the user's functions.

    Attributes:
        generation: of what the file said last, as the API server counts; 0 where it does not.
    """

    def __init__(self, file: Path, code: Path | None) -> None:
        self._file, self._code = file, code
        self._seen: object = None
        self.generation = 0

    def changed(self) -> bool:
        """Whether anything was written since the last time that this was asked."""
        seen = (jobs.version(self._file), _versions(self._code))
        changed, self._seen = seen != self._seen, seen
        return changed

    def read(self) -> Candidate:
        """What the file says; raises UnfitError where that can't be run."""
        try:
            job = jobs.read(self._file)
        except InvalidError as error:
            raise UnfitError(Reason.NOT_ACCEPTED, str(error)) from None
        self.generation = job.metadata.generation
        return Candidate(job, {name: found.digest for name, found in self._functions(job.spec).items()})

    def compile(self, candidate: Candidate, programs: tuple[Program, ...]) -> None:
        """Make sure that programs can be compiled; raises UnfitError that says why not."""
        known = self._functions(candidate.job.spec)
        for program in programs:
            try:
                Loop(program, known)
            except SpillwayError as error:
                message = f"segment {program.name!r} can't be compiled: {error}"
                raise UnfitError(Reason.NOT_ACCEPTED, message) from None

    def _functions(self, spec: Spec) -> dict[str, functions.Function]:
        names = sorted({operator.python.function for operator in spec.operators if operator.python is not None})
        try:
            return {name: functions.load(name, self._code) for name in names}
        except functions.FunctionError as error:
            raise UnfitError(Reason.CODE_MISSING, str(error)) from None


def _versions(folder: Path | None) -> object:
    return None if folder is None else tuple((str(file), jobs.version(file)) for file in sorted(folder.rglob("*.py")))
