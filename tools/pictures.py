"""Take the pictures of docs/images again: the page of the recorded job of the tests, in a headless Chromium."""

from __future__ import annotations

import base64
import pathlib
import sys

TOP = pathlib.Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOP / "tests" / "support"))

import browser  # noqa: E402
import recorded_job  # noqa: E402

# What is taken: the window, the colours, and the second of the recording. The burst is from 110 to 185.
PICTURES = {
    "page.webp": (1280, 800, "light", 183),
    "page-on-a-phone.webp": (390, 800, "dark", 250),
}
QUALITY = 82  # of 100: texts are sharp, and a picture has about 100 kB
DRAWN = "document.querySelector('.node.operator') !== null && document.querySelector('#decision .gauge') !== null"


def main() -> None:
    """All of them."""
    program = browser.found()
    if program is None:
        sys.exit(browser.MISSING)
    moments = recorded_job.moments()
    with browser.running(program) as tab:
        for name, (width, height, scheme, second) in PICTURES.items():
            with recorded_job.telling(moments[0].seen) as teller:
                teller.tell(*moments[:second])
                tab.size(width, height)
                tab.scheme(scheme)
                tab.open(f"http://{teller.address}/")
                tab.until(DRAWN)
                teller.tell(moments[second])
                tab.until("document.querySelector('#events time') !== null")
                size = tab.value("[innerWidth, document.documentElement.scrollHeight]")
                clip = {"x": 0, "y": 0, "width": size[0], "height": size[1], "scale": 1}
                options = {"format": "webp", "quality": QUALITY, "captureBeyondViewport": True, "clip": clip}
                picture = base64.b64decode(tab.call("Page.captureScreenshot", **options)["data"])
            (TOP / "docs" / "images" / name).write_bytes(picture)
            print(f"docs/images/{name}: {len(picture) / 1000:.0f} kB")


if __name__ == "__main__":
    main()
