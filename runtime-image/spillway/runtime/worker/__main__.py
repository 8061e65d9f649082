"""`python -m spillway.runtime.worker`: the same as the command `spillway-worker`."""

import sys

from spillway.runtime.worker import main

if __name__ == "__main__":  # slots import this file under another name
    sys.exit(main.main())
