"""The command `spillway-worker` with slots that only act: `python acted_worker.py ARGUMENT…`."""

import sys

import acted_slots
from spillway.runtime.worker import main

if __name__ == "__main__":
    sys.exit(main.main(work=acted_slots.run))
