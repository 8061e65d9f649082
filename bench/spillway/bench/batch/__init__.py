"""Measurements of the batch paradigm, beside the record paradigm, on this machine, with a real broker.

    python -m spillway.bench.batch paradigms

- `cases`: jobs, and what flows through them, by the size of a record;
- `paradigms`: processor time of a record in both paradigms, in fresh processes, without Spark;
- `latency`: what a batch takes in a real Spark, and what that Spark takes.

Batches run the same generated loop as slots do, so they are cheaper only by what they do not do for each record: they
add up before they send. Processor time per record is what a core gives, whoever has it; that more cores can be had in a
burst, and how soon, is another matter.
"""
