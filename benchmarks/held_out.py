"""Held-out evidence on logs: jobs of kinds that the bundled samples do not hold.

Each job runs on real Spark at three input sizes on two slots and at two on one. `show` prints how
far predictions from one and two logs of smaller runs are off and how often the intervals hold,
beside what one repetition says of the next. `benchmarks/logs.py --held-out` makes the logs: of the
jobs of `spark_jobs.py` over records in CSV, and of `table_jobs.py`, `library_jobs.py`,
`analysis_jobs.py`, `pipeline_jobs.py`, `warehouse_jobs.py`, `platform_jobs.py`, `service_jobs.py`,
`record_jobs.py` and `cache_jobs.py` over Parquet and JSON, of `classic_jobs.scala` over the sales
of a shop.

The jobs fall into two halves by their name. Causes may be looked for in the stages of the first;
the second only says whether a change was one.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path

import numpy as np
from cpu_time import busy_share, in_cpu_time
from held_out_runs import CACHES, JOBS, ROOMY_MIB, SIZES, SLOTS, SMALL_MIB, Made, half, runs
from tables import print_table

import engine
from engine.cluster import Workload
from engine.errors import EngineError
from engine.profile import Profile, Run

CONFIDENCES = (0.5, 0.8, 0.9)
BASELINES = ("linear", "proportional")
MODELS = ("sparkplan", "peridot", *BASELINES)


@dataclass(frozen=True)
class Question:
    """What is asked: from which runs, for which run, and of which kind that is."""

    kind: str
    known: tuple[Made, ...]
    asked: Made


def questions(job: str) -> Iterator[Question]:
    """Every larger run of a job from one run and from two of them."""
    made = [run for run in runs() if run.job == job and run.memory_mib == JOBS[job]]
    evidence: list[tuple[Made, ...]] = [(run,) for run in made]
    evidence += [
        (one, other)
        for one in made
        for other in made
        if one.files < other.files and one.executors == other.executors
    ]
    for known, asked in product(evidence, made):
        largest, slots = known[-1].files, known[-1].executors
        more_data, more_slots = asked.files > largest, asked.executors > slots
        if asked in known or asked.files < largest or asked.executors < slots:
            continue
        kind = "both" if more_data and more_slots else "more data" if more_data else "more slots"
        yield Question(f"{len(known)} log{'s'[: len(known) - 1]}, {kind}", known, asked)


@dataclass(frozen=True)
class Answer:
    """A prediction beside a measured run.

    Args:
        error: log of predicted over measured time.
        inside: for each of `CONFIDENCES` whether its interval holds; empty where there is none.
    """

    job: str
    kind: str
    model: str
    question: str
    error: float
    inside: tuple[bool, ...]


Logs = Mapping[Made, Sequence[Run]]


def finished(folder: Path) -> list[Path]:
    """The logs of runs that came to their end."""
    return sorted(folder.glob("*[!s]")) if folder.is_dir() else []


def read_logs(folder: Path, jobs: Collection[str]) -> dict[Made, list[Run]]:
    """The logs in a folder, with the size of their input files as their input."""
    found: dict[Made, list[Run]] = {}
    for made in runs(jobs):
        size = _bytes_in(folder / made.input)
        for path in finished(folder / made.name):
            run = engine.read(path).runs[0]
            found.setdefault(made, []).append(replace(run, workload=Workload(size)))
    return found


def _bytes_in(folder: Path) -> float:
    """Of records, or of tables or sales as Parquet."""
    paths = [*folder.glob("*.csv"), *folder.glob("parquet/*.parquet")]
    paths += folder.glob("sales/*.parquet")
    return float(sum(path.stat().st_size for path in paths))


def answers(logs: Logs, jobs: Sequence[str]) -> list[Answer]:
    """Every question by every model: evidence of one repetition, measured in another where there
    are two."""
    found = []
    for job in jobs:
        for question in questions(job):
            if not all(made in logs for made in (*question.known, question.asked)):
                continue
            for model, repeated in product(MODELS, range(len(logs[question.asked]))):
                found += _answered(logs, question, model, repeated)
    return found


def _answered(logs: Logs, question: Question, model: str, repeated: int) -> list[Answer]:
    asked = logs[question.asked][repeated]
    known = [logs[made][-1 - repeated % len(logs[made])] for made in question.known]
    if model in BASELINES:
        predicted, inside = _baseline(model, known, asked), tuple[bool, ...]()
    else:
        try:
            fitted = engine.fit(Profile(question.asked.job, tuple(known)), model=model)
            each = [
                fitted.predict(
                    cluster=question.asked.cluster, workload=asked.workload, confidence=level
                )
                for level in CONFIDENCES
            ]
        except EngineError:
            return []
        predicted = each[0].seconds
        inside = tuple(
            found.low is not None and found.low <= asked.seconds <= (found.high or math.inf)
            for found in each
        )
    error = math.log(predicted / asked.seconds)
    names = " + ".join(f"{made.files}/{made.executors}" for made in question.known)
    name = f"{names} -> {question.asked.files}/{question.asked.executors}"
    return [Answer(question.asked.job, question.kind, model, name, error, inside)]


def _baseline(model: str, known: Sequence[Run], asked: Run) -> float:
    """`proportional`: the last run's time, times the input, over the slots. `linear`: a straight
    line in the input through two runs, all of it over the slots; proportional with one."""
    last = known[-1]
    slots = (last.cluster.slots or 1) / (asked.cluster.slots or 1)
    size, wanted = last.workload.input_bytes or 1.0, asked.workload.input_bytes or 1.0
    if model == "proportional" or len(known) < 2:
        return last.seconds * slots * wanted / size
    first = known[0]
    slope = (last.seconds - first.seconds) / (size - (first.workload.input_bytes or 1.0))
    return max(last.seconds, last.seconds + slope * (wanted - size)) * slots


def noise_rows(logs: Logs) -> list[tuple[str, ...]]:
    """Per job: how far apart (%) two repetitions of a run are, on average and at most."""
    rows: list[tuple[str, ...]] = [
        ("job", "half", "runs", "seconds", "repeated within %", "at most %", "busy %")
    ]
    for job in JOBS:
        own = {made: found for made, found in logs.items() if made.job == job}
        apart = [
            100.0 * (max(r.seconds for r in found) / min(r.seconds for r in found) - 1.0)
            for found in own.values()
            if len(found) > 1
        ]
        every = [run for found in own.values() for run in found]
        if not every:
            continue
        times = [run.seconds for run in every]
        rows.append(
            (
                job, str(half(job)), str(len(every)), f"{min(times):.0f} to {max(times):.0f}",
                f"{np.mean(apart):.0f}" if apart else "-",
                f"{max(apart):.0f}" if apart else "-",
                f"{100.0 * np.mean([busy_share(run) for run in every]):.0f}",
            )
        )  # fmt: skip
    return rows


HEADER = ("model", "answers", "mean %", "median %", "bias %", "50 %", "80 %", "90 %")


def score_rows(found: Sequence[Answer], by: str) -> list[tuple[str, ...]]:
    """One row per model and job or kind (`by`), and one per model over all."""
    rows: list[tuple[str, ...]] = [(by, *HEADER)]
    keys = list(dict.fromkeys(getattr(answer, by) for answer in found))
    for key in (*(sorted(keys) if by == "kind" else keys), "all"):
        for model in MODELS:
            some = [a for a in found if a.model == model and key in (getattr(a, by), "all")]
            if some:
                rows.append((key, model, *_scores(some)))
    return rows


def _scores(some: Sequence[Answer]) -> tuple[str, ...]:
    off = np.abs(np.expm1([answer.error for answer in some])) * 100.0
    held = [answer.inside for answer in some if answer.inside]
    shares = 100.0 * np.mean(held, axis=0) if held else [math.nan] * len(CONFIDENCES)
    bias = 100.0 * math.expm1(float(np.median([answer.error for answer in some])))
    return (
        str(len(some)),
        f"{off.mean():.1f}",
        f"{np.median(off):.1f}",
        f"{bias:+.0f}",
        *("-" if math.isnan(share) else f"{share:.0f}" for share in shares),
    )


def show(folder: Path, jobs: Collection[str]) -> None:
    """All tables of the given jobs: as measured, and in CPU time with and without the driver's
    (`in_cpu_time`)."""
    logs = read_logs(folder, jobs)
    cpu, stages = (
        {made: [in_cpu_time(run, driver=driver) for run in found] for made, found in logs.items()}
        for driver in (True, False)
    )
    for name, seen in (
        ("as measured", logs), ("in CPU time", cpu), ("in CPU time, stages alone", stages),
    ):  # fmt: skip
        print(f"{name}\n")
        print_table(noise_rows(seen), apart=True)
        for number in (1, 2):
            found = answers(seen, [job for job in JOBS if job in jobs and half(job) == number])
            if found:
                print(f"{name}, half {number}\n")
                print_table(score_rows(found, "job"), apart=True)
                print_table(score_rows(found, "kind"), apart=True)
        cliffs = cliff_rows(seen)
        if len(cliffs) > 1:
            print(f"{name}, the whole input in memory or not\n")
            print_table(cliffs, apart=True)


def cliff_rows(logs: Logs) -> list[tuple[str, ...]]:
    """Height of the memory cliff: the large run with little memory over the same with enough."""
    rows: list[tuple[str, ...]] = [("job", "evidence", "measured", "predicted", "warned")]
    for job in CACHES:
        little, enough = (Made(job, SIZES[-1], SLOTS[-1], mib) for mib in (SMALL_MIB, ROOMY_MIB))
        known = [Made(job, files, SLOTS[-1], SMALL_MIB) for files in SIZES[:-1]]
        if not all(made in logs for made in (little, enough, *known)):
            continue
        for evidence in (known[-1:], known):
            profile = Profile(job, tuple(logs[made][0] for made in evidence))
            fitted = engine.fit(profile)
            workload = logs[little][0].workload
            small, large = (
                fitted.predict(cluster=made.cluster, workload=workload) for made in (little, enough)
            )
            measured = min(run.seconds for run in logs[little]) / min(
                run.seconds for run in logs[enough]
            )
            warned = any(notice.code == "cache-does-not-fit" for notice in small.warnings)
            rows.append(
                (
                    job, f"{len(evidence)} small", f"{measured:.2f}",
                    f"{small.seconds / large.seconds:.2f}", "yes" if warned else "no",
                )
            )  # fmt: skip
    return rows
