"""A real job on this machine as the platform of stepwise profiling: it deploys, and measures what comes of it.

- `jobs`: the copy of a job that is profiled, and what profiling has to know of its segments;
- `records`: what it is fed with: recorded, read from the job's own topics, or made up;
- `feeding`, `piloting`, `loading`: who sends that, how much, and how much is on its way;
- `readings`: from what slots report to a measurement;
- `meter`: who listens to them;
- `platform`: `machine.Platform`, with a broker, a driver that is directed, and workers.

What is profiled has a broker of its own, made for this and removed with it: nothing of the user is written to.
"""
