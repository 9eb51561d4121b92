"""A cached query, whose plan the log has only after the stages that filled the cache have ended."""

from pathlib import Path

import zstandard
from real_logs import log_pair, logged, tasks_of

from engine import read
from engine.stage_run import StageRun

FEW, MORE = log_pair("cached_query")
SUMS_BY_KEY, JOINED = 1, 2
KEYS, NAMES = 600, 9
LOG = Path(__file__).parents[2] / "data" / "cached_query.zstd"


def test_stages_that_fill_a_cache_have_their_groups_and_joins() -> None:
    by_key, joined = FEW.stages[SUMS_BY_KEY], FEW.stages[JOINED]
    assert (by_key.groups, by_key.ungrouped_rows) == (KEYS, 4 * 6000)
    assert (joined.groups, joined.joined_output_records) == (NAMES, KEYS)
    assert joined.joined_broadcasts == (0,)


def test_so_it_is_where_the_cache_has_a_name() -> None:
    named = logged("named_cache")
    assert list(map(_read_of_plan, named.stages)) == list(map(_read_of_plan, FEW.stages))
    assert tasks_of(named, 2, 3.0) == [stage.tasks for stage in MORE.stages]


def _read_of_plan(stage: StageRun) -> tuple[set[str], float | None, float | None]:
    return set(stage.operations), stage.groups, stage.joined_output_records


def test_groups_of_a_cached_query_stay_as_many() -> None:
    assert tasks_of(FEW, 2, 3.0) == [stage.tasks for stage in MORE.stages]
    assert tasks_of(MORE, 2, 1 / 3) == [stage.tasks for stage in FEW.stages]


def test_the_plan_counts_where_the_log_breaks_off_before_the_query_ends(tmp_path: Path) -> None:
    text = zstandard.ZstdDecompressor().stream_reader(LOG.read_bytes()).read()
    kept = [line for line in text.splitlines(keepends=True) if b"SQLExecutionEnd" not in line]
    (tmp_path / "app").write_bytes(b"".join(kept))
    run = read(tmp_path / "app").runs[0]
    assert run.stages[JOINED].groups == NAMES
