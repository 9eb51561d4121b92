"""RDDs that a run saves as files and reads again (Spark 3.5.9).

Rows of four text files are sorted into five partitions and saved, and mapped and saved as they are;
both are read again.
"""

from dataclasses import replace

import pytest
from pitfall_logs import DATA, one

from engine.models.stages.stage_models import stage_models
from engine.sources.distilling.saved_rdds import with_saved_rdds
from engine.stage_run import StageRun

RUN, MORE = one(DATA / "rdds.zstd"), one(DATA / "rdds_more.zstd")
SAVED = {17: 16, 19: 18}
"""Id of the stage that reads what another saved."""


def links(stages: tuple[StageRun, ...]) -> dict[int, int]:
    unlinked = [replace(stage, files_by=None, written_files=None) for stage in stages]
    found = with_saved_rdds(unlinked)
    return {stage.stage_id: stage.files_by for stage in found if stage.files_by is not None}


def test_what_was_saved_is_known_by_its_records_and_bytes() -> None:
    assert {s.stage_id: s.files_by for s in RUN.stages if s.files_by is not None} == SAVED
    assert {s.stage_id: s.written_files for s in RUN.stages if s.written_files} == {16: 5, 18: 4}
    assert links(RUN.stages) == SAVED == links(MORE.stages)


@pytest.mark.parametrize(
    "change",
    [
        {"tasks": 6},
        {"output_records": 7_999.0},
        {"completed_seconds": 1e6},
        {"operations": ("map", "sortByKey")},
        {"output_bytes": None},
    ],
)
def test_other_files_are_not_taken_for_what_was_saved(change: dict[str, object]) -> None:
    changed = tuple(
        replace(stage, **change) if stage.stage_id == 16 else stage for stage in RUN.stages
    )
    assert links(changed) == {19: 18}


def test_files_of_another_size_are_not_those_that_were_saved() -> None:
    """A filter, or a program that reads some of the files."""
    halved = tuple(
        replace(stage, input_bytes=replace(stage.input_bytes, total=stage.input_bytes.total / 2))
        if stage.stage_id == 17 and stage.input_bytes is not None
        else stage
        for stage in RUN.stages
    )
    assert links(halved) == {19: 18}


def test_their_partitions_are_those_of_the_stage_that_saved_them() -> None:
    """Five on any input, and one for each file of the input."""
    models = {model.stage.stage_id: model for model in stage_models(RUN, 2)}
    observed = {stage.stage_id: stage.tasks for stage in MORE.stages}
    for reader in SAVED:
        assert models[reader].scaled(3.0, None, 4).tasks == observed[reader]
    assert [observed[reader] for reader in SAVED] == [5, 12]


def test_files_beyond_a_block_are_cut() -> None:
    models = {model.stage.stage_id: model for model in stage_models(RUN, 2)}
    read = models[17].stage.outside_bytes
    ratio = 10.0 * 128.0 * 2.0**20 / read
    assert models[17].partition_count(ratio, None).own == pytest.approx(10.0)
