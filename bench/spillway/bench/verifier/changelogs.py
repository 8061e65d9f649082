"""An output of a table: what its reader has in the end, and what he may see on the way.

In a changelog the newest message of a key is its row, and an empty one deletes it. Where a table is appended, nothing
says that a row is gone; the newest message of each row that is there is compared.

On the way: a column that counts never shows more than in the end, and doesn't go back. After a crash what was emitted
since the last commit is repeated, so a message that goes back is a repetition; with exactly-once there are none.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Collection, Iterable, Sequence

from spillway.bench.verifier import appends, messages
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.messages import Content, Found, Wanted
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.tally import Tally
from spillway.bench.verifier.verdict import Kind, OutputVerdict, Sample
from spillway.model import types


@dataclasses.dataclass(slots=True)
class _Seen:
    """What a reader has seen of one key so far: as little as the rules need, for there are millions of messages.

    Attributes:
        last: the newest message.
        newest: that of each partition; a key has one, but for mistakes.
        most: of each column that counts, the highest.
        contents: rows with just these counts; older ones would show by their counts.
        beyond: in how many columns `last` counts more than in the end: wrong, unless it is the end.
    """

    last: Found
    newest: dict[int, Found]
    most: dict[int, int]
    contents: set[Content] = dataclasses.field(default_factory=set)
    beyond: int = 0


def judge(expected: Expected, records: Collection[Record]) -> tuple[OutputVerdict, list[Sample]]:
    """Compare the table with what a reader of its changelog has."""
    tally, wanted = Tally(expected), messages.wanted(expected)
    tally.undetermined = _undetermined(wanted)
    nameless = any(one.key is None for one in wanted) and bool(expected.key)
    by_key = {one.key: one for one in wanted}
    watch = _Watch(expected, by_key, tally)
    for message in appends.placed(messages.each(records, expected.relation.schema), tally):
        watch.take(message)
    kinds = [column.type.kind for column in expected.relation.schema]
    for key, one in by_key.items():
        seen = watch.seen.get(key)
        last = _last(seen, one, kinds) if seen is not None else None
        if last is None or last.record.value is None:
            if not one.row.maybe:
                why = "the row is not there" if last is None else "the row is deleted"
                tally.add(Kind.LOST, why, one, last)
        elif last.content is None or not one.fits(last.content, kinds):
            tally.add(Kind.WRONG, "the row has another value", one, last)
        else:
            tally.met(one, last)
    for key, seen in watch.seen.items():
        if key not in by_key and seen.last.record.value is not None and not nameless:
            tally.add(Kind.WRONG, "a row that should not be there, or no more", found=seen.last)
    return tally.verdict(_finals(wanted), len(records))


def judge_updates(expected: Expected, records: Collection[Record]) -> tuple[OutputVerdict, list[Sample]]:
    """Compare the rows with the newest appended message of each."""
    tally, wanted = Tally(expected), messages.wanted(expected)
    tally.undetermined = _undetermined(wanted)
    kinds = [column.type.kind for column in expected.relation.schema]
    places = expected.relation.places(expected.relation.key or ())
    in_one_partition = set(expected.relation.key or ()) <= set(expected.key)
    by_name = {tuple(one.content[place] for place in places): one for one in wanted}
    last: dict[tuple[object, ...], Found] = {}
    right: dict[tuple[object, ...], Found] = {}
    for message in appends.placed(messages.each(records, expected.relation.schema), tally):
        if message.content is None:
            tally.add(Kind.WRONG, "no row of the table", found=message)
            continue
        name = tuple(message.content[place] for place in places)
        last[name] = message
        if (one := by_name.get(name)) is not None and one.fits(message.content, kinds):
            right[name] = message
        elif in_one_partition:
            right.pop(name, None)
    for name, one in by_name.items():
        if name in right:
            tally.met(one, right[name])
        elif name in last:
            tally.add(Kind.WRONG, "the row has another value", one, last[name])
        elif not one.row.maybe:
            tally.add(Kind.LOST, "the row was never given", one)
    return tally.verdict(_finals(wanted), len(records))


def _undetermined(wanted: Iterable[Wanted]) -> int:
    return sum(one.row.maybe or bool(one.row.unsure) for one in wanted)


def _finals(wanted: Iterable[Wanted]) -> int:
    return sum(not one.row.maybe for one in wanted)


def _last(seen: _Seen, one: Wanted, kinds: Sequence[types.Kind]) -> Found:
    """The newest message of a row. Without a key it may stand in any partition, and the newest of each may be it."""
    if one.key is None:
        for message in seen.newest.values():
            if message.content is not None and one.fits(message.content, kinds):
                return message
    return seen.last


class _Watch:
    """What may be seen on the way.

    Attributes:
        seen: by key.
    """

    def __init__(self, expected: Expected, by_key: dict[str | None, Wanted], tally: Tally) -> None:
        self._counting = expected.relation.places(sorted(expected.relation.counts))
        self._by_key, self._tally = by_key, tally
        self.seen: dict[str | None, _Seen] = {}

    def take(self, message: Found) -> None:
        """The next message."""
        key, content = message.key, message.content
        one, seen = self._by_key.get(key), self.seen.get(key)
        if seen is None:
            seen = self.seen[key] = _Seen(message, {}, dict.fromkeys(self._counting, 0))
        else:
            for _ in range(seen.beyond):
                why = "a count that was never right: the final one is smaller"
                self._tally.add(Kind.WRONG, why, one, seen.last)
            # A table may go back to what it was; a count doesn't.
            repeated = seen.last.record.value == message.record.value or content in seen.contents
            behind = content is not None and any(_less(content[place], seen.most[place]) for place in self._counting)
            if repeated or (behind and key is not None):
                why = "an update that was given before, or is older than one before"
                self._tally.add(Kind.DUPLICATED, why, found=message)
        seen.last = seen.newest[message.record.partition] = message
        seen.beyond = 0
        if content is None:
            return
        for place in self._counting:
            count = content[place]
            if isinstance(count, int) and count > seen.most[place]:
                seen.most[place] = count
                if key is not None:
                    seen.contents.clear()
            if one is not None and _beyond(one, place, count):
                seen.beyond += 1
        if self._counting:
            seen.contents.add(content)


def _less(count: object, most: int) -> bool:
    return isinstance(count, int) and count < most


def _beyond(one: Wanted, place: int, count: object) -> bool:
    final = one.content[place]
    return place not in one.row.unsure and isinstance(count, int) and isinstance(final, int) and count > final
