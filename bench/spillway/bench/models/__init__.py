"""Whether the models say what is: figures T2, P1, P2, D8, F1 and F2, on real runs of this machine.

    python -m spillway.bench.models T2 --rounds 5

- `transfer` (T2): the cost model, on sizes of frames that it was not fitted on;
- `latencies` (P1): the latency model, on jobs that wait, at several rates and frames;
- `plans` (P2): what is planned against rules of thumb, by the rate at which the bound is still kept;
- `ranges` (D8): which operators go to batches together, against all that could;
- `topologies`, `profiles` (F1, F2): stepwise profiling on running jobs, against the best that there is, and its rivals.

Operators that wait stand for services: what they take is known, and two cores are enough for many of them.
"""
