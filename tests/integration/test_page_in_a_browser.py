"""The page in a real browser: what it says, how it looks on a desktop and a phone, by keyboard, and without a driver.

The driver is a recording of a job with a burst, told by the driver's own code; the browser is a headless Chromium.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator

import pytest

import browser
import recorded_job
from browser import Tab
from recorded_job import Teller
from spillway.model.observation import Condition, Plan, Standby, StandbyState

pytestmark = [
    pytest.mark.skipif(browser.found() is None, reason=browser.MISSING),
    pytest.mark.xdist_group("page"),
]

BEFORE, WITHIN, AFTER = 100, 150, 260  # seconds of the recording; the burst is from 110 to 185
DESKTOP, PHONE = (1280, 800), (360, 740)
DRAWN = "document.querySelector('.node.operator') !== null && document.querySelector('#decision .gauge') !== null"


@pytest.fixture(scope="module")
def chromium() -> Iterator[Tab]:
    program = browser.found()
    assert program is not None
    with browser.running(program) as found:
        yield found


@pytest.fixture
def tab(chromium: Tab) -> Iterator[Tab]:
    chromium.wrong.clear()
    chromium.scheme("light")
    chromium.size(*DESKTOP)
    yield chromium
    chromium.open("about:blank")


@pytest.fixture
def teller() -> Iterator[Teller]:
    with recorded_job.telling(recorded_job.moments()[0].seen) as found:
        yield found


def opened(tab: Tab, teller: Teller, upto: int) -> str:
    """The text of the page, with the past up to a second of the recording."""
    teller.tell(*recorded_job.moments()[:upto])
    tab.open(f"http://{teller.address}/")
    tab.until(DRAWN)
    tab.until("document.querySelector('#plot-latency .plot .line.p99')?.getAttribute('d')")
    return tab.text()


def paradigms(tab: Tab) -> dict[str, str]:
    """How each operator is drawn."""
    found = tab.value(
        "Object.fromEntries([...document.querySelectorAll('.node.operator')].map((node) =>"
        " [node.querySelector('.name').textContent, node.classList.contains('batch') ? 'batch' : 'record']))"
    )
    return dict(found)


# What it says


def test_the_promise_is_the_headline_and_the_graph_has_rates_lag_and_frames(tab: Tab, teller: Teller) -> None:
    text = opened(tab, teller, BEFORE)

    assert "99 % within 500 ms: ✓ kept, 100 % in the last 10 s" in text
    assert tab.value("document.title") == "✓ ysb: kept"
    assert paradigms(tab) == dict.fromkeys(("views", "fields", "joined", "counts"), "record")
    for part in ("64/frame", "campaigns", "lag 50", "no partition has changed hands yet"):
        assert part in text
    assert tab.wrong == []


def test_a_burst_is_seen_as_it_comes_and_goes(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, BEFORE)

    teller.tell(*recorded_job.moments()[BEFORE:WITHIN])
    tab.until("document.querySelectorAll('.node.batch').length === 3")
    during = tab.text()
    teller.tell(*recorded_job.moments()[WITHIN:AFTER])
    tab.until("document.querySelectorAll('.node.batch').length === 0")
    after = tab.text()

    assert "views stays in batches" in during
    assert "8 partitions of views from w0.0, w1.0 to Spark" in during
    assert "8 partitions of views from Spark to w0.0, w1.0" in after
    assert "paused 12 ms to 19 ms" in after
    assert "to batches: views" in after
    assert "back to record by record: views" in after
    lanes = tab.value("[...document.querySelectorAll('#plot-latency .lane')].map((lane) => lane.classList[1])")
    assert lanes == ["record", "batch", "record", "record"]  # views there and back, counts stays
    assert tab.value("document.querySelectorAll('#plot-latency .broken').length") == 1
    assert tab.value("document.querySelectorAll('#plot-latency .plot .mark.switch').length") == 2
    assert tab.wrong == []


def test_a_broken_promise_is_said_in_words(tab: Tab, teller: Teller) -> None:
    text = opened(tab, teller, 112)

    assert "99 % within 500 ms: ✗ not kept, " in text
    assert tab.value("document.title") == "✗ ysb: not kept"


def test_what_is_wrong_comes_with_the_way_out(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, BEFORE)
    assert "See to" not in tab.text()

    teller.see(
        conditions=(Condition("Topics", False, "TopicMissing", "topic 'ad-events' is <b>not</b> there; create it"),),
        standby=Standby(StandbyState.FAILED, "no Java was found: install Java 17"),
        letters=31,
    )
    tab.until("!document.getElementById('attention').hidden")

    text = tab.text()
    assert "TopicMissing\ntopic 'ad-events' is <b>not</b> there; create it" in text
    assert "no Java was found: install Java 17" in text
    assert "31 dead letters" in text
    assert "spillway dead list default/ysb" in text


# How it is used


def test_a_segment_is_chosen_by_keyboard_and_its_decision_is_shown(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, WITHIN)
    for _ in range(10):
        tab.press("Tab", 9)
        if tab.value("document.activeElement.classList.contains('operator')"):
            break

    assert tab.value("document.activeElement.getAttribute('aria-label')").startswith("views: event_type = 'view';")
    teller.see(plan=Plan(4, ()))  # other frames are another plan: the graph stays, and so does the focus
    tab.until("performance.getEntriesByType('resource').filter((e) => e.name.endsWith('v1/topology')).length === 2")
    tab.press("Enter", 13)
    tab.until("document.getElementById('decision-of').textContent === 'of segment views'")
    assert tab.value("[...document.querySelectorAll('.node[aria-pressed=true] .name')].map((n) => n.textContent)") == [
        "views",
        "fields",
        "joined",
    ]

    tab.press(" ", 32)
    tab.until("document.getElementById('decision-of').textContent === 'of the job'")


def test_the_past_is_read_by_keyboard_in_words(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, WITHIN)
    tab.value("document.querySelector('#plot-latency svg.plot').focus()")

    tab.press("Home", 36)

    tab.until("document.activeElement.getAttribute('aria-valuetext').startsWith('12:00:01: 99 % within 1')")
    assert tab.value("document.querySelectorAll('.cursor').length") == 3  # in all plots at once


def test_without_its_driver_it_says_so_greys_out_and_comes_back(tab: Tab) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
    with recorded_job.telling(recorded_job.moments()[0].seen, port) as first:
        opened(tab, first, BEFORE)
    tab.until("document.body.classList.contains('lost')")
    lost = tab.text()
    assert "No connection to the driver for" in lost
    assert "What you see is from 12:01:40." in lost

    with recorded_job.telling(recorded_job.moments()[WITHIN].seen, port) as second:
        second.tell(*recorded_job.moments()[WITHIN : WITHIN + 5])
        tab.until("!document.body.classList.contains('lost')")
        tab.until("document.querySelectorAll('.node.batch').length === 3")
        # The past of before, a gap, and what the new driver has seen.
        tab.until("document.querySelector('#plot-latency .plot .line.p99').getAttribute('d').match(/M/g).length === 2")


def test_a_driver_that_answers_and_decides_nothing_is_told_from_one_that_is_gone(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, BEFORE)
    tab.value("(() => { const now = performance.now.bind(performance); performance.now = () => now() + 9000; })()")

    teller.page.turn()

    tab.until("!document.getElementById('attention').hidden")
    assert "The driver has decided nothing for 9 s: its log says why; workers go on meanwhile" in tab.text()
    assert not tab.value("document.body.classList.contains('lost')")
    teller.tell(recorded_job.moments()[BEFORE])
    tab.until("document.getElementById('attention').hidden")


# How it looks


def test_it_is_drawn_on_a_desktop_and_a_phone_in_light_and_in_dark(tab: Tab, teller: Teller) -> None:
    opened(tab, teller, WITHIN)
    pictures = {}
    for size in (DESKTOP, PHONE):
        for scheme in ("light", "dark"):
            tab.size(*size)
            tab.scheme(scheme)
            tab.until(f"innerWidth === {size[0]} && document.querySelector('#plot-flow svg').clientWidth < {size[0]}")
            pictures[size, scheme] = browser.pixels(tab.picture(scale=0.25))
            assert tab.value("document.documentElement.scrollWidth") <= size[0], (size, scheme)

    for size in (DESKTOP, PHONE):
        light, dark = pictures[size, "light"], pictures[size, "dark"]
        assert len(light) == len(dark) == size[0] * size[1] // 16
        assert brightness(light) > 0.8
        assert brightness(dark) < 0.25
        assert len(set(light)) > 100
        assert len(set(dark)) > 100


def test_a_picture_of_nothing_would_be_noticed(tab: Tab) -> None:
    tab.open("about:blank")
    tab.until("document.readyState === 'complete'")

    nothing = browser.pixels(tab.picture(scale=0.25))

    assert set(nothing) == {(255, 255, 255)}
    assert brightness(nothing) == 1


def brightness(pixels: list[tuple[int, ...]]) -> float:
    """The mean of all pixels, from 0 to 1."""
    return sum(map(sum, pixels)) / len(pixels) / 3 / 255
