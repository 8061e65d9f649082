"""A program that runs beside ours, writes into a log file, and never outlives us."""

import collections
import os
import subprocess
import sys
from collections.abc import Mapping, Sequence
from datetime import timedelta
from pathlib import Path

LEASH = Path(__file__).with_name("leash.py")


class Process:
    """A running child process; `leash.py` stands between it and us and says how it ends with us.

    It works in `folder`, and its standard output and error are appended to `log`. When we are killed, nobody of ours
    is left to tidy up: `removed_with_us` names a folder that is then removed, after the program has ended.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        removed_with_us: Path | None = None,
    ) -> None:
        self.log = log
        leash = [sys.executable, "-I", "-S", str(LEASH), str(removed_with_us or ""), *map(str, command)]
        with log.open("ab") as output:
            self._leash = subprocess.Popen(  # noqa: S603 - the command is our caller's, and no shell reads it
                leash,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=output,
                cwd=folder,
                env=None if environment is None else {**os.environ, **environment},
                start_new_session=True,
            )
        assert self._leash.stdout is not None  # noqa: S101 - for the type checker: it was asked for as a pipe
        with self._leash.stdout as answer:
            first_line = answer.readline()
        self.pid = int(first_line) if first_line else self._leash.pid

    def running(self) -> bool:
        """Whether the program has not ended yet."""
        return self._leash.poll() is None

    def exit_code(self) -> int | None:
        """The exit code of the program, 128 + n when signal n ended it, None while it runs."""
        return self._leash.poll()

    def stop(self, patience: timedelta) -> None:
        """Ask the program to end (SIGTERM), and kill it when it has not done so after `patience`."""
        if self.running():
            self._leash.terminate()
        try:
            self._leash.wait(patience.total_seconds())
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End the program at once (SIGKILL), with all that it has started; returns when it is gone."""
        assert self._leash.stdin is not None  # noqa: S101 - for the type checker: it was asked for as a pipe
        self._leash.stdin.close()
        self._leash.wait()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines of the log."""
        with self.log.open(encoding="utf-8", errors="replace") as log:
            return "".join(collections.deque(log, maxlen=lines)).rstrip()
