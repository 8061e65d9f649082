"""What a slot sends: frames, output records and dead letters, in order, and when all of it has arrived.

An input position may be committed only after everything that came of the records before it was acknowledged. A `Mark`
is such a boundary: it is done once all that was sent before it is.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable

import msgspec
from confluent_kafka import KafkaError, KafkaException, Message

from spillway.model.errors import SpillwayError
from spillway.runtime import clients
from spillway.runtime.clients import Access

# Seconds that the loop waits at a time while the client's queue is full: the broker is slower than we are, or away.
FULL = 0.05
# Messages on their way beyond which the loop takes no more. Whoever gives a partition away waits until all of them have
# arrived, and hears nothing while it waits in `send`: with 20 000, a slot under twice its load was deaf for 0.4 s, and
# took another 0.3 s to be rid of them. Fewer: a broker that takes its time for an answer is waited for.
MUCH = 8_000
# Seconds for which it waits before it looks whether it is to do something else meanwhile.
SOON = 0.005
TO_ANY = -1  # partition: the client chooses, by the key


class _Window(msgspec.Struct, frozen=True):
    """Microseconds, and of how many."""

    avg: float = 0.0
    cnt: int = 0


class _Broker(msgspec.Struct, frozen=True):
    int_latency: _Window = _Window()
    outbuf_latency: _Window = _Window()
    rtt: _Window = _Window()


class _Statistics(msgspec.Struct, frozen=True):
    brokers: dict[str, _Broker] = {}


_statistics = msgspec.json.Decoder(_Statistics).decode


def network(statistics: str) -> float | None:
    """Seconds of a message in the client's queue, of its request in the socket, and of half of the round trip."""
    brokers = _statistics(statistics).brokers.values()
    queued = _mean(one.int_latency for one in brokers)
    written, answered = _mean(one.outbuf_latency for one in brokers), _mean(one.rtt for one in brokers)
    if queued is None or written is None or answered is None:
        return None
    return (queued + written + answered / 2) / 1e6


def _mean(windows: Iterable[_Window]) -> float | None:
    some = [window for window in windows if window.cnt]
    count = sum(window.cnt for window in some)
    return sum(window.avg * window.cnt for window in some) / count if count else None


class UndeliverableError(SpillwayError):
    """Something can't be sent, now or ever: a topic is gone, may not be written, or takes no message of this size."""


class Mark:
    """Everything that was sent up to a moment."""

    __slots__ = ("_before", "_pending")

    def __init__(self, before: Mark | None = None) -> None:
        self._before = before
        self._pending = 0

    @property
    def done(self) -> bool:
        """Whether all of it was acknowledged."""
        if self._before is not None and self._before.done:
            self._before = None  # the chain behind is not kept
        return self._pending == 0 and self._before is None


class Emitter:
    """Sends; `serve` has to be called now and then, by the thread that sends, for acknowledgements to be heard."""

    def __init__(self, access: Access, batch: int = clients.BATCH, *, timed: bool = False) -> None:
        """`batch`: see `clients.emitter`. `timed`: see `network`."""
        self._producer = clients.emitter(access, self._heard, batch, self._told if timed else None)
        self.network: float | None = None
        """Seconds until a broker has what was sent, in the mean over the last statistics of an emitter that is `timed`.

        The client's own thread measures it. Acknowledgements would say more than there is: the loop hears them late.
        Of the round trip it is half: the answer's way back is none of a record's.
        """
        self._current = Mark()
        self._acknowledged = self._listener(self._current)
        self._wrong: UndeliverableError | None = None

    def send(self, topic: str, partition: int, key: bytes | None, value: bytes | None) -> None:
        """Hand over one message; waits while the queue is full, which is how a slow broker slows the loop down."""
        while True:
            if self._wrong is not None:
                raise self._wrong
            try:
                self._producer.produce(topic, value, key, partition, self._acknowledged)
            except BufferError:
                self._producer.poll(FULL)
            except KafkaException as error:
                size = len(value or b"") + len(key or b"")
                message = f"topic {topic!r} does not take a message of {size} bytes: {error.args[0].str()}"
                raise UndeliverableError(message) from None
            else:
                # Not before: what hears of it is called by this thread, in `poll`.
                self._current._pending += 1  # noqa: SLF001 - a mark is the emitter's own
                return

    def know(self, *names: str) -> None:
        """Learn where the partitions of topics are; else the first message for each waits for that."""
        for name in names:
            self._producer.list_topics(name, timeout=clients.PATIENCE)

    def tell(self, topic: str, partition: int, key: bytes, value: bytes) -> None:
        """Send what nobody waits for; any thread may. What can't be sent now is not."""
        with contextlib.suppress(BufferError, KafkaException):
            self._producer.produce(topic, value, key, partition)

    def send_all(self, sends: Iterable[tuple[str, int, bytes | None, bytes | None]]) -> None:
        """The same for many, which takes a seventh less for each: outputs are one for each record."""
        if self._wrong is not None:
            raise self._wrong
        produce, acknowledged, sent = self._producer.produce, self._acknowledged, 0
        for topic, partition, key, value in sends:
            try:
                produce(topic, value, key, partition, acknowledged)
                sent += 1
            except (BufferError, KafkaException):  # waits, or says what is wrong
                self.send(topic, partition, key, value)
        self._current._pending += sent  # noqa: SLF001

    def _listener(self, mark: Mark) -> Callable[[KafkaError | None, Message], None]:
        """What is called for each message up to a mark; one for all, because one for each took 2 µs of a record's 5."""

        def acknowledged(error: KafkaError | None, message: Message) -> None:
            mark._pending -= 1  # noqa: SLF001
            if error is not None and self._wrong is None:
                where = f"topic {message.topic()!r}, partition {message.partition()}"
                self._wrong = UndeliverableError(f"{where} does not take what is sent: {error.str()}")

        return acknowledged

    def mark(self) -> Mark:
        """A boundary here."""
        mark, self._current = self._current, Mark(self._current)
        self._acknowledged = self._listener(self._current)
        return mark

    def serve(self, seconds: float = 0.0) -> None:
        """Hear acknowledgements; raises what went wrong with any message so far."""
        self._producer.poll(seconds)
        if self._wrong is not None:
            raise self._wrong

    def flush(self, seconds: float) -> bool:
        """Wait until all has arrived, at most so long; whether it has."""
        left = self._producer.flush(seconds)
        if self._wrong is not None:
            raise self._wrong
        return not left

    def abandon(self) -> None:
        """Throw away what has not been sent, for a life that is over: it could only confuse readers."""
        self._producer.purge(in_queue=True, in_flight=False, blocking=False)

    def has_room(self) -> bool:
        """Whether more may be made; waits a moment if too much is on its way."""
        if self.waiting > MUCH:
            self.serve(SOON)
        return self.waiting <= MUCH

    @property
    def waiting(self) -> int:
        """Messages that are on their way."""
        return len(self._producer)

    def _told(self, statistics: str) -> None:
        """What the client measured; where nothing was sent meanwhile, what it measured last."""
        if (found := network(statistics)) is not None:
            self.network = found

    def _heard(self, error: KafkaError) -> None:
        """What the client tells; all but the end of it is tried again by itself."""
        if error.fatal() and self._wrong is None:
            self._wrong = UndeliverableError(f"nothing can be sent any more: {error.str()}")
