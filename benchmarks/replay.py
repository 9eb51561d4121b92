"""How fast logs are replayed, and how far replays are off on logs of real runs.

    python benchmarks/replay.py [LOG ...]

First table: a made log of 100,000 tasks, its times on every number of slots from 1 to 50,000 (the
curve that a grid of clusters gets), against replaying the same points task by task; and the share
of those numbers of slots on which the curve is within 1 % of a replay.
Second table: each log replayed on the cluster that it ran on. Third: each log predicted from every
other log of the same application, at other slots or inputs.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import engine
from engine.cluster import Cluster, Workload
from engine.errors import EngineError
from engine.models.replay import Replay
from engine.models.replay_times import ReplayTimes
from engine.profile import JobRun, Measure, Profile, Run, StageRun
from engine.scheduling import makespan

SAMPLES = Path(__file__).parents[1] / "sample_logs"
TASKS = 100_000
MOST_SLOTS = 50_000
CHECKED = 40


def made_run(stages: int) -> Run:
    """A chain of stages of lognormal tasks, TASKS in all, as a log on 64 slots would tell them."""
    random, slots, at = np.random.default_rng(1), 64, 0.0
    found = []
    for i in range(stages):
        count = TASKS // stages
        seconds = random.lognormal(0.0, 0.6, count)
        length = makespan(seconds, slots)
        points = np.quantile(seconds, np.linspace(0.0, 1.0, min(count, 201)))
        measure = Measure(count, float(seconds.sum()), tuple(points.tolist()))
        found.append(
            StageRun(
                i, f"stage {i}", count, at, at + length, measure,
                parents=(i - 1,) if i else (), job_ids=(0,), input_bytes=measure,
            )
        )  # fmt: skip
        at += length
    cluster = Cluster.of_executors(executors=slots // 4, executor_cores=4)
    job = JobRun(0, 0.0, at, tuple(range(stages)))
    return Run(at, cluster, Workload(1e12), stages=tuple(found), jobs=(job,), cores=((0.0, slots),))


def surface_row(name: str, run: Run) -> tuple[str, ...]:
    started = time.perf_counter()
    replay = Replay.of(run)
    fitted = time.perf_counter()
    times = ReplayTimes(replay, 1.0, None)
    slots = np.arange(1.0, MOST_SLOTS + 1.0)
    curve = times.at(slots, np.ones(len(slots))).seconds
    ended = time.perf_counter()
    picked = np.unique(np.geomspace(1, MOST_SLOTS, CHECKED).astype(int))
    most = replay.most_useful_slots(1.0, None)
    exact_from = time.perf_counter()
    direct = [replay.replayed(min(int(m), most), exact=True).seconds for m in picked]
    per_exact = (time.perf_counter() - exact_from) / len(picked)
    off = np.abs(curve[picked - 1] / direct - 1.0)
    points = len(times._known)
    surface = ended - fitted
    return (
        name,
        str(len(run.stages)),
        f"{1e3 * (fitted - started):.0f}",
        f"{1e3 * surface:.0f}",
        str(points),
        f"{per_exact * points / surface:.1f}",
        f"{100 * np.mean(off <= 0.01):.0f}",
        f"{100 * off.max():.1f}",
    )


def own_rows(profiles: Sequence[Profile]) -> list[tuple[str, ...]]:
    rows = []
    for profile in profiles:
        for run in profile.runs[:1]:
            if not run.stages or not run.cluster.slots:
                continue
            found = Replay.of(run).replayed(run.cluster.slots)
            rows.append(
                (
                    Path(run.source or profile.name).name[:44],
                    str(run.cluster.slots),
                    str(sum(stage.tasks for stage in run.stages)),
                    f"{run.seconds:.1f}",
                    f"{found.seconds:.1f}",
                    f"{100 * (found.seconds / run.seconds - 1.0):+.1f}",
                )
            )
    return rows


def other_rows(profiles: Sequence[Profile]) -> list[tuple[str, ...]]:
    """One log -> another of the same application."""
    rows = []
    for source in profiles:
        for target in profiles:
            if source is target or not source.runs or not target.runs:
                continue
            one, other = source.runs[0], target.runs[0]
            alike = _stem(one) == _stem(other)
            if not alike or not one.stages or not other.cluster.slots:
                continue
            try:
                found = engine.fit(source).predict(
                    cluster=_executors(other), workload=other.workload
                )
            except EngineError:
                continue  # one of the two does not say its input
            inside = (found.low or 0.0) <= other.seconds <= (found.high or 0.0)
            rows.append(
                (
                    Path(one.source).name[:34],
                    Path(other.source).name[:34],
                    f"{other.seconds:.1f}",
                    f"{found.seconds:.1f}",
                    f"{100 * (found.seconds / other.seconds - 1.0):+.1f}",
                    "yes" if inside else "no",
                )
            )
    return rows


def _stem(run: Run) -> str:
    name = run.application or ""
    return name.removesuffix("-small").removesuffix("-large")


def _executors(run: Run) -> Cluster:
    cores = run.cluster.executor_cores or 1
    return Cluster.of_executors(executors=run.cluster.executors or 1, executor_cores=cores)


def print_table(rows: Sequence[Sequence[str]]) -> None:
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    for row in rows:
        print("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)))
    print()


def read_all(paths: Sequence[str]) -> list[Profile]:
    found = []
    for path in paths:
        try:
            found.append(engine.read(path))
        except EngineError as error:
            print(f"left out: {error}")
    return found


def main() -> None:
    header = ("100,000 tasks", "stages", "fit ms", "surface ms", "points",
              "times faster than exact", "within 1 %", "worst %")  # fmt: skip
    shapes = (("4 large stages", 4), ("50 stages", 50), ("500 small stages", 500))
    print_table([header, *(surface_row(name, made_run(count)) for name, count in shapes)])
    profiles = read_all(sys.argv[1:] or sorted(map(str, SAMPLES.glob("*.zstd"))))
    header = ("log on its own cluster", "slots", "tasks", "observed s", "replayed s", "off %")
    print_table([header, *own_rows(profiles)])
    header = ("from", "to", "observed s", "predicted s", "off %", "inside 90 %")
    print_table([header, *other_rows(profiles)])


if __name__ == "__main__":
    main()
