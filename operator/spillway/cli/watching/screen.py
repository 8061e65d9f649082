"""A run at a terminal: the panel stays at the bottom, what happens goes by above it and can be scrolled back to."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Self

from rich.console import Console
from rich.live import Live
from rich.text import Text

from spillway.cli.watching import lines
from spillway.cli.watching.panel import Panel
from spillway.local.events import Event, Scene


class Screen:
    """Draws on a terminal as long as the block lasts; the panel goes with it, what happened stays."""

    def __init__(self, console: Console, gone: Callable[[], None], now: Callable[[], datetime.datetime]) -> None:
        """`gone` is called when the terminal is."""
        self._console, self._gone, self._now = console, gone, now
        self._began = now()
        self._panel = Panel(console, self._began)
        self._hinted = False
        self._live = Live(console=console, auto_refresh=False, transient=True, vertical_overflow="crop")
        self._open = True

    def __enter__(self) -> Self:
        self._live.start()
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._live.stop()
        except OSError:
            self._open = False

    def tell(self, event: Event) -> None:
        """A line above the panel, and its details under it."""
        first, *rest = lines.described(event, self._now())
        told = Text.assemble((first, lines.look(event)), *((f"\n{line}", "dim") for line in rest))
        self._try(lambda: self._console.print(told, soft_wrap=True))  # whole, so that it can be copied

    def show(self, scene: Scene) -> None:
        """The panel; above it, once, the commands that may be too long for it."""
        if not self._hinted and scene.seen is not None and scene.seen.ready:
            self._hinted = True
            text = Text("\n".join(lines.commands(scene, self._began)), "cyan")
            self._try(lambda: self._console.print(text, soft_wrap=True))
        self._try(lambda: self._live.update(self._panel.draw(scene), refresh=True))

    def _try(self, draw: Callable[[], None]) -> None:
        if not self._open:
            return
        try:
            draw()
        except OSError:
            self._open = False
            self._gone()
