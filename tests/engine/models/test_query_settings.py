"""Queries of one run that each set how shuffles, files and joins are divided: on real logs, of four
files on two slots and of twelve on six, and on made ones."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_runs import Stage, observed
from real_logs import log_pair, tasks_of

from engine import read
from engine.models.replay.broadcast_thresholds import broadcast_threshold, conversion_threshold
from engine.models.stages.partitioning.partitions import PartitioningSettings, query_config
from engine.models.stages.partitioning.stage_growth import shuffle_partitions_of
from engine.models.stages.stage_models import stage_models
from engine.profile import Profile, Run
from engine.sources.formats.profile_file import write_profile
from engine.units import MIB

FEW, MORE = log_pair("own_settings")
FILES = 3.0
SMALLEST = "spark.sql.adaptive.coalescePartitions.minPartitionSize"
THRESHOLD = "spark.sql.autoBroadcastJoinThreshold"
MAX_SPLIT, OPEN_COST = "spark.sql.files.maxPartitionBytes", "spark.sql.files.openCostInBytes"
PARTITIONS = "spark.sql.shuffle.partitions"


def tasks(known: Run, asked: Run) -> list[int]:
    """Tasks of each stage of one run by the log of the other."""
    return tasks_of(known, asked.cluster.slots, FILES if asked is MORE else 1.0 / FILES)


@pytest.mark.parametrize(("known", "asked"), [(FEW, MORE), (MORE, FEW)])
def test_each_query_has_the_partitions_of_its_own_settings(known: Run, asked: Run) -> None:
    """The first joins its small shuffle to one task, at least 1 MiB; the others have many of 1 KiB,
    and take longer, so that the run has their settings."""
    assert known.config[SMALLEST] == "1k"
    coalesced = [place for place, one in enumerate(asked.stages) if one.shuffle_read_bytes]
    seen = [asked.stages[place].tasks for place in coalesced]
    assert seen[0] == 1
    assert min(seen[1:]) > 10
    assert [tasks(known, asked)[place] for place in coalesced] == seen


def test_without_them_those_of_most_of_the_run_are_wrong_for_the_first() -> None:
    stages = tuple(replace(stage, query_settings=()) for stage in FEW.stages)
    first = next(place for place, one in enumerate(MORE.stages) if one.shuffle_read_bytes)
    assert tasks(replace(FEW, stages=stages), MORE)[first] > 1 == MORE.stages[first].tasks


def test_a_schema_is_inferred_with_the_settings_of_the_scan_that_follows() -> None:
    """The run has those of its last query, which cuts files into splits of 24 KiB. The job that
    infers the schema of the first is of no query and lists none."""
    last = dict(FEW.stages[-1].query_settings)
    assert last == {MAX_SPLIT: "24k", OPEN_COST: "1k"}
    others = tuple((key, "") for key in last)
    stages = tuple(
        stage if stage.sql_execution_id is None
        else replace(stage, query_settings=() if stage.sql_execution_id == 3
                     else (*stage.query_settings, *others))
        for stage in FEW.stages
    )  # fmt: skip
    run = replace(FEW, stages=stages, config={**FEW.config, **last})
    schema, scan = stage_models(run, 2)[1:3]
    assert (schema.stage.query_settings, schema.stage.operations[-1]) == ((), "Scan text")
    assert schema.partitioning == scan.partitioning
    for ratio, slots in ((1.0, 6), (3.0, 6), (9.0, 12)):
        tasks = [one.scaled(ratio, None, slots).tasks for one in (schema, scan)]
        assert tasks[0] == tasks[1]
    own = replace(schema.stage, query_settings=((MAX_SPLIT, "1m"),))
    told = replace(run, stages=(stages[0], own, *stages[2:]))
    assert stage_models(told, 2)[1].partitioning.split_bytes == MIB, "what its job lists counts"


def test_a_profile_keeps_them(tmp_path: Path) -> None:
    path = tmp_path / "profile.yaml"
    write_profile(Profile("kept", (FEW,)), path)
    (kept,) = read(path).runs
    settings = [stage.query_settings for stage in FEW.stages]
    assert [stage.query_settings for stage in kept.stages] == settings
    assert any(settings)


def test_settings_of_a_query_come_before_those_of_its_run() -> None:
    """An empty value is the default, which the run has not."""
    own = ((PARTITIONS, "8"), (SMALLEST, ""), (THRESHOLD, "-1"))
    made = [Stage(np.ones(4)), Stage(np.ones(4), more={"query_settings": own})]
    run = observed(made, slots=4, config={PARTITIONS: "64", SMALLEST: "4m", THRESHOLD: "20m"})
    run = replace(run, spark_version="3.5.1")
    usual, other = run.stages
    assert [shuffle_partitions_of(run, stage) for stage in (usual, other)] == [64, 8]
    assert query_config(run, usual) is run.config
    smallest = [PartitioningSettings.of(run, 4, one).smallest_bytes for one in (usual, other)]
    assert smallest == [4.0 * MIB, MIB]
    assert broadcast_threshold(run, usual) == (THRESHOLD, 20 * MIB)
    assert conversion_threshold(run, usual) == 20 * MIB
    assert broadcast_threshold(run, other).limit_bytes is None
    assert conversion_threshold(run, other) is None
