"""Which stages read which, on logs of random jobs: against what was run."""

from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest
import sparklog as log
from distilled import run_of, stage_of


@dataclass
class Scheduler:
    """Plans a stage for every shuffle behind a job and skips those that are written, as Spark's.

    Args:
        behind: (n,) the shuffles that each shuffle's stage reads; rdds: (n,) what it computes.
        seen: share of the stages that ran whose events the log holds.
    """

    behind: list[list[int]]
    rdds: list[int]
    seen: float
    random: np.random.Generator
    events: list[log.Event] = field(default_factory=lambda: log.header())
    written: set[int] = field(default_factory=set)
    last: dict[int, int] = field(default_factory=dict)
    parents: dict[int, tuple[int, ...]] = field(default_factory=dict)
    at: float = 2.0
    stages: int = 0

    def run(self, wanted: list[int]) -> None:
        """A job that reads some shuffles."""
        planned: dict[int, log.Event] = {}
        for shuffle in sorted(self._all_behind(wanted)):
            read = [planned[other]["Stage ID"] for other in self.behind[shuffle]]
            planned[shuffle] = self._planned(self.rdds[shuffle], read)
        reads = [planned[shuffle]["Stage ID"] for shuffle in wanted]
        result = self._planned(1000 + self.stages, reads)
        self.events.append(log.job(self.stages, [*planned.values(), result], self.at))
        ran: set[int] = set()
        for shuffle, stage in planned.items():
            if shuffle not in self.written and self._is_needed(shuffle, wanted):
                self._ran(stage, self.behind[shuffle], planned, ran)
                self.written.add(shuffle)
        self._ran(result, wanted, planned, ran, always=True)

    def _all_behind(self, wanted: list[int]) -> set[int]:
        found = set(wanted)
        for shuffle in wanted:
            found |= self._all_behind(self.behind[shuffle])
        return found

    def _is_needed(self, shuffle: int, wanted: list[int]) -> bool:
        """Whether nothing that is written hides it from the job."""
        return any(
            shuffle == one
            or (one not in self.written and self._is_needed(shuffle, self.behind[one]))
            for one in wanted
        )

    def _planned(self, rdd: int, parents: list[int]) -> log.Event:
        self.stages += 1
        return log.info(self.stages, 1, parents=parents, rdds=[log.rdd(rdd)])

    def _ran(
        self, stage: log.Event, reads: list[int], planned: dict[int, log.Event], ran: set[int],
        *, always: bool = False,
    ) -> None:  # fmt: skip
        """Notes what it reads by the rule, and writes its events if the log keeps them."""
        number, (start, end) = stage["Stage ID"], (self.at, self.at + 1.0)
        self.at += 1.0
        found = self._read(reads, planned, ran)
        if always or self.random.random() < self.seen:
            self.events += [
                log.submitted(stage, start),
                log.task(number, number, start, end, index=0),
                log.completed(stage, start, end),
            ]
            self.parents[number] = tuple(sorted(found))
            self.last[stage["RDD Info"][0]["RDD ID"]] = number
            ran.add(number)

    def _read(self, reads: list[int], planned: dict[int, log.Event], ran: set[int]) -> set[int]:
        """The planned stage where it ran, else the last that computed its RDD, else what that
        would have read."""
        found: set[int] = set()
        for shuffle in reads:
            stage, rdd = planned[shuffle]["Stage ID"], self.rdds[shuffle]
            if stage in ran:
                found.add(stage)
            elif rdd in self.last:
                found.add(self.last[rdd])
            else:
                found |= self._read(self.behind[shuffle], planned, ran)
        return found


@pytest.mark.parametrize("seen", [1.0, 0.7, 0.3])
def test_the_parents_of_a_stage_are_what_computed_what_it_reads(
    tmp_path: Path, seen: float
) -> None:
    """One RDD may be written for two shuffles; some stages are not in the log."""
    random, several = np.random.default_rng(round(10 * seen)), 0
    for _ in range(20):
        shuffles = int(random.integers(2, 7))
        behind = [
            random.choice(n, int(random.integers(0, min(n, 3) + 1)), replace=False).tolist()
            for n in range(shuffles)
        ]
        rdds = [100 + int(random.integers(0, n + 1)) for n in range(shuffles)]
        spark = Scheduler(behind, rdds, seen, random)
        for _ in range(4):
            count = int(random.integers(1, min(shuffles, 3) + 1))
            spark.run(random.choice(shuffles, count, replace=False).tolist())
        run = run_of(tmp_path, [*spark.events, log.end(spark.at + 1.0)])
        assert {stage.stage_id: stage.parents for stage in run.stages} == spark.parents
        several += sum(len(parents) > 1 for parents in spark.parents.values())
    assert several > 5


ZERO, ONE = log.info(0, 1, rdds=[log.rdd(7)]), log.info(1, 1, parents=[0], rdds=[log.rdd(8)])


def events_of_two() -> list[log.Event]:
    ran = [
        event
        for stage, at in ((ZERO, 2.0), (ONE, 3.0))
        for event in (
            log.submitted(stage, at),
            log.task(stage["Stage ID"], stage["Stage ID"], at, at + 1.0, index=0),
            log.completed(stage, at, at + 1.0),
        )
    ]
    return [*log.header(), log.job(0, [ZERO, ONE], 1.0), *ran, log.end(5.0)]


@pytest.mark.parametrize("lost", ["JobStart", "Stage"])
def test_a_stage_or_the_plan_of_its_job_tells_what_it_reads(tmp_path: Path, lost: str) -> None:
    """A log that has lost either of the two still has the other."""
    kept = [e for e in events_of_two() if not e["Event"].startswith(f"SparkListener{lost}")]
    assert len(kept) < len(events_of_two())
    run = run_of(tmp_path, kept)
    assert stage_of(run, 1).parents == (0,)


def test_a_plan_that_reads_itself_ends(tmp_path: Path) -> None:
    """No Spark writes such a log; one that was tampered with must not hang the reader."""
    events = events_of_two()
    two, three = (
        log.info(n, 1, parents=[5 - n, 1], rdds=[log.rdd(n)]) for n in (2, 3)
    )  # neither ran
    four = log.info(4, 1, parents=[2, 4], rdds=[log.rdd(9)])
    ran = [log.submitted(four, 5.0), log.task(4, 4, 5.0, 6.0, index=0), log.completed(four, 5, 6.0)]
    run = run_of(tmp_path, [*events[:-1], log.job(1, [two, three, four], 5.0), *ran, log.end(7.0)])
    assert stage_of(run, 4).parents == (1,)
