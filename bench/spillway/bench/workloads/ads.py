"""The Yahoo streaming benchmark: views of ads, by campaign, in windows of ten seconds of event time.

Events are those of the original generator: seven fields, in its order, with its blanks; ids as long as its UUIDs, five
types of ads, three of events, all drawn evenly; 100 campaigns of 10 ads. Two things are not: `event_time` is a number,
where the original writes it as text, and the table of campaigns is a topic, where the original asks Redis.

The checker is that of the original as well: views counted again by campaign and window.
"""

from __future__ import annotations

import dataclasses
import functools
import itertools
from collections.abc import Sequence
from typing import cast

import msgspec
import numpy as np

from spillway.bench.record import events, jobs, verify
from spillway.bench.record.events import Event
from spillway.bench.workloads import work
from spillway.bench.workloads.work import CYCLE, Floats, Key, Keys, Numbers, Told, Windows, Work

WINDOWS = Windows(events.WINDOW_MS, events.WINDOW_MS)
_FIELDS = [("campaign_id", str), ("window_start", str | int), ("n", int)]
_row = msgspec.json.Decoder(msgspec.defstruct("Row", _FIELDS)).decode


class Ads(Work):
    """Views by campaign and window."""

    def closes(self, key: Key) -> float:
        """The latency that the benchmark itself tells counts from there."""
        _, start = cast(tuple[str, int], key)
        return float(start + events.WINDOW_MS)

    def message(self, number: int, due: float) -> tuple[int, bytes]:
        """An event."""
        return 0, rendered(self.keys)[number % CYCLE].at(work.milli(due))

    def read(self, value: bytes) -> Told:
        """A campaign and window, and its views."""
        row = _row(value)
        return Told((row.campaign_id, verify.millis(row.window_start)), row.n)  # type: ignore[attr-defined]

    def expected(self, times: Floats) -> dict[Key, Numbers]:
        """By campaign and window, the views."""
        places, campaigns = _views(self.keys)
        numbers, groups = work.repeated(places, campaigns, len(times))
        at = work.millis(times[numbers])
        return work.grouped(numbers, groups, lambda group: events.campaign(group * events.ADS), at, WINDOWS)


@functools.cache
def rendered(keys: Keys) -> Sequence[Event]:
    """A cycle of events."""
    return [events.ad_event(number, view) for number, view in enumerate(seen(keys))]


@functools.cache
def seen(keys: Keys) -> Sequence[events.View]:
    """What decides about the result."""
    usual = list(itertools.islice(events.seen(), CYCLE))
    if keys is Keys.USUAL:
        return usual
    ads = work.drawn(keys, events.CAMPAIGNS * events.ADS, 8)
    return [dataclasses.replace(view, ad=ad) for view, ad in zip(usual, ads, strict=True)]


@functools.cache
def _views(keys: Keys) -> tuple[Numbers, Numbers]:
    """Places of views in a cycle, and their campaigns."""
    views = [(place, view.ad // events.ADS) for place, view in enumerate(seen(keys)) if view.kind == "view"]
    places, campaigns = zip(*views, strict=True)
    return np.array(places, np.int64), np.array(campaigns, np.int64)


YSB = Ads("ads", "YSB", jobs.YSB, "views", ("events",))
