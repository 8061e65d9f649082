"""What a driver tells of its job over HTTP: `GET /v1/observation`, and what it takes at `PUT /v1/grant`. JSON.

`PUT /v1/deployment` is for drivers that are directed (`spillway-driver --directed`): those of `spillway profile`.

Rates are per second and over the last seconds, shares between 0 and 1, times seconds since 1970. None is what nobody
measured; 0 is what was measured to be nothing.
"""

from __future__ import annotations

import enum
from typing import Annotated, Literal

import msgspec

from spillway.model.operators import Paradigm

VERSION = 1
MOVES = 100  # of those that are told
DECISIONS = 200
# No grant is larger: what a StreamJob may ask for is far less.
MOST_WORKERS = 10_000
MOST_FRAME = 1_000_000  # records; far beyond what fits into a message
# Who reaches a driver through the API server brings the token of the job in this header: the other one is the API
# server's own, and comes no further.
TOKEN_HEADER = "Spillway-Token"  # noqa: S105 - the name of a header


class MoveKind(enum.StrEnum):
    """Why a partition changed hands, in the words of the reports of `spillway demo`."""

    START = "start"  # nobody had it, or it rested
    RESIZE = "resize"
    SWITCH = "switch"  # from record by record to batches, or back
    PROGRAM = "program"
    TAKEOVER = "takeover"
    REST = "rest"


class PlannedSegment(msgspec.Struct, frozen=True):
    """A segment as the plan in the control log has it.

    Attributes:
        name: its head.
        operators: all of them, the head first; a stream or table where that is read into a segment of its own.
        paradigm: in which it runs.
        parallelism: the slots that it was planned for.
        frame: records in a frame of its edges.
        deadlines: by edge, seconds after its first record at which a frame leaves at the latest.
        program: the hash of what it runs.
        partitions: of its input.
        whole: where a program was split for batches, all of its operators; this is a piece of it.
    """

    name: str
    operators: tuple[str, ...]
    paradigm: Paradigm
    parallelism: int
    frame: int
    deadlines: dict[str, float]
    program: str
    partitions: int
    whole: tuple[str, ...] = ()


class Plan(msgspec.Struct, frozen=True):
    """What is to run.

    Attributes:
        number: counts plans up.
        segments: all of them, in topological order.
    """

    number: int
    segments: tuple[PlannedSegment, ...] = ()


class Slot(msgspec.Struct, frozen=True):
    """One life of a slot, as the log and its reports have it.

    Attributes:
        slot, incarnation: which life.
        silent: nothing was heard of it for too long; what it has is taken over.
        leaving: it has to end, and gives everything away.
        busy: the share of its time in which its loop had work.
        cpu: the share of a core that it uses.
        memory: bytes that are resident.
        partitions: that it has.
        address: where its worker answers HTTP.
    """

    slot: str
    incarnation: int
    silent: bool
    leaving: bool
    busy: float | None
    cpu: float | None
    memory: int | None
    partitions: int
    address: str = ""


class Operator(msgspec.Struct, frozen=True):
    """What one operator does, over all of its partitions.

    Attributes:
        name: of the operator.
        rate_in, rate_out: records per second.
        errors: records per second on which it failed; they are dead letters.
        micros: microseconds of the loop for a record.
    """

    name: str
    rate_in: float | None
    rate_out: float | None
    errors: float | None
    micros: float | None


class Batch(msgspec.Struct, frozen=True):
    """The last batch of a segment.

    Attributes:
        at: when it was done.
        records: that it took in.
        seconds: that it took, from what is to be run until everything was stored.
        interval_ms: from one batch to the next, as it is now.
        capacity: records per second that batches do.
    """

    at: float
    records: int
    seconds: float
    interval_ms: float
    capacity: float | None


class StandbyState(enum.StrEnum):
    """Whether batches could begin at once."""

    OFF = "off"  # no segment may run in batches, or nobody asked for a Spark
    STARTING = "starting"
    WARM = "warm"
    FAILED = "failed"


