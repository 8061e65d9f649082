"""`spillway broker`: a real Kafka broker on this machine, until Ctrl-C."""

from __future__ import annotations

import pathlib
import re
from typing import TYPE_CHECKING, Annotated

import typer

from spillway.cli import terminal

if TYPE_CHECKING:
    from spillway.local.broker import Broker

TOPIC = re.compile(r"([a-zA-Z0-9._-]{1,249})(?::([1-9][0-9]{0,4}))?")  # names as Kafka allows them
LOOK_SECONDS = 0.2


def broker(
    port: Annotated[int, typer.Option(min=0, max=65535, help="The port to listen on; 0 for any free one.")] = 9092,
    data: Annotated[
        pathlib.Path | None,
        typer.Option(metavar="DIR", file_okay=False, help="Keep the data in this folder; without it nothing is kept."),
    ] = None,
    topic: Annotated[
        list[str] | None, typer.Option(metavar="NAME[:PARTITIONS]", help="Create a topic; may be repeated.")
    ] = None,
) -> None:
    """Run a Kafka broker on this machine until Ctrl-C; the first time, it is fetched.

    Example: spillway broker --data ./kafka --topic ads:4
    """
    topics = [parsed(text) for text in topic or []]
    _show_progress()
    _end_on_sigterm()
    from spillway.local import broker as local

    try:
        with local.Broker(data, port=port, lasting=True) as running:
            for name, partitions in topics:
                running.create_topic(name, partitions)
            terminal.say(described(running, [name for name, _ in topics], kept=data is not None))
            _wait(running)
    except KeyboardInterrupt:
        terminal.complain("stopped")


def parsed(text: str) -> tuple[str, int]:
    """A topic's name and number of partitions, as they are given: `ads:4`, or `ads` for one partition."""
    parts = TOPIC.fullmatch(text)
    if parts is None:
        message = f"'{text}' is no topic: write a name of letters, digits, '.', '_' and '-', and partitions as in ads:4"
        raise typer.BadParameter(message, param_hint="--topic")
    return parts[1], int(parts[2] or 1)


def described(running: Broker, topics: list[str], *, kept: bool) -> str:
    """What somebody needs to know of a broker that has just started."""
    from spillway.local import jars

    settings = f"{{'bootstrap.servers': '{running.bootstrap}'}}"
    name = topics[0] if topics else "TOPIC"
    produce = f"p = Producer({settings}); p.produce('{name}', 'hello'); p.flush()"
    lines = [
        f"Kafka {jars.kafka_version()} answers at {running.bootstrap}",
        *([f"  topics  {', '.join(topics)}"] if topics else []),
        f"  data    {running.directory}{'' if kept else ' (removed when it stops)'}",
        f"  log     {running.log}",
        f'  try     python -c "from confluent_kafka import Producer; {produce}"',
        "Ctrl-C stops it.",
    ]
    return "\n".join(lines)


def _wait(running: Broker) -> None:
    import sys
    import time

    sys.stdout.flush()  # whoever waits for the address in a pipe has it now
    while running.pid is not None:
        time.sleep(LOOK_SECONDS)
    running.explain_end()


def _show_progress() -> None:
    """Show on standard error what takes long: fetching Kafka, and preparing it for quick starts."""
    import logging

    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    logger = logging.getLogger("spillway.local")
    logger.addHandler(handler)
    logger.setLevel(logging.INFO)


def _end_on_sigterm() -> None:
    """Treat SIGTERM as Ctrl-C, so that the broker ends in order then too."""
    import signal

    signal.signal(signal.SIGTERM, signal.default_int_handler)
