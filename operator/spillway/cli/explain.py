"""`spillway explain`: what a running job has decided last, why, and what it has rejected."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from spillway.cli import options, terminal

if TYPE_CHECKING:
    from spillway.cli.asking.accounts import Account
    from spillway.cli.asking.places import Place


def explain(
    job: options.Job,
    namespace: options.Namespace = None,
    state: options.State = None,
    driver: options.Driver = None,
    context: options.Context = None,
    output: options.Output = options.Format.TEXT,
) -> None:
    """Say why a running job runs as it does.

    How the promise is kept; of each segment, in which paradigm it runs, since when and why, and what would make the
    other one better; of each part of its driver, what it decides now, what it has changed last, and what it has
    rejected. V, P_D, P_O and L are what arrives, what either paradigm does, and what waits.

    \b
    Exit code: 0 shown, 1 the job does not run or does not answer, 2 wrong use.
    Example:   spillway explain word-count --namespace analytics
    """  # noqa: D301 - \\b keeps the lines apart in --help
    import datetime

    from spillway.cli.asking import places, sheets
    from spillway.cli.planning.sheets import console

    with places.found(places.Asked(job, namespace, state, driver, context)) as place:
        found = _asked(place)
    if output is options.Format.JSON:
        terminal.say(json.dumps(sheets.data(found), indent=2))
    else:
        sheets.show(found, console(), datetime.datetime.now().astimezone().tzinfo)


def _asked(place: Place) -> Account:
    """All that the driver tells, and what it would answer to somebody who switched a segment."""
    import contextlib

    from spillway.cli.asking import accounts, told
    from spillway.local.driver import DriverError
    from spillway.model.operators import Paradigm

    seen = place.observation()
    news = [told.decision(one) for one in place.driver.decisions()]
    deciding = told.deciding(place.driver.deciding())
    answers = {}
    # On a cluster not everybody who may look may order something, be it only to hear what would become of it.
    excused = (DriverError,) if place.connection is not None else ()
    for segment in seen.segments:
        to = "record" if segment.paradigm is Paradigm.BATCH else "batch"
        names = accounts.operators(seen).get(segment.name)
        with contextlib.suppress(*excused):
            if names:
                answers[segment.name] = place.driver.switch(
                    names, "record" if to == "record" else "batch", dry_run=True
                )
    return accounts.account(seen, news, deciding, answers)
