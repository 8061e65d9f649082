"""`spillway switch`: an order to the driver, and how it goes."""

from __future__ import annotations

import contextlib
import json
import threading
from pathlib import Path
from typing import Any

import msgspec
import pytest
from typer.testing import CliRunner, Result

import asked
from fake_driver import FakeDriver
from recorded_job import HEAD, PARTITIONS
from spillway.cli.asking import crossings, places
from spillway.cli.asking.places import Asked, Place
from spillway.cli.main import app
from spillway.local import state
from spillway.local.driver import DriverError
from spillway.model.observation import Condition, Move, MoveKind, Observation, SwitchAnswer, SwitchOrder
from spillway.model.operators import Paradigm

DONE, REFUSED, UNREADABLE = 0, 1, 2


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossings, "TURN", 0.01)


def switch(driver: FakeDriver, *arguments: str, operators: str = "views", to: str = "batch") -> Result:
    command = ["switch", "ysb", "--driver", driver.address, "--operators", operators, "--to", to, *arguments]
    result = CliRunner().invoke(app, command)
    assert result.exception is None or isinstance(result.exception, SystemExit), result.exception
    return result


def data(result: Result) -> Any:
    return json.loads(result.stdout)


def moved(seen: Observation, count: int, to: Paradigm = Paradigm.BATCH) -> Observation:
    """The same with so many partitions of `views` in the other paradigm."""
    slots = ("w0.0", "batch") if to is Paradigm.BATCH else ("batch", "w0.0")
    moves = tuple(
        Move(seen.at + number / 100, MoveKind.SWITCH, f"views/{number}", *slots, 10.0 + number, "somebody asked for it")
        for number in range(count)
    )
    views, *others = seen.segments
    left = PARTITIONS - count
    assert seen.plan is not None
    planned = tuple(
        msgspec.structs.replace(one, paradigm=to) if one.name == "views" else one for one in seen.plan.segments
    )
    views = msgspec.structs.replace(views, paradigm=views.paradigm if left else to, moving=min(left, 2))
    plan = msgspec.structs.replace(seen.plan, segments=planned)
    return msgspec.structs.replace(seen, segments=(views, *others), moves=(*seen.moves, *moves), plan=plan)


def obedient(driver: FakeDriver, *counts: int, to: Paradigm = Paradigm.BATCH) -> None:
    """Moves so many partitions, and then so many, soon after an order."""
    before = driver.seen

    def carry_out() -> None:
        for count in counts:
            driver.seen = moved(before, count, to)
            ended.wait(0.05)

    def order(order: SwitchOrder) -> SwitchAnswer:
        answer = asked.answer(order)
        if answer.done:
            threading.Thread(target=carry_out, daemon=True).start()
        return answer

    ended = threading.Event()
    driver.ordered = order


def test_it_waits_until_all_partitions_are_there_and_tells_their_pauses() -> None:
    with asked.driver() as driver:
        obedient(driver, 1, 4, PARTITIONS)
        result = switch(driver, operators=" views , joined,views")

    assert result.exit_code == DONE, result.output
    said, there = result.stdout.splitlines()
    assert said == "views, fields, joined move to batches"
    assert there.startswith("there after ")
    assert there.endswith(": 8 of 8 partitions; paused for 17 ms at the longest at views/7, half of them at most 14 ms")
    assert driver.orders == [SwitchOrder(1, ("views", "joined"), "batch", False)]


def test_back_is_the_same_the_other_way() -> None:
    with asked.driver(asked.BURST) as driver:
        obedient(driver, 3, PARTITIONS, to=Paradigm.RECORD)
        result = switch(driver, to="record")

    assert result.exit_code == DONE, result.output
    assert "8 of 8 partitions" in result.stdout


def test_json_has_every_move() -> None:
    with asked.driver() as driver:
        obedient(driver, PARTITIONS)
        found = data(switch(driver, "-o", "json"))

    assert found.keys() == {
        "done", "dry_run", "operators", "to", "sentence", "arrived", "seconds", "partitions", "pause_ms_max", "moves",
        "problem",
    }  # fmt: skip
    assert (found["done"], found["arrived"], found["dry_run"], found["problem"]) == (True, True, False, "")
    assert found["operators"] == list(HEAD)
    assert (found["partitions"], found["pause_ms_max"], len(found["moves"])) == (PARTITIONS, 17.0, PARTITIONS)
    assert found["moves"][0].keys() == {"at", "partition", "from", "to", "pause_ms"}
    assert (found["moves"][0]["from"], found["moves"][0]["to"]) == ("w0.0", "batch")


def test_what_would_be_done_is_only_said() -> None:
    with asked.driver() as driver:
        result = switch(driver, "--dry-run")
        found = data(switch(driver, "--dry-run", "-o", "json"))

    assert (result.exit_code, result.stdout) == (DONE, "views, fields, joined would move to batches\n")
    assert all(order.dry_run for order in driver.orders)
    assert (found["done"], found["arrived"], found["dry_run"], found["moves"]) == (False, False, True, [])


