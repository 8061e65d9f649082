"""Stepwise profiling: with few measured deployments, how many tasks each operator should get, and what it costs.

The method is SWP's (sections 3 and 4), as a state machine that never does anything itself and can stop at any step:

- `application`: operators, and which of them can have more tasks;
- `measurement`: what is deployed, what is measured, and when that makes no sense;
- `significance`: the two-sample t-test;
- `features`: step 1, Algorithm 1: what operators cost undisturbed, and the ratio of their tasks;
- `capability`: step 2, Algorithm 2: how much the platform can do;
- `capacity`: step 3, Eq. 2: more for the narrowest operator, taken back when it doesn't pay;
- `rounds`: what was tried, what came of it, and why;
- `machine`: the three steps as one: `begin`, `next_step`, `deployed`, `observe`, and `run` against a platform;
- `stored`: a state as JSON, and back;
- `prices`: the costs that the planner reads, with their errors;
- `drift`: section 4.4, when a profile is no longer true.

Symbols of the paper: MinLp minimal processing latency, RSS relative stream size, R ratio of the parallel operators, P
degree of the others, T throughput, T_b its best, Y_con the bound of the latency.
"""
