"""What a browser may fetch: the files of `static`, read once. A name is looked up, and never made a path of."""

from __future__ import annotations

import importlib.resources
from collections.abc import Mapping
from http import HTTPStatus
from pathlib import PurePath
from types import MappingProxyType

from spillway.runtime.web import Reply

INDEX = "index.html"
KINDS = {
    ".css": "text/css; charset=utf-8",
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
}
# Nothing from elsewhere, nothing inline, and in nobody's frame: texts of a job (names, errors of its records) are shown
# here, and shall never be more than texts.
HEADERS = MappingProxyType(
    {
        "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-cache",
    }
)


def read() -> Mapping[str, Reply]:
    """The answer for each file, by its name."""
    folder = importlib.resources.files("spillway.runtime.page") / "static"
    found = {file.name: (KINDS.get(PurePath(file.name).suffix), file) for file in folder.iterdir()}
    return {
        name: Reply(HTTPStatus.OK, file.read_bytes(), kind, HEADERS)
        for name, (kind, file) in sorted(found.items())
        if kind is not None
    }
