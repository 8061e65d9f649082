"""What Spark forks its Python workers off: a process that has imported what they need, and has no threads or clients.

A worker that takes the place of a dead one is there in milliseconds instead of a second, and all of them share what was
imported. Spark starts it as `python -m spillway.runtime.batch.daemon pyspark.worker`.
"""

from __future__ import annotations

import gc

from pyspark import daemon

from spillway.runtime.batch import worker  # noqa: F401 - for those that are forked

if __name__ == "__main__":
    gc.collect()
    gc.freeze()  # what is never looked at stays shared
    daemon.manager()
