"""How a message stands in the control log.

One message is one record of the log: JSON, so that whoever looks into a stuck job can read it with any consumer, in an
envelope with the version. Messages are rare (some for each move, two for each micro-batch), so that size and speed of
the encoding don't matter; that each reader makes the same of each message does. What can't be read, of this version or
of another, is a `ProtocolError`: a process that skipped it would believe in other owners than the rest.
"""

from __future__ import annotations

from typing import cast

import msgspec

from spillway.controllers.protocol import messages
from spillway.controllers.protocol.values import ProtocolError

VERSION = 1
# Kafka takes messages of 1 MiB with their headers unless told otherwise. The largest is the snapshot: 40 bytes for
# each partition and 64 for the hash of its program, as much again while it moves. Room for 9000 at rest.
LARGEST = 1_000_000


class _Envelope(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    version: int
    message: msgspec.Raw


_envelopes = msgspec.json.Decoder(_Envelope)
_messages = msgspec.json.Decoder[messages.Any](messages.Any)
_encoder = msgspec.json.Encoder()


def encode(message: messages.Any) -> bytes:
    """A message as it stands in the log.

    Raises:
        ProtocolError: if nobody could read it: then it is not written, because it would stop everyone who reads.
    """
    try:
        text = _encoder.encode(_Envelope(VERSION, msgspec.Raw(_encoder.encode(message))))
    except (TypeError, ValueError, OverflowError) as error:
        problem = f"a {type(message).__name__} can't be written: {error}"
        raise ProtocolError(problem) from error
    decode(text)
    return text


def decode(text: bytes) -> messages.Any:
    """A message of the log.

    Raises:
        ProtocolError: if it is none, or none of this version.
    """
    if len(text) > LARGEST:
        problem = f"a control message has {len(text)} bytes, and the control log takes no more than {LARGEST}"
        raise ProtocolError(problem)
    try:
        envelope = _envelopes.decode(text)
        if envelope.version == VERSION:
            return cast(messages.Any, _messages.decode(envelope.message))
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
        problem = f"the control log has a message that can't be read: {error}; it begins with {text[:60]!r}"
        raise ProtocolError(problem) from error
    version = f"version {envelope.version}, and this process reads version {VERSION}"
    problem = f"the control log has a message of {version}: start it from the image that wrote it, or a newer one"
    raise ProtocolError(problem)
