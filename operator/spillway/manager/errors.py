"""What can go wrong between the manager and others, in the three behaviours of `spillway.model.errors`.

ClusterError (RetryError)     the API server could not be asked, or would not answer
├── UnreachableError          nothing answered, or with an error of its own; what was asked may have been done
├── NotFoundError             there is no such object
├── ConflictError             somebody changed it in between, or made it first
├── ForbiddenError            our account may not
├── TooManyError              it asks to wait
└── InvalidObjectError        it refuses what we wrote: a schema, an admission, a quota
DriverError (RetryError)      a driver does not answer, or not as agreed
LostError (SpillwayError)     the lease is somebody else's: this process has to end
"""

from __future__ import annotations

from spillway.model.errors import RetryError, SpillwayError


class ClusterError(RetryError):
    """The API server could not be asked, or would not."""


class UnreachableError(ClusterError):
    """Nothing answered, or with an error of its own."""


class NotFoundError(ClusterError):
    """There is no such object."""


class ConflictError(ClusterError):
    """Somebody changed it in between, or made it first."""


class ForbiddenError(ClusterError):
    """Our account may not, or an admission says no."""


class TooManyError(ClusterError):
    """The API server asks to wait.

    Attributes:
        seconds: so long.
    """

    def __init__(self, message: str, seconds: float = 1.0) -> None:
        super().__init__(message)
        self.seconds = seconds


class InvalidObjectError(ClusterError):
    """It refuses what we wrote."""


class DriverError(RetryError):
    """A driver does not answer, or not as agreed."""


class LostError(SpillwayError):
    """The lease is somebody else's."""
