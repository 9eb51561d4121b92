"""Into how many partitions input is divided that Spark SQL does not cut by its size: on real logs,
of which each predicts the other (five files on two slots, fifteen on eight)."""

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import log_pair
from sparkplan_runs import fit

from engine import Cluster
from engine.batch import ClusterBatch
from engine.models.base import FittedModel
from engine.models.replay.replayed_run import Replay
from engine.models.replay.stage_laws import pair_fit, with_laws
from engine.models.stages.stage_models import stage_models
from engine.profile import Run
from engine.units import MIB

FEW, MORE = log_pair("divided")
FILES = 3.0
"""So many times the files has the larger run."""

WHOLE_FILES, BLOCKS, SMALL_FILE, ASKED, BUCKETS, RANGE = range(6)
COLLECTION, REDUCED, ASKED_COLLECTION = range(7, 10)


def predicted(known: Run, asked: Run) -> list[float]:
    """Partitions of each stage of one run by the log of the other."""
    slots = known.cluster.slots, asked.cluster.slots
    assert slots[0]
    assert slots[1]
    ratio = FILES if asked is MORE else 1.0 / FILES
    models = stage_models(known, slots[0])
    return [model.partition_count(ratio, None).at(slots[1]) for model in models]


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_log_predicts_the_partitions_of_the_other(known: Run, asked: Run) -> None:
    seen = [stage.tasks for stage in asked.stages]
    assert seen[BLOCKS] == (8 if asked is MORE else 3)
    assert predicted(known, asked)[BLOCKS] == pytest.approx(seen[BLOCKS], abs=1.0)
    others = [place for place in range(len(seen)) if place != BLOCKS]
    assert [predicted(known, asked)[place] for place in others] == [seen[p] for p in others]


def test_the_logs_say_which_rows_the_program_made() -> None:
    for run in (FEW, MORE):
        made = [place for place, stage in enumerate(run.stages) if stage.generated]
        assert made == [ASKED, RANGE, COLLECTION, ASKED_COLLECTION]
        assert [place for place, stage in enumerate(run.stages) if stage.bucketed] == [BUCKETS]


def test_rows_that_the_program_made_use_all_slots() -> None:
    """A range without a number of partitions has one for each core, and no fewer than two; so has
    the shuffle that takes over its number. Numbers that are asked for stay."""
    replay = Replay.of(FEW)
    for slots in (1, 2, 16):
        tasks = replay.replayed(slots).tasks
        assert {tasks[RANGE], tasks[COLLECTION], tasks[REDUCED]} == {max(2, slots)}
        assert (tasks[ASKED], tasks[ASKED_COLLECTION]) == (3, 20)


def test_a_set_parallelism_is_that_of_ranges_on_every_cluster() -> None:
    made = Stage(np.full(4, 2.0), more={"generated": True})
    free, named = (observed([made], slots=4, config=config) for config in ({}, PARALLELISM))
    assert [stage_models(run, 4)[0].scaled(1.0, None, 32).tasks for run in (free, named)] == [32, 4]


@pytest.mark.parametrize(
    ("setting", "query"), [("files.minPartitionNum", 0), ("files.minPartitionNum", None),
                           ("leafNodeDefaultParallelism", None)],
)  # fmt: skip
def test_a_setting_of_scans_says_nothing_of_rows_that_the_program_makes(
    setting: str, query: int | None
) -> None:
    """`range` and `parallelize` have `SparkContext.defaultParallelism` partitions, whatever number
    of splits a scan has at least."""
    made = Stage(np.full(4, 2.0), more={"generated": True, "sql_execution_id": query})
    run = observed([made], slots=4, config={f"spark.sql.{setting}": "200"})
    assert stage_models(run, 4)[0].scaled(1.0, None, 32).tasks == 32


def test_rows_of_a_query_stay_in_as_many_partitions_as_are_set_for_it() -> None:
    """`spark.range` takes `leafNodeDefaultParallelism`, here as many as the log's cores."""
    made = Stage(np.full(4, 2.0), more={"generated": True, "sql_execution_id": 0})
    run = observed([made], slots=4, config={"spark.sql.leafNodeDefaultParallelism": "4"})
    assert stage_models(run, 4)[0].scaled(1.0, None, 32).tasks == 4


def test_whole_text_files_stay_in_the_partitions_that_were_asked_for() -> None:
    """`wholeTextFiles` of four files and of twelve, 4.5 and 13.5 MB, on two and on six slots: two
    tasks each (3.5.9), and no more of any size."""
    read = Stage(np.full(2, 2.0), input_bytes=4.5e6, more={"operations": ("wholeTextFiles",)})
    model = stage_models(observed([read], slots=2), 2)[0]
    counts = [model.scaled(ratio, None, 6).tasks for ratio in (1 / 3, 1.0, 3.0, 1000.0)]
    assert counts == [2, 2, 2, 2]
    assert model.data_growth(3.0) == 3.0


def test_files_beside_whole_text_files_are_cut_as_they_are_alone() -> None:
    """A union of both: all of it had six tasks for a thousand times the input."""
    beside = {"operations": ("union", "wholeTextFiles", "textFile")}
    read = Stage(np.full(6, 2.0), input_bytes=8e6, more=beside)
    model = stage_models(observed([read], slots=2), 2)[0]
    assert model.scaled(1000.0, None, 2).tasks > model.scaled(1.0, None, 2).tasks == 6


