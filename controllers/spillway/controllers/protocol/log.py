"""What the control log says: the fold of its messages, in their order, into who leads and who has what.

Every process folds the same messages in the same order, so all agree on every prefix, whatever they wrote meanwhile:
a message counts only if it fits to what stands before it, and one that doesn't changes nothing for anyone. So who
writes need not know whether somebody else was faster; it reads its message back and sees whether it counted.

A message counts if

- `Lead` has a higher number than any before; any other message of a leader has the number of the one that leads;
- `Fenced` names the present life of a slot;
- `Prepare` has a higher epoch than was ever named for the partition, and no other try to move it is under way;
- `Prepared`, `Release`, `Released`, `Cancel` name the try that is under way, the first and third by its heir and
  owner; `Cancel` stands before `Released`;
- `Assign` starts at the cut of the try that it ends, or takes over with a higher epoch than was ever named; while an
  intent is open, its partitions go only to the batch engine;
- `Intent` has a higher number than any before, and names partitions that its owner has and runs this program on, and
  that no other open intent names.

A partition that rests is one whose try has a cut and no heir: `Assign` from that cut wakes it up.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Sequence

from spillway.controllers.protocol import messages, rules
from spillway.controllers.protocol.frozen import Frozen
from spillway.controllers.protocol.values import ENGINE, Holding, Member, Owner, Partition, ProtocolError, Try


@dataclasses.dataclass(frozen=True, slots=True)
class State:
    """What the log says so far.

    Attributes:
        leader: the highest number of a leader.
        driver: who leads.
        plans: the last plan, and those before it whose programs are still somewhere, by number.
        members: who is which slot.
        holdings: who has which partition.
        intents: those that are open, by number.
        intent: the highest number of an intent.
    """

    leader: int = 0
    driver: str = ""
    plans: Frozen[int, messages.Plan] = dataclasses.field(default_factory=Frozen)
    members: Frozen[str, Member] = dataclasses.field(default_factory=Frozen)
    holdings: Frozen[Partition, Holding] = dataclasses.field(default_factory=Frozen)
    intents: Frozen[int, messages.Intent] = dataclasses.field(default_factory=Frozen)
    intent: int = 0

    @property
    def plan(self) -> messages.Plan | None:
        """The last plan."""
        return self.plans[max(self.plans)] if self.plans else None

    def plan_of(self, program: str) -> messages.Plan | None:
        """The last plan that has a program."""
        having = (n for n, plan in self.plans.items() if any(s.program == program for s in plan.segments))
        number = max(having, default=None)
        return None if number is None else self.plans[number]

    def living(self, slot: str) -> Owner | None:
        """The present life of a slot, or of the batch engine; whether it is alive, the log can't say."""
        if slot == ENGINE:
            return Owner(ENGINE, self.leader) if self.leader else None
        member = self.members.get(slot)
        return Owner(slot, member.incarnation) if member and not member.fenced else None

    def intent_of(self, partition: Partition) -> messages.Intent | None:
        """The open intent that names a partition."""
        for intent in self.intents.values():
            if any(part.partition == partition for part in intent.ranges):
                return intent
        return None

    def owner(self, partition: Partition) -> Owner | None:
        """Who has a partition; nobody from the cut on until the next one is assigned."""
        holding = self.holdings.get(partition)
        if holding is None or (holding.move and holding.move.cut is not None):
            return None
        return holding.owner


def read(state: State, message: messages.Any, keep: rules.Rules = rules.ALL) -> tuple[State, bool]:
    """What the log says with one message more, and whether that message counted."""
    after = _read(state, message, keep)
    return (state, False) if after is None else (after, True)


def _read(state: State, message: messages.Any, keep: rules.Rules) -> State | None:
    """The state after the message, or None if it doesn't count."""
    match message:
        case messages.Snapshot():
            return None  # it says what is known already; who starts with it uses `restored`
        case messages.Lead():
            if message.leader <= state.leader:
                return None
            return dataclasses.replace(state, leader=message.leader, driver=message.driver)
        case messages.Join():
            last = state.members.get(message.slot)
            member = Member(last.incarnation + 1 if last else 1, message.process)
            return dataclasses.replace(state, members=state.members.put(message.slot, member))
        case messages.FromLeader() if message.leader != state.leader and (keep.lead or message.leader > state.leader):
            return None
        case messages.Fenced():
            if message.owner.slot == ENGINE or state.living(message.owner.slot) != message.owner:
                return None
            over = state.members[message.owner.slot]._replace(fenced=True)
            return dataclasses.replace(state, members=state.members.put(message.owner.slot, over))
        case messages.Plan():
            return _plan(state, message)
        case messages.Intent():
            return _intent(state, message)
        case messages.Done():
            if message.number not in state.intents:
                return None
            return dataclasses.replace(state, intents=state.intents.drop(message.number))
        case messages.Assign():
            return _assign(state, message)
        case _:
            return _move(state, message)


