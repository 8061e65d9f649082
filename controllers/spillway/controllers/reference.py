"""The reference of decisions: every reason that one can have, from the enums themselves."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator

from spillway import controllers
from spillway.controllers.explain import Reasons

_HEADER = "<!-- Made by `make docs` from the code; changes here are lost. -->"


def decisions() -> str:
    """Every closed set of reasons, with the meaning of each."""
    parts = [
        f"{_HEADER}\n\n# Decisions\n",
        "Every decision has a reason out of a closed set, a sentence with the numbers of the case, the inputs that it"
        " looked at, and the alternatives that lost, each with the reason why. Doing nothing is a decision too."
        " Reasons are part of the API: alerts and scripts may match on them.",
    ]
    for kind in sets():
        parts.append(f"\n## {_title(kind)}\n\n{(kind.__doc__ or '').strip()}\n\n| reason | means |\n|---|---|")
        parts += [f"| `{reason}` | {reason.meaning} |" for reason in kind]
    return "\n".join(parts) + "\n"


def sets() -> list[type[Reasons]]:
    """All sets of reasons in `controllers`, by where they stand."""
    for module in pkgutil.walk_packages(controllers.__path__, f"{controllers.__name__}."):
        importlib.import_module(module.name)
    return sorted(_below(Reasons), key=lambda kind: (kind.__module__, kind.__name__))


def _below(kind: type[Reasons]) -> Iterator[type[Reasons]]:
    """Sets that derive from one; those of other rooms and of tests are not of the reference."""
    for derived in kind.__subclasses__():
        if derived.__module__.startswith(f"{controllers.__name__}."):
            yield derived
        yield from _below(derived)


def _title(kind: type[Reasons]) -> str:
    """Where the set stands: `assignment`, and `assignment: moves` for the second one there."""
    room = kind.__module__.removeprefix(f"{controllers.__name__}.").split(".")[0]
    what = kind.__name__.removesuffix("Reason").lower()
    return f"{room}: {what}" if what else room
