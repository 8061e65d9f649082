"""Measurements of the record paradigm, on this machine, with a real broker, in fresh processes.

    python -m spillway.bench.record loop --seconds 60

Figures are named as in the list of figures that the project wants to reach: W, T1, T4, S3, S5 and what belongs to them.

- `figures`, `schedule`, `processes`: how is measured: quantiles and ratios, open loops, processor time;
- `events`, `jobs`, `logs`: what flows, through which jobs, and whole topics;
- `leader`, `systems`: the system under test, a job in slot processes on a real broker;
- `loop`, `transfer`, `latency`, `skew`, `memory`, `peers`, `resize`: the measurements.

Wall times of a machine on which others work say little, its processor time more; a `yardstick` says how fast the
machine was meanwhile. A run whose generator was late, or whose output isn't right, has no figure.
"""
