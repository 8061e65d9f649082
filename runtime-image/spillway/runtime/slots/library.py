"""Programs by their hash: cut from the plan that has them, compiled once, and shared by all partitions of a slot."""

from __future__ import annotations

import threading
from pathlib import Path

from spillway.controllers.protocol import log, messages
from spillway.model.errors import TerminalError
from spillway.model.execution import Policy
from spillway.model.streamjob import Spec
from spillway.runtime import functions
from spillway.runtime.programs import cutting
from spillway.runtime.programs.compiler import Loop
from spillway.runtime.programs.program import Program


class ProgramError(TerminalError):
    """A program that can't be made here; the message says why, and is told to whoever wants it to run."""


def programs(plan: messages.Plan) -> tuple[Program, ...]:
    """The programs of a plan."""
    spec = Spec.model_validate_json(plan.spec)
    return cutting.cut(spec, {segment.name: segment.operators for segment in plan.segments}, dict(plan.digests))


def policy(plan: messages.Plan) -> Policy:
    """How the job of a plan is steered."""
    return Spec.model_validate_json(plan.spec).policy


class Library:
    """What a slot can run. Asked by its loop, and by the thread that prepares."""

    def __init__(self, code: Path | None) -> None:
        """`code`: the directory with the user's functions."""
        self._code = code
        self._loops: dict[str, Loop] = {}
        # To cut a plan of thirty programs takes a quarter of a second, and each of them is asked for.
        self._cut: tuple[messages.Plan, tuple[Program, ...]] | None = None
        self._lock = threading.Lock()

    def loop(self, state: log.State, program: str) -> Loop:
        """A compiled program; raises ProgramError, or what its functions raise when they are imported."""
        with self._lock:
            if program not in self._loops:
                self._loops[program] = self._made(state, program)
            return self._loops[program]

    def _made(self, state: log.State, program: str) -> Loop:
        plan = state.plan_of(program)
        if plan is None:
            message = f"no plan in the control log has program {program}"
            raise ProgramError(message)
        if self._cut is None or self._cut[0] is not plan:
            self._cut = plan, programs(plan)
        found = next((one for one in self._cut[1] if one.id == program), None)
        if found is None:
            message = f"plan {plan.number} gives other programs here than {program}: this worker has another version"
            raise ProgramError(message)
        return Loop(found, {name: functions.load(name, self._code) for name, _ in found.digests})
