"""From a file and options to what is asked of planning, or to a sentence that says what is wrong."""

from __future__ import annotations

import math
import re
from collections.abc import Collection, Mapping, Sequence

from spillway.cli import jobs, terminal
from spillway.model import errors
from spillway.model.streamjob import StreamJob

# Records per second of one source; the largest Kafka clusters that we know of take 10^9 with all their topics.
MOST = 1e12
_NUMBER = re.compile(r"([0-9][0-9_]*\.?[0-9]*(?:[eE][-+]?[0-9]{1,3})?)([kMG]?)")
_FACTORS = {"": 1.0, "k": 1e3, "M": 1e6, "G": 1e9}


class RefusedError(errors.TerminalError):
    """What was asked can't be answered; carries the lines that say why, and the option that is to blame if one is."""

    def __init__(self, *lines: str, option: str = "") -> None:
        super().__init__("\n".join(lines))
        self.lines = lines
        self.option = option


def job(file: str) -> StreamJob:
    """The only StreamJob of a file."""
    try:
        return jobs.read(file, "a plan is of one").job
    except jobs.UnfitError as unfit:
        raise RefusedError(*unfit.lines) from None


def number(text: str, option: str) -> float:
    """Records per second as people write them: 500000, 500_000, 5e5, 500k."""
    parts = _NUMBER.fullmatch(text.strip())
    value = float(parts[1]) * _FACTORS[parts[2]] if parts is not None else math.nan
    if not 0 <= value <= MOST:
        message = (
            f"'{terminal.clean(text)}' is no rate; write records per second from 0 to 10^12, such as 500000 or 500k"
        )
        raise RefusedError(message, option=option)
    return value


def rates(asked: StreamJob, rate: str | None, sources: Sequence[str], known: Collection[str] = ()) -> dict[str, float]:
    """Records per second of every stream but the `known` ones, and of the tables that `--source` names."""
    there = names(asked)
    found: dict[str, float] = {}
    for text in sources:
        name, equals, of_source = text.partition("=")
        if not equals:
            message = f"'{terminal.clean(text)}' has no rate; write NAME=RATE, such as {there[0]}=1000"
            raise RefusedError(message, option="--source")
        check_source(name, there, "--source")
        if name in found or name in known:
            message = f"{name!r} is there twice"
            raise RefusedError(message, option="--source")
        found[name] = number(of_source, "--source")
    missing = [stream.name for stream in asked.spec.streams if stream.name not in found and stream.name not in known]
    if rate is None and missing:
        way = f"give --rate for all streams, or --source {missing[0]}=RATE"
        message = f"nothing is said about {', '.join(missing)}: {way}"
        raise RefusedError(message, option="--rate")
    if rate is not None:
        found |= dict.fromkeys(missing, number(rate, "--rate"))
    return found


def check_some(rates: Mapping[str, float]) -> None:
    """Refuse a load of nothing."""
    if not any(rates.values()):
        message = "no records at all: a plan needs a rate above 0"
        raise RefusedError(message, option="--rate")


def names(asked: StreamJob) -> list[str]:
    """The streams and tables of a job."""
    return [*(stream.name for stream in asked.spec.streams), *(table.name for table in asked.spec.tables)]


def check_source(name: str, known: Collection[str], option: str) -> None:
    """Refuse a name that is neither a stream nor a table of the job."""
    if name not in known:
        guess = errors.did_you_mean(name, known) or f"; there are {', '.join(known)}"
        message = f"no stream or table is called {name!r}{guess}"
        raise RefusedError(message, option=option)
