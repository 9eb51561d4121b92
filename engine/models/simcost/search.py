"""SimCost's recommendation in closed form and by iterative range search (4.3).

With V = k N the cost model becomes T(V) = gamma_0 / V + gamma_1 V / k + gamma_2 (seconds); Lemmas 1
to 3 say where time, resource time and throughput have their one optimum. The listing of Algorithm 1
is not in the text that we have: `range_search` follows its prose (4.3), Lemma 4 and the worked
example of 5.3.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from engine.errors import BadInput
from engine.models.simcost.costs import Quantity


@dataclass(frozen=True, slots=True)
class Coefficients:
    """gamma_0 (vcore-seconds), gamma_1 (seconds per node), gamma_2 (seconds) and k, the vcores of a
    node."""

    gamma_0: float
    gamma_1: float
    gamma_2: float
    vcores_per_node: float = 1.0


def seconds_at(vcores: Quantity, law: Coefficients) -> Quantity:
    """4.3: T(V) = gamma_0 / V + gamma_1 V / k + gamma_2, in seconds."""
    return law.gamma_0 / vcores + law.gamma_1 * vcores / law.vcores_per_node + law.gamma_2


def least_seconds_of_nodes(nodes: float, law: Coefficients) -> float:
    """4.3 Eq. 13: with N fixed, T approaches gamma_1 N + gamma_2 as V grows."""
    return law.gamma_1 * nodes + law.gamma_2


def fastest_vcores(law: Coefficients) -> float:
    """Lemmas 1 and 3: V = sqrt(gamma_0 k / gamma_1) has the least time and the most throughput; inf
    where nodes cost nothing."""
    if law.gamma_1 <= 0.0:
        return math.inf
    return math.sqrt(law.gamma_0 * law.vcores_per_node / law.gamma_1)


def least_seconds(law: Coefficients) -> float:
    """4.3 Eq. 14: the lower bound of T is 2 sqrt(gamma_0 gamma_1 / k) + gamma_2."""
    return 2.0 * math.sqrt(law.gamma_0 * law.gamma_1 / law.vcores_per_node) + law.gamma_2


def resource_time_at(vcores: Quantity, law: Coefficients, *, gamma_3: float) -> Quantity:
    """Lemma 2: T_R(V) = gamma_1 / k V^2 + (gamma_1 gamma_3 / k + gamma_2) V + gamma_0 gamma_3 / V +
    gamma_2 gamma_3 + gamma_0, with gamma_3 = theta M (the text above it misprints gamma_4)."""
    per_vcore = law.gamma_1 / law.vcores_per_node
    return (
        per_vcore * vcores**2
        + (per_vcore * gamma_3 + law.gamma_2) * vcores
        + law.gamma_0 * gamma_3 / vcores
        + law.gamma_2 * gamma_3
        + law.gamma_0
    )


def thriftiest_vcores(law: Coefficients, *, gamma_3: float) -> float:
    """Lemma 2: the one positive root x_0 of T_R'(V) = 0; 0 where T_R only grows, inf where it only
    falls."""
    a = 2.0 * law.gamma_1 / law.vcores_per_node
    b = law.gamma_1 * gamma_3 / law.vcores_per_node + law.gamma_2
    c = law.gamma_0 * gamma_3
    if c <= 0.0:
        return 0.0
    roots = np.roots(np.asarray([a, b, 0.0, -c] if a > 0.0 else [b, 0.0, -c]))
    positive = [float(root.real) for root in roots if abs(root.imag) < 1e-9 * max(1.0, abs(root))
                and root.real > 0.0]  # fmt: skip
    return max(positive, default=math.inf)


def least_resource_time(law: Coefficients, *, gamma_3: float) -> float:
    """4.3 Eq. 15: the lower bound of T_R, its value at x_0."""
    return float(resource_time_at(thriftiest_vcores(law, gamma_3=gamma_3), law, gamma_3=gamma_3))


def optima(law: Coefficients, *, gamma_3: float) -> dict[str, float]:
    """Figures of 4.3 on any number of vcores: the time that none goes below (Eq. 13 without the
    part of the nodes) and, where T_R has its least inside, its place (Lemma 2, in whole vcores) and
    value (Eq. 15, vcore-seconds)."""
    figures = {"fastest_possible_seconds": least_seconds_of_nodes(0.0, law)}
    best = thriftiest_vcores(law, gamma_3=gamma_3)
    if 0.0 < best < math.inf:
        figures["thriftiest_vcores"] = max(1.0, round(best))
        least = least_resource_time(law, gamma_3=gamma_3)
        figures["least_resource_time_vcore_seconds"] = least
    return figures


def most_throughput(law: Coefficients, *, data_bytes: float) -> float:
    """4.3 Eq. 16: the upper bound of C is gamma_4 / (2 sqrt(gamma_0 gamma_1 / k) + gamma_2), in
    bytes per second, with gamma_4 = D."""
    return data_bytes / least_seconds(law)


GRADING_DEGREE = 5
"""5.3: steps that a range is cut into."""


@dataclass(frozen=True, slots=True)
class Round:
    """One round of a range search: the range, what was tried in it, and what was best."""

    low: int
    high: int
    candidates: tuple[int, ...]
    chosen: int


def subrange(candidates: tuple[int, ...], index: int, *, low: int) -> tuple[int, int]:
    """Lemma 4, Eq. 17: where the optimum of a unimodal function lies when candidate `index` is the
    best: between its neighbours. The lower end of the whole range stands before the first."""
    before = candidates[index - 1] if index else low
    after = candidates[index + 1] if index + 1 < len(candidates) else candidates[index]
    return before, after


def range_search(
    cost: Callable[[int], float],
    *,
    domain: int,
    grading_degree: int = GRADING_DEGREE,
    epsilon: int = 5,
) -> tuple[Round, ...]:
    """Algorithm 1 (`iterativeRS`): the rounds of a search for the vcores of least cost; the last
    one holds the answer.

    A range is cut into `grading_degree` steps, rounded up; the neighbours of the cheapest candidate
    are the next range, until the step is at most `epsilon`. 0 vcores cost infinity and are not
    tried. No candidate is larger than the domain.

    Args:
        cost: of a number of vcores; inf where it is not feasible.
        domain: largest number of vcores.

    Raises:
        BadInput: for a domain or epsilon below 1, or a grading degree below 4 (with two or three
            steps, rounded up, the neighbours can be the whole range again).
    """
    if domain < 1 or epsilon < 1 or grading_degree < 4:
        raise BadInput(
            f"no range search over {domain} vcores in {grading_degree} steps down to {epsilon}",
            remedy="give at least 1 vcore, 4 steps and epsilon 1",
        )
    low, high = 0, domain
    rounds: list[Round] = []
    while True:
        step = math.ceil((high - low) / grading_degree)
        tried = (min(low + step * index, domain) for index in range(1, grading_degree + 1))
        candidates = tuple(dict.fromkeys(tried))
        index = min(range(len(candidates)), key=lambda i: cost(candidates[i]))
        rounds.append(Round(low, high, candidates, candidates[index]))
        if step <= epsilon:
            return tuple(rounds)
        low, high = subrange(candidates, index, low=low)


def most_rounds(*, domain: float, grading_degree: float = GRADING_DEGREE, epsilon: float) -> float:
    """Theorem 1 through Eq. 19: n <= (ln e - ln(D + (ln D - ln e) / (ln d - ln 2))) /
    (ln 2 - ln d).

    The theorem's own text has ln d - ln 2 in the denominator, which makes it negative. The number
    of rounds is this rounded up.
    """
    shrinking = math.log(grading_degree) - math.log(2.0)
    fewest = (math.log(domain) - math.log(epsilon)) / shrinking
    return (math.log(epsilon) - math.log(domain + fewest)) / -shrinking
