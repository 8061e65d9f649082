"""Guards for the folder layout: `operator/` must never become a package, and no text may name a machine or a registry.

A regular package `operator/` in the root shadows the standard library's module and kills `python -m pytest`; nothing
but these tests would notice before that.
"""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((TOP / "pyproject.toml").read_text())
ROOTS: list[str] = PROJECT["tool"]["hatch"]["build"]["dev-mode-dirs"]
LOCKING = runpy.run_path(str(TOP / "tools/lock.py"), run_name="lock")

# Put together here, so that this file doesn't hold what it looks for.
REGISTRIES = [
    ".".join(parts)
    for parts in (
        ("pypi", "org"), ("files", "pythonhosted", "org"), ("conda", "anaconda", "org"), ("crates", "io"),
        ("repo1", "maven", "org"), ("repo", "maven", "apache", "org"), ("proxy", "golang", "org"), ("rubygems", "org"),
        ("registry", "npmjs", "org"), ("registry", "k8s", "io"), ("mcr", "microsoft", "com"), ("docker", "io"),
        ("ghcr", "io"), ("quay", "io"), ("gcr", "io"),
    )
]  # fmt: skip


# Names that are no address where they stand: Debian calls the package of Docker's engine like Docker's registry.
ELSEWHERE = {("e2e/cluster/daemon.py", ".".join(("docker", "io")))}


def in_no_package(top: Path) -> list[str]:
    """Every `__init__.py` in a root or in its `spillway/`, where only a namespace may be."""
    places = [folder for root in ROOTS for folder in (top / root, top / root / "spillway")]
    return [str(place.relative_to(top)) for place in places if (place / "__init__.py").exists()]


def shadowing(top: Path) -> list[str]:
    """Every module and package of ours that hides one of the standard library, once its folder is on the path."""
    folders = [top, *(top / name for name in ("tests", "tests/support", "tools", "examples", "e2e"))]
    folders += [folder for root in ROOTS for folder in (top / root, top / root / "spillway")]
    found = []
    for folder in filter(Path.is_dir, folders):
        modules = list(folder.glob("*.py")) + [init.parent for init in folder.glob("*/__init__.py")]
        found += [str(m.relative_to(top)) for m in modules if m.stem in sys.stdlib_module_names]
    return sorted(found)


def unmarked(top: Path) -> list[str]:
    """What is missing in the packages: `__init__.py` beside every module, `py.typed` in every package."""
    packages = [
        p for root in ROOTS for p in (top / root / "spillway").glob("*") if p.is_dir() and p.name[0] not in "_."
    ]
    missing = [package / "py.typed" for package in packages]
    missing += [module.parent / "__init__.py" for package in packages for module in package.rglob("*.py")]
    missing += [package / "__init__.py" for package in packages]
    return sorted({str(path.relative_to(top)) for path in missing if not path.exists()})


