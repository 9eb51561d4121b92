"""What joins that may be broadcasts with less data do to the time and to its interval."""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_runs import Stage, observed
from numpy.typing import NDArray

from engine import read
from engine.models.replay.broadcasts import ChangedJoins, JoinEffect
from engine.models.replay.converted_joins import ConvertedJoin, converted_joins
from engine.models.replay.replayed_run import Replay
from engine.models.replay.times import Times
from engine.models.stages.partitioning.small_tables import SMALL_TABLE_POWER
from engine.profile import Run
from engine.stage_run import StageRun
from engine.units import MIB

PLANNED = read(Path(__file__).parents[2] / "data" / "planned.zstd").runs[0]
SLOTS, SPEED = np.asarray([4.0]), np.asarray([2.0])


def joining(**changes: Mapping[str, object]) -> Run:
    """A table that two stages merge, the second of them shorter, beside two other scans. Spark
    takes the table for up to 200 MiB of files, of which 1 MiB was read."""
    scans = [Stage(np.full(16, 4.0), input_bytes=mib * MIB) for mib in (1.0, 640.0, 640.0)]
    merges = [Stage(np.full(16, one), (0, 1), shuffle_bytes=320 * MIB) for one in (12.0, 2.0)]
    run = replace(observed([*scans, *merges], slots=4), spark_version="3.5.1")
    table, *others, long, short = run.stages
    stages: dict[str, StageRun] = {
        "table": replace(table, files_bytes=200.0 * MIB),
        "long": replace(long, merged_bytes=(800.0 * MIB,), merged_stages=(0,)),
        "short": replace(short, merged_bytes=(24.0 * MIB,)),
    }
    table, long, short = (replace(one, **changes.get(key, {})) for key, one in stages.items())
    return replace(run, stages=(table, *others, long, short))


NONE: Mapping[str, object] = {"merged_bytes": (), "merged_stages": ()}
IMPROBABLE, PROBABLE, BOTH = joining(short=NONE), joining(long=NONE), joining()


def effect(run: Run, seconds: float) -> tuple[JoinEffect, dict[bool, float]]:
    """The effect on a replay of so many seconds, and the share of it that probable joins save, and
    others."""
    changed = ChangedJoins(Replay.of(run), 0.25)
    saved = {True: 0.0, False: 0.0}
    for one in changed.converted:
        saved[one.probable] += one.saved_seconds(0.25, SLOTS, None)[0] / SPEED[0] / seconds
    return changed.effect(SLOTS, SPEED, Times(np.asarray([seconds]), np.zeros(1))), saved


def test_the_interval_of_a_probable_broadcast_reaches_the_plan_of_the_log() -> None:
    found, saved = effect(PROBABLE, 10.0)
    assert saved[True] > 0.0 == saved[False]
    assert found.log_factor == pytest.approx(np.log1p(-saved[True]))
    assert found.reach == pytest.approx(-np.log1p(-saved[True]))


def test_that_of_an_improbable_one_reaches_the_plan_with_it() -> None:
    found, saved = effect(IMPROBABLE, 40.0)
    assert 0.0 < saved[False] < 0.5
    assert found.log_factor == 0.0
    assert found.reach == pytest.approx(-np.log1p(-saved[False]))


def test_that_of_both_reaches_the_farther_of_the_two_plans() -> None:
    found, saved = effect(BOTH, 40.0)
    probable = np.log1p(-saved[True])
    assert found.log_factor == pytest.approx(probable)
    assert found.reach == pytest.approx(probable - np.log1p(-saved[True] - saved[False]))


def test_broadcasts_save_half_of_the_time_at_most() -> None:
    found, saved = effect(PROBABLE, 0.5)
    assert saved[True] > 0.5
    assert found.log_factor == pytest.approx(np.log(0.5))
    assert found.reach == pytest.approx(np.log(2.0))


def of_stage(run: Run, ratio: float = 0.25, **changes: object) -> list[ConvertedJoin]:
    """The joins that change if the model of the table is another."""
    table, *others = Replay.of(run).models
    return converted_joins(run, [replace(table, **changes), *others], ratio)


def as_small_table(ratio: float, cores: object) -> NDArray[np.float64]:
    return np.asarray(ratio**SMALL_TABLE_POWER)


SMALL_TABLE = {"small_table": True, "read_law": as_small_table}


