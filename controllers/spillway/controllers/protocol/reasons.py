"""Why partitions change hands without being released, and why a move is given up."""

from __future__ import annotations

from spillway.controllers import explain


class Reason(explain.Reasons):
    """Why a move was given up."""

    HEIR_FAILED = "HeirFailed", "The new owner can't run the program; its message says why."
    HEIR_LATE = "HeirLate", "The new owner wasn't ready in time."
    HEIR_LOST = "HeirLost", "The new owner died before it was ready."
    RELEASE_LATE = "ReleaseLate", "The old owner didn't release in time, so it goes on."
    UNWANTED = "Unwanted", "By now the partition is wanted elsewhere, or where it is."
