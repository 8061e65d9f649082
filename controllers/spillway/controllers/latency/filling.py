"""How long a record waits in its frame until it leaves: when b records are there, or D after the first one.

Records come to the buffer of an edge partition at rate r, at random (Poisson: what one buffer gets of many keys). The
first opens the frame at time 0, the k-th after it comes at S_k, and N is how many come within D: Poisson with mean
a = r·D. The frame leaves at T = min{S_{b-1}, D} with n = 1 + min{N, b-1} records. In short, T is about
min{(b-1)/r, D}, and a record waits half of that in a busy buffer, but all of D when it stays alone. Precisely:

The waits W in one frame add up to ∫ (records there at t) dt over 0 ≤ t < T, and at t there are 1 + j records, the frame
still open, when exactly j ≤ b-2 came. ∫_0^D Pr(N(t) = j) dt = Pr(N ≥ j+1)/r, so

    E(ΣW)  = 1/r · Σ_{m=1}^{b-1} m·Pr(N ≥ m)              = 1/r · E[M(M+1)/2],            M = min{N, b-1}

The squares are ΣW² = 2·∫ (sum of the ages at t) dt. Of j records that came at random in (0, t) the ages add up to
j·t/2, and to that of the first, t. With ∫_0^D t·Pr(N(t) = j) dt = (j+1)·Pr(N ≥ j+2)/r²,

    E(ΣW²) = 1/r² · Σ_{m=1}^{b-1} m(m+1)·Pr(N ≥ m+1)      = 1/r² · E[K(K+1)(K+2)/3],      K = min{max(N-1, 0), b-1}

A record is one of E(n) = 1 + E(M) in its frame, so (renewal reward)

    E(W) = E(ΣW)/E(n)      E(W²) = E(ΣW²)/E(n)      Var(W) = E(W²) - E(W)²

One frame follows another after C = T and the time until a record opens it: E(C) = E(n)/r, and since
E(T²) = 2·∫ t·Pr(T > t) dt = 1/r² · E[K(K+1)], Var(C) = 1/r² · (1 + E[K(K+1)] - E(M)²).

Without a deadline that is (b-1)/(2r) and (b-1)(b+7)/(12r²); without a limit of records D(1+a/2)/(1+a), and
D²(1+a/3)/(1+a) for the square. All expectations are sums of a^i times a share of the Poisson distribution, because
E[N(N-1)…(N-i+1); N < c] = a^i·Pr(N < c-i).
"""

from __future__ import annotations

import dataclasses
import functools
import math

from spillway.controllers.latency.moments import NEVER, ZERO, Moments

# Below, a second record within D is so unlikely that nothing else counts: the relative error is a itself.
_ALONE = 1e-12
# From this mean on the Poisson distribution is taken for a normal one (off by 1/(6·√(2πa)) < 0.0007 in F, where a
# frame is as likely cut as full), so that no call adds up more than some 10 000 terms.
_MANY = 10_000.0
_NOTHING = 1e-17  # of a sum: less than its rounding
_LARGEST = 10**12  # records; beyond, third powers of it would leave the floats


@dataclasses.dataclass(frozen=True, slots=True)
class Filling:
    """What becomes of the frames of one buffer.

    Attributes:
        wait: W, of a record.
        records: E(n), in a frame when it leaves; b when the deadline never comes first.
        spread: Var(n)/E(n)²; 0 when all frames are full.
        rhythm: Var(C)/E(C)², of the times between frames; 1/b when all are full, 1 when all are of one record.
    """

    wait: Moments
    records: float
    spread: float
    rhythm: float


ALONE = Filling(ZERO, 1.0, 0.0, 1.0)  # a record that waits for no other


@functools.lru_cache(maxsize=16384)
def fill(frame: int, rate: float, deadline: float = math.inf) -> Filling:
    """Frames of `frame` = b records at `rate` = r per second, which leave `deadline` = D seconds after they open."""
    if not (1 <= frame <= _LARGEST and 0 <= rate < math.inf and deadline >= 0):
        message = (
            f"a frame of {frame} records at {rate} records/s with a deadline of {deadline} s makes no sense; "
            "it needs 1 to 10^12 records, a finite rate and a deadline of 0 or more"
        )
        raise ValueError(message)
    if frame == 1 or deadline == 0:
        return ALONE
    expected = rate * deadline if rate else 0.0
    if expected < _ALONE:
        return Filling(NEVER if math.isinf(deadline) else Moments(deadline), 1.0, 0.0, 1.0)
    return _fill(frame, rate, expected)


def _fill(b: int, r: float, a: float) -> Filling:
    """The formulas above."""
    full, fuller = _share(b, a)[1], _share(b + 1, a)[1]  # Pr(N ≥ b), Pr(N ≥ b+1)
    most = b - 1.0
    count = 1 + _part(a, 1, b) + most * full  # E(n)
    pairs = _part(a, 1, b) + _part(a, 2, b) / 2 + most * b / 2 * full  # E[M(M+1)/2]
    triples = _part(a, 2, b + 1) + _part(a, 3, b + 1) / 3 + most * b * (b + 1) / 3 * fuller  # E[K(K+1)(K+2)/3]
    doubles = _part(a, 2, b + 1) + most * b * fuller  # E[K(K+1)], with N(N-1) for K(K+1)
    mean = pairs / count / r
    variance = triples / count / r / r - mean * mean
    squares = count + 2 * pairs  # E(n²) = 1 + 2·E(M) + E(M²), and E(M²) = 2·pairs - E(M)
    return Filling(
        Moments(mean, max(0.0, variance)),
        count,
        max(0.0, squares / count**2 - 1),
        min(1.0, max(0.0, (1 + doubles - (count - 1) ** 2) / count**2)),
    )


def _part(a: float, i: int, below: int) -> float:
    """E[N(N-1)…(N-i+1); N < below] = a^i·Pr(N < below - i); 0, and not ∞·0, when that can't be."""
    share = _share(below - i, a)[0]
    return a**i * share if share else 0.0


@functools.lru_cache(maxsize=4096)
def _share(c: int, a: float) -> tuple[float, float]:
    """Pr(N < c) and Pr(N ≥ c) of a Poisson N with mean a; the smaller is added up, so that it is never all noise."""
    if c <= 0 or math.isinf(a):
        return 0.0, 1.0
    if a > _MANY:
        away = (c - 0.5 - a) / math.sqrt(2 * a)
        return math.erfc(-away) / 2, math.erfc(away) / 2
    if c > a:
        above = _tail(c, a, step=1)
        return 1 - above, above
    below = _tail(c - 1, a, step=-1)
    return below, 1 - below


def _tail(start: int, a: float, *, step: int) -> float:
    """Σ of e^-a·a^j/j! from j = `start` away from the mean, where each term is smaller than the one before."""
    end = min(start + int(3 * _MANY), int(3 * _MANY)) if step > 0 else -1
    total, term = 0.0, math.exp(start * math.log(a) - a - math.lgamma(start + 1))
    for j in range(start, end, step):
        total += term
        if term <= total * _NOTHING:
            break
        term *= a / (j + 1) if step > 0 else j / a
    return total
