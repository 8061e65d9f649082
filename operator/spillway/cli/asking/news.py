"""Decisions as they come; and older ones, which the job's topic keeps for a week."""

from __future__ import annotations

import datetime
import json
import textwrap
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TextIO

from spillway.cli import terminal
from spillway.cli.asking import accounts, places, told
from spillway.cli.asking.places import AwayError, Place
from spillway.local.driver import DriverError

TURN = 0.5  # seconds; a driver decides five times as often, but news is rarer
ANSWER = 10.0  # seconds for a broker to say what it has
AT_ONCE = 1000  # messages

Told = dict[str, Any]
_LOOKS = {"switching": "cyan", "provisioning": "green", "assignment": "bold", "rollout": "yellow"}


def line(decision: Told, now: datetime.datetime, stream: TextIO, width: int | None = None) -> str:
    """A decision in one line: those that change something stand out where the stream shows colours.

    It is folded to a width, if one is given, so that times stand alone on the left.
    """
    found = told.decision(decision)
    at = datetime.datetime.fromtimestamp(found.at, now.tzinfo)
    when = f"{at:%H:%M:%S}" if at.date() == now.date() else f"{at:%Y-%m-%d %H:%M:%S}"
    head = terminal.clean(f"{found.part} {found.reason}")
    text = f"{when} {head}: {terminal.clean(found.sentence)}"
    if width is not None:
        indent = " " * (len(when) + 1)
        wide = max(width, len(when) + len(head) + 2)  # so that what has a colour is not folded
        text = "\n".join(textwrap.wrap(text, wide, subsequent_indent=indent, break_on_hyphens=False))
    look = _LOOKS.get(found.part, "bold") if accounts.acts(found) else "dim"
    rest = text.removeprefix(f"{when} {head}")
    return f"{terminal.style(when, 'dim', stream)} {terminal.style(head, look, stream)}{rest}"


class News:
    """What a driver has decided, each decision once."""

    def __init__(self, place: Place) -> None:
        self._place = place
        self._known: list[Told] = []
        self._silent = False

    def first(self) -> list[Told]:
        """All that the driver still has; raises DriverError where it does not answer."""
        self._place.observation()
        self._known = self._place.driver.decisions()
        return list(self._known)

    def more(self, complain: Callable[[str], None]) -> Iterator[Told]:
        """What comes from now on, until the run of the job has ended; a driver that is away is waited for."""
        while True:
            time.sleep(TURN)
            try:
                found = self._place.driver.decisions()
            except DriverError as error:
                if self._place.ended:
                    complain(f"the run of {self._place.job} has ended")
                    return
                if not self._silent:
                    complain(f"{error}; waiting for it")
                self._silent, self._place = True, places.again(self._place)
                continue
            self._silent = False
            known, self._known = self._known, found
            yield from (one for one in found if one not in known)


def older(place: Place, since: int, until: float) -> list[Told]:
    """Those of the job's topic that were written since then (milliseconds), and decided before `until` (seconds)."""
    import confluent_kafka

    from spillway.controllers.topics import Names
    from spillway.model.kafka import Kafka
    from spillway.runtime import clients
    from spillway.runtime.clients import Access

    if not place.bootstrap:
        message = "--since reads the job's topic, and only a run on this machine tells where its Kafka is"
        raise AwayError(message)
    topic = Names(f"{place.job.replace('/', '.', 1)}.").decisions
    access = Access(Kafka.model_validate(_kafka(place.folder, place.bootstrap)), None, "spillway-decisions")
    consumer = clients.restorer(access, "decisions")
    try:
        where = confluent_kafka.TopicPartition(topic, 0, since)
        (begin,) = consumer.offsets_for_times([where], ANSWER)
        if begin.offset < 0:  # nothing is as new as that
            return []
        consumer.assign([begin])
        return [one for one in _values(consumer) if float(one.get("at", 0.0)) < until]
    except confluent_kafka.KafkaException as error:
        message = f"Kafka at {place.bootstrap} does not give the topic {topic}: {error.args[0].str()}"
        raise AwayError(message) from None
    finally:
        consumer.close()


def _kafka(folder: Path | None, bootstrap: str) -> dict[str, Any]:
    """How the run reaches its Kafka: as its manifest says, but for the address."""
    try:
        found = json.loads((folder / "job.json").read_text(encoding="utf-8"))["spec"]["kafka"] if folder else {}
    except (OSError, ValueError, KeyError, TypeError):
        found = {}
    return {**found, "bootstrapServers": tuple(bootstrap.split(","))}


def _values(consumer: Any) -> Iterator[Told]:
    """All messages up to the end; what is no decision is left out."""
    from spillway.runtime import clients

    while messages := clients.arrived(consumer, AT_ONCE, ANSWER):
        for message in messages:
            error = message.error()
            if error is not None and clients.is_end(error):
                return
            try:
                found = json.loads(message.value() or b"")
                told.decision(found)
            except (ValueError, DriverError):
                continue
            yield found
