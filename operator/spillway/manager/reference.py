"""The metrics of the manager, as the reference has them."""

from __future__ import annotations

from spillway.manager.metrics import LABELS, Metrics


def metrics() -> str:
    """A section of the page of metrics."""
    parts = [
        "\n## Manager\n",
        "Those of a job are gone when the job is. A condition is 1 if true, 0 if false, -1 if nobody knows.\n",
        "| name | kind | labels | says |\n|---|---|---|---|",
    ]
    for family in sorted(Metrics().registry.collect(), key=lambda family: family.name):
        name = f"{family.name}_total" if family.type == "counter" else family.name
        labels = ", ".join(f"`{label}`" for label in LABELS[family.name])
        parts.append(f"| `{name}` | {family.type} | {labels} | {family.documentation} |")
    return "\n".join(parts) + "\n"
