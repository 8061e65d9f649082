"""The pages say what is so: links lead somewhere, manifests are valid, what commands print is what is shown."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from spillway.controllers import acceptance

TOP = Path(__file__).parents[2]
PAGES = sorted([*TOP.glob("*.md"), *(TOP / "docs").rglob("*.md"), *(TOP / "charts").rglob("*.md")])
LINK = re.compile(r"\[[^\]]*\]\(([^)#]+)(?:#[^)]*)?\)")
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def broken_links(page: Path) -> list[str]:
    """Targets of relative links that are not there."""
    targets = [target for target in LINK.findall(page.read_text()) if "://" not in target]
    return [target for target in targets if not (page.parent / target).exists()]


def manifests(page: Path) -> list[str]:
    """The whole StreamJobs that a page shows."""
    return [text for kind, text in FENCE.findall(page.read_text()) if kind == "yaml" and "kind: StreamJob" in text]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(TOP)))
def test_every_link_leads_somewhere(page: Path) -> None:
    assert broken_links(page) == []


def test_a_broken_link_is_found(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("[here](page.md) [there](gone.md)")

    assert broken_links(page) == ["gone.md"]


@pytest.mark.parametrize("page", [page for page in PAGES if manifests(page)], ids=lambda page: page.stem)
def test_every_manifest_that_is_shown_is_valid(page: Path) -> None:
    for text in manifests(page):
        assert acceptance.accept(yaml.safe_load(text)).message == "the spec is valid"


def test_the_readme_and_the_tutorial_show_a_manifest() -> None:
    assert all(manifests(page) for page in (TOP / "README.md", TOP / "docs/tutorial/first-job.md"))


def _validated(tmp_path: Path, text: str) -> str:
    (tmp_path / "turnover.yaml").write_text(text)
    spillway = Path(sys.executable).with_name("spillway")
    command = [str(spillway), "validate", "turnover.yaml"]
    return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False).stdout


def test_the_tutorial_prints_what_it_says(tmp_path: Path) -> None:
    page = TOP / "docs/tutorial/first-job.md"
    (manifest,) = manifests(page)
    shown = [text for kind, text in FENCE.findall(page.read_text()) if kind == "console"]
    right, wrong = (text.split("\n", 1)[1] for text in shown)

    assert _validated(tmp_path, manifest) == right
    misspelt = manifest.replace("amount > 0", "amont > 0").replace("input: real\n", "input: reel\n")
    assert _validated(tmp_path, misspelt) == wrong


def test_the_generated_pages_are_what_the_code_says() -> None:
    command = [sys.executable, str(TOP / "tools" / "reference.py"), "--check"]

    checked = subprocess.run(command, capture_output=True, text=True, check=False)

    assert checked.returncode == 0, checked.stdout
