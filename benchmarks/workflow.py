"""How far the states are from discrete events, and how long a workflow takes to estimate.

    python benchmarks/workflow.py [--jobs 5,10,20,50] [--repeats N] [--seed S]

Random workflows of two-stage jobs (a map that reads and computes, a reduce that shuffles and
writes; 10 to 200 tasks each; two thirds of the jobs wait for an earlier one) on 16 nodes. The truth
is a plain simulation: every task by itself, timed anew by the task model whenever any starts or
ends. Prints one table: for each size, and for tasks that are alike and tasks that differ by 30 %,
the error of the corrected states and of Eqs. 7 and 8 as printed (mean and worst), and the median
processor time per workflow of each, with the simulation's beside them.
"""

from __future__ import annotations

import argparse
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
from tables import print_table
from timing import timed

from engine.models.boe.printed_states import estimate_printed
from engine.models.boe.sharing import shared_task_times
from engine.models.boe.states import estimate
from engine.models.boe.task_draw import task_factors
from engine.models.boe.task_time import Needs, Rates, Step, TaskWork
from engine.models.boe.workflow_course import Activity, Machines
from engine.scheduling.drf import SHARE_DIGITS, Claim, Pool, dominant_share, drf

MACHINES = Machines(16.0, Rates(4.0, 250e6, 125e6), Pool(64.0, 256.0))
MB = 1e6


def workflow(jobs: int, spread: float, random: np.random.Generator) -> list[Activity]:
    """Jobs of a map and a reduce stage; later ones may wait for one that stands before them."""
    found: list[Activity] = []
    for job in range(jobs):
        waits = job and random.random() < 2 / 3
        after = (2 * int(random.integers(0, job)) + 1,) if waits else ()
        cpu, read, sent, written = random.uniform(1.0, 10.0), *random.uniform(1.0, 100.0, 3) * MB
        maps, reduces = int(random.integers(10, 200)), int(random.integers(10, 100))
        memory = float(random.choice([2.0, 4.0]))
        found.append(
            Activity(
                job, f"map {job}", maps, TaskWork(0.5, (Step(cpu, read), Step(0.0, 0.2 * read))),
                after, memory_gib=memory, spread=spread,
            )
        )  # fmt: skip
        found.append(
            Activity(
                job, f"reduce {job}", reduces,
                TaskWork(0.5, (Step(0.0, 0.0, sent), Step(cpu / 2.0, written))),
                (len(found) - 1,), memory_gib=memory, spread=spread,
            )
        )  # fmt: skip
    return found


@dataclass
class Simulated:
    """A stage of a simulation. Tasks are the shares of a mean task that are left of them.

    Args:
        waiting: tasks that have not begun, the next one last.
        running: tasks that have.
    """

    stage: Activity
    needs: Needs
    waiting: list[float]
    running: list[float] = field(default_factory=list)

    @property
    def ended(self) -> bool:
        return not self.waiting and not self.running

    @property
    def claim(self) -> Claim:
        tasks = len(self.waiting) + len(self.running)
        return Claim(self.stage.job, tasks, 1.0, self.stage.memory_gib)

    @property
    def held_gib(self) -> float:
        return len(self.running) * self.stage.memory_gib

    @property
    def share(self) -> float:
        """The dominant share that its job holds: the stages of a job follow each other."""
        return round(len(self.running) * dominant_share(self.claim, MACHINES.pool), SHARE_DIGITS)


def simulated(stages: Sequence[Activity], *, skew: bool) -> float:
    """The end of a workflow, task by task."""
    course = [
        Simulated(
            stage,
            Needs.of(stage.work, MACHINES.rates),
            task_factors(stage.spread if skew else 0.0, stage.tasks).tolist()[::-1],
        )
        for stage in stages
    ]
    now = 0.0
    while any(not one.ended for one in course):
        ready = [
            one
            for one in course
            if not one.ended and all(course[parent].ended for parent in one.stage.after)
        ]
        launch(ready)
        busy = [one for one in ready if one.running]
        times = shared_task_times(
            [one.needs for one in busy], MACHINES.capacity, [len(one.running) for one in busy]
        )
        step = min(min(one.running) * t.seconds for one, t in zip(busy, times, strict=True))
        now += step
        for one, time in zip(busy, times, strict=True):
            rest = [task - step / time.seconds for task in one.running]
            one.running = [task for task in rest if task > 1e-9]
    return now


def launch(ready: Sequence[Simulated]) -> None:
    """Start as many tasks of the stages as DRF grants and the machines hold; the machines are
    offered to the job of the least share first."""
    pool, claims = MACHINES.pool, [one.claim for one in ready]
    owed = list(zip(ready, drf(claims, pool), strict=True))
    while owed := [(one, most) for one, most in owed if one.waiting and len(one.running) < most]:
        one, _ = min(owed, key=lambda entry: entry[0].share)
        cores = 1.0 + sum(len(other.running) for other in ready)
        memory = one.stage.memory_gib + sum(other.held_gib for other in ready)
        if cores <= pool.cores and memory <= pool.memory_gib:
            one.running.append(one.waiting.pop())
        else:
            owed = [entry for entry in owed if entry[0] is not one]


def row(jobs: int, spread: float, repeats: int, seed: int) -> tuple[str, ...]:
    """One line of the table."""
    errors, printed, seconds, printed_seconds, truth_seconds = [], [], [], [], []
    for repeat in range(repeats):
        stages = workflow(jobs, spread, np.random.default_rng((seed, jobs, repeat)))
        truth, took = timed(simulated, stages, skew=spread > 0.0)
        truth_seconds.append(took)
        found, took = timed(estimate, stages, MACHINES, drf, skew=spread > 0.0)
        errors.append(abs(found.seconds / truth - 1.0))
        seconds.append(took)
        found, took = timed(estimate_printed, stages, MACHINES, drf)
        printed.append(abs(found.seconds / truth - 1.0))
        printed_seconds.append(took)
    return (
        str(jobs),
        f"{spread:.0%}",
        f"{statistics.mean(errors):.3%} ({max(errors):.3%})",
        f"{statistics.mean(printed):.1%} ({max(printed):.1%})",
        f"{statistics.median(seconds):.3f} s",
        f"{statistics.median(printed_seconds):.3f} s",
        f"{statistics.median(truth_seconds):.2f} s",
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--jobs", default="5,10,20,50")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    head = ("jobs", "spread", "error: states", "error: printed", "states", "printed", "simulation")
    rows = [
        row(int(jobs), spread, args.repeats, args.seed)
        for jobs in args.jobs.split(",")
        for spread in (0.0, 0.3)
    ]
    print_table([head, *rows], to_the_right=True)


if __name__ == "__main__":
    main()
