"""A job under a load trace, without a clock: for tests, for plans over time, and for comparing policies.

- `traces`: rates over time, from a file or drawn by `shapes`;
- `jobs`: what runs, on which platform, and what goes wrong when;
- `policies`: what a policy gets to see, and what it may wish for;
- `crews`: slots that start, join and leave, and the partitions that stand still meanwhile;
- `lanes`: queues, first in, first out;
- `stages`: one segment with its queue, record by record or in batches;
- `points`: capacities and the latency without queues, from the cost model and the latency model;
- `fluid`: records as a fluid, in steps of 100 ms: an hour in a second or two;
- `runs`: what came out of it;
- `events`: the same job record by record, which says how far the fluid can be trusted.

Everything is in seconds since the start, records per second and records; policies get real times, as in a job.
"""
