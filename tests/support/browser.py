"""A headless Chromium, driven over its pipe by the DevTools protocol: JSON objects that end with a zero byte.

No driver program and no library in between: what the tests need of a browser are the eight methods of `Tab`.
"""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import struct
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

PATIENCE = 20.0  # seconds for an answer; a machine with two busy cores needs a few for the first page
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
MISSING = f"no Chromium: none of {', '.join(NAMES)} is on PATH; install the package chromium"

_OPTIONS = (
    "--headless=new",
    "--no-sandbox",  # tests may run as root in a container, where its sandbox can't be set up
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-extensions",
    "--disable-sync",
    "--hide-scrollbars",
    "--no-first-run",
    "--no-default-browser-check",
    "--force-color-profile=srgb",
    "--remote-debugging-pipe",
)


class BrowserError(Exception):
    """The browser has ended, or does not answer."""


def found() -> str | None:
    """Where a Chromium is; None where there is none."""
    return next((path for name in NAMES if (path := shutil.which(name))), None)


class Tab:
    """One page of a browser.

    Attributes:
        wrong: what the page complained about: exceptions, and what its console has as an error.
    """

    def __init__(self, incoming: int, outgoing: int) -> None:
        self._incoming, self._outgoing = incoming, outgoing
        self._numbers = itertools.count(1)
        self._text = b""
        self._session = ""
        self.wrong: list[str] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **given: Any) -> dict[str, Any]:
        """What the browser answers to a method of the protocol."""
        number = next(self._numbers)
        session = {"sessionId": self._session} if self._session else {}
        os.write(
            self._outgoing, json.dumps({"id": number, "method": method, "params": given, **session}).encode() + b"\0"
        )
        until = time.monotonic() + PATIENCE
        while True:
            message = self._read(until, method)
            if message.get("id") == number:
                if "error" in message:
                    why = f"{method}: {message['error']['message']}"
                    raise BrowserError(why)
                return dict(message["result"])

    def size(self, width: int, height: int) -> None:
        """Have a window of so many pixels; a narrow one is that of a phone."""
        narrow = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=narrow)

    def scheme(self, scheme: str) -> None:
        """Prefer `dark` or `light`."""
        self.call("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, url: str) -> None:
        """Go to a page; `until` says when it is there."""
        self.call("Page.navigate", url=url)

    def value(self, expression: str) -> Any:
        """What an expression of JavaScript gives."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            why = f"{expression}: {answer['exceptionDetails']}"
            raise BrowserError(why)
        return answer["result"].get("value")

    def until(self, expression: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + PATIENCE
        while not self.value(expression):
            if time.monotonic() > until:
                why = f"never true: {expression}\n{self.wrong}\n{self.text()}"
                raise BrowserError(why)
            time.sleep(0.02)

    def text(self) -> str:
        """What somebody reads on the page."""
        return str(self.value("document.body.innerText"))

    def press(self, key: str, code: int) -> None:
        """Press a key, by its name and its number."""
        text = {"Enter": "\r", " ": " "}.get(key, "")
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key, windowsVirtualKeyCode=code, **typed)

    def picture(self, *, scale: float = 1.0, whole: bool = False) -> bytes:
        """What is seen, as PNG; the `whole` page, or what fits the window."""
        inside = "[innerWidth, document.documentElement.scrollHeight]" if whole else "[innerWidth, innerHeight]"
        width, height = self.value(inside)
        clip = {"x": 0, "y": 0 if whole else self.value("scrollY"), "width": width, "height": height, "scale": scale}
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole, clip=clip)
        return base64.b64decode(taken["data"])

    def _read(self, until: float, method: str) -> dict[str, Any]:
        while b"\0" not in self._text:
            ready, _, _ = select.select([self._incoming], [], [], max(0.0, until - time.monotonic()))
            read = os.read(self._incoming, 1 << 20) if ready else b""
            if not read:
                why = f"{method}: {'the browser has ended' if ready else 'no answer'}"
                raise BrowserError(why)
            self._text += read
        line, _, self._text = self._text.partition(b"\0")
        message: dict[str, Any] = json.loads(line)
        self._hear(message.get("method", ""), message.get("params", {}))
        return message

    def _hear(self, event: str, told: Mapping[str, Any]) -> None:
        if event == "Runtime.exceptionThrown":
            details = told["exceptionDetails"]
            self.wrong.append(str(details.get("exception", {}).get("description", details["text"])))
        elif event == "Log.entryAdded" and told["entry"]["level"] == "error":
            self.wrong.append(f"{told['entry']['text']} {told['entry'].get('url', '')}".strip())


def pixels(picture: bytes) -> list[tuple[int, ...]]:
    """Red, green and blue of each pixel of a PNG as Chromium writes it: 8 bits, with or without alpha, one piece."""
    at, header, packed = 8, b"", b""
    while at < len(picture):
        (length,) = struct.unpack_from(">I", picture, at)
        kind, data = picture[at + 4 : at + 8], picture[at + 8 : at + 8 + length]
        header, packed = (data if kind == b"IHDR" else header), packed + (data if kind == b"IDAT" else b"")
        at += length + 12
    width, height, _, colours = struct.unpack_from(">IIBB", header)
    size = {2: 3, 6: 4}[colours]
    lines = _unfiltered(zlib.decompress(packed), width * size, height, size)
    return [tuple(line[i : i + 3]) for line in lines for i in range(0, len(line), size)]


def _unfiltered(data: bytes, width: int, height: int, size: int) -> Iterator[bytearray]:
    """The lines of a PNG: each byte is what it differs by from the one to the left, above, or some mean of those."""
    above = bytearray(width)
    for row in range(height):
        begin = row * (width + 1)
        line, kind = bytearray(data[begin + 1 : begin + 1 + width]), data[begin]
        for i in range(width) if kind else ():
            left, over, corner = (line[i - size], above[i], above[i - size]) if i >= size else (0, above[i], 0)
            guess = left + over - corner
            paeth = min((left, over, corner), key=lambda near, guess=guess: abs(guess - near))  # type: ignore[misc]
            line[i] = (line[i] + (0, left, over, (left + over) // 2, paeth)[kind]) & 255
        yield line
        above = line


@contextlib.contextmanager
def running(program: str) -> Iterator[Tab]:
    """A browser with one page, until the block ends."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        # It reads from descriptor 3 and writes to 4, by definition; a shell moves our pipes there.
        move = 'exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null'
        process = subprocess.Popen(
            ["/bin/sh", "-c", move, program, *_OPTIONS, f"--user-data-dir={folder}", "about:blank"],
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": folder, "TZ": "UTC"},
            cwd=folder,
        )
        try:
            with process.stdin as outgoing, process.stdout as incoming:  # type: ignore[union-attr]
                yield Tab(incoming.fileno(), outgoing.fileno())
        finally:
            process.terminate()
            try:
                process.wait(5)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
