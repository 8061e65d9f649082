"""Functions of the user: how they are found, what is wrong with them, and what they may give."""

from __future__ import annotations

import datetime
import sys
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from spillway.model import types
from spillway.runtime import functions
from spillway.runtime.functions import FunctionError


@pytest.fixture(autouse=True)
def modules() -> Iterator[None]:
    """What a test imports is gone after it."""
    known, path = dict(sys.modules), list(sys.path)
    yield
    for name in sys.modules.keys() - known.keys():
        del sys.modules[name]
    sys.path[:] = path


def code(folder: Path, **texts: str) -> Path:
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def test_a_function_is_found_in_the_folder_of_the_job(tmp_path: Path) -> None:
    code(tmp_path, ads="def enrich(record):\n    return {**record, 'x': 1}\n")

    assert functions.load("ads:enrich", tmp_path).call({"a": 2}) == {"a": 2, "x": 1}


def test_a_function_is_found_where_python_looks() -> None:
    assert functions.load("textwrap:dedent").call(" a") == "a"


def test_modules_of_a_job_import_one_another(tmp_path: Path) -> None:
    code(
        tmp_path,
        job_words="GOOD = {'good'}\n",
        job_mood="from job_words import GOOD\n\ndef is_good(r):\n    return r['w'] in GOOD\n",
    )

    assert functions.load("job_mood:is_good", tmp_path).call({"w": "good"}) is True


def test_a_package_may_be_in_the_folder(tmp_path: Path) -> None:
    (tmp_path / "shop").mkdir()
    code(tmp_path / "shop", __init__="", prices="def net(r):\n    return r\n")

    assert functions.load("shop.prices:net", tmp_path).call(1) == 1


@pytest.mark.parametrize(
    ("reference", "text", "why"),
    [
        ("nowhere:f", "", "there is no module 'nowhere' in .*, or on Python's path"),
        ("ads:enrich", "def enriched(r): ...\ndef other(r): ...\n_x = 1\n", "has no 'enrich'; it has enriched, other"),
        ("ads:enrich", "", "has no 'enrich'; it has none"),
        ("ads:enrich", "enrich = 5\n", "'ads:enrich' is a int, which can't be called"),
        ("ads:enrich", "import not_there_at_all\n", "module 'ads' imports 'not_there_at_all', which is not installed"),
        ("ads:enrich", "1 / 0\n", "module 'ads' raised when it was imported: ZeroDivisionError: division by zero"),
        ("ads:enrich", "def enrich(:\n", "module 'ads' raised when it was imported: SyntaxError"),
        ("json:dumps", "", "module 'json' of the job's code hides another module of that name; rename json.py"),
    ],
)
def test_what_is_wrong_is_said(tmp_path: Path, reference: str, text: str, why: str) -> None:
    code(tmp_path, ads=text, json=text)

    with pytest.raises(FunctionError, match=why):
        functions.load(reference, tmp_path)


def test_a_module_without_python_source_is_refused() -> None:
    with pytest.raises(FunctionError, match="has no Python source"):
        functions.load("itertools:chain")


def test_a_module_that_raised_can_be_loaded_once_it_is_right(tmp_path: Path) -> None:
    code(tmp_path, ads="1 / 0\n")
    with pytest.raises(FunctionError):
        functions.load("ads:f", tmp_path)
    code(tmp_path, ads="def f(r):\n    return r\n\n# longer now, so that nobody takes it for the old one\n")

    assert functions.load("ads:f", tmp_path).call(3) == 3


def test_the_digest_changes_with_any_module_of_the_job_and_with_nothing_else(tmp_path: Path) -> None:
    folders = [tmp_path / name for name in "abc"]
    for folder, other in zip(folders, ("X = 1\n", "X = 1\n", "X = 2\n"), strict=True):
        folder.mkdir()
        code(folder, ads="def f(r):\n    return r\n", other=other)
        (folder / "notes.txt").write_text(folder.name)
    found = []
    for folder in folders:
        sys.modules.pop("ads", None)
        found.append(functions.load("ads:f", folder).digest)

    assert found[0] == found[1] != found[2]


def test_what_is_written_after_the_import_is_not_what_runs_and_not_what_the_digest_says(tmp_path: Path) -> None:
    code(tmp_path, late_ads="def f(r):\n    return r\n")
    before = functions.load("late_ads:f", tmp_path)
    code(tmp_path, late_ads="def f(r):\n    return None\n")
    after = functions.load("late_ads:f", tmp_path)

    assert after.call(3) == 3
    assert after.digest == before.digest


