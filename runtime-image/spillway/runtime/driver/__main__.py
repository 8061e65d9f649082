"""`python -m spillway.runtime.driver`: the same as the command `spillway-driver`."""

import sys

from spillway.runtime.driver import main

if __name__ == "__main__":
    sys.exit(main.main())
