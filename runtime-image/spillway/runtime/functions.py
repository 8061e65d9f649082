"""Functions of the user: found, loaded, and held to what the manifest says of them.

A function gets a record as a dict of its own, which it may change. Timestamps are aware `datetime`s in UTC, dates are
`date`s, arrays are lists of its own; everything else is as Python has it.

| as | gives |
|---|---|
| map | a dict with the columns of `returns`; further entries are ignored |
| flatMap | any number of such dicts: a list, or the function is a generator |
| filter | True or False |

Vectorised, it gets an Arrow record batch, and gives one: map with as many rows, filter a boolean array (or a batch with
one boolean column), flatMap any number of rows with an int column `_row` more, which says of each row of the result
which row of the batch it was made of.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import importlib
import importlib.util
import sys
import weakref
from collections.abc import Callable, Mapping
from decimal import Decimal
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn

from spillway.expressions import EvaluationError, arithmetic
from spillway.model.errors import TerminalError
from spillway.model.types import ColumnType, Kind, Schema

EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_FIRST_DAY = datetime.date(1970, 1, 1).toordinal()
_DAY, _SECOND = 86_400_000_000, 1_000_000  # microseconds
_SHOWN = 60  # characters of a wrong value in a message


class FunctionError(TerminalError):
    """A function that isn't there or can't be loaded, or a result that is not what the manifest says."""


@dataclasses.dataclass(frozen=True, slots=True)
class Function:
    """A loaded function.

    Attributes:
        reference: as in the manifest, `module:function`.
        call: the function itself.
        digest: of the source that it comes from: the other modules beside it count too, since it may use them.
    """

    reference: str
    call: Callable[..., Any]
    digest: str


def load(reference: str, folder: Path | None = None) -> Function:
    """Find and import a function, in the folder first (a job's code), then wherever Python looks.

    Raises FunctionError that says what is missing, or what the module raised when it was imported.
    """
    module_name, _, name = reference.partition(":")
    module, digest = _module(module_name, folder)
    found = getattr(module, name, None)
    if found is None:
        known = sorted(n for n, value in vars(module).items() if callable(value) and not n.startswith("_"))
        message = f"function {reference!r}: module {module_name!r} has no {name!r}; it has {', '.join(known) or 'none'}"
        raise FunctionError(message)
    if not callable(found):
        message = f"function {reference!r} is a {type(found).__name__}, which can't be called"
        raise FunctionError(message)
    return Function(reference, found, digest)


# By module, of the source that it was imported from. Python imports a module once, so whatever is written later is not
# what this process runs: other code needs other processes.
_imported: weakref.WeakKeyDictionary[ModuleType, str] = weakref.WeakKeyDictionary()


def _module(name: str, folder: Path | None) -> tuple[ModuleType, str]:
    path = None if folder is None else _file(folder, name)
    try:
        if folder is not None and path is not None:
            digest = _digest(folder.rglob("*.py"), folder)  # before the import: it may be written meanwhile
            found = _from_folder(name, path, folder)
            return found, _imported.setdefault(found, digest)
        module = importlib.import_module(name)
    except FunctionError:
        raise
    except ModuleNotFoundError as error:
        if error.name is not None and (name == error.name or name.startswith(f"{error.name}.")):
            where = "" if folder is None else f" in {folder}, or"
            message = f"there is no module {name!r}{where} on Python's path"
        else:
            message = f"module {name!r} imports {error.name!r}, which is not installed here"
        raise FunctionError(message) from error
    except Exception as error:
        message = f"module {name!r} raised when it was imported: {type(error).__name__}: {error}"
        raise FunctionError(message) from error
    file = getattr(module, "__file__", None)
    if file is None or not file.endswith(".py"):
        message = f"module {name!r} has no Python source, so nobody could tell when it changes"
        raise FunctionError(message)
    return module, _imported.setdefault(module, _digest([Path(file)], Path(file).parent))


def _file(folder: Path, name: str) -> Path | None:
    stem = folder.joinpath(*name.split("."))
    return next((path for path in (stem.with_suffix(".py"), stem / "__init__.py") if path.is_file()), None)


def _from_folder(name: str, path: Path, folder: Path) -> ModuleType:
    """Import a module of the job's code; one that Python has from elsewhere under this name doesn't count.

    The folder goes on Python's path, at its end: modules of the job import one another, and hide nobody else's.
    """
    if str(folder) not in sys.path:
        sys.path.append(str(folder))
    known = sys.modules.get(name)
    if known is not None and Path(getattr(known, "__file__", None) or "").resolve() == path.resolve():
        return known
    if known is not None or name in sys.stdlib_module_names:
        message = f"module {name!r} of the job's code hides another module of that name; rename {path.name}"
        raise FunctionError(message)
    if "." in name:
        importlib.import_module(name.rpartition(".")[0])
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None  # noqa: S101 - a file that ends with .py has a loader
    assert spec.loader is not None  # noqa: S101
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]
        raise
    return module


def _digest(paths: Any, folder: Path) -> str:
    """Of names and contents, in an order that no file system decides; `..data` is how a ConfigMap is swapped."""
    total = hashlib.sha256()
    for path in sorted(path for path in paths if not path.parent.name.startswith("..")):
        content = path.read_bytes()
        total.update(f"{path.relative_to(folder).as_posix()}\0{len(content)}\0".encode() + content)
    return total.hexdigest()


# What a function sees of a value, as source: a fresh record for each call costs the literal of a dict.


def seen(kind: ColumnType, value: str) -> str:
    """The source of what a function is given for a column; null or not."""
    match kind.kind:
        case Kind.TIMESTAMP:
            return f"(None if {value} is None else to_datetime({value}))"
        case Kind.DATE:
            return f"(None if {value} is None else to_date({value}))"
        case Kind.ARRAY if kind.element is not None:
            inner = seen(kind.element, "e")
            return f"({value} and {value}[:])" if inner == "e" else f"({value} and [{inner} for e in {value}])"
    return value


def to_datetime(micros: int) -> datetime.datetime:
    """The moment of a timestamp."""
    try:
        return EPOCH + datetime.timedelta(microseconds=micros)
    except OverflowError:
        message = f"timestamp {micros} is outside of the years 1 to 9999 that Python's datetime has"
        raise FunctionError(message) from None


def to_date(days: int) -> datetime.date:
    """The day of a date."""
    try:
        return datetime.date.fromordinal(days + _FIRST_DAY)
    except (ValueError, OverflowError):
        message = f"date {days} is outside of the years 1 to 9999 that Python's date has"
        raise FunctionError(message) from None


# What a function gives.

_WHOLE = {Kind.INT: (-(2**31), 2**31 - 1), Kind.BIGINT: (arithmetic.BIGINT_MIN, arithmetic.BIGINT_MAX)}


def checker(reference: str, schema: Schema) -> Callable[[Any], tuple[Any, ...]]:
    """A function from what the user's function gave to the row of `returns`; raises FunctionError otherwise."""
    columns = [(column.name, column.type) for column in schema]

    def row(record: Any) -> tuple[Any, ...]:
        if not isinstance(record, Mapping):
            message = f"{reference} gave {_described(record)}; a record is a dict of {', '.join(schema.names)}"
            raise FunctionError(message)
        try:
            return tuple([checked(record[name], kind) for name, kind in columns])
        except KeyError as error:
            message = f"{reference} left out column {error.args[0]!r}; give None where there is no value"
            raise FunctionError(message) from None
        except (TypeError, ValueError, OverflowError, EvaluationError) as error:
            name = next(name for name, kind in columns if not _fits(record.get(name), kind))
            message = f"{reference}, column {name!r}: {error}"
            raise FunctionError(message) from None

    return row


def _fits(value: Any, kind: ColumnType) -> bool:
    try:
        checked(value, kind)
    except (TypeError, ValueError, OverflowError, EvaluationError):
        return False
    return True


def passes(reference: str) -> Callable[[Any], bool]:
    """A function from what a filter gave to whether the record stays."""

    def decision(found: Any) -> bool:
        if found is not True and found is not False:
            message = f"{reference} gave {_described(found)}; a filter gives True or False"
            raise FunctionError(message)
        return found

    return decision


def checked(value: Any, kind: ColumnType) -> Any:
    """A value of a result as rows have it."""
    if value is None:
        return None
    match kind.kind:
        case Kind.STRING if type(value) is str:
            if not value.isascii():
                value.encode()  # half a surrogate pair could be sent nowhere
            return value
        case Kind.INT | Kind.BIGINT if type(value) is int:
            low, high = _WHOLE[kind.kind]
            return value if low <= value <= high else _wrong(value, kind)
        case Kind.DOUBLE if type(value) is float:
            return value
        case Kind.DOUBLE if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
        case Kind.BOOLEAN if type(value) is bool:
            return value
        case Kind.DECIMAL if isinstance(value, Decimal) and value.is_finite():
            return arithmetic.fit(value, kind.precision, kind.scale)
        case Kind.DECIMAL if type(value) is int:
            return arithmetic.fit(Decimal(value), kind.precision, kind.scale)
        case Kind.BINARY if isinstance(value, bytes | bytearray):
            return bytes(value)
        case Kind.TIMESTAMP if isinstance(value, datetime.datetime):
            # Without a zone it is in UTC, as everywhere in a job.
            gone = (value if value.tzinfo else value.replace(tzinfo=datetime.UTC)) - EPOCH
            return gone.days * _DAY + gone.seconds * _SECOND + gone.microseconds
        case Kind.DATE if type(value) is datetime.date:
            return value.toordinal() - _FIRST_DAY
        case Kind.ARRAY if isinstance(value, list | tuple) and kind.element is not None:
            return [checked(item, kind.element) for item in value]
    return _wrong(value, kind)


def _wrong(value: Any, kind: ColumnType) -> NoReturn:
    wanted = {Kind.TIMESTAMP: " (a datetime)", Kind.DATE: " (a date)", Kind.ARRAY: " (a list)"}.get(kind.kind, "")
    message = f"expected {kind}{wanted}, found {_described(value)}"
    raise TypeError(message)


def _described(value: Any) -> str:
    text = repr(value)
    return f"{type(value).__name__} {text[:_SHOWN]}{'…' if len(text) > _SHOWN else ''}"
