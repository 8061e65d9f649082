"""`python -m spillway.bench.verifier`."""

from __future__ import annotations

import sys

from spillway.bench.verifier import command

if __name__ == "__main__":
    sys.exit(command.main())
