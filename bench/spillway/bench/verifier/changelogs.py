"""An output of a table: what its reader has in the end, and what he may see on the way.

In a changelog the newest message of a key is its row, and an empty one deletes it. Where a table is appended, nothing
says that a row is gone; the newest message of each row that is there is compared.

On the way: a column that counts never shows more than in the end, and doesn't go back. After a crash what was emitted
since the last commit is repeated, so a message that goes back is a repetition; with exactly-once there are none.
"""

from __future__ import annotations

import collections
from collections.abc import Sequence

from spillway.bench.verifier import appends, messages
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.messages import Found, Wanted
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.tally import Tally
from spillway.bench.verifier.verdict import Kind, OutputVerdict, Sample
from spillway.model import types


def judge(expected: Expected, records: Sequence[Record]) -> tuple[OutputVerdict, list[Sample]]:
    """Compare the table with what a reader of its changelog has."""
    tally, wanted, found = _read(expected, records)
    nameless = any(one.key is None for one in wanted) and bool(expected.key)
    by_key = {one.key: one for one in wanted}
    histories: dict[str | None, list[Found]] = collections.defaultdict(list)
    for message in found:
        histories[message.key].append(message)
    kinds = [column.type.kind for column in expected.relation.schema]
    for key, one in by_key.items():
        history = histories.get(key, [])
        last = _last(history, one, kinds) if history else None
        if last is None or last.record.value is None:
            if not one.row.maybe:
                why = "the row is not there" if last is None else "the row is deleted"
                tally.add(Kind.LOST, why, one, last)
        elif last.content is None or not one.fits(last.content, kinds):
            tally.add(Kind.WRONG, "the row has another value", one, last)
        else:
            tally.met(one, last)
    for key, history in histories.items():
        if key not in by_key and history[-1].record.value is not None and not nameless:
            tally.add(Kind.WRONG, "a row that should not be there, or no more", found=history[-1])
    _on_the_way(expected, by_key, histories, tally)
    return tally.verdict(sum(not one.row.maybe for one in wanted), len(found))


def judge_updates(expected: Expected, records: Sequence[Record]) -> tuple[OutputVerdict, list[Sample]]:
    """Compare the rows with the newest appended message of each."""
    tally, wanted, found = _read(expected, records)
    kinds = [column.type.kind for column in expected.relation.schema]
    places = expected.relation.places(expected.relation.key or ())
    in_one_partition = set(expected.relation.key or ()) <= set(expected.key)
    histories: dict[object, list[Found]] = collections.defaultdict(list)
    for message in found:
        if message.content is None:
            tally.add(Kind.WRONG, "no row of the table", found=message)
        else:
            histories[tuple(message.content[place] for place in places)].append(message)
    for one in wanted:
        history = histories.get(tuple(one.content[place] for place in places), [])
        right = [m for m in (history[-1:] if in_one_partition else history) if m.content and one.fits(m.content, kinds)]
        if right:
            tally.met(one, right[-1])
        elif not history and not one.row.maybe:
            tally.add(Kind.LOST, "the row was never given", one)
        elif history:
            tally.add(Kind.WRONG, "the row has another value", one, history[-1])
    return tally.verdict(sum(not one.row.maybe for one in wanted), len(found))


def _read(expected: Expected, records: Sequence[Record]) -> tuple[Tally, list[Wanted], list[Found]]:
    tally = Tally(expected)
    wanted = messages.wanted(expected)
    found = messages.found(sorted(records, key=lambda r: (r.partition, r.offset)), expected.relation.schema)
    tally.undetermined = sum(one.row.maybe or bool(one.row.unsure) for one in wanted)
    appends.misplaced(found, tally)
    return tally, wanted, found


def _last(history: Sequence[Found], one: Wanted, kinds: Sequence[types.Kind]) -> Found:
    """The newest message of a row. Without a key it may stand in any partition, and the newest of each may be it."""
    newest = {message.record.partition: message for message in history}
    if one.key is None:
        for message in newest.values():
            if message.content is not None and one.fits(message.content, kinds):
                return message
    return history[-1]


def _on_the_way(
    expected: Expected,
    by_key: dict[str | None, Wanted],
    histories: dict[str | None, list[Found]],
    tally: Tally,
) -> None:
    counting = expected.relation.places(sorted(expected.relation.counts))
    for key, history in histories.items():
        one = by_key.get(key)
        seen = set()
        most = dict.fromkeys(counting, 0)
        before: Found | None = None
        for message in history:
            content = message.content
            # A table may go back to what it was; a count doesn't.
            repeated = before is not None and before.record.value == message.record.value
            repeated |= bool(counting) and content in seen
            behind = content is not None and any(_less(content[place], most[place]) for place in counting)
            if repeated or (behind and key is not None):
                tally.add(
                    Kind.DUPLICATED, "an update that was given before, or is older than one before", found=message
                )
            if content is not None:
                seen.add(content)
                for place in counting:
                    most[place] = max(most[place], content[place] if isinstance(content[place], int) else 0)
                    if one is not None and _beyond(one, place, content[place]) and message is not history[-1]:
                        tally.add(Kind.WRONG, "a count that was never right: the final one is smaller", one, message)
            before = message


def _less(count: object, most: int) -> bool:
    return isinstance(count, int) and count < most


def _beyond(one: Wanted, place: int, count: object) -> bool:
    final = one.content[place]
    return place not in one.row.unsure and isinstance(count, int) and isinstance(final, int) and count > final
