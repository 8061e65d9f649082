"""Who shall have what, and how much the load needs: `controllers.tick`, with all that it has to be given and remember.

A tick that plans a large job takes up to a second, and moves that are under way must not wait for that: so it is
thought about beside the loop, one tick after the other.
"""

from __future__ import annotations

import datetime
from collections.abc import Collection, Mapping

from spillway.controllers import tick
from spillway.controllers.balancing import Slot
from spillway.controllers.protocol import knowledge, messages
from spillway.controllers.protocol.values import Owner, Partition
from spillway.controllers.switching.verdicts import Reason
from spillway.model.execution import Mode, Policy
from spillway.model.operators import Paradigm
from spillway.model.streamjob import Spec, StreamJob
from spillway.runtime.driver import plans, splitting, steering
from spillway.runtime.driver.believing import Beliefs
from spillway.runtime.driver.hands import Hands
from spillway.runtime.driver.observing import Seen
from spillway.runtime.driver.steering import Batches
from spillway.runtime.driver.switches import Switched

# Seconds between two plans that differ in frames alone; each stays in the log for a while.
RETUNE = 10.0


class Steersman:
    """Decides, tick by tick.

    Attributes:
        decision: the last one; None before there is one.
        owners: who shall have what.
        why: by partition, why it was moved last.
        paradigms: by segment, in which it shall run, where that was decided.
        parts: by segment that shall run in batches, which of its operators, where that was decided.
        switched: by segment, why that was decided.
    """

    def __init__(self, hands: Hands) -> None:
        self._hands = hands
        self._plan: messages.Plan | None = None
        self._whole: messages.Plan | None = None  # the same, with nothing split
        self._topics: dict[str, str] = {}
        self._beliefs: Beliefs | None = None
        self._history = tick.History()
        self._thinking = False
        self._learnt = 0.0
        self._tuned = 0.0
        self.decision: tick.Decision | None = None
        self.owners: Mapping[Partition, Slot] = {}
        self.why: dict[Partition, str] = {}
        self.paradigms: dict[str, Paradigm] = {}
        self.parts: dict[str, tuple[str, ...]] = {}
        self.switched: dict[str, str] = {}

    def planned(self, plan: messages.Plan, job: StreamJob, counts: Mapping[str, int]) -> None:
        """This plan holds. Other programs are other segments, so all that was learnt is forgotten.

        A segment that is split is the same one as before: what was learnt of it says when it is to come back.
        """
        known, self._plan, self._whole = self._whole, plan, splitting.whole(plan)
        if plans.same(known, self._whole):
            return
        running = job.model_copy(update={"spec": Spec.model_validate_json(plan.spec)})
        self._topics = plans.topics(running)
        self._beliefs, self._history = Beliefs(plans.problem(running, counts), self._whole), tick.History()

    def think(
        self,
        seen: Seen,
        me: knowledge.Leader,
        loads: Mapping[Partition, float | None],
        slots: tuple[Collection[Owner], Collection[Owner], int | None],
        batches: Mapping[str, Batches],
        policy: Policy,
    ) -> None:
        """Decide about what was seen, unless the last decision is still being thought about.

        `loads` are those of all partitions that slots shall have; `slots` are the silent ones, those that leave, and
        the workers that are granted.
        """
        beliefs, plan = self._beliefs, self._plan
        if beliefs is None or plan is None or self._thinking:
            return
        split = splitting.pieces(plan)  # what their heads cost is not what they cost as a whole
        beliefs.learn({n: work for n, work in seen.works.items() if n not in split}, seen.at - self._learnt)
        self._learnt, seen = seen.at, steering.gathered(seen, plan)
        there = steering.owners(me, *slots)
        steering.press(beliefs, seen, len(there), batches)
        owned = steering.current(me, {owner.slot for owner in there})
        observation = steering.observation(seen, beliefs, self._topics, loads, there, owned, batches)
        problem, history = beliefs.problem, self._history
        now = datetime.datetime.fromtimestamp(seen.at, datetime.UTC)
        self._thinking = True
        self._hands.do(
            lambda: tick.decide(observation, problem, policy, history, now),
            lambda decision: self._decided(decision, beliefs, policy.mode, batches),
        )

    @property
    def asks(self) -> bool:
        """Whether batches might help now, and nobody knows how fast they are."""
        verdicts = self.decision.switch.verdicts if self.decision else ()
        return any(one.reason is Reason.BATCHES_UNMEASURED for one in verdicts)

    def retuned(self, now: float) -> messages.Plan | None:
        """The plan with frames and deadlines for the load as it is; None if those that there are will do."""
        planned = self.decision.provision.plan if self.decision else None
        if self._plan is None or planned is None or now < self._tuned + RETUNE:
            return None
        found = plans.retuned(self._plan, planned)
        if found is not None:
            self._tuned = now
        return found

    def order(self, switched: Switched) -> None:
        """A person wants segments to run so."""
        self.paradigms |= dict.fromkeys(switched.operators, switched.to)
        self.parts |= switched.parts
        self.switched |= dict.fromkeys(switched.operators, switched.reason.meaning)

    def give_up(self, segment: str, why: str) -> None:
        """A segment can't run in batches after all."""
        self.paradigms[segment] = Paradigm.RECORD
        self.parts.pop(segment, None)
        self.switched[segment] = f"back to record by record: {why}"

    def _decided(self, decision: tick.Decision, beliefs: Beliefs, mode: Mode, batches: Mapping[str, Batches]) -> None:
        self._thinking = False
        if beliefs is not self._beliefs:
            return  # of another plan
        self.decision, self._history = decision, decision.history
        if decision.switch.switches and decision.switch.to is not None:
            self.paradigms |= dict.fromkeys(decision.switch.operators, decision.switch.to)
            for name in decision.switch.operators:
                part = batches[name].part if name in batches else None
                self.parts.pop(name, None)
                if part is not None:
                    self.parts[name] = part.operators
            self.switched |= dict.fromkeys(decision.switch.operators, decision.switch.sentence)
        beliefs.planned(decision.provision.plan)
        self.owners = steering.owned(decision.assignment, mode)
        self.why |= {move.partition: move.reason.meaning for move in decision.assignment.moves}