def test_who_does_not_wait_is_told_what_was_ordered() -> None:
    with asked.driver() as driver:
        result = switch(driver, "--no-wait")

    assert (result.exit_code, result.stdout) == (DONE, "views, fields, joined move to batches\n")


@pytest.mark.parametrize("more", [(), ("--dry-run",), ("--no-wait",)], ids=str)
def test_what_is_refused_is_said_with_why(more: tuple[str, ...]) -> None:
    with asked.driver() as driver:
        result = switch(driver, *more, operators="counts")
        found = data(switch(driver, *more, "-o", "json", operators="counts"))

    assert (result.exit_code, result.stdout, result.stderr) == (REFUSED, "", f"refused: {asked.NEVER}\n")
    assert (found["done"], found["arrived"], found["sentence"]) == (False, False, asked.NEVER)


def test_what_runs_so_already_is_as_it_was_asked_for() -> None:
    with asked.driver(asked.BURST) as driver:
        driver.ordered = lambda order: SwitchAnswer(1, False, (), order.to, "views runs so already")
        result = switch(driver)
        on_the_way = switch(driver, to="record")  # refused for another reason than that

    assert (result.exit_code, result.stdout) == (DONE, "views runs so already\n")
    assert on_the_way.exit_code == REFUSED


def test_what_is_not_there_in_time_says_how_far_it_is_and_what_hinders_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(crossings, "PATIENCE", 0.2)
    with asked.driver() as driver:
        hindered = Condition("Assigned", False, "MovesFail", "views/3: no module named 'ads'\x1b[2J")
        driver.seen = msgspec.structs.replace(driver.seen, conditions=(hindered,))
        obedient(driver, 3)
        result = switch(driver)

    assert result.exit_code == REFUSED
    assert result.stderr.startswith("not there after ")
    assert "3 of 8 partitions; paused for 12 ms at the longest at views/2" in result.stderr
    assert result.stderr.endswith(": views/3: no module named 'ads'\\x1b[2J\n")


def test_what_the_driver_gives_up_is_not_waited_for() -> None:
    with asked.driver() as driver:
        before = driver.seen

        def order(order: SwitchOrder) -> SwitchAnswer:
            driver.seen = moved(before, 2)
            threading.Timer(0.2, lambda: setattr(driver, "seen", before)).start()
            return asked.answer(order)

        driver.ordered = order
        found = data(switch(driver, "-o", "json"))

    assert found["arrived"] is False
    assert found["seconds"] < crossings.PATIENCE / 2
    assert "given up" in found["problem"]


def test_a_driver_that_is_away_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    with asked.driver() as driver:
        obedient(driver, PARTITIONS)
        real, times = Place.observation, iter(range(100))

        def flaky(place: Place) -> Observation:
            if next(times) == 1:
                message = "it does not answer"
                raise DriverError(message)
            return real(place)

        monkeypatch.setattr(Place, "observation", flaky)
        result = switch(driver)

    assert result.exit_code == DONE, result.output


def test_a_run_that_ends_meanwhile_is_not_waited_for(tmp_path: Path) -> None:
    with asked.driver() as driver:
        with state.held(tmp_path) as held:
            held.tell(driver=driver.address)
            place = places.find(Asked("ysb", state=tmp_path), contextlib.ExitStack())
        crossing = crossings.begun(driver.seen, HEAD, Paradigm.BATCH)

    found = crossings.follow(place, crossing, driver.seen.at, lambda _: None)

    assert (found.arrived, found.problem) == (False, "the run of default/ysb has ended")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--operators", "views", "--to", "spark"], "Invalid value for --to"),
        (["--operators", " , ", "--to", "batch"], "name one at the least"),
        (["--to", "batch"], "Missing option --operators"),
    ],
    ids=str,
)
def test_a_wrong_call_is_said(arguments: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["switch", "ysb", *arguments])

    assert result.exit_code == UNREADABLE
    assert said in " ".join(result.stderr.replace("'", "").split())


def test_nothing_of_what_a_driver_says_steers_the_terminal() -> None:
    with asked.driver() as driver:
        driver.ordered = lambda order: SwitchAnswer(1, False, (), order.to, "no\x1b[2J\nnever")
        result = switch(driver)

    assert result.stderr == "refused: no\\x1b[2J\\nnever\n"


def test_moves_of_before_and_of_others_do_not_count() -> None:
    seen = asked.moments()[asked.CALM].seen
    crossing = crossings.begun(seen, ("fields",), Paradigm.BATCH)
    there = (
        Move(seen.at - 1, MoveKind.SWITCH, "views/0", "w0.0", "batch", 1.0, "an earlier one"),
        Move(seen.at + 1, MoveKind.SWITCH, "views/0", "batch", "w0.0", 1.0, "back"),
        Move(seen.at + 1, MoveKind.SWITCH, "counts/0", "w0.0", "batch", 1.0, "of another segment"),
        Move(seen.at + 1, MoveKind.RESIZE, "views/1", "w0.0", "w1.0", 1.0, "no switch"),
    )

    found = crossings.further(crossing, msgspec.structs.replace(seen, moves=there), seen.at, 1.0)

    assert crossing.segments == {"views": PARTITIONS}
    assert (found.there, found.arrived) == (0, False)