def test_files_that_may_count_for_less_count_for_more_than_the_threshold_in_the_log() -> None:
    """Of 10 to 200 MiB, log-uniform, a quarter is 2.5 to 50: more than 10 with probability 0.54. Of
    1 to 200 it would be 0.3."""
    (one,) = of_stage(IMPROBABLE)
    assert one.size == (10.0 * MIB, 200.0 * MIB)
    assert one.size.probability_beyond(10.0 * MIB, one.growth) == pytest.approx(0.537, abs=1e-3)
    assert not one.probable


def test_a_small_table_may_shrink_in_proportion() -> None:
    """24 MiB of one file are 17 as a small table is taken to shrink, and 6 in proportion."""
    run = joining(short=NONE, table={"files_bytes": 24.0 * MIB, "row_shares": (24.0, 1.0)})
    (small,), (other,) = of_stage(run, **SMALL_TABLE), of_stage(run)
    assert (small.growth, small.probable) == (0.25, False)
    assert (other.growth, other.probable) == (0.25, True)


def test_groups_of_a_side_shrink_as_both_sides_do() -> None:
    """Rows of a small table are 17 MiB of 24 with a quarter of the input, both sides a quarter."""
    run = joining(long={"merged_bytes": (24.0 * MIB,)}, short=NONE, table={"files_bytes": None})
    table = Replay.of(run).models[0]
    grouped = replace(table.stage, grouped_rows=1e6)
    assert of_stage(run, **SMALL_TABLE) == []
    (one,) = of_stage(run, stage=grouped, **SMALL_TABLE)
    assert one.growth == pytest.approx(0.25)


@pytest.mark.parametrize("files", [None, 24.0 * MIB])
def test_a_side_whose_rows_are_limited_keeps_its_size(files: float | None) -> None:
    limit = {"input_records": 1e6, "shuffle_write_records": 16e3}
    run = joining(
        long={"merged_bytes": (24.0 * MIB,)},
        short=NONE,
        table={"files_bytes": files, **limit},
    )
    table = Replay.of(run).models[0].stage
    assert len(of_stage(run, stage=table)) == 1
    limited = replace(table, operations=("Exchange", "LocalLimit"))
    assert of_stage(run, stage=limited) == []


@pytest.mark.parametrize(("parents", "saved"), [((0, 1), [1]), ((0, 1, 2), [])])
def test_the_shuffle_of_the_other_side_is_saved_where_it_is_known(
    parents: tuple[int, ...], saved: list[int]
) -> None:
    (one,) = of_stage(joining(short=NONE, long={"parents": parents}))
    assert [model.stage.stage_id for model in one.shuffled] == saved


def test_the_warning_is_of_probable_joins_where_there_are_any() -> None:
    said, alone = (
        ChangedJoins(Replay.of(run), 0.25).conversion_notice(4.0, 2.0) for run in (BOTH, PROBABLE)
    )
    assert said is not None
    assert said == alone, "the longer stage is less probable"
    assert "stage 4 (stage 4) sorts and merges a table of 25.2 MB, 6.29 MB if" in said.text
    assert "The time is that with the broadcast" in said.text
    (probable,) = (one for one in ChangedJoins(Replay.of(BOTH), 0.25).converted if one.probable)
    assert said.severity == pytest.approx(probable.saved_seconds(0.25, SLOTS, None)[0] / 2.0)


def test_the_warning_of_a_planned_broadcast_gives_what_spark_takes_its_files_for() -> None:
    said = ChangedJoins(Replay.of(IMPROBABLE), 0.25).conversion_notice(4.0)
    assert said is not None
    assert "a table that Spark takes for 10.5 MB to 210 MB by its files, 2.62 MB to" in said.text
    assert "The time is that of the log's plan" in said.text


def test_the_files_of_a_real_table_are_not_called_what_is_merged_of_them() -> None:
    table, sums = (one.model.stage for one in ChangedJoins(Replay.of(PLANNED), 0.25).converted)
    stages = (replace(one, **NONE) if one is sums else one for one in PLANNED.stages)
    run = replace(PLANNED, stages=tuple(stages))
    said = ChangedJoins(Replay.of(run), 0.25).conversion_notice(2.0)
    assert table.merged_bytes == (192_000.0,)
    assert said is not None
    assert "merges a table that Spark takes for 67.6 kB by its files, 16.9 kB if" in said.text
