"""`python -m spillway.bench.verifier`."""

from __future__ import annotations

import gc
import sys

from spillway.bench.verifier import command

if __name__ == "__main__":
    # Millions of records that stay to the end: a collection finds no cycle in them, and takes as long as the judgement.
    gc.disable()
    sys.exit(command.main())
