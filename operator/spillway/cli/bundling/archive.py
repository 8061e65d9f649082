"""The file: everything that goes into it passes the one gate that takes secrets out."""

from __future__ import annotations

import io
import json
import os
import tarfile
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import yaml

from spillway.cli.bundling.redaction import Redactor
from spillway.model.errors import SpillwayError

# Bytes of one text; of a longer one the end is kept, which is where what went wrong stands.
LARGEST = 4 * 2**20


class FileError(SpillwayError):
    """The archive can't be written; the message says why."""


class Archive:
    """Files of one bundle, in memory until they are written.

    Attributes:
        problems: what could not be had, for whoever looks.
    """

    def __init__(self, folder: str, redactor: Redactor) -> None:
        """`folder` is what everything is in, once it is unpacked."""
        self._folder, self._redactor = folder, redactor
        self._files: dict[str, bytes] = {}
        self.problems: list[str] = []

    def add_text(self, name: str, text: str) -> None:
        """A file with a text."""
        kept = text if len(text) <= LARGEST else f"[only the end of it]\n{text[-LARGEST:]}"
        self._files[name] = self._redactor.text(kept).encode()

    def add_object(self, name: str, value: Any) -> None:
        """A file with an object, as YAML or JSON by its name."""
        clean = self._redactor.value(value)
        if name.endswith(".yaml"):
            text = yaml.safe_dump(clean, sort_keys=False, allow_unicode=True, width=120)
        else:
            text = json.dumps(clean, indent=1, ensure_ascii=False)
        # Once more as a text: what is known may stand in the name of a field.
        self._files[name] = self._redactor.known(text).encode()

    def add_json(self, name: str, text: str) -> None:
        """A file with what a text of JSON says; as it is, if it is none."""
        try:
            self.add_object(name, json.loads(text))
        except ValueError:
            self.add_text(name, text)

    def attempt(self, what: str, add: Callable[[], object]) -> None:
        """Add something that may not be there; then it is among the problems."""
        try:
            add()
        except SpillwayError as error:
            self.problems.append(f"{what}: {error}")

    @property
    def names(self) -> list[str]:
        """Of the files."""
        return sorted(self._files)

    def write(self, file: Path) -> int:
        """Write it, so that nobody but us may read it; its size in bytes. Raises FileError."""
        self.add_text("problems.txt", "".join(f"{line}\n" for line in self.problems) or "none\n")
        try:
            handle, name = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
            try:
                with os.fdopen(handle, "wb") as opened, tarfile.open(fileobj=opened, mode="w:gz") as tar:
                    for path in self.names:
                        self._put(tar, path)
                Path(name).replace(file)
            except BaseException:
                Path(name).unlink(missing_ok=True)
                raise
            return file.stat().st_size
        except OSError as error:
            message = f"{file} can't be written: {error.strerror}"
            raise FileError(message) from error

    def _put(self, tar: tarfile.TarFile, path: str) -> None:
        found = self._files[path]
        member = tarfile.TarInfo(f"{self._folder}/{path}")
        member.size, member.mtime, member.mode = len(found), int(time.time()), 0o600
        tar.addfile(member, io.BytesIO(found))
