"""An output that every record is appended to: the expected messages, each once, in the order of their lanes.

A message takes an expected one that is just like it, or like it as far as that is determined; those that have to be
there first. One that fits only what others need is a repetition. What fits nothing was never right: it is shown beside
an expected message that is missing, of the same key or with most columns alike.

Order: rows of one lane with one message key come in the order of their lane. After a crash what was emitted since the
last commit is repeated, so the first of equal messages counts. Equal messages of different lanes can't be told apart,
and are left out. n messages of which the longest rising run has m count as n - m out of order.
"""

from __future__ import annotations

import bisect
import collections
import dataclasses
from collections.abc import Collection, Iterable, Iterator, Sequence

from spillway.bench.verifier import messages
from spillway.bench.verifier.expectation import Expected
from spillway.bench.verifier.messages import Content, Found, Wanted
from spillway.bench.verifier.records import Record
from spillway.bench.verifier.tally import Tally
from spillway.bench.verifier.verdict import Kind, OutputVerdict, Sample

# Pairs of a stray message and a missing one that are looked at: without keys each is compared with each.
_COMPARED = 200

Name = tuple[str | None, Content]


def judge(expected: Expected, records: Collection[Record]) -> tuple[OutputVerdict, list[Sample]]:
    """Compare what has to be there with what is."""
    tally = Tally(expected)
    wanted = messages.wanted(expected)
    found = list(messages.each(records, expected.relation.schema))
    tally.undetermined = sum((one.row.maybe or bool(one.row.unsure)) and not one.row.passing for one in wanted)
    matching = _Matching(wanted, expected, tally)
    strays = [one for one in found if not matching.takes(one)]
    _unmatched(matching.missing(), strays, tally)
    for _ in placed(found, tally):
        pass
    if expected.relation.ordered:
        _order([one for one in wanted if not one.row.passing], found, tally)
    finals = sum(not (one.row.maybe or one.row.passing) for one in wanted)
    return tally.verdict(finals, len(found))


class _Matching:
    """Gives each message at most one expected one, and as many of those that have to be there as can be.

    A message that fits several may have taken the one that another needs. Then they change places, as in the maximum
    matching of a bipartite graph: along a path from the message to an expected one that is free.
    """

    def __init__(self, wanted: Iterable[Wanted], expected: Expected, tally: Tally) -> None:
        self._kinds = [column.type.kind for column in expected.relation.schema]
        self._repeats = expected.relation.repeats
        self._has_key = bool(expected.key)
        self._tally = tally
        self._alike: dict[Name, list[Wanted]] = collections.defaultdict(list)
        # By which places are loose, then by the others: a message is looked up once for each set of loose places.
        self._loose: dict[frozenset[int], dict[Content, list[Wanted]]] = {}
        self._all = sorted(wanted, key=_is_needless)
        for one in self._all:
            if one.is_exact:
                self._alike[one.key, one.content].append(one)
            else:
                places = frozenset(one.row.unsure | one.row.slack.keys())
                self._loose.setdefault(places, collections.defaultdict(list))[one.sure()].append(one)
        self._free = {name: ones[::-1] for name, ones in self._alike.items()}  # taken from the end: the first one first
        self._taker: dict[int, Found] = {}  # by expected one
        self._taken: dict[int, Wanted] = {}  # by message

    def takes(self, found: Found) -> bool:
        """Whether there is one for it; a repetition is told."""
        if found.content is None:
            return False
        free = self._free.get((found.key, found.content), [])
        while free:
            one = free.pop()
            if id(one) not in self._taker and not _is_needless(one):
                self._gives(one, found)
                return True
            if id(one) not in self._taker:
                free.append(one)
                break
        if self._finds(found, needed=True) or self._finds(found, needed=False):
            return True
        if next(self._fitting(found), None) is None:
            return False
        if not self._repeats:
            self._tally.add(Kind.DUPLICATED, "one more than there has to be", found=found)
        return True

    def missing(self) -> list[Wanted]:
        """Those that nobody took, and that have to be there; the others came."""
        for one in self._all:
            if (found := self._taker.get(id(one))) is not None:
                self._tally.met(one, found)
        return [one for one in self._all if id(one) not in self._taker and not _is_needless(one)]

    def _gives(self, one: Wanted, found: Found) -> None:
        self._taker[id(one)], self._taken[id(found)] = found, one

    def _finds(self, found: Found, *, needed: bool) -> bool:
        """Look for a free one, and let others change places on the way; `needed`: one that has to be there."""
        reached: dict[int, Found] = {}
        asking = collections.deque([found])
        while asking:
            asks = asking.popleft()
            for one in self._fitting(asks):
                if id(one) in reached:
                    continue
                reached[id(one)] = asks
                holder = self._taker.get(id(one))
                if holder is not None:
                    asking.append(holder)
                elif not (needed and _is_needless(one)):
                    self._change_places(one, found, reached)
                    return True
        return False

    def _change_places(self, one: Wanted, found: Found, reached: dict[int, Found]) -> None:
        """Back from the free one: each takes what it asked for, and leaves what it had to the one before."""
        while True:
            asks = reached[id(one)]
            had = self._taken.get(id(asks))
            self._gives(one, asks)
            if asks is found or had is None:
                return
            one = had

    def _fitting(self, found: Found) -> Iterator[Wanted]:
        """All that a message may be."""
        content = found.content
        if content is None:
            return
        yield from self._alike.get((found.key, content), ())
        for places, by_content in self._loose.items():
            sure = tuple(None if place in places else value for place, value in enumerate(content))
            for one in by_content.get(sure, ()):
                if (one.key == found.key or (one.key is None and self._has_key)) and one.fits(content, self._kinds):
                    yield one


