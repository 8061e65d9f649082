"""A worker: it keeps its slots running, each a process, and tells over HTTP how they are.

- `main`: the command `spillway-worker`;
- `supervisor`: starts slots, starts them again, ends them; `life` is one process of a slot, `child` what runs in it;
- `restarts`, `suspects`: when a slot is started again, and with which messages it is then careful;
- `answers`: what is answered over HTTP; `readiness`, `tables`, and `metrics` with `totals`.

One thread supervises. Each process has a thread that reads what it tells, so a slot that stops in the middle of a
message holds nobody up; each request over HTTP has one too.
"""
