"""What is so with a job, and what isn't: the conditions that a driver tells, and their closed set of reasons."""

from __future__ import annotations

import enum

from spillway.controllers.explain import Reasons
from spillway.model.observation import Condition

LONGEST = 1024  # characters of a message, as in the status of a StreamJob


class Kind(enum.StrEnum):
    """What a condition speaks of."""

    ACCEPTED = "Accepted"
    TOPICS = "Topics"
    LEADING = "Leading"
    ASSIGNED = "Assigned"
    ROLL_OUT = "RollOut"
    PAUSED = "Paused"


class Reason(Reasons):
    """Why a condition is as it is."""

    VALID = "Valid", "The manifest is used as it is written."
    NOT_ACCEPTED = "NotAccepted", "The manifest can't be run; the last one that could goes on."
    NOT_COMPATIBLE = "NotCompatible", "What is stored could not be read under this manifest; the last one goes on."
    CODE_MISSING = "CodeMissing", "A Python function can't be loaded; the last manifest goes on."
    WAITING = "Waiting", "The manifest is right, and waits for the last change to be done."
    ROLLED_BACK = "RolledBack", "Slots could not run the new programs; the job went back to those before."
    COMPLETE = "Complete", "Every topic is there."
    LOOKING = "Looking", "Topics were not looked at yet, or nobody answers."
    TOPIC_MISSING = "TopicMissing", "A topic of the user is missing; who reads or writes it rests."
    TOPIC_MADE_ANEW = "TopicMadeAnew", "A topic was deleted and made anew; who reads it rests."
    TOPIC_UNFIT = "TopicUnfit", "A topic of the job is not as the job needs it."
    LEADS = "Leads", "This driver leads."
    FOLLOWS = "Follows", "This driver doesn't lead yet."
    WORKING = "Working", "Every partition that shall has an owner that works."
    STARTING = "Starting", "Some partitions have no owner that works yet."
    HALTED = "Halted", "Some partitions do not go on before somebody has seen to them; the message says where and why."
    NO_SLOTS = "NoSlots", "There is no slot that could own anything."
    MOVES_FAIL = "MovesFail", "Some partitions could not be moved; that is tried again."
    DONE = "Done", "Every partition runs the program of the plan."
    ROLLING = "Rolling", "Partitions get their new programs, a few at a time."
    DRAINING = "Draining", "An edge is read to its end before its reader changes."
    PAUSED = "Paused", "The manifest asks for a pause."
    NO_WORKERS = "NoWorkers", "No worker may own partitions, by the last grant."
    RUNNING = "Running", "Nothing holds the job back."


def condition(kind: Kind, status: bool, reason: Reason, message: str = "") -> Condition:
    """A condition; without a message, what its reason means."""
    text = message or reason.meaning
    return Condition(kind, status, reason, text if len(text) <= LONGEST else text[: LONGEST - 2] + " …")
