"""The cost model of a streaming data flow: what an operator can do, where it jams, and how little is enough.

It is the model of chapters 3 and 4 of the thesis on streaming data flows (`SDF`), over any graph without circles:

- `exact`: numbers without rounding, so that ties are decided by arithmetic and not by binary fractions;
- `flow`: operators with their costs, what they read, and the slots that they run on;
- `chaining`: several operators fused into one node;
- `capacity`: what a record costs, and what a node needs at a rate (chapter 3);
- `bottlenecks`: which nodes get more than they can do (Algorithm 1);
- `throughput`: what gets through all the same, under back pressure (Algorithm 2);
- `resources`: the fewest slots without a bottleneck, and frames that make them enough (Algorithm 3);
- `buffers`: how many frames a producer fills at a time (section 3.4).

Symbols of the paper: R rates in records per second, C capacities, c costs in seconds, s selectivity, b records per
frame, rs record size, f fan-out, N bandwidth, dop parallelism. A task of the paper is a slot here, a batch a frame.
"""