def import_of_operator(folder: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """What `python -m` started in a folder takes for the module `operator`."""
    inherited = {k: v for k, v in os.environ.items() if k not in ("PYTHONSAFEPATH", "PYTHONPATH")}
    return subprocess.run(
        [sys.executable, "-m", "inspect", "--details", "operator"],
        cwd=folder,
        env={**inherited, **environment},
        text=True,
        capture_output=True,
        check=False,
    )


def tracked_files() -> dict[str, str]:
    """The text of every file of the project: those that git knows, or all where there is no git."""
    listed = subprocess.run(["git", "ls-files", "-z"], cwd=TOP, text=True, capture_output=True, check=False)
    if listed.returncode == 0:
        names = [name for name in listed.stdout.split("\0") if name]
    else:
        paths = (path.relative_to(TOP) for path in TOP.rglob("*"))
        names = [str(p) for p in paths if not any(part[0] == "." or part == "__pycache__" for part in p.parts)]
    files = [(name, TOP / name) for name in names]
    return {name: path.read_bytes().decode(errors="replace") for name, path in files if path.is_file()}


def registries_named(texts: dict[str, str]) -> list[str]:
    """Every place with the host name of a package registry: where to fetch from is the setting of a machine."""
    pattern = re.compile(rf"(?<![\w-])({'|'.join(map(re.escape, REGISTRIES))})(?![\w-])")
    return [
        f"{name}: {match[1]}"
        for name, text in texts.items()
        for match in pattern.finditer(text)
        if (name, match[1]) not in ELSEWHERE or f'"{match[1]}"' not in text[match.start() - 1 : match.end() + 1]
    ]


def machines_named(texts: dict[str, str]) -> list[str]:
    """Every place with a path that only one machine has: a home directory, or this checkout."""
    pattern = re.compile(rf"(?<![\w.$}}])(/(?:root\b|(?:home|Users)/\w+)|{re.escape(str(TOP))}\b)")
    return [f"{name}: {match[1]}" for name, text in texts.items() for match in pattern.finditer(text)]


# The trap


@pytest.mark.parametrize("folder", [".", *ROOTS])
def test_the_operator_module_is_that_of_the_standard_library(folder: str) -> None:
    told = import_of_operator(TOP / folder)
    assert told.returncode == 0, told.stderr
    assert f"Origin: {os.__file__.replace('os.py', 'operator.py')}" in told.stdout


def test_the_operator_module_is_that_of_the_standard_library_with_the_project_on_the_path() -> None:
    told = import_of_operator(Path("/"), PYTHONPATH=os.pathsep.join([str(TOP), *(str(TOP / root) for root in ROOTS)]))
    assert f"Origin: {os.__file__.replace('os.py', 'operator.py')}" in told.stdout


def test_a_package_called_operator_would_be_noticed(tmp_path: Path) -> None:
    (tmp_path / "operator").mkdir()
    (tmp_path / "operator/__init__.py").touch()
    assert import_of_operator(tmp_path).returncode != 0


# The layout


def test_the_roots_are_folders() -> None:
    assert ROOTS
    assert [root for root in ROOTS if not (TOP / root / "spillway").is_dir()] == []


def test_no_root_is_a_package() -> None:
    assert in_no_package(TOP) == []


@pytest.mark.parametrize("place", [f"{root}{rest}" for root in ROOTS for rest in ("", "/spillway")])
def test_a_root_that_is_a_package_would_be_noticed(tmp_path: Path, place: str) -> None:
    (tmp_path / place).mkdir(parents=True)
    (tmp_path / place / "__init__.py").touch()
    assert in_no_package(tmp_path) == [place]


def test_nothing_of_ours_hides_a_module_of_the_standard_library() -> None:
    assert shadowing(TOP) == []


@pytest.mark.parametrize(
    "module", ["operator/__init__.py", "operator/spillway/operator/__init__.py", "tests/support/queue.py", "types.py"]
)
def test_a_module_that_hides_one_of_the_standard_library_would_be_noticed(tmp_path: Path, module: str) -> None:
    (tmp_path / module).parent.mkdir(parents=True, exist_ok=True)
    (tmp_path / module).touch()
    assert shadowing(tmp_path) == [module.removesuffix("/__init__.py")]


def test_folders_without_modules_hide_nothing(tmp_path: Path) -> None:
    (tmp_path / "operator/spillway").mkdir(parents=True)
    assert shadowing(tmp_path) == []


def test_every_package_is_one_and_is_typed() -> None:
    assert unmarked(TOP) == []


@pytest.mark.parametrize("forgotten", ["__init__.py", "py.typed", "inner/__init__.py"])
def test_a_package_without_its_marks_would_be_noticed(tmp_path: Path, forgotten: str) -> None:
    package = tmp_path / ROOTS[0] / "spillway/room"
    (package / "inner").mkdir(parents=True)
    for name in ("__init__.py", "py.typed", "inner/__init__.py", "inner/thing.py"):
        (package / name).touch()
    assert unmarked(tmp_path) == []
    (package / forgotten).unlink()
    assert unmarked(tmp_path) == [f"{ROOTS[0]}/spillway/room/{forgotten}"]


# The texts


def test_no_file_names_a_package_registry() -> None:
    assert registries_named(tracked_files()) == []


def test_no_file_names_a_directory_of_one_machine() -> None:
    assert machines_named(tracked_files()) == []


def test_the_files_that_are_looked_at_are_all_there_are() -> None:
    assert {"pyproject.toml", "uv.lock", "Makefile", "operator/spillway/cli/main.py"} <= tracked_files().keys()


@pytest.mark.parametrize("registry", REGISTRIES)
def test_a_registry_would_be_noticed(registry: str) -> None:
    assert registries_named({"a": f"--index-url https://{registry}/simple"}) == [f"a: {registry}"]


def test_the_package_of_an_engine_is_no_registry_in_the_one_file_that_installs_it() -> None:
    (place, name), *_ = ELSEWHERE
    assert registries_named({place: f'PACKAGES = ("{name}", "runc")'}) == []
    assert registries_named({place: f"docker pull {name}/library/python"}) == [f"{place}: {name}"]
    assert registries_named({"another": f'PACKAGES = ("{name}", "runc")'}) == [f"another: {name}"]


@pytest.mark.parametrize("path", ["/".join(("", "root")), "/".join(("", "home", "ann")), str(TOP)])
def test_a_directory_of_one_machine_would_be_noticed(path: str) -> None:
    assert machines_named({"a": f"see {path}/x"}) != []


def test_ordinary_paths_and_addresses_are_left_alone() -> None:
    harmless = {"a": "./home/x $HOME/root docs/root/x https://spark.apache.org/docs myghcr.iota"}
    assert machines_named(harmless) == []
    assert registries_named(harmless) == []


# The lock


def test_the_lock_has_no_addresses() -> None:
    lock = (TOP / "uv.lock").read_text()
    assert "://" not in lock
    assert LOCKING["without_addresses"](lock) == lock


def test_a_lock_with_addresses_would_be_noticed_and_cleaned() -> None:
    wheel = '{ url = "https://files.example/a/b/thing-1-py3-none-any.whl", hash = "sha256:00", size = 1 }'
    sdist = 'sdist = { url = "https://files.example/thing-1.tar.gz", hash = "sha256:00" }'
    made = LOCKING["without_addresses"](f'source = {{ registry = "https://index.example/simple" }}\n{sdist}\n{wheel}')
    assert "://" not in made
    assert 'filename = "thing-1-py3-none-any.whl", hash = "sha256:00"' in made


def test_the_lock_is_of_this_pyproject() -> None:
    assert LOCKING["locked"]((TOP / "uv.lock").read_text()) == LOCKING["wanted"](PROJECT)


@pytest.mark.parametrize("table", ["dependencies", "optional-dependencies", "dependency-groups"])
def test_a_dependency_that_the_lock_has_not_would_be_noticed(table: str) -> None:
    changed = tomllib.loads((TOP / "pyproject.toml").read_text())
    new = "left-pad>=1"
    if table == "dependencies":
        changed["project"]["dependencies"].append(new)
    elif table == "optional-dependencies":
        changed["project"]["optional-dependencies"]["runtime"].append(new)
    else:
        changed["dependency-groups"]["dev"].append(new)
    assert LOCKING["wanted"](changed) - LOCKING["locked"]((TOP / "uv.lock").read_text()) == {new}


def test_every_file_in_the_lock_has_a_checksum() -> None:
    packages = tomllib.loads((TOP / "uv.lock").read_text())["package"]
    files = [file for package in packages for file in (*package.get("wheels", []), package.get("sdist", {})) if file]
    assert files
    assert [file for file in files if not re.fullmatch(r"sha256:[0-9a-f]{64}", file.get("hash", ""))] == []
