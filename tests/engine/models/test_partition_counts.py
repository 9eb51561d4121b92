"""Stages that one rule tells are answered together as each by itself."""

from dataclasses import replace

import numpy as np
import pytest
from test_partitions import models, plan
from watched import calls_of

from engine.models.stages.durations.task_times import StageModel
from engine.models.stages.partition_counts import CountedStages
from engine.models.stages.partitioning.coalesced_partitions import CoalescedPartitions
from engine.models.stages.partitioning.packed_files import PackedFiles
from engine.models.stages.partitioning.partitions import Growth, PartitionsPerCore
from engine.models.stages.partitioning.written_files import WrittenSplits
from engine.units import MIB

OWN = 8


def files(count: int, tasks: int, mib: float) -> StageModel:
    """A scan of so many files, which are known to be so many."""
    run = plan(scan_tasks=tasks, scan_mib=mib / 5.0, slots=OWN)
    known = replace(run.stages[0], files_bytes=mib * MIB, files_read=float(count))
    return models(replace(run, stages=(known, *run.stages[1:])))[0]


def of_every_kind() -> list[StageModel]:
    """Files that are cut and that are not, scans of which nobody knows the files, coalesced
    shuffles of cores and of size, small ones, and a stage whose partitions stay."""
    by_size = {"spark_sql_adaptive_coalescePartitions_parallelismFirst": "false"}
    return [
        files(36, 9, 36 * 16.39),
        *models(plan(scan_tasks=8, scan_mib=600.0, coalesced_tasks=9, slots=OWN)),
        files(12, 12, 240.0),
        files(1000, 32, 10.0),
        *models(
            plan(scan_tasks=60, scan_mib=6000.0, shuffle_mib=3000.0, coalesced_tasks=50, slots=8)
        ),
        *models(plan(coalesced_tasks=1, slots=OWN, **by_size)),
        *models(plan(scan_tasks=2, scan_mib=1.0, shuffle_mib=0.1, coalesced_tasks=1, slots=OWN)),
        replace(
            files(36, 9, 36 * 16.39), law=replace(files(36, 9, 590.0).law, partition_power=0.7)
        ),
        *written(),
    ]


def written() -> list[StageModel]:
    """Scans of what a scan wrote, in a file for each task and in folders, and of what a coalesced
    shuffle did."""
    scan = files(36, 9, 36 * 16.39)
    coalesced = models(plan(scan_tasks=8, scan_mib=600.0, coalesced_tasks=9, slots=OWN))[1]
    read = files(1000, 32, 10.0)
    return [
        replace(read, written_by=replace(by, stage=replace(by.stage, **wrote)))
        for by in (scan, coalesced)
        for wrote in (
            {"written_files": 1000.0, "written_folders": 300.0},
            {"written_files": 9.0, "written_folders": 0.0},
            {"written_files": 1000.0, "written_folders": 1000.0},
        )
    ]


@pytest.mark.parametrize("shuffle_partitions", [None, 40])
@pytest.mark.parametrize("ratio", [0.05, 0.7, 1.0, 2.3, 60.0])
def test_together_as_each_by_itself(ratio: float, shuffle_partitions: int | None) -> None:
    every = of_every_kind()
    counts = CountedStages(every, OWN, shuffle_partitions).at(ratio)
    alone = [model.partition_count(ratio, shuffle_partitions) for model in every]
    assert counts.own == pytest.approx([count.own for count in alone])
    for slots in (1, 2, OWN - 1, OWN, OWN + 1, 20, 64, 500):
        assert counts.at(slots) == pytest.approx([count.at(slots) for count in alone])
        some = np.asarray([float(slots), 3.0])
        assert [count.at(slots) for count in alone] == pytest.approx(
            [count.on(some)[0] for count in alone]
        )


def test_each_kind_is_there() -> None:
    counts = CountedStages(of_every_kind(), OWN, None).at(1.3)
    assert {type(rule) for _, rule in counts.ruled} == {
        PackedFiles, CoalescedPartitions, PartitionsPerCore, WrittenSplits,
    }  # fmt: skip
    assert counts.at(500).tolist() != counts.own.tolist()


def test_what_was_given_out_is_not_changed() -> None:
    """The partitions on the run's own slots are kept for every later question."""
    counts = CountedStages(of_every_kind(), OWN, None).at(1.3)
    before = counts.own.copy()
    counts.at(500)
    assert counts.own.tolist() == before.tolist()
    assert counts.at(OWN).tolist() == before.tolist()


CHAIN = 3000
"""More stages than calls that Python lets stand in each other."""


@pytest.mark.parametrize("shuffle_partitions", [None, 40])
def test_a_long_job_of_shuffles_takes_over_the_partitions_of_its_input(
    monkeypatch: pytest.MonkeyPatch, shuffle_partitions: int | None
) -> None:
    """RDDs that are shuffled again and again, as in a thousand iterations; in the middle one whose
    number of partitions other logs tell."""
    source = files(36, 9, 36 * 16.39)
    chain, middle = [source], CHAIN // 2
    for place in range(1, CHAIN):
        law = replace(source.law, partition_power=0.5) if place == middle else source.law
        chain.append(replace(source, growth=Growth.WORK, law=law, follows=chain[-1]))
    asked = calls_of(monkeypatch, StageModel, "_has_own_count")
    assert chain[middle - 1].depends_on_cluster == source.depends_on_cluster
    counts = CountedStages(chain, OWN, shuffle_partitions).at(2.0)
    assert len(asked) < 8 * CHAIN, "each looks no further than one that knows"
    for slots in (OWN, 40):
        found = counts.at(slots)
        assert (found[:middle] == source.partition_count(2.0, shuffle_partitions).at(slots)).all()
        told = chain[middle].partition_count(2.0, shuffle_partitions).at(slots)
        assert (found[middle:] == told).all()
        assert told != found[0]
