"""A program that runs beside ours, writes into a log file, and never outlives us."""

import collections
import contextlib
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
    `inherited` are open files that the program gets too: a lock on one of them lasts as long as the program.
    """

    def __init__(
        self,
        command: Sequence[str | Path],
        log: Path,
        *,
        folder: Path,
        environment: Mapping[str, str] | None = None,
        removed_with_us: Path | None = None,
        inherited: Sequence[int] = (),
    ) -> None:
        self.log = log
        self._log_before = log.stat().st_size if log.exists() else 0
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
                pass_fds=inherited,
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

    def ask_to_end(self) -> None:
        """Ask the program to end (SIGTERM), and return at once."""
        if self.running():
            self._leash.terminate()

    def stop(self, patience: timedelta) -> None:
        """Ask the program to end, and kill it when it has not done so after `patience`."""
        self.ask_to_end()
        try:
            self._leash.wait(patience.total_seconds())
        except subprocess.TimeoutExpired:
            pass
        finally:
            self.kill()

    def kill(self) -> None:
        """End the program at once (SIGKILL), with all that it has started; returns when it is gone."""
        assert self._leash.stdin is not None  # noqa: S101 - for the type checker: it was asked for as a pipe
        if self.running():
            with contextlib.suppress(BrokenPipeError):  # it ended since the line above
                os.write(self._leash.stdin.fileno(), b"k")
        self._leash.wait()
        self._leash.stdin.close()

    def log_tail(self, lines: int = 20) -> str:
        """The last lines that this program, not one before it, wrote into the log."""
        with self.log.open("rb") as log:
            log.seek(self._log_before)
            last = collections.deque(log, maxlen=lines)
        return b"".join(last).decode(errors="replace").rstrip()
