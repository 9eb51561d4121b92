"""Tables that were grouped on the way to a broadcast that Spark planned by the size of files."""

from dataclasses import replace

import numpy as np
import pytest
from made_runs import Stage, observed

from engine.models.replay.broadcasts import ChangedJoins, OutgrownBroadcast
from engine.models.replay.replayed_run import Replay
from engine.profile import Run
from engine.units import MIB

SUMS = {"sql_execution_id": 0, "operations": ("Exchange", "Scan parquet", "WholeStageCodegen (1)")}
SENT = {
    "sql_execution_id": 0,
    "operations": ("BroadcastExchange", "AQEShuffleRead", "WholeStageCodegen (2)"),
}
FACTS = {
    "sql_execution_id": 0,
    "operations": ("Exchange", "Scan parquet", "WholeStageCodegen (3)"),
    "input_records": 8e6,
    "joined_broadcasts": (1,),
    "joined_records": (8e6,),
    "joined_shuffled_bytes": (None,),
}


def sums_joined(
    *, read_mib: float = 2.0, files_mib: float = 8.0, facts_shuffled: float = 0.0, **config: str
) -> Run:
    """Sums of a table, 1 MiB once they are brought together, that eight million rows join."""
    files = {"files_bytes": files_mib * MIB, "files_read": 2.0}
    stages = [
        Stage(np.full(2, 1.0), input_bytes=read_mib * MIB, more=SUMS | files),
        Stage(np.full(1, 0.5), (0,), shuffle_bytes=MIB, more=SENT),
        Stage(
            np.full(16, 4.0), input_bytes=64.0 * MIB, shuffle_bytes=facts_shuffled * MIB, more=FACTS
        ),
    ]
    settings = {key.replace("_", "."): value for key, value in config.items()}
    return replace(observed(stages, slots=4, config=settings), spark_version="3.5.9")


def found(run: Run, ratio: float) -> list[OutgrownBroadcast]:
    return ChangedJoins(Replay.of(run), ratio).outgrown


def test_it_counts_as_its_files_whatever_is_left_of_them() -> None:
    """Spark takes 2 to 8 MiB of files for 6 to 24 with three times as many: 4 MiB, as likely as
    not, are more than 10. Of the sums there is 1 MiB, and would be 3."""
    (one,) = found(sums_joined(), 3.0)
    assert one.table.size == (2.0 * MIB, 8.0 * MIB)
    assert one.probable
    (less,) = found(sums_joined(), 2.0)
    assert not less.probable
    assert found(sums_joined(read_mib=1.0, files_mib=3.0), 3.0) == []


def test_columns_that_are_not_handed_on_do_not_count() -> None:
    """Of 8 MiB of files a quarter is handed on at most, of 2 MiB that were read a half: 1 to 2 MiB,
    which five times as many rows leave below 10, and nine times do not."""
    run = sums_joined()
    sums, *others = run.stages
    run = replace(run, stages=(replace(sums, row_shares=(0.5, 0.25)), *others))
    assert found(run, 5.0) == []
    (one,) = found(run, 9.0)
    assert one.table.size == (1.0 * MIB, 2.0 * MIB)
    assert one.probable


def test_what_was_read_may_be_more_than_its_share_of_the_files() -> None:
    """By their types columns count alike, though those that were read take most of the files."""
    run = sums_joined(read_mib=6.0)
    sums, *others = run.stages
    run = replace(run, stages=(replace(sums, row_shares=(1.0, 0.25)), *others))
    (one,) = found(run, 6.0)
    assert one.table.size == (2.0 * MIB, 2.0 * MIB)


def test_adaptive_execution_finds_it_small_once_both_sides_are_shuffled() -> None:
    """The shuffles of 24 million rows are half of what sorting and merging them takes too."""
    kept, never = (
        found(sums_joined(spark_sql_adaptive_autoBroadcastJoinThreshold=most), 3.0)[0]
        for most in ("10m", "-1")
    )
    slots = np.asarray([4.0])
    assert never.seconds(3.0, slots) == pytest.approx(24e6 / 1e6 / 4)
    assert kept.seconds(3.0, slots) == pytest.approx(never.seconds(3.0, slots) / 2.0)


@pytest.mark.parametrize(
    "run",
    [
        sums_joined(facts_shuffled=8.0),  # adaptive execution may have turned it
        sums_joined(read_mib=12.0, files_mib=40.0),  # asked for by a hint
        sums_joined(spark_sql_autoBroadcastJoinThreshold="100m"),
    ],
)
def test_what_may_stay_is_not_outgrown(run: Run) -> None:
    assert found(run, 3.0) == []


def test_a_table_that_comes_of_a_join_is_taken_as_it_is_sent() -> None:
    """Spark takes the product of both sides, which their files do not tell."""
    run = sums_joined()
    sums, *others = run.stages
    after_join = replace(sums, joined_broadcasts=(9,), joined_records=(None,))
    assert found(replace(run, stages=(after_join, *others)), 3.0) == []


def test_the_notice_says_what_was_read_for_it() -> None:
    said = ChangedJoins(Replay.of(sums_joined()), 3.0).broadcast_notice(4.0)
    assert "Spark takes for 2.1 MB (which was read for it) to 8.39 MB (its files" in said.text
    assert "The time holds up to about 3 s for that" in said.text
