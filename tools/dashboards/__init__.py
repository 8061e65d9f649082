"""Dashboards of Grafana as code: a module for each, and `parts` that they are put together of."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from grafana_foundation_sdk.cog import encoder

from dashboards import job, jobs, manager, parts, switches

ALL = {"jobs": jobs, "job": job, "switches": switches, "operator": manager}


def texts() -> Mapping[str, str]:
    """The JSON of each dashboard, by the name of its file."""
    return {f"{name}.json": _text(parts.built(module.dashboard())) for name, module in ALL.items()}


def _text(dashboard: Any) -> str:
    return json.dumps(dashboard, cls=encoder.JSONEncoder, indent=1, sort_keys=True, ensure_ascii=False) + "\n"
