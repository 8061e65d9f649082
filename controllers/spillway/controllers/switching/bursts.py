"""A step in the arrival rate, told from noise within a few ticks: a Shewhart rule and a CUSUM on the log rate.

Per tick of Δ seconds with n records:

- x = ln((n + ½)/Δ), the log rate: a burst is a factor, whatever the rate is;
- m and s², its mean and variance over the last `WINDOW` of calm; s² is at least 1/(n_expected + ½), which is what a
  Poisson process would have, and at least `FLOOR`², so that an even clock doesn't make a hair trigger;
- z = (x - m)/s, how far out this tick is.

An alarm is raised by either of:

1. One tick alone, when z reaches `ALONE`, and one and a half times the largest z of the last minutes. Arrivals with
   heavy tails have spikes of one tick now and then; the second condition learns how high they are.
2. Several ticks together (CUSUM): S = max(0, S + min(z, H/2 + k) - k) reaches H, with k = max(1, ln(STEP)/2s). A tick's
   vote is cut so that it takes two at least. k is half of the smallest step that matters, as is best for a CUSUM.

So both thresholds follow from the variance of the arrivals: after a step by the factor f, z is ln(f)/s, and rule 2
takes about H/(z - k) ticks. The same CUSUM downwards, without rule 1 (a late report looks like a rate of zero for one
tick), finds the end of a burst.

After an alarm the mean starts anew at the rate since the CUSUM was last zero, which is where the step began; that is
also the best estimate of the new rate, and better than a moving average, which is dragged by what was before. An alarm
up that is taken back within `UNDONE` was a spike; its z is remembered like those of calm ticks. And s² becomes what it
was when the step began, or twice that at the most: what led to an alarm was a step, and no noise. (A load that starts
and stops once made s so large that for minutes a step by a factor of 13 was none. Twice, because noise that was never
seen before begins with alarms as well; so does a job, whose first ticks only start anew.)

What lost: Page-Hinkley on the rate itself (its threshold is in records per second, another one for each operator);
queue growth alone (it is a rate minus a capacity, and as noisy; and it says nothing before the queue is long);
a threshold H that learns from calm like that of rule 1 (16 instead of 18 false alarms per hour with on-off arrivals:
not worth its state); a moving average crossing P_D (0.7 of its time constant late for a
step by a factor of two, or trigger-happy).
"""

from __future__ import annotations

import dataclasses
import math
from datetime import timedelta

# Ticks. By Siegmund's approximation, Gaussian noise with k = 1 passes H = 8 once in (e^(2·1·(8 + 1.17)) - …)/2 = 46
# million ticks, which is months. Noise isn't Gaussian, nor independent: on-off arrivals keep their level for several
# ticks. 5 gives an alarm every few minutes with them; 12 costs another tick or two for small steps.
THRESHOLD = 8.0
# Standard deviations of one tick. Upwards the log of a Poisson count has a shorter tail than a Gaussian, so 6 is not
# noise. Lower: on-off arrivals get there. Higher: a step by a factor of two at 200 records a tick (z = 10) has less to
# spare, and needs a second tick when s was learnt too large.
ALONE = 6.0
# Of the largest z of the last minutes: a record is rarely broken by half.
BEYOND_PEAK = 1.5
# The smallest factor that matters. `policy.headroom` keeps 20 % free, so a rise by 25 % is where capacity ends.
STEP = 1.25
# Log rate. Spans are measured by a clock of milliseconds in ticks of 100 to 250, so counts wander by some per cent.
FLOOR = 0.05
# Seconds of calm that mean and variance remember: 150 ticks of 200 ms know s to 6 %. Longer: slow changes of the load
# become steps. Shorter: s wanders, and the alarms with it.
WINDOW = 30.0
# Seconds in which the largest z falls by half, so that one odd spike is forgotten after some minutes.
PEAK_HALVES = 300.0
# Seconds: what rises for less than this is noise, and over before batches would have helped.
UNDONE = 2.0
# Ticks without alarms at the start: a variance of fewer samples can be wrong by more than a half.
LEARN = 20
# Of the variance when a step began, the most that is believed after it.
STEPPED = 2.0
# Seconds over which the rate is smoothed between steps; a tick alone is as noisy as its count.
SMOOTH = 2.0


