"""When an operator leaves the record paradigm for batches, which others go with it, and when they come back.

Sections 4.2 and 4.3 of the paper on dual paradigms (`DO`), with what measuring added:

- `measurements`: what is known of each operator, and what is wrong with it;
- `point`: latencies of both paradigms, the switch point and its two thresholds (Eq. 4 to 7);
- `bursts`: a step in the arrival rate told from noise, per operator, within a few ticks;
- `ranges`: which operators switch together (Eq. 8), over any graph without circles;
- `rules`: what is wrong or right with one operator, or with one range that runs in batches;
- `decision`: `decide`, from all of that to one decision per tick;
- `verdicts`: actions, reasons and the values of a decision.

Symbols of the paper: V arrival rate, P_D and P_O records per second of the record and the batch paradigm, L queue
length, λ selectivity, T batch interval, t_s schedule time, t_dt and t_ot transmission times, δ hysteresis.

Nothing here assumes that batches are faster. P_O is measured; without it, or where it would not help, the decision is
a refusal that names what would.
"""
