"""What a browser gets: small plain files, nothing from elsewhere, texts that can be read in both colour schemes."""

from __future__ import annotations

import importlib.resources
import re
from pathlib import Path

import pytest

from spillway.runtime.page import files

FOLDER = Path(str(importlib.resources.files("spillway.runtime.page") / "static"))
TEXTS = {file.name: file.read_text() for file in sorted(FOLDER.iterdir())}
SCRIPTS = {name: text for name, text in TEXTS.items() if name.endswith(".js")}
CSS = TEXTS["page.css"]
LONGEST = 300

# What is written, on what: of each pair the contrast is at least that of WCAG AA.
READ = {
    "ink": ("ground", "surface", "faint", "record-soft", "batch-soft", "bad-soft", "warn-soft"),
    "quiet": ("ground", "surface", "faint", "record-soft", "batch-soft"),
    "record": ("ground", "surface", "record-soft"),
    "batch": ("surface", "batch-soft"),
    "good": ("ground",),
    "bad": ("ground", "surface", "bad-soft"),
    "warn": ("surface", "warn-soft"),
    "surface": ("ink",),
}
# What is drawn, on what: 3 to 1 will do.
DRAWN = {"record": ("surface",), "batch": ("surface",), "focus": ("surface", "ground"), "good": ("line",)}


def elsewhere(text: str) -> list[str]:
    """Addresses that a browser would fetch from; the name of a namespace is none."""
    return [
        found
        for found in re.findall(r"https?://[^\s\"')]+|//[a-z0-9.-]+\.[a-z]{2,}/", text)
        if "www.w3.org" not in found
    ]


def inline(page: str) -> list[str]:
    """What a policy without `unsafe-inline` would stop."""
    scripts = [found for found in re.findall(r"<script\b[^>]*>", page) if "src=" not in found]
    return scripts + re.findall(r"\son\w+\s*=|\sstyle\s*=|<style\b|javascript:", page)


def schemes() -> dict[str, dict[str, str]]:
    """Colours by name, as they are in light and in dark."""
    light, dark = re.findall(r":root \{(.*?)\}", CSS, re.DOTALL)[:2]
    pairs = [dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6});", text)) for text in (light, dark)]
    return {"light": pairs[0], "dark": pairs[1]}


def contrast(one: str, other: str) -> float:
    """Of two colours, as WCAG defines it."""
    lights = sorted(_luminance(colour) for colour in (one, other))
    return (lights[1] + 0.05) / (lights[0] + 0.05)


def _luminance(colour: str) -> float:
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def test_every_file_is_served_as_it_is() -> None:
    assert {name: found.body.decode() for name, found in files.read().items()} == TEXTS


@pytest.mark.parametrize("name", TEXTS)
def test_nothing_comes_from_elsewhere(name: str) -> None:
    assert elsewhere(TEXTS[name]) == []


def test_an_address_elsewhere_would_be_found() -> None:
    assert elsewhere('<script src="https://cdn.example/x.js">') == ["https://cdn.example/x.js"]
    assert elsewhere("@import '//cdn.example/x.css'") == ["//cdn.example/"]


def test_nothing_is_inline() -> None:
    assert inline(TEXTS["index.html"]) == []
    assert inline("<b onclick='x'><p style='x'><script>x</script>") == ["<script>", " onclick=", " style="]


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_make_no_markup_of_texts(name: str) -> None:
    assert (
        re.findall(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\b|new Function", SCRIPTS[name]) == []
    )


@pytest.mark.parametrize("name", SCRIPTS)
def test_scripts_import_only_what_is_there_and_stay_short(name: str) -> None:
    imported = re.findall(r'from "\./([^"]+)"', SCRIPTS[name])

    assert set(imported) <= SCRIPTS.keys()
    assert SCRIPTS[name].count("\n") < LONGEST


def test_elements_that_scripts_look_for_are_on_the_page() -> None:
    wanted = {name for text in SCRIPTS.values() for name in re.findall(r'byId\("([^"]+)"\)', text)}
    there = re.findall(r'\bid="([^"]+)"', TEXTS["index.html"])

    assert wanted - {"within"} <= set(there)  # which the headline makes
    assert len(there) == len(set(there))


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_texts_can_be_read_in_both_schemes(scheme: str) -> None:
    colours = schemes()[scheme]
    pairs = [
        (colour, on, least)
        for of, least in ((READ, 4.5), (DRAWN, 3.0))
        for colour, all_of in of.items()
        for on in all_of
    ]

    poor = [(colour, on) for colour, on, least in pairs if contrast(colours[colour], colours[on]) < least]

    assert poor == []


def test_both_schemes_have_the_same_names() -> None:
    light, dark = schemes().values()
    assert light.keys() == dark.keys()


def test_contrast_is_that_of_the_definition() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
