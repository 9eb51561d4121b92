"""What a log tells of cached blocks that found no room: their size, and what they come from."""

from dataclasses import replace
from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of, stage_of

from engine.sources.logs.cache_stages import source_bytes
from engine.sources.logs.entities import Stage


def _block(name: str, memory: int) -> log.Event:
    told = {"Block ID": name, "Memory Size": memory, "Disk Size": 0}
    return {"Event": "SparkListenerBlockUpdated", "Block Updated Info": told}


def test_blocks_that_found_no_room_are_as_large_as_their_sources_tell(tmp_path: Path) -> None:
    """Spark starts the largest partitions first: of four, two of 400 bytes are stored, and two of
    100 find no room. The stage that stores them ends the tasks of those early, as in logs of Spark
    3.5, the next reads all of them."""
    kept = log.rdd(5, [1], cached=True) | {"Number of Partitions": 4}
    source = log.rdd(1) | {"Number of Partitions": 4}
    own = log.rdd(9, [5]) | {"Number of Partitions": 4}
    stored = [_block("rdd_5_0", 300), _block("rdd_5_1", 300)]

    def events(number: int, sizes: tuple[int, ...], blocks: list[log.Event]) -> list[log.Event]:
        stage, at = log.info(number, 4, rdds=[own, kept, source]), 2.0 * (number + 1)
        tasks = [
            log.task(number, 4 * number + n, at, at + 1.0, index=n,
                     metrics={"Input Metrics": {"Bytes Read": size}})
            for n, size in enumerate(sizes)
        ]  # fmt: skip
        return [log.submitted(stage, at), *blocks, *tasks, log.completed(stage, at, at + 1.0)]

    first = events(0, (400, 400, 9, 9), stored)
    again = events(1, (300, 300, 100, 100), [])
    assert run_of(tmp_path, [*log.header(), *first, *again, log.end(9.0)]).cached_bytes == 750.0
    untold = [*events(0, (400, 400, 9, 0), stored), *events(1, (300, 300, 100, 0), [])]
    assert run_of(tmp_path, [*log.header(), *untold, log.end(9.0)]).cached_bytes == 1200.0
    assert run_of(tmp_path, [*log.header(), *first, log.end(9.0)]).cached_bytes == 1200.0


@pytest.mark.parametrize(
    ("scan", "told", "disk", "part", "read"),
    [
        ("Scan json", False, (), False, 1500.0),
        ("Scan json", True, (), False, 1000.0),  # later stages are seen to read the rest
        ("Scan json", False, (5,), False, 1000.0),  # all blocks are stored
        ("Scan json", False, (), True, 1000.0),
        ("Scan parquet", False, (), False, 1000.0),  # columns are left out
    ],
)
def test_a_stage_that_stores_a_table_leaves_off_where_no_block_finds_room(
    tmp_path: Path, scan: str, told: bool, disk: tuple[int, ...], part: bool, read: float
) -> None:
    info = log.info(0, 1, rdds=[log.rdd(5, [1], cached=True), log.rdd(1)])
    task = log.task(0, 0, 2.0, 3.0, metrics={"Input Metrics": {"Bytes Read": 1000}})
    first = [log.submitted(info, 2.0), task, log.completed(info, 2.0, 3.0)]
    plain = stage_of(run_of(tmp_path, [*log.header(), *first, log.end(6.0)]), 0)
    stage = replace(plain, operations=(scan,), files_bytes=1500.0, in_part=part)
    entry = Stage(0, persisted=((5, 1),), disk_backed_rdds=disk)
    assert source_bytes(stage, entry, stage.input_bytes, blocks_reported=told) == read
    smaller = replace(stage, files_bytes=900.0)
    assert source_bytes(smaller, entry, stage.input_bytes, blocks_reported=told) == 1000.0
    other = Stage(0, disk_backed_rdds=disk)
    assert source_bytes(stage, other, stage.input_bytes, blocks_reported=told) == 1000.0