class Standby(msgspec.Struct, frozen=True):
    """The Spark that waits for bursts.

    Attributes:
        state: of it.
        problem: why there is none, and what to do; empty if there is.
        seconds: that its start took; None before it was there.
        memory: bytes that are resident, of all of its processes.
        cpu: the share of a core that they use.
    """

    state: StandbyState
    problem: str = ""
    seconds: float | None = None
    memory: int | None = None
    cpu: float | None = None


class Segment(msgspec.Struct, frozen=True):
    """A segment at work.

    Attributes:
        name: its head.
        rate_in: records per second that it takes in.
        rate_out: records per second that leave it, towards all edges and outputs.
        lag: messages of its input that wait.
        busy: slots that it keeps busy; 0.5 is half of one.
        partitions: of its input.
        working: those of them whose owner processes records.
        moving: those of them that are on the move.
        operators: all that is known of each.
        paradigm: in which most of its partitions run now.
        batch: the last one; None as long as it has run in none.
        phases: milliseconds that a record is in each phase in the mean, of those that went record by record.
    """

    name: str
    rate_in: float | None
    rate_out: float | None
    lag: int | None
    busy: float | None
    partitions: int
    working: int
    moving: int
    operators: tuple[Operator, ...] = ()
    paradigm: Paradigm = Paradigm.RECORD
    batch: Batch | None = None
    phases: dict[str, float] = {}


class Latency(msgspec.Struct, frozen=True):
    """How old records are when they leave towards an output, over the last 10 s.

    Attributes:
        within: the share of them that is within the bound; None without records.
        p50_ms, p99_ms: half, and 99 % of them, are no older: the upper ends of buckets, so up to 41 % too high. None
            without records, and where that is beyond the last bucket (65 s).
        rate: records per second.
    """

    within: float | None
    p50_ms: float | None
    p99_ms: float | None
    rate: float | None


class Promise(msgspec.Struct, frozen=True):
    """The promise of the job, and how it is kept.

    Attributes:
        quantile: the share of records that shall be within the bound.
        bound_ms: the bound, in milliseconds.
        within, p50_ms, p99_ms, rate: as of `Latency`, over all outputs.
        outputs: each of them, by name.
    """

    quantile: float
    bound_ms: float
    within: float | None
    p50_ms: float | None
    p99_ms: float | None
    rate: float | None
    outputs: dict[str, Latency] = {}


class Move(msgspec.Struct, frozen=True):
    """A partition that changed hands.

    Attributes:
        at: when that was done.
        kind: why, in one word.
        partition: as segment/number.
        source, target: the slots; None where there is none.
        pause_ms: from the moment at which its owner was asked to stop, or was found to be lost, until it was assigned
            again, by the driver's clock; None where nobody had it, or it rests.
        reason: why, as one sentence.
        prepare_ms: before that, while the old owner still worked, what the new one took to make itself ready; None
            where nothing was prepared.
    """

    at: float
    kind: MoveKind
    partition: str
    source: str | None
    target: str | None
    pause_ms: float | None
    reason: str
    prepare_ms: float | None = None


class Condition(msgspec.Struct, frozen=True):
    """One thing that is so, or isn't, as Kubernetes has conditions.

    Attributes:
        type: `Accepted`, `Topics`, `Leading`, `Assigned`, `RollOut`, `Paused`.
        status: whether it is so.
        reason: one word, out of a closed set.
        message: for people: what is wrong, and what to do.
    """

    type: str
    status: bool
    reason: str
    message: str = ""


class Recommended(msgspec.Struct, frozen=True):
    """How much the load needs, for whoever starts and stops workers.

    Attributes:
        slots: as many slots; None when nobody can tell.
        workers: as many workers of `execution.workers.slots`; None when nobody can tell.
        reason: one word, out of a closed set.
        sentence: why, with the numbers of this case.
        executors: Spark executors for what runs in batches, or is about to; None when nobody can tell.
    """

    slots: int | None
    workers: int | None
    reason: str
    sentence: str
    executors: int | None = None