def _is_needless(one: Wanted) -> bool:
    """Whether it may be there, and doesn't have to."""
    return one.row.maybe or one.row.passing


def _unmatched(missing: Sequence[Wanted], strays: Sequence[Found], tally: Tally) -> None:
    """What is left on both sides: a stray message stands for a missing one of its key, or for the most similar."""
    left = dict(enumerate(missing))
    by_key: dict[str | None, list[int]] = collections.defaultdict(list)
    for number, one in left.items():
        by_key[one.key].append(number)
    for found in strays:
        numbers = [number for number in by_key.get(found.key, ()) if number in left][:_COMPARED]
        best = max(numbers, key=lambda number: _alike(left[number], found), default=None)
        if best is not None and (found.key is not None or found.content is None or _alike(left[best], found)):
            tally.add(Kind.WRONG, "another value than expected", left.pop(best), found)
        else:
            tally.add(Kind.WRONG, "a message that was never expected", found=found)
    for one in left.values():
        tally.add(Kind.LOST, "an expected message is not there", one)


def _alike(one: Wanted, found: Found) -> int:
    if found.content is None:
        return 0
    return sum(mine == other and mine is not None for mine, other in zip(one.content, found.content, strict=True))


def placed(found: Iterable[Found], tally: Tally) -> Iterator[Found]:
    """The same. All messages of a key stand in one partition; otherwise they have no order."""
    home: dict[str, int] = {}
    told = set()
    for one in found:
        if one.key is not None:
            first = home.setdefault(one.key, one.record.partition)
            if first != one.record.partition and one.key not in told:
                told.add(one.key)
                tally.add(Kind.WRONG, f"messages of this key also stand in partition {first}", found=one)
        yield one


@dataclasses.dataclass(slots=True)
class _Run:
    """Rows of one lane with one key in one partition, in the order of the lane: where each was found."""

    wanted: list[Wanted] = dataclasses.field(default_factory=list)
    found: list[Found] = dataclasses.field(default_factory=list)


def _order(wanted: Sequence[Wanted], found: Sequence[Found], tally: Tally) -> None:
    alike: dict[Name, list[Wanted]] = collections.defaultdict(list)
    there: dict[Name, list[Found]] = collections.defaultdict(list)
    for one in wanted:
        if one.is_exact:
            alike[one.key, one.content].append(one)
    for message in found:
        if message.content is not None:
            there[message.key, message.content].append(message)
    placed: list[tuple[Wanted, Found]] = []
    for name, ones in alike.items():
        places = there.get(name, [])
        if len(ones) == 1 and places:
            placed.append((ones[0], places[0]))
        elif (
            len(places) == len(ones) and len({(one.row.lane, p.record.partition) for one in ones for p in places}) == 1
        ):
            placed += zip(sorted(ones, key=lambda one: one.row.at), places, strict=True)
    runs: dict[tuple[object, ...], _Run] = collections.defaultdict(_Run)
    for one, message in sorted(placed, key=lambda pair: pair[0].row.at):
        run = runs[one.row.lane, one.key, message.record.partition]
        run.wanted.append(one)
        run.found.append(message)
    for run in runs.values():
        for number in out_of_order([message.record.offset for message in run.found]):
            before = run.wanted[number - 1] if number else None
            told = "" if before is None else f"; before it there should be {dict(enumerate(before.content))}"
            tally.add(Kind.REORDERED, f"not in the order of its lane{told}", run.wanted[number], run.found[number])


def out_of_order(offsets: Sequence[int]) -> list[int]:
    """The numbers of all that are not in a longest rising run."""
    ends: list[int] = []  # the smallest end of a rising run of each length
    numbers: list[int] = []
    before: list[int] = []
    for number, offset in enumerate(offsets):
        length = bisect.bisect_left(ends, offset)
        before.append(numbers[length - 1] if length else -1)
        ends[length : length + 1] = [offset]
        numbers[length : length + 1] = [number]
    kept = set()
    at = numbers[-1] if numbers else -1
    while at >= 0:
        kept.add(at)
        at = before[at]
    return [number for number in range(len(offsets)) if number not in kept]
