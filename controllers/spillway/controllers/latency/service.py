"""How long a slot takes for a frame when others share its cores, and the network to bring it (LAT 3.2).

Eq. 2 of the paper, for u cycles of a frame on a machine that does C per second with n cores, of which all others
take the part p, is E(cpu) = u/(2·min{1-p, 1/n}·C). Costs are seconds of one core here, so C = n:

    l = u/min{n·(1-p), 1}                                    a frame; at most one core, at least what is left
    E(cpu) = l/2·(1+1/b)                                     a record

The paper's half is that of a record in a uniformly random place of a large frame. Of b records the k-th is done at
l·k/b, which is (1+1/b)/2 on average: the paper's own reasoning for windows (3.3), and all of l for a frame of one. With
c_s² of the frame, since E((k/b)²) = (1+1/b)(2+1/b)/6,

    Var(cpu) = l²·( (1+c_s²)·(1+1/b)(2+1/b)/6 - (1+1/b)²/4 )

and, since E((k/b)³) = (1+1/b)²/4, and E(S³) = l³(1+c_s²)(1+2c_s²) of a gamma distribution, the third moment.

The others are taken to have priority, so this is an upper bound, as in the paper.
"""

from __future__ import annotations

import math

from spillway.controllers.latency.moments import NEVER, Moments


def slowdown(cores: int, others: float) -> float:
    """l/u: 1/min{n·(1-p), 1} with n·p = `others`, the cores that all others keep busy; infinite when none is left."""
    left = min(cores - others, 1.0)
    return 1 / left if left > 0 else math.inf


def cpu(frame_time: float, records: float, frame_scv: float) -> Moments:
    """A record's share of l = `frame_time`, in a frame of b = `records`."""
    if math.isinf(frame_time):
        return NEVER
    place = 1 + 1 / records
    square = (1 + frame_scv) * place * (1 + place) / 6
    cube = (1 + frame_scv) * (1 + 2 * frame_scv) * place**2 / 4
    third = cube - 3 * square * place / 2 + place**3 / 4
    return Moments(frame_time * place / 2, max(0.0, frame_time**2 * (square - place**2 / 4)), frame_time**3 * third)
