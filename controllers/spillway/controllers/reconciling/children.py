"""Which children are to be applied, which deleted, and which left alone.

A child is as it should be when what stands in it is what was applied (its version is the one that our last write gave
it) and what was applied is what is wanted (the digests are the same). Whoever has just started knows no versions, and
applies everything once: to the API server, a write that changes nothing is none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping

from spillway.controllers.reconciling.observed import Child, Key


@dataclasses.dataclass(frozen=True, slots=True)
class Written:
    """What our last write to a child was, and what it made of it."""

    digest: str
    version: str


@dataclasses.dataclass(frozen=True, slots=True)
class Changes:
    """The decision.

    Attributes:
        apply: children to write, in the order in which they are wanted.
        delete: children of this job that nobody wants.
        taken: children that somebody else has.
        waiting: children that are being deleted, and are made again when they are gone.
    """

    apply: tuple[Key, ...] = ()
    delete: tuple[Child, ...] = ()
    taken: tuple[Key, ...] = ()
    waiting: tuple[Key, ...] = ()

    @property
    def nothing(self) -> bool:
        """Whether there is nothing to do."""
        return not self.apply and not self.delete


def changes(
    wanted: Mapping[Key, str], present: Mapping[Key, Child], written: Mapping[Key, Written], owner: str
) -> Changes:
    """What to do; `wanted` has the digest of each child, `owner` is the uid of the job."""
    apply, taken, waiting = [], [], []
    for key, digest in wanted.items():
        there = present.get(key)
        if there is None:
            apply.append(key)
        elif there.owner != owner:
            taken.append(key)
        elif there.leaving:
            waiting.append(key)
        elif there.applied != digest or written.get(key) != Written(digest, there.version):
            apply.append(key)
    spare = [
        child
        for key, child in sorted(present.items())
        if key not in wanted and child.owner == owner and not child.leaving
    ]
    return Changes(tuple(apply), tuple(spare), tuple(taken), tuple(waiting))
