"""The cheapest plan whose predicted quantile is within the bound, with headroom.

- `problem`: what is asked: operators with their costs, the load, the promise, and what may be had;
- `plan`: the answer: segments with their paradigm, parallelism, frames and deadlines, and why they are so;
- `planner`: the front door, `plan`;
- `jobs`, `typical`: the question that a StreamJob asks, and the costs that it is asked with where none are known.

And inside, each with its part of how it is found in its docstring:

- `checking`: questions that make no sense;
- `shapes`: which operators may be one segment, and what that costs at the least;
- `searching`: which shape is the best, and how far it goes; `fitting`: slots and cores of one; `tuning`: its frames;
- `draft`: a plan in the making; `building`: from there to a plan, checked without rounding;
- `alternatives`, `shortage`, `texts`: what is said about it.
"""
