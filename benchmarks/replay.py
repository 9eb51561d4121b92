"""How fast logs are replayed, and how far replays are off on logs of real runs.

    python benchmarks/replay.py [LOG ...]

First table: a made log of 100,000 tasks, its times on every number of slots from 1 to 50,000 (the
curve that a grid of clusters gets), against replaying the same points task by task; and the share
of those numbers of slots on which the curve is within 1 % of a replay.
Second table: one what-if point of a made log of a million tasks, processor time in ms (median of
`REPEATED`): a replay on new slots, of a new input, of the same input again on other slots; and
`predict` with stages and warnings. Third table: the surface of 500 stages whose number of tasks
all follow the slots, and of large stages side by side, in ms of processor time.
Fourth: steps of the data size on a plan of all AWS types that are compared by default, on up to 512
nodes, in ms of processor time: the first beyond the log's own input, which replays it, and the
median of those that follow. Fifth: each log replayed on the cluster that it ran on. Sixth: each log
predicted from every other log of the same application, at other slots or inputs.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
from tables import print_table
from timing import timed

import engine
from engine.cluster import Cluster, Workload
from engine.errors import EngineError
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import ReplayTimes
from engine.profile import JobRun, Profile, Run
from engine.scheduling.list_scheduling import makespan
from engine.stage_run import Measure, StageRun

SAMPLES = Path(__file__).parents[1] / "sample_logs"
TASKS = 100_000
MILLION = 1_000_000
REPEATED = 11
MOST_SLOTS = 50_000
CHECKED = 40
STEPS = (1.0, 1.1, 1.2, 1.3, 1.4, 1.5, 1.6, 1.8)
"""Data sizes of a plan, of which the first is asked for nothing but to fit and to import."""


def made_run(stages: int, tasks: int = TASKS, slots: int = 64) -> Run:
    """A chain of stages of lognormal tasks, as a log on so many slots would tell them."""
    random, at = np.random.default_rng(1), 0.0
    found = []
    for i in range(stages):
        count = tasks // stages
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
    cores = min(slots, 4)
    cluster = Cluster.of_executors(executors=slots // cores, executor_cores=cores)
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
    most = replay.stages_by_slots.at(1.0).most_useful_slots
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


def what_if_row(stages: int) -> tuple[str, ...]:
    """Each question asked once: what is kept from one does not help the next."""
    run = made_run(stages, MILLION)
    replay, fit = timed(Replay.of, run)
    fitted = engine.fit(Profile("made", (run,)))
    questions: tuple[Callable[[int], object], ...] = (
        lambda i: replay.replayed(100 + 37 * i),
        lambda i: replay.replayed(640, ratio=1.3 + 0.1137 * i),
        lambda i: replay.replayed(640 + i, ratio=1.3),
        lambda i: fitted.predict(cluster=_of_executors(100 + 7 * i)),
        lambda i: fitted.predict(
            cluster=_of_executors(160), workload=Workload(1e12 * (1.3 + 0.1137 * i))
        ),
    )
    return (str(stages), f"{1e3 * fit:.0f}", *(f"{_median_ms(asked):.1f}" for asked in questions))


def _of_executors(executors: int) -> Cluster:
    return Cluster.of_executors(executors=executors, executor_cores=4)


def _median_ms(asked: Callable[[int], object]) -> float:
    return statistics.median(1e3 * timed(asked, i)[1] for i in range(REPEATED))


def counting_row(name: str, run: Run) -> tuple[str, ...]:
    """All numbers of slots up to 5,000, most of which cut the stages otherwise."""
    slots = np.arange(1.0, 5001.0)
    times, fit = timed(lambda: ReplayTimes(Replay.of(run).with_empty_cache(), 1.3, None))
    _, counting = timed(times.at, slots, np.ones(len(slots)))
    return name, f"{1e3 * fit:.0f}", f"{1e3 * counting:.0f}", str(len(times._known))


def cut_for_slots(name: str, operations: tuple[str, ...]) -> Run:
    """500 stages on 64 slots that Spark SQL cuts for the cores: scans, or merged shuffles."""
    run = made_run(500, 500 * 64)
    random = np.random.default_rng(7)
    stages = []
    for stage in run.stages:
        size = 64 * 9.0 * 1024**2 * (1.0 + 4.0 * random.random())
        data = Measure(64, size, (size / 64,) * 65)
        stage = replace(stage, operations=operations, sql_execution_id=stage.stage_id)
        if name == "scans":
            stages.append(replace(stage, input_bytes=data))
        else:
            stages.append(replace(stage, input_bytes=None, shuffle_read_bytes=data))
    config = {"spark.sql.shuffle.partitions": "2000", "spark.sql.adaptive.enabled": "true"}
    return replace(run, stages=tuple(stages), config=config, spark_version="3.5.1")


def generated(tasks: int) -> Run:
    """500 stages of rows that the program made, in a partition for each of so many slots."""
    run = made_run(500, 500 * tasks, slots=tasks)
    stages = [replace(stage, generated=True, input_bytes=None) for stage in run.stages]
    return replace(run, stages=tuple(stages), spark_version="3.5.1")


def side_by_side(stages: int, tasks: int) -> Run:
    """Stages that wait for none of the others."""
    run = made_run(stages, stages * tasks)
    at_once = [
        replace(stage, parents=(), submitted_seconds=0.0, completed_seconds=run.seconds)
        for stage in run.stages
    ]
    return replace(run, stages=tuple(at_once))


def step_rows(profiles: Sequence[Profile]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    catalog = engine.load_catalog("aws")
    for profile in profiles:
        if profile.reference_workload.input_bytes is None:
            continue
        fitted, spent, clusters = engine.fit(profile), [], 0
        for scale in STEPS:
            request = engine.PlanRequest(profile, catalog, workload=profile.workload_at(scale))
            prepared, seconds = timed(engine.prepare_fitted, fitted, request)
            clusters = prepared.surface.forecast.seconds.size
            spent.append(1e3 * seconds)
        first, following = spent[1], statistics.median(spent[2:])
        rows.append((profile.name[:44], str(clusters), f"{first:.0f}", f"{following:.0f}"))
    return rows


def own_rows(profiles: Sequence[Profile]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
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
    rows: list[tuple[str, ...]] = []
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


def read_all(paths: Sequence[str]) -> list[Profile]:
    found = []
    for path in paths:
        try:
            found.append(engine.read(path))
        except EngineError as error:
            print(f"left out: {error}")
    return found


def main() -> None:
    header: tuple[str, ...] = ("100,000 tasks", "stages", "fit ms", "surface ms", "points",
              "times faster than exact", "within 1 %", "worst %")  # fmt: skip
    models = (("4 large stages", 4), ("50 stages", 50), ("500 small stages", 500))
    print_table(
        [header, *(surface_row(name, made_run(count)) for name, count in models)], apart=True
    )
    header = ("a million tasks: stages", "fit ms", "new slots", "new input", "known input",
              "predict: new slots", "predict: new input")  # fmt: skip
    print_table([header, *(what_if_row(count) for count in (4, 20, 200, 500))], apart=True)
    cuts = (("scans", ("Scan parquet",)), ("merged shuffles", ("AQEShuffleRead", "HashAggregate")))
    header = ("500 stages cut for the slots, and others", "fit ms", "surface ms", "points")
    runs = [(name, cut_for_slots(name, operations)) for name, operations in cuts]
    runs += [(f"generated rows, {slots} slots", generated(slots)) for slots in (2, 64)]
    runs.append(("20 of 10,000 tasks side by side", side_by_side(20, 10_000)))
    print_table([header, *(counting_row(*one) for one in runs)], apart=True)
    profiles = read_all(sys.argv[1:] or sorted(map(str, SAMPLES.glob("*.zstd"))))
    header = ("steps of the data size", "clusters", "first ms", "following ms")
    print_table([header, *step_rows(profiles)], apart=True)
    header = ("log on its own cluster", "slots", "tasks", "observed s", "replayed s", "off %")
    print_table([header, *own_rows(profiles)], apart=True)
    header = ("from", "to", "observed s", "predicted s", "off %", "inside 90 %")
    print_table([header, *other_rows(profiles)], apart=True)


if __name__ == "__main__":
    main()
