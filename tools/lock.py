"""Keep `uv.lock` free of addresses: versions and checksums are the lock, where to fetch from is the client's setting.

`uv export --frozen` reads such a lock, and `uv pip sync --require-hashes` installs from whatever index the
client is set up for, refusing every file whose checksum is not in the lock. See docs/decisions/0002.

    python tools/lock.py             resolve again, keeping pinned versions where they still fit
    python tools/lock.py --upgrade   resolve again, newest versions
    python tools/lock.py --check     fail when pyproject.toml asks for something that the lock does not have
"""

from __future__ import annotations

import itertools
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import urllib.parse

TOP = pathlib.Path(__file__).resolve().parent.parent
LOCK = TOP / "uv.lock"
UV = str(pathlib.Path(sys.executable).with_name("uv"))


def without_addresses(lock: str) -> str:
    """The same lock, with file names in place of addresses."""
    lock = re.sub(r'sdist = \{ url = "[^"]*", ', "sdist = { ", lock)
    # An address has the "!" of a version with an epoch as "%21".
    lock = re.sub(
        r'\{ url = "[^"]*/([^"/]+)", ', lambda file: f'{{ filename = "{urllib.parse.unquote(file[1])}", ', lock
    )
    return re.sub(r'registry = "[^"]*"', 'registry = "index"', lock)


def pins(lock: str) -> list[str]:
    """Every version that the lock holds, as constraints for the next resolution."""
    packages = tomllib.loads(lock)["package"]
    seen: dict[str, set[str]] = {}
    for package in packages:
        if "registry" in package["source"]:
            seen.setdefault(package["name"], set()).add(package["version"])
    return [f"{name}=={versions.pop()}" for name, versions in sorted(seen.items()) if len(versions) == 1]


def kept(lock: str) -> list[str]:
    """The pins, without those of the distributions for which pyproject.toml asks something else by now."""
    project = tomllib.loads((TOP / "pyproject.toml").read_text())
    changed = {re.split(r"[<>=!~]", line)[0] for line in locked(lock) ^ wanted(project)}
    return [pin for pin in pins(lock) if pin.partition("==")[0] not in changed]


def resolve(*, keep: list[str]) -> str:
    """Resolve pyproject.toml in a scratch folder, so that a failure leaves the lock as it was."""
    with tempfile.TemporaryDirectory() as scratch:
        project = (TOP / "pyproject.toml").read_text()
        wishes = ", ".join(f'"{pin}"' for pin in keep)
        project = project.replace("[tool.uv]\n", f"[tool.uv]\nconstraint-dependencies = [{wishes}]\n", 1)
        (pathlib.Path(scratch) / "pyproject.toml").write_text(project)
        (pathlib.Path(scratch) / "README.md").touch()
        subprocess.run([UV, "lock", "--quiet", "--project", scratch], check=True)
        lock = (pathlib.Path(scratch) / "uv.lock").read_text()
    lock = re.sub(r"\[manifest\]\nconstraints = \[.*?\n\]\n\n", "", lock, flags=re.DOTALL)
    return without_addresses(lock)


def wanted(project: dict[str, object]) -> set[str]:
    """Names of all distributions that pyproject.toml asks for by name, ours aside."""
    table = project["project"]
    assert isinstance(table, dict)  # noqa: S101 - a shape for the type checker; pip would have refused the file
    groups = project["dependency-groups"]
    assert isinstance(groups, dict)  # noqa: S101
    asked = [*table["dependencies"], *itertools.chain(*table["optional-dependencies"].values()), *groups["dev"]]
    asked = [line.partition(";")[0].strip() for line in asked]
    return {re.match(r"[\w.-]+", line)[0] + re.sub(r"^[\w.-]+(\[[\w,-]*\])?", "", line) for line in asked}  # type: ignore[index]


def locked(lock: str) -> set[str]:
    """The same, as the lock remembers them."""
    ours = next(p for p in tomllib.loads(lock)["package"] if p["name"] == "spillway")
    metadata = ours["metadata"]
    asked = [*metadata["requires-dist"], *metadata["requires-dev"]["dev"]]
    return {f"{a['name']}{a.get('specifier', '')}" for a in asked}


def main(arguments: list[str]) -> int:
    """Run one of the three calls of the module docstring."""
    if arguments == ["--check"]:
        project = tomllib.loads((TOP / "pyproject.toml").read_text())
        have, want = locked(LOCK.read_text()), wanted(project)
        if have != want:
            print("uv.lock is not of this pyproject.toml; differing:", *sorted(have ^ want))
            print("run: make lock")
            return 1
        return 0
    keep = [] if arguments == ["--upgrade"] or not LOCK.exists() else kept(LOCK.read_text())
    try:
        lock = resolve(keep=keep)
    except subprocess.CalledProcessError:
        print("the pinned versions and pyproject.toml do not go together; try: make lock UPGRADE=1", file=sys.stderr)
        return 1
    LOCK.write_text(lock)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
