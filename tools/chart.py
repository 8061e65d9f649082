"""Write what the chart has of other places again; with --check, fail where something committed is another.

The CRDs are those of `crds/`, versions those of pyproject.toml, dashboards those of `tools/dashboards`; the names of
alerts that can be disabled are those of the alerts, and the table of the chart's README is made from its schema.
"""

from __future__ import annotations

import json
import pathlib
import re
import sys
import tomllib
from collections.abc import Iterator
from typing import Any

import yaml

import dashboards

TOP = pathlib.Path(__file__).resolve().parent.parent
CHART = TOP / "charts" / "spillway"
BEGIN, END = "<!-- values -->", "<!-- end of values -->"


def files() -> dict[pathlib.Path, str]:
    """The text of each file that is made."""
    made = {CHART / "files" / "crds" / path.name: path.read_text() for path in (TOP / "crds").glob("*.yaml")}
    made |= {CHART / "dashboards" / name: text for name, text in dashboards.texts().items()}
    for path, make in (("Chart.yaml", _versions), ("values.schema.json", _disabled), ("README.md", _table)):
        made[CHART / path] = make((CHART / path).read_text())
    return made


def stale() -> list[pathlib.Path]:
    """Files that are not what they should be, or should not be there."""
    made = files()
    kept = {path for folder in ("files/crds", "dashboards") for path in (CHART / folder).iterdir()}
    return sorted(
        {path for path, text in made.items() if not path.exists() or path.read_text() != text} | kept - {*made}
    )


def _versions(text: str) -> str:
    version = tomllib.loads((TOP / "pyproject.toml").read_text())["project"]["version"]
    return re.sub(r"(?m)^((?:app)?[vV]ersion:) \S+", rf"\1 {version}", text)


def alerts() -> dict[str, dict[str, Any]]:
    """All alerts, by name."""
    groups = [group for path in sorted((CHART / "alerts").glob("*.yaml")) for group in _yaml(path)["groups"]]
    return {rule["alert"]: rule for group in groups for rule in group["rules"] if "alert" in rule}


def _disabled(text: str) -> str:
    names = ", ".join(json.dumps(name) for name in alerts())
    return re.sub(r'("disabled": .*?"enum": \[)[^\]]*', rf"\g<1>{names}", text)


def _table(text: str) -> str:
    schema, values = json.loads((CHART / "values.schema.json").read_text()), _yaml(CHART / "values.yaml")
    rows = [f"| `{name}` | `{json.dumps(value)}` | {says} |" for name, value, says in _rows(schema, values)]
    table = "\n".join(["| value | default | says |", "|---|---|---|", *rows])
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}\n{table}\n{END}{rest.partition(END)[2]}"


def _rows(schema: dict[str, Any], values: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any, str]]:
    """Each value that has a description: its name, its default, and that."""
    for name, part in schema["properties"].items():
        if name not in values:
            continue
        if "description" in part:
            yield path + name, values[name], part["description"]
        else:
            yield from _rows(part, values[name], f"{path}{name}.")


def _yaml(path: pathlib.Path) -> Any:
    return yaml.safe_load(path.read_text())


def main(arguments: list[str]) -> int:
    """Write the files, or compare them."""
    names = [str(path.relative_to(TOP)) for path in stale()]
    if arguments == ["--check"]:
        if names:
            print("not what their sources say:", *names, "- run: make chart")
        return 1 if names else 0
    for path in set(stale()) - files().keys():
        path.unlink()
    for path, text in files().items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    print("written:", *names or ["nothing, all of the chart is up to date"])
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
