"""Both paradigms against each, and against other systems, in one run: figures D1 to D4, D6 and D7.

    python -m spillway.bench.dual throughput --rounds 1

R is a job that may only run record by record, B one that may only run in batches, D one that chooses while it runs; SS
is Spark Structured Streaming, and bytewax is bytewax. All get the same topic and the same bytes of the same generator,
and all are judged from outside, by what the broker has got when.

- `workloads` and `engines`, beside this package: what flows, and the systems;
- `loads`: how fast;
- `feeding`, `tails`, `judging`: who sends, who reads what came out, and what that says;
- `courses`, `turns`: one run of one system, from a full topic or on an open loop; and several in turn;
- `capacity`, `histograms`: what can be read off a run;
- `throughput`, `bursts`, `high`, `low`, `threshold`: the measurements;
- `keeping`, `plots`, `everything`: raw data, pictures, and all of it in one go (`make bench`).

A run whose output isn't right, or whose generator was late, has no figure.
"""
