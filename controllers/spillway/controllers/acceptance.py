"""Whether a StreamJob can be run as it is written: the decision behind the condition `Accepted`.

Everything that is wrong is found in one pass, in the order of the manifest. The reason is the first of: fields,
topology, expressions, because each stands on the one before.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from spillway.expressions import relations
from spillway.expressions.relations import Relation
from spillway.model import reading
from spillway.model.errors import Mistake
from spillway.model.execution import Store
from spillway.model.status import Reason
from spillway.model.streamjob import StreamJob

MAX_MESSAGE = 1024  # of a condition; `kubectl describe` shows it in full


@dataclasses.dataclass(frozen=True, slots=True)
class Verdict:
    """The decision: the job and what flows in it, or everything that is wrong."""

    reason: Reason
    job: StreamJob | None
    relations: Mapping[str, Relation]
    mistakes: tuple[Mistake, ...]

    @property
    def accepted(self) -> bool:
        """Whether the job can be run."""
        return self.reason is Reason.VALID

    @property
    def message(self) -> str:
        """The message of the condition: every mistake, as far as there is room."""
        if self.accepted:
            return "the spec is valid"
        text = ""
        for i, mistake in enumerate(self.mistakes):
            left = len(self.mistakes) - i
            addition = f"{'; ' if text else ''}{mistake}"
            if len(text) + len(addition) + len(_more(left - 1)) > MAX_MESSAGE:
                if text:
                    return text + _more(left)
                end = _more(left - 1) or " …"
                return addition[: MAX_MESSAGE - len(end)] + end
            text += addition
        return text


def _more(count: int) -> str:
    return f" … and {count} more; run spillway validate" if count else ""


def accept(document: object) -> Verdict:
    """Judge one manifest, as YAML or the API server gave it."""
    job, draft, of_fields = reading.read(document)
    found, of_graph, of_expressions = relations.check(draft)
    of_graph = [*of_graph, *_nothing_on_disk(job)]
    mistakes = tuple(sorted((*of_fields, *of_graph, *of_expressions), key=_place))
    if of_fields:
        reason = Reason.INVALID_FIELD
    elif of_graph:
        reason = Reason.INVALID_TOPOLOGY
    elif of_expressions:
        reason = Reason.INVALID_EXPRESSION
    else:
        return Verdict(Reason.VALID, job, found, ())
    return Verdict(reason, None, found, mistakes)


def _nothing_on_disk(job: StreamJob | None) -> list[Mistake]:
    """A disk for rows that there are not: what such a job keeps is bounded by spans of time, and stays in memory."""
    if job is None or job.spec.execution.state.store is not Store.DISK or job.spec.tables:
        return []
    if any(operator.aggregate is not None for operator in job.spec.operators):
        return []
    message = (
        "disk is for aggregates and tables, and this job has none: records that wait in a join stay in memory, as long"
        " as `within` and `retention` say; use memory"
    )
    return [Mistake(("spec", "execution", "state", "store"), message)]


# The order of sections in a manifest, as people write them.
_SECTIONS = ("apiVersion", "kind", "metadata", "kafka", "latency", "streams", "tables", "operators", "outputs")


def _place(mistake: Mistake) -> tuple[object, ...]:
    """A key that sorts mistakes as their places stand in a manifest."""
    steps = [step for step in mistake.path if step != "spec"]
    section = _SECTIONS.index(steps[0]) if steps and steps[0] in _SECTIONS else len(_SECTIONS)
    # Places in a list are compared as numbers, names of fields as text, and a list never with a mapping.
    return (section, *((step, "") if isinstance(step, int) else (-1, step) for step in steps[1:]))