class Observation(msgspec.Struct, frozen=True):
    """All that a driver tells of its job.

    Attributes:
        version: of this format.
        job: as namespace/name.
        at: when that was so.
        leader: the number under which the driver leads; 0 while it doesn't.
        ready: it leads, the topics are there, and every partition has an owner that works (or is meant to rest).
        granted: workers that may own partitions; None before anybody said so: then all may.
        plan: what is to run; None before there is one.
        slots: all that the log knows and that are not over.
        segments: as they work.
        latency: the promise, and how it is kept.
        rate_in: records per second over all sources; None when nobody measured it.
        letters: dead letters, since the slots of now began.
        late: records that came too late for their window, since the owners of now began.
        recommended: what the load needs.
        moves: the last ones, the newest last.
        conditions: what is so, and what isn't.
        standby: the Spark that waits for bursts.
        generation: of the manifest that was read last, as the API server counts them; 0 where it has none.
        executors: Spark executors that are there; None where Spark has none of its own.
    """

    version: int
    job: str
    at: float
    leader: int
    ready: bool
    granted: int | None
    plan: Plan | None
    slots: tuple[Slot, ...]
    segments: tuple[Segment, ...]
    latency: Promise
    rate_in: float | None
    letters: int
    late: int
    recommended: Recommended
    moves: tuple[Move, ...] = ()
    conditions: tuple[Condition, ...] = ()
    standby: Standby = Standby(StandbyState.OFF)
    generation: int = 0
    executors: int | None = None


class Grant(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How many workers, from 0 up, may own partitions; the answer of the driver is the same, as it took it.

    Attributes:
        version: of this format.
        workers: so many; 0 brings every partition to rest.
        executors: how many executors Spark may have; None leaves that as it is.
    """

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)]
    workers: Annotated[int, msgspec.Meta(ge=0, le=MOST_WORKERS)]
    executors: Annotated[int, msgspec.Meta(ge=0, le=MOST_WORKERS)] | None = None


class SwitchOrder(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a person wants to run in another paradigm.

    Attributes:
        version: of this format.
        operators: to batches exactly these go, and a program of which they are a part is split; back come all that
            were fused with them.
        to: batch, or record.
        dry_run: only say what would be done.
    """

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)]
    operators: Annotated[
        tuple[Annotated[str, msgspec.Meta(min_length=1, max_length=253)], ...],
        msgspec.Meta(min_length=1, max_length=1000),
    ]
    to: Literal["batch", "record"]
    dry_run: bool = False


class Deployment(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a driver that is directed is to run: each operator on slots of its own.

    Attributes:
        version: of this format.
        tasks: slots, by operator; all of them.
        frames: records in a frame, by the operator that sends it; 1 where nothing is said.
        deadline: seconds after its first record at which a frame leaves at the latest.
    """

    version: Annotated[int, msgspec.Meta(ge=VERSION, le=VERSION)]
    tasks: dict[str, Annotated[int, msgspec.Meta(ge=1, le=MOST_WORKERS)]]
    frames: dict[str, Annotated[int, msgspec.Meta(ge=1, le=MOST_FRAME)]] = {}
    deadline: Annotated[float, msgspec.Meta(ge=0, le=3600)] = 0.0


class Deployed(msgspec.Struct, frozen=True):
    """How far a deployment is.

    Attributes:
        version: of this format.
        deployment: what was asked for last; None before anybody did.
        missing: what is not so yet, as one sentence; empty once it runs like that.
    """

    version: int
    deployment: Deployment | None
    missing: str


class SwitchAnswer(msgspec.Struct, frozen=True):
    """What becomes of an order.

    Attributes:
        version: of this format.
        done: whether it is carried out.
        operators: all that change their paradigm.
        to: batch, or record.
        sentence: what is done, or what would be; or why nothing is, and what to do about that.
    """

    version: int
    done: bool
    operators: tuple[str, ...]
    to: str
    sentence: str


encode = msgspec.json.Encoder().encode
observation = msgspec.json.Decoder(Observation).decode
grant = msgspec.json.Decoder(Grant).decode
switch_order = msgspec.json.Decoder(SwitchOrder).decode
switch_answer = msgspec.json.Decoder(SwitchAnswer).decode
deployment = msgspec.json.Decoder(Deployment).decode
deployed = msgspec.json.Decoder(Deployed).decode
