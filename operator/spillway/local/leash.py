"""The small process between ours and a child of ours; it sees to it that the child never outlives us.

Run as a script, `python -I -S leash.py FOLDER PROGRAM ARGUMENT…`, and only by `process.py`. It starts the program,
writes the program's process id to its standard output, passes SIGTERM on, and ends with the program's exit code.
When it had to end the program because we are gone, it also removes FOLDER ('' for none), which nobody else would.

Our death reaches the program however we die, SIGKILL included:

- Our end of the pipe on standard input is closed by the kernel, and the leash kills the program. That works on every
  Unix, and whichever thread of ours asked for the child. (Asking the kernel for a signal on the parent's death,
  directly from us, was rejected: it fires when the *thread* that forked ends, so a child started by a pool dies early.)
  A byte on that pipe asks for the same kill while we live.
- A sibling that was forked, not started anew, can hold a copy of our end; so the leash also looks every second
  whether it still has the same parent.
- If the leash itself is killed, the kernel kills the program (Linux). The leash has one thread, so here that is safe.
"""

import contextlib
import ctypes
import os
import select
import signal
import sys

STANDARD_INPUT, STANDARD_OUTPUT, STANDARD_ERROR = 0, 1, 2
PARENT_LOOK_SECONDS = 1.0
PR_SET_PDEATHSIG = 1


def main(folder: str, command: list[str]) -> int:
    """Run `command` until it ends, or until our parent does; then remove `folder`."""
    parent = os.getppid()
    signals = _signals_as_bytes()
    program = _start(command)
    with contextlib.suppress(BrokenPipeError):  # our parent is gone already; the loop below sees that
        os.write(STANDARD_OUTPUT, f"{program}\n".encode())
    os.close(STANDARD_OUTPUT)
    watched = [STANDARD_INPUT, signals]
    abandoned = False
    while True:
        readable, _, _ = select.select(watched, [], [], PARENT_LOOK_SECONDS)
        if signals in readable and signal.SIGTERM in os.read(signals, 64):
            os.kill(program, signal.SIGTERM)
        asked = STANDARD_INPUT in readable and os.read(STANDARD_INPUT, 1)
        # By the pipe first: while a process ends, its files are closed before its children get another parent.
        abandoned = abandoned or (STANDARD_INPUT in readable and not asked) or os.getppid() != parent
        if asked or abandoned:
            watched = [signals]
            os.killpg(program, signal.SIGKILL)
        ended, status = os.waitpid(program, os.WNOHANG)
        if ended:
            with contextlib.suppress(ProcessLookupError):  # what the program itself started and left behind
                os.killpg(program, signal.SIGKILL)
            if abandoned and folder:
                _remove(folder)
            code = os.waitstatus_to_exitcode(status)
            return code if code >= 0 else 128 - code  # as shells report a signal


def _remove(folder: str) -> None:
    import shutil  # here, because hardly any leash needs it, and every one has to be quick to start

    shutil.rmtree(folder, ignore_errors=True)


def _signals_as_bytes() -> int:
    """A file descriptor from which each SIGTERM and SIGCHLD is read as one byte, so that `select` waits for them."""
    read, write = os.pipe()
    os.set_blocking(write, False)
    signal.set_wakeup_fd(write)
    for number in (signal.SIGTERM, signal.SIGCHLD):
        signal.signal(number, lambda _number, _frame: None)
    return read


def _start(command: list[str]) -> int:
    """Fork the program into a session of its own: a Ctrl-C for us is not one for it, and its group ends with it.

    Returns when the program runs; before that a signal would still find our handlers in it, and be lost.
    """
    leash = os.getpid()
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None
    started, starting = os.pipe()  # closed by exec, and by the end of a fork that never got there
    program = os.fork()
    if program:
        os.close(starting)
        os.read(started, 1)
        return program
    try:
        os.setsid()
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
            if os.getppid() != leash:  # it died before the line above
                os._exit(1)
        os.dup2(os.open(os.devnull, os.O_RDONLY), STANDARD_INPUT)
        os.dup2(STANDARD_ERROR, STANDARD_OUTPUT)
        os.execvp(command[0], command)  # noqa: S606 - no shell is the point
    except OSError as error:
        os.write(STANDARD_ERROR, f"{command[0]} could not be started: {error.strerror}\n".encode())
    os._exit(127)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2:]))