def test_who_takes_the_first_rows_of_a_collection_runs_no_more_of_it_on_more_slots() -> None:
    """`take` of a collection in 20 parts runs one, then four: here as many as there are cores."""
    taken = Stage(np.full(4, 2.0), more={"generated": True, "in_part": True})
    model = stage_models(observed([taken], slots=4), 4)[0]
    assert model.scaled(1.0, None, 32).tasks == 4
    assert not model.depends_on_cluster


def test_a_second_log_tells_of_a_number_that_was_asked_for() -> None:
    """A program that makes a partition for each of its files may have had as many as cores."""
    few, more = (
        Replay.of(
            observed([Stage(np.full(n, 2.0), more=MADE)], slots=4, input_bytes=n * 100.0 * MIB)
        )
        for n in (4, 12)
    )
    told = with_laws(few, [(pair_fit(few, more), 1.0)])
    for slots in (4, 16):
        assert told.replayed(slots, ratio=3.0).tasks == (12,)


def test_a_short_range_makes_the_rest_no_less_sure_on_more_slots() -> None:
    """Beyond the 16 slots that the work is busy on only the range uses more."""
    short, times = Stage(np.full(4, 0.05), more=MADE), np.full(16, 20.0)
    alone = fit(observed([Stage(times)], slots=4))
    beside = fit(observed([short, Stage(times, (0,))], slots=4))
    by_cores = fit(observed([Stage(4.0 * times[:4], more=MADE)], slots=4))
    for slots in (64, 256):
        sure, same, unsure = (log_scale(by, slots) for by in (alone, beside, by_cores))
        assert same == pytest.approx(sure, rel=0.02)
        assert unsure > 1.5 * sure


def test_a_number_that_was_asked_for_after_all_is_within_the_interval() -> None:
    """Four tasks on four slots: a partition for each core, or four wherever they run."""
    found = fit(observed([Stage(np.full(4, 80.0), more=MADE)], slots=4))
    for slots, stays in ((16, 80.0), (4, 80.0), (2, 160.0)):
        cluster = Cluster.of_executors(executors=slots, executor_cores=1)
        answer = found.predict(cluster=cluster, confidence=0.9)
        assert answer.low < stays < answer.high
        assert 0.8 * 320.0 / slots < answer.seconds < 1.25 * 320.0 / slots


def log_scale(found: FittedModel, slots: int) -> float:
    """Of the answer on so many slots."""
    cluster = Cluster.of_executors(executors=slots, executor_cores=1)
    batch = ClusterBatch.of([cluster], found.profile)
    return float(found.forecast(batch, found.profile.reference_workload).log_scale[0])


MADE = {"generated": True}
PARALLELISM = {"spark.default.parallelism": "4"}


@pytest.mark.parametrize(
    ("operation", "tasks", "largest_mib", "at_four_times"),
    [
        ("textFile", 4, 20.0, 16),  # whole files
        ("Scan hive spark_catalog.default.a", 4, 20.0, 16),
        ("textFile", 2, 32.1, 8),  # whole blocks of local files
        ("textFile", 2, 128.05, 8),
        ("hadoopFile", 2, 20.0, 2),  # one file that was cut in two, or two that are alike
        ("Scan csv", 4, 20.0, 4),  # cut by its size
    ],
)
def test_hadoop_cuts_each_file_for_itself(
    operation: str, tasks: int, largest_mib: float, at_four_times: int
) -> None:
    read = Stage(
        np.full(tasks, 4.0),
        input_bytes=tasks * largest_mib * MIB,
        more={"operations": (operation, "map")},
    )
    model = stage_models(observed([read], slots=4), 4)[0]
    assert model.scaled(4.0, None).tasks == at_four_times
    assert model.depends_on_cluster is (operation == "Scan csv")


def test_the_split_size_of_spark_sql_is_none_of_hadoop() -> None:
    config = {"spark.sql.files.maxPartitionBytes": "1m"}
    read = Stage(np.full(2, 4.0), input_bytes=2 * MIB, more={"operations": ("hadoopFile",)})
    model = stage_models(observed([read], slots=4, config=config), 4)[0]
    assert model.scaled(8.0, None).tasks == 2


def test_a_number_that_coalesce_left_as_it_was_is_no_number_of_files() -> None:
    """GraphX reads edges in as many partitions as it is asked for, and coalesces to these."""
    more = {"operations": ("coalesce", "textFile")}
    read = Stage(np.full(16, 1.0), input_bytes=16 * MIB, more=more)
    assert stage_models(observed([read], slots=4), 4)[0].scaled(4.0, None).tasks == 16


@pytest.mark.parametrize("tasks", [3, 11])
def test_rows_are_numbered_by_counting_all_files_but_the_last(tasks: int) -> None:
    """Of 4 files `zipWithIndex` counted the rows of 3, of 12 those of 11, in Spark 3.5.9."""
    more = {"operations": ("textFile",), "name": "zipWithIndex at a.scala:1"}
    read = Stage(np.full(tasks, 1.0), input_bytes=tasks * 0.2 * MIB, more=more)
    model = stage_models(observed([read], slots=4), 4)[0]
    files = tasks + 1
    assert model.partition_count(1.0, None).own == tasks
    found = [model.scaled(ratio, None).tasks for ratio in (0.5, 1.0, 3.0)]
    assert found == [files / 2 - 1, tasks, 3 * files - 1]
    assert model.partition_count(0.5 / files, None).own > 0.0