@dataclasses.dataclass(frozen=True, slots=True)
class Burst:
    """What the detector of one operator remembers. `Burst()` has seen nothing.

    `raised` is whether this tick raised an alarm; `high` whether the last alarm was one (the burst goes on).
    `rate` is V, in records per second: smoothed, and right after a step the rate since it began.
    `calm` is the variance when no sum was above 0: that before a step that may have begun.
    """

    rate: float = 0.0
    raised: bool = False
    high: bool = False
    ticks: int = 0
    since_alarm: int = 0
    seconds: float = 0.0
    mean: float = 0.0
    variance: float = FLOOR**2
    calm: float = FLOOR**2
    peak: float = 0.0
    alarm: float = 0.0
    up: float = 0.0
    down: float = 0.0
    began: tuple[float, float] = (0.0, 0.0)


def observe(state: Burst, rate: float, span: timedelta) -> Burst:
    """Take one tick into account: `rate` records per second over `span`."""
    delta = span.total_seconds()
    x = math.log(rate + 0.5 / delta)
    if not state.ticks:
        return Burst(rate, ticks=1, since_alarm=1, mean=x, seconds=delta)
    s = _deviation(state, delta)
    z = (x - state.mean) / s
    k = max(1.0, math.log(STEP) / (2 * s))
    vote = max(-THRESHOLD / 2 - k, min(THRESHOLD / 2 + k, z))
    up, down = max(0.0, state.up + vote - k), max(0.0, state.down - vote - k)
    rising = state.up > 0 and up > 0, state.down > 0 and down > 0
    records, seconds = state.began if any(rising) else (0.0, 0.0)
    began = (records + rate * delta, seconds + delta)
    learnt = state.ticks >= LEARN
    if up >= THRESHOLD or (learnt and z >= max(ALONE, BEYOND_PEAK * state.peak)):
        return _stepped(state, began, delta, z if learnt else None)
    if down >= THRESHOLD:
        return _stepped(state, began, delta, None)
    before = state.calm if any(rising) else state.variance
    return _calm(dataclasses.replace(state, up=up, down=down, began=began, calm=before), rate, delta, (x, z, s))


def _deviation(state: Burst, delta: float) -> float:
    """The standard deviation s of the log rate of one tick."""
    expected = math.exp(state.mean) * delta
    return math.sqrt(max(state.variance, 1 / (expected + 0.5), FLOOR**2))


def _stepped(state: Burst, began: tuple[float, float], delta: float, alarm: float | None) -> Burst:
    """The state after an alarm: up with its z, or without one: down, or while nothing was learnt."""
    records, seconds = began
    rate = records / seconds
    undone = alarm is None and state.high and state.seconds <= UNDONE
    return dataclasses.replace(
        state,
        rate=rate,
        raised=alarm is not None,
        high=alarm is not None,
        ticks=state.ticks + 1,
        since_alarm=max(1, round(seconds / delta)),
        seconds=0.0,
        mean=math.log(rate + 0.5 / seconds),
        variance=min(state.variance, STEPPED * max(state.calm, FLOOR**2)),
        peak=max(state.peak, state.alarm) if undone else state.peak,
        alarm=alarm or 0.0,
        up=0.0,
        down=0.0,
        began=(0.0, 0.0),
    )


def _calm(state: Burst, rate: float, delta: float, tick: tuple[float, float, float]) -> Burst:
    """The state after a tick without an alarm: mean and variance learn, the rate is smoothed."""
    x, z, s = tick
    share = 1 - math.exp(-delta / WINDOW)
    anew = max(share, 1 / (state.since_alarm + 1))  # right after a step the mean is of the few ticks since
    off = max(-4 * s, min(4 * s, x - state.mean))
    # Where next to nothing comes, s is that of counts, and large; what is noise there is none for what comes later.
    most = 4 * max(FLOOR, math.sqrt(state.variance))
    noise = max(-most, min(most, off))
    learnt = max(share, 1 / (state.ticks + 1))
    smooth = max(1 - math.exp(-delta / SMOOTH), 1 / (state.since_alarm + 1))
    return dataclasses.replace(
        state,
        rate=state.rate + smooth * (rate - state.rate),
        raised=False,
        ticks=state.ticks + 1,
        since_alarm=state.since_alarm + 1,
        seconds=state.seconds + delta,
        mean=state.mean + anew * off,
        variance=(1 - learnt) * (state.variance + learnt * noise * noise),
        peak=max(state.peak * 0.5 ** (delta / PEAK_HALVES), z),
    )
