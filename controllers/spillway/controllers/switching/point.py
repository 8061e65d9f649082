"""The switch point: the queue at which batches become the faster paradigm (DO 4.2, Eq. 4 to 7)."""

from __future__ import annotations

import dataclasses

from spillway.controllers.switching.measurements import Costs


@dataclasses.dataclass(frozen=True, slots=True)
class Point:
    """Queue lengths, in records: where both paradigms are equally fast, and the thresholds around it."""

    switch: float
    up: float
    down: float


def latency_record(queue: float, p_d: float, costs: Costs) -> float:
    """Seconds until a record that arrives now is done record by record.

    Eq. 4: Latency_D = L/P_D + t_dt.
    """
    return queue / p_d + costs.transmission_record.total_seconds()


def latency_batch(queue: float, rate: float, p_o: float, costs: Costs) -> float:
    """Seconds until a record that arrives now is done in batches, on average.

    Eq. 5: Latency_O = T/2 + t_s + V·T/P_O + t_ot. That is for an empty queue: what is there already is done first,
    which takes L/P_O more. People are told the sum; the switch point (Eq. 6) is the paper's, without it.
    """
    interval = costs.interval.total_seconds()
    waits = interval / 2 + costs.schedule.total_seconds() + costs.transmission_batch.total_seconds()
    return waits + (queue + rate * interval) / p_o


def switch_point(rate: float, p_d: float, p_o: float | None, costs: Costs, hysteresis: float) -> Point:
    """Where Latency_D = Latency_O, and what has to be passed to switch over and back.

    Eq. 6: L_switch = K·(V·T) + C·P_D with K = P_D/P_O and C = T/2 + t_s + t_ot - t_dt.
    Eq. 7: L_up = (1 + δ)·L_switch, L_down = (1 - δ)·L_switch.

    Without P_O the first term is left out: batches that cost nothing per record. No real point is lower.

    The paper takes L_switch > 0 for granted. When t_dt is more than all that a batch costs, it isn't, and Eq. 7 would
    put L_up below L_down; so the distance is δ·|L_switch|.
    """
    interval = costs.interval.total_seconds()
    k = p_d / p_o if p_o else 0.0
    c = (costs.schedule + costs.transmission_batch - costs.transmission_record).total_seconds() + interval / 2
    switch = k * (rate * interval) + c * p_d
    distance = hysteresis * abs(switch)
    return Point(switch, switch + distance, switch - distance)


def first_results(costs: Costs) -> float:
    """Seconds from the decision for batches to what the first one did: T + t_s. Until then records only queue up."""
    return (costs.interval + costs.schedule).total_seconds()


def waiting(queue: float, rate: float, p_o: float, costs: Costs) -> float:
    """What of a queue in front of batches is a backlog: not what merely gathers for the next batch.

    L - V·max(T, t_s + V·T/P_O), at least 0. Between two batches the queue rises to what arrives in one interval
    (Eq. 5 calls this L = V·T) or, when a batch takes longer than that, during one batch. Record by record, this would
    be processed as it comes. The paper compares all of L with L_down; then what gathers alone keeps a range in
    batches: with K = 1/4, δ = 0.2 and a t_s near 0 from V = P_D/2 up.
    """
    interval = costs.interval.total_seconds()
    gathering = rate * max(interval, costs.schedule.total_seconds() + rate * interval / p_o)
    return max(0.0, queue - gathering)
