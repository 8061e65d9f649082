"""What a slot is about to process, noted where it outlives the slot: memory that its worker shares.

    ledger.note("counts", 3, 1200, 1250)    before each batch
    try:
        task.take(topic, messages)
    finally:
        ledger.clear()                      also when it raises: an exception is about us, not about a record

A record can end a process in ways that nobody inside can catch: `os._exit`, a fault in a library written in C, the
kernel that is out of memory. Then the note is still there, the worker reads it, and the slot's next process is careful
with those messages: it notes and processes them one at a time, and if it ends at a note of one message, the process
after it writes that message as a dead letter, unprocessed.

That is best effort. The partition may be with another worker meanwhile, which knows nothing of it, and has to die of
the record itself before it is careful. And who is killed is not always who did it: out of memory, the kernel takes the
largest process. That costs some care, until the same single message is hit twice.

A note and its end cost 0.3 µs together. The memory is a file that has no name any more, handed over as an open file
while the process starts: whoever dies, in whatever order, nothing is left behind. A name would have to be removed by
somebody; `multiprocessing.shared_memory` has one.
"""

from __future__ import annotations

import multiprocessing.sharedctypes
import struct
import time

from spillway.runtime.slots.settings import Suspect

# Bytes; names of operators have 50 letters of ASCII at the most.
LONGEST_SEGMENT = 64
_NOTE = struct.Struct(f"=qqi{LONGEST_SEGMENT}s")  # start and stop, number of the partition, segment
_CLEAR = struct.Struct("=qq")
_BEAT = struct.Struct("=d")
_BEAT_AT = 88  # after the note, where a number of eight bytes is written as one
_note, _clear, _beat = _NOTE.pack_into, _CLEAR.pack_into, _BEAT.pack_into


class Ledger:
    """One note, and a sign of life. Made by the worker, written by the slot, read by the worker, whenever it likes.

    It can be pickled only for a process that is being started.
    """

    __slots__ = ("_memory",)

    def __init__(self) -> None:
        self._memory = multiprocessing.sharedctypes.RawArray("c", _BEAT_AT + _BEAT.size)

    def note(self, segment: str, number: int, start: int, stop: int) -> None:
        """The messages of a partition from offset `start` up to, without, `stop` come next."""
        _note(self._memory, 0, start, stop, number, segment.encode())

    def clear(self) -> None:
        """Nothing is being processed."""
        _clear(self._memory, 0, 0, 0)

    def read(self) -> Suspect | None:
        """What is being processed, if anything. Of a process that was killed while it wrote, it may be nonsense."""
        start, stop, number, name = _NOTE.unpack_from(self._memory)
        segment = name.rstrip(b"\0").decode(errors="replace")
        return Suspect(segment, number, start, stop) if segment and 0 <= start < stop and number >= 0 else None

    def beat(self) -> None:
        """Threads of this process get to run."""
        _beat(self._memory, _BEAT_AT, time.monotonic())

    @property
    def beaten(self) -> float:
        """When that was the last time, by the monotonic clock, which all processes share; 0 if it never was."""
        (at,) = _BEAT.unpack_from(self._memory, _BEAT_AT)
        return float(at)