def _plan(state: State, message: messages.Plan) -> State | None:
    """A new plan; older ones stay as long as somebody has, or is to get, a program of theirs."""
    if state.plan and message.number <= state.plan.number:
        return None
    programs = {holding.program for holding in state.holdings.values()}
    programs |= {holding.move.program for holding in state.holdings.values() if holding.move}
    programs -= {segment.program for segment in message.segments}
    plans = {state.plan_of(program) for program in programs}
    kept = {plan.number: plan for plan in plans if plan is not None}
    return dataclasses.replace(state, plans=Frozen({**kept, message.number: message}))


def _move(
    state: State,
    message: messages.Prepare | messages.Prepared | messages.Release | messages.Released | messages.Cancel,
) -> State | None:
    """A step of a try to move one partition."""
    holding = state.holdings.get(message.partition)
    if holding is None:
        return None
    move = holding.move
    if isinstance(message, messages.Prepare):
        if move or message.epoch <= holding.last:
            return None
        begun = Try(message.epoch, message.heir, message.program, ready=message.heir is None)
        return _holds(state, message.partition, holding._replace(last=message.epoch, move=begun))
    if move is None or message.epoch != move.epoch or move.cut is not None:
        return None
    match message:
        case messages.Prepared() if message.heir == move.heir:
            move = move._replace(ready=not message.problem, problem=message.problem)
        case messages.Release():
            move = move._replace(releasing=True)
        case messages.Released() if message.owner == holding.owner and move.releasing:
            move = move._replace(cut=message.cut)
        case messages.Cancel():
            move = None
        case _:
            return None
    return _holds(state, message.partition, holding._replace(move=move))


def _assign(state: State, message: messages.Assign) -> State | None:
    holding = state.holdings.get(message.partition)
    move = holding.move if holding else None
    if message.takeover:
        fits = message.epoch > (holding.last if holding else 0)
    else:
        fits = move is not None and (move.epoch, move.cut) == (message.epoch, message.start)
    if not fits or (message.owner.slot != ENGINE and state.intent_of(message.partition)):
        return None
    new = Holding(message.owner, message.epoch, message.program, message.start, last=message.epoch)
    return _holds(state, message.partition, new)


def _intent(state: State, message: messages.Intent) -> State | None:
    if message.number <= state.intent:
        return None
    for part in message.ranges:
        holding = state.holdings.get(part.partition)
        if holding is None or (holding.owner, holding.program) != (message.owner, message.program):
            return None
        if state.intent_of(part.partition):
            return None
        if holding.move and holding.move.cut is not None:
            return None
    return dataclasses.replace(state, intent=message.number, intents=state.intents.put(message.number, message))


def _holds(state: State, partition: Partition, holding: Holding) -> State:
    return dataclasses.replace(state, holdings=state.holdings.put(partition, holding))


def folded(log: Iterable[messages.Any], state: State = State()) -> State:
    """What the log says after all these messages."""
    for message in log:
        state, _ = read(state, message)
    return state


def snapshot(state: State, upto: int) -> messages.Snapshot:
    """What the log says before the offset `upto`, in one message; once that is in the log, what it covers can go."""
    return messages.Snapshot(
        upto=upto,
        leader=state.leader,
        driver=state.driver,
        plans=tuple(plan for _, plan in sorted(state.plans.items())),
        members=tuple(sorted(state.members.items())),
        holdings=tuple(sorted(state.holdings.items())),
        intents=tuple(intent for _, intent in sorted(state.intents.items())),
        intent=state.intent,
    )


def restored(log: Sequence[tuple[int, messages.Any]]) -> State:
    """What the log says, from what is left of it: (offset, message), from the first that wasn't deleted to the end.

    The last snapshot stands behind messages that it covers, and maybe behind some that it doesn't: others write while
    the leader makes it.

    Raises:
        ProtocolError: if messages are missing that no snapshot covers.
    """
    snapshots = [message for _, message in log if isinstance(message, messages.Snapshot)]
    last = max(snapshots, key=lambda message: message.upto) if snapshots else None
    covered = last.upto if last else 0
    rest = [(offset, message) for offset, message in log if offset >= covered]
    if log and log[0][0] > covered:
        problem = f"the control log begins at offset {log[0][0]}, and no snapshot in it covers what stood before"
        raise ProtocolError(problem)
    return folded((message for _, message in rest), _from(last) if last else State())


def _from(last: messages.Snapshot) -> State:
    return State(
        leader=last.leader,
        driver=last.driver,
        plans=Frozen((plan.number, plan) for plan in last.plans),
        members=Frozen(last.members),
        holdings=Frozen(last.holdings),
        intents=Frozen((intent.number, intent) for intent in last.intents),
        intent=last.intent,
    )
