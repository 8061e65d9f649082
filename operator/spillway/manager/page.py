"""The page of all jobs: one table, made here, with nothing to fetch and nothing to run in the browser."""

from __future__ import annotations

import html
from collections.abc import Iterable, Mapping
from typing import Any

# Seconds until a browser asks again by itself.
REFRESH = 5

_STYLE = """
:root { --ground: #f4f5f6; --surface: #fff; --ink: #1a1d22; --quiet: #59616d; --line: #d7dbe0; --good: #17743f;
  --bad: #b3261e; --link: #1d5fa6; color-scheme: light dark; }
@media (prefers-color-scheme: dark) { :root { --ground: #111418; --surface: #191d22; --ink: #e6e9ed; --quiet: #a1abb8;
  --line: #343b45; --good: #66c895; --bad: #ff9088; --link: #7db5f2; } }
body { margin: 0 auto; padding: 20px clamp(12px, 2.2vw, 32px); max-width: 1400px; background: var(--ground);
  color: var(--ink); font: 14px/1.45 system-ui, sans-serif; font-variant-numeric: tabular-nums; }
h1 { font-size: 20px; margin: 0 0 4px; } p { margin: 0 0 14px; color: var(--quiet); }
.scrolls { overflow-x: auto; background: var(--surface); border: 1px solid var(--line); border-radius: 6px; }
table { border-collapse: collapse; width: 100%; } th, td { text-align: left; padding: 7px 12px; vertical-align: top; }
th { color: var(--quiet); font-weight: 500; white-space: nowrap; } tr + tr td { border-top: 1px solid var(--line); }
tbody tr:first-child td { border-top: 1px solid var(--line); } td.number { white-space: nowrap; }
a { color: var(--link); } .good { color: var(--good); } .bad { color: var(--bad); } .quiet { color: var(--quiet); }
"""


def jobs(bodies: Iterable[Mapping[str, Any]], *, standby: bool = False) -> str:
    """The whole page."""
    listed = sorted(bodies, key=lambda body: (body["metadata"]["namespace"], body["metadata"]["name"]))
    count = f"{len(listed)} job{'s' * (len(listed) != 1)}"
    told = "Another manager has the lease; this one stands by." if standby else f"{count}; looked at again by itself."
    rows = "".join(_row(body) for body in listed)
    empty = "" if rows else '<tr><td colspan="8" class="quiet">There is no StreamJob yet.</td></tr>'
    heads = "".join(
        f"<th scope=col>{head}</th>"
        for head in ("Namespace", "Job", "Ready", "Promise", "Workers", "Executors", "Paradigm", "Why")
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f'<meta http-equiv="refresh" content="{REFRESH}"><title>Spillway: {count}</title><style>{_STYLE}</style></head>'
        f"<body><h1>Streaming jobs</h1><p>{told}</p><div class=scrolls><table><thead><tr>{heads}</tr></thead>"
        f"<tbody>{rows}{empty}</tbody></table></div></body></html>"
    )


def _row(body: Mapping[str, Any]) -> str:
    metadata, status = body["metadata"], body.get("status") or {}
    conditions = {one.get("type"): one for one in status.get("conditions") or ()}
    ready, latency, degraded = (conditions.get(kind, {}) for kind in ("Ready", "LatencyMet", "Degraded"))
    namespace, name = html.escape(metadata["namespace"]), html.escape(metadata["name"])
    # The first that speaks of something to see to.
    accepted = conditions.get("Accepted", {})
    wrong: Mapping[str, Any] = next(
        (
            one
            for one, bad in ((accepted, "False"), (ready, "False"), (degraded, "True"), (ready, "Unknown"))
            if one.get("status") == bad
        ),
        {},
    )
    decision = status.get("decision") or {}
    why = wrong.get("message") or decision.get("message", "")
    cells = (
        f"<td>{namespace}</td>",
        f'<td><a href="jobs/{namespace}/{name}/">{name}</a></td>',
        _cell(ready.get("reason", "not looked at yet"), ready.get("status")),
        _cell(latency.get("reason", ""), latency.get("status")),
        f"<td class=number>{html.escape(str((status.get('workers') or {}).get('summary', '')))}</td>",
        f"<td class=number>{html.escape(str((status.get('executors') or {}).get('summary', '')))}</td>",
        f"<td>{html.escape(str(status.get('paradigm', '')))}</td>",
        f"<td class=quiet>{html.escape(str(why))}</td>",
    )
    return f"<tr>{''.join(cells)}</tr>"


def _cell(text: str, status: str | None) -> str:
    look = {"True": "good", "False": "bad"}.get(status or "", "quiet")
    sign = {"True": "✓ ", "False": "✗ "}.get(status or "", "")
    return f'<td class="{look}">{sign}{html.escape(str(text))}</td>'
