"""`python -m spillway.manager`."""

import sys

from spillway.manager.main import main

if __name__ == "__main__":
    sys.exit(main())
