"""The cheapest plan whose predicted quantile is within the bound, with headroom.

- `problem`: what is asked: operators with their costs, the load, the promise, and what may be had;
- `plan`: the answer: segments with their paradigm, parallelism, frames and deadlines, and why they are so.
"""
