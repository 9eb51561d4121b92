"""Runs in which something went wrong: what they cost the default model on jobs of a known law.

    python benchmarks/made_runs.py [--jobs N]

N jobs of 6 to 15 configurations run once each, with noise of 2 to 4 % and a memory cliff in one of
three: as they are, with one and with two runs that took 1.5 to 3 times as long, and with one too
fast by as much. One row each: mean error against the law in % (median), runs inside the 90 %
interval in %, its upper over its lower bound (median), and how many tables name an unusual run in
%; between the measured nodes and at twice the most.
"""

from __future__ import annotations

import argparse
import math
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

import engine
from engine.cluster import Cluster, Workload
from engine.forecast import FloatArray
from engine.profile import Profile, Run

COUNTS, CLIFFS, NOISE, WRONG = (6, 8, 10, 12, 15), 0.33, (0.02, 0.04), (1.5, 3.0)
BESIDE, BYTES = 8, 1e10
KINDS = (("m", 4.0, 16.0, 1.0), ("c", 4.0, 8.0, 0.85), ("r", 4.0, 32.0, 1.05))
"""Types: name, vCPUs, GiB, time relative to the first."""

CASES = {
    "nothing wrong": (0, 1.0),
    "one slow": (1, 1.0),
    "two slow": (2, 1.0),
    "one fast": (1, -1.0),
}
"""How many runs go wrong, and the power of their factor."""

Place = tuple[int, float, int]
"""Nodes, relative size, place of the type."""


@dataclass(frozen=True, eq=False)
class Job:
    """Where its runs are made, where it is asked about (the last at twice the most nodes), and how
    long it takes."""

    runs: list[Place]
    asked: list[Place]
    seconds: Callable[[Place], float]


def made(random: np.random.Generator, count: int, *, cliff: bool, types: int) -> Job:
    """A job of a random law: serial and shared work, communication by tree and by machine, data."""
    shares = random.gamma([0.3, 1.0, 0.05, 0.05, 0.4])
    shares[1] += 0.3 * shares.sum()
    shares /= shares.sum()
    drawn = np.exp(random.uniform(np.log(2), np.log(40), 400))
    nodes = np.unique(np.round(drawn).astype(int)).tolist()
    sizes = [1.0] if count < 8 or random.random() < 0.5 else [0.5, 1.0]
    every = [(n, size, kind) for n in nodes for size in sizes for kind in range(types)]
    picked = [every[place] for place in random.choice(len(every), count + BESIDE, replace=False)]
    runs, most = picked[:count], max(place[0] for place in picked[:count])
    level = math.exp(random.uniform(math.log(60), math.log(1500)))
    threshold, height = 0.0, 0.0
    if cliff:
        hardest = sorted(memory(place) for place in runs)
        cut = int(random.integers(1, 3))
        threshold, height = math.sqrt(hardest[cut - 1] * hardest[cut]), random.uniform(0.8, 2.5)

    def seconds(place: Place) -> float:
        n, size, kind = place
        shared = size * 8.0 / n
        terms = (1.0, shared, math.log(n) / math.log(8.0), n / 8.0, size)
        again = height * shares[1] * shared if memory(place) < threshold else 0.0
        return float(level * KINDS[kind][3] * (shares @ terms + again))

    least = min(place[0] for place in runs)
    between = [place for place in picked[count:] if least <= place[0] <= most]
    return Job(runs, [*between, (2 * most, max(sizes), runs[0][2])], seconds)


def memory(place: Place) -> float:
    """GiB per unit of size."""
    return place[0] * KINDS[place[2]][2] / place[1]


def run(place: Place, seconds: float) -> Run:
    """A run made there."""
    name, vcpus, gib, _ = KINDS[place[2]]
    cluster = Cluster.of_nodes(instance_type=name, nodes=place[0], vcpus=vcpus, memory_gib=gib)
    return Run(seconds, cluster, Workload(input_bytes=place[1] * BYTES))


def tried(seed: int) -> list[tuple[tuple[str, bool], bool, FloatArray]]:
    """What was wrong and whether there is a cliff; whether an unusual run was named; and (n, 3)
    relative error, whether inside, and log width of the interval, at the places asked."""
    random = np.random.default_rng(seed)
    count, cliff = int(random.choice(COUNTS)), bool(random.random() < CLIFFS)
    types = 1 if count < 12 or random.random() < 0.5 else len(KINDS)
    noise = random.uniform(*NOISE)
    job = made(random, count, cliff=cliff, types=types)
    scatter, next_scatter = random.normal(size=count), random.normal(size=len(job.asked))
    wrong = random.choice(count, 2, replace=False)
    factors = np.exp(random.uniform(math.log(WRONG[0]), math.log(WRONG[1]), 2))
    actual = np.asarray([job.seconds(place) for place in job.asked])
    asked = [run(place, 1.0) for place in job.asked]
    found = []
    for case, (several, power) in CASES.items():
        times = np.asarray([job.seconds(place) for place in job.runs]) * np.exp(noise * scatter)
        times[wrong[:several]] *= factors[:several] ** power
        runs = tuple(run(place, t) for place, t in zip(job.runs, times.tolist(), strict=True))
        fitted = engine.fit(Profile("job", runs))
        told = fitted.predict_many(
            clusters=[one.cluster for one in asked], workloads=[one.workload for one in asked]
        )
        after = actual * np.exp(noise * next_scatter)
        inside = (told.low <= after) & (after <= told.high)
        columns = (abs(told.seconds / actual - 1.0), inside, np.log(told.high / told.low))
        named = any(notice.code == "unusual-run" for notice in fitted.fit_notices)
        found.append(((case, cliff), named, np.column_stack(columns)))
    return found


def in_words(found: FloatArray) -> str:
    """Error, coverage and width."""
    error, inside, width = found.T
    mean, median = 100 * error.mean(), 100 * float(np.median(error))
    return f"{mean:6.1f} ({median:4.1f}){100 * inside.mean():5.0f}{np.exp(np.median(width)):7.2f}"


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", type=int, default=300)
    options = parser.parse_args()
    answers, said = defaultdict(list), defaultdict(list)
    for seed in range(options.jobs):
        for key, named, found in tried(seed):
            answers[key].append(found)
            said[key].append(named)
    print(
        f"{'':24}{'between':>13}{'in':>5}{'width':>7}{'twice':>13}{'in':>5}{'width':>7}{'named':>7}"
    )
    for case, cliff in sorted(answers, key=lambda key: (key[1], list(CASES).index(key[0]))):
        between = np.concatenate([one[:-1] for one in answers[case, cliff]])
        twice = np.stack([one[-1] for one in answers[case, cliff]])
        name = f"{case}{', cliff' if cliff else ''}"
        share_named = 100 * np.mean(said[case, cliff])
        print(f"{name:<24}{in_words(between)}{in_words(twice)}{share_named:7.0f}")


if __name__ == "__main__":
    main()