SCHEMA = types.parse_schema(
    "i int, b bigint, d double, n decimal(6,2), s string, y binary, f boolean, t timestamp, u date, a array<timestamp>"
)
UTC = datetime.UTC
GOOD: dict[str, Any] = {
    "i": 1, "b": 2**40, "d": 1.5, "n": Decimal("1.005"), "s": "é", "y": b"x", "f": True,
    "t": datetime.datetime(1970, 1, 1, 0, 0, 1, 5, UTC), "u": datetime.date(1970, 1, 2),
    "a": (datetime.datetime(1970, 1, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=1))), None),
}  # fmt: skip


def test_a_result_becomes_a_row() -> None:
    row = functions.checker("ads:f", SCHEMA)({**GOOD, "more": object()})

    assert row == (1, 2**40, 1.5, Decimal("1.01"), "é", b"x", True, 1_000_005, 1, [0, None])


@pytest.mark.parametrize(
    ("column", "value", "row"),
    [
        ("d", 3, 3.0),
        ("n", 7, Decimal("7.00")),
        ("y", bytearray(b"z"), b"z"),
        ("t", datetime.datetime(1970, 1, 1, 0, 0, 2), 2_000_000),  # noqa: DTZ001 - in UTC, as everything in a job
        ("s", None, None),
    ],
)
def test_what_is_near_enough_is_taken(column: str, value: Any, row: Any) -> None:
    found = functions.checker("ads:f", SCHEMA)({**GOOD, column: value})[SCHEMA.names.index(column)]

    assert found == row
    assert type(found) is type(row)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("i", 2**31, "column 'i': expected int, found int 2147483648"),
        ("i", True, "column 'i': expected int, found bool True"),
        ("i", 1.0, "column 'i': expected int, found float 1.0"),
        ("d", "1", "column 'd': expected double, found str '1'"),
        ("n", Decimal("NaN"), "column 'n': expected decimal"),
        ("n", Decimal(10_000), "column 'n': .*does not fit decimal"),
        ("s", 5, "column 's': expected string, found int 5"),
        ("s", "\ud800", "column 's': .*surrogates not allowed"),
        ("f", 1, "column 'f': expected boolean, found int 1"),
        ("t", 5, r"column 't': expected timestamp \(a datetime\), found int 5"),
        ("u", datetime.datetime(1970, 1, 1, tzinfo=UTC), r"column 'u': expected date \(a date\)"),
        ("a", "ab", r"column 'a': expected array<timestamp> \(a list\), found str 'ab'"),
        ("a", [1], "column 'a': expected timestamp"),
        ("s", ["x" * 500], "…$"),
    ],
)
def test_a_wrong_value_is_refused_with_its_column(column: str, value: Any, why: str) -> None:
    with pytest.raises(FunctionError, match=why):
        functions.checker("ads:f", SCHEMA)({**GOOD, column: value})


@pytest.mark.parametrize("record", [None, 5, "text", [("i", 1)]])
def test_what_is_no_record_is_refused(record: Any) -> None:
    with pytest.raises(FunctionError, match=f"ads:f gave {type(record).__name__}.*; a record is a dict of i, b"):
        functions.checker("ads:f", SCHEMA)(record)


def test_a_column_that_is_left_out_is_named() -> None:
    with pytest.raises(FunctionError, match="left out column 'u'; give None where there is no value"):
        functions.checker("ads:f", SCHEMA)({name: value for name, value in GOOD.items() if name != "u"})


@pytest.mark.parametrize("found", [1, None, "yes", []])
def test_a_filter_gives_true_or_false(found: Any) -> None:
    decide = functions.passes("ads:f")

    assert (decide(True), decide(False)) == (True, False)
    with pytest.raises(FunctionError, match="a filter gives True or False"):
        decide(found)


def test_times_outside_of_pythons_years_are_refused() -> None:
    assert functions.to_datetime(-1) == datetime.datetime(1969, 12, 31, 23, 59, 59, 999_999, UTC)
    assert functions.to_date(-1) == datetime.date(1969, 12, 31)
    with pytest.raises(FunctionError, match="outside of the years 1 to 9999"):
        functions.to_datetime(2**63 - 1)
    with pytest.raises(FunctionError, match="outside of the years 1 to 9999"):
        functions.to_date(2**31 - 1)
