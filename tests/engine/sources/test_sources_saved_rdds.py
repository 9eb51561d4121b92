"""RDDs that a run saves as files and reads again (Spark 3.5.9).

Rows of four text files are sorted into five partitions and saved, and mapped and saved as they are;
both are read again.
"""

from dataclasses import replace

import pytest
from pitfall_logs import DATA, one

from engine.models.stages.stage_models import stage_models
from engine.sources.distilling import saved_rdds
from engine.sources.distilling.saved_rdds import with_saved_rdds
from engine.stage_run import Measure, StageRun, total_of

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


def repeated(times: int, growth: float) -> list[StageRun]:
    """A program that so often saves and reads, each time so many times the bytes of the last."""
    by_id = {stage.stage_id: stage for stage in RUN.stages}
    saves, reads = by_id[16], replace(by_id[17], files_by=None)
    assert saves.output_bytes is not None
    assert reads.input_bytes is not None
    return [
        replace(
            stage,
            stage_id=2 * i + (stage is reads),
            input_bytes=replace(reads.input_bytes, total=reads.input_bytes.total * growth**i),
            output_bytes=replace(saves.output_bytes, total=saves.output_bytes.total * growth**i),
            submitted_seconds=i + 0.5 * (stage is reads),
            completed_seconds=i + 0.5 * (stage is reads) + 0.4,
        )
        for i in range(times)
        for stage in (saves, reads)
    ]


@pytest.mark.parametrize("growth", [1.0, 1.001, 1.009, 1.02, 1.5])
def test_of_several_that_saved_as_much_the_last_is_read(growth: float) -> None:
    """On steps of any size: those before are as large, nearly so, or of other files."""
    stages = tuple(repeated(40, growth))
    assert links(stages) == {2 * i + 1: 2 * i for i in range(40)}
    assert links(tuple(stage for stage in stages if stage.stage_id != 78)) == {
        **{2 * i + 1: 2 * i for i in range(39)},
        **({79: 76} if growth < 1.01 else {}),
    }


@pytest.mark.parametrize("growth", [1.0, 1.02])
def test_thousands_of_saved_files_are_not_compared_with_each_other(
    growth: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each size is looked at a few times: a reader is not compared with every writer."""
    looks = 0

    def counted(measure: Measure | None) -> float:
        nonlocal looks
        looks += 1
        return total_of(measure)

    monkeypatch.setattr(saved_rdds, "total_of", counted)
    assert len(links(tuple(repeated(500, growth)))) == 500
    assert looks <= 4 * 2 * 500


def test_their_partitions_are_those_of_the_stage_that_saved_them() -> None:
    """Five on any input, and one for each file of the input."""
    models = {model.stage.stage_id: model for model in stage_models(RUN, 2)}
    observed = {stage.stage_id: stage.tasks for stage in MORE.stages}
    for reader in SAVED:
        assert models[reader].scaled(3.0, None, 4).tasks == observed[reader]
    assert [observed[reader] for reader in SAVED] == [5, 12]


@pytest.mark.parametrize(
    ("mib", "partitions"),
    [(128, 5), (140, 5), (142, 10), (150, 10), (200, 10), (260, 10), (300, 15)],
)
def test_each_file_is_cut_where_its_blocks_end(mib: float, partitions: int) -> None:
    """Of five alike, by Hadoop: the last block of each may have a tenth more."""
    (model,) = (one for one in stage_models(RUN, 2) if one.stage.stage_id == 17)
    ratio = 5.0 * mib * 2.0**20 / model.stage.outside_bytes
    count = model.partition_count(ratio, None)
    assert count.own == count.at(16) == pytest.approx(partitions)


@pytest.mark.parametrize(("mib", "partitions"), [(150, 5), (250, 5), (300, 10), (600, 15)])
def test_a_block_is_no_smaller_than_what_the_log_has_uncut(mib: float, partitions: int) -> None:
    """Five files of 150 MiB in five tasks: of blocks of 256 MiB."""
    known = next(stage for stage in RUN.stages if stage.stage_id == 17)
    assert known.input_bytes is not None
    larger = 5.0 * 150.0 * 2.0**20 / known.outside_bytes
    quantiles = tuple(larger * size for size in known.input_bytes.quantiles)
    sizes = replace(known.input_bytes, total=known.input_bytes.total * larger, quantiles=quantiles)
    stages = tuple(
        replace(stage, input_bytes=sizes) if stage is known else stage for stage in RUN.stages
    )
    (model,) = (
        one for one in stage_models(replace(RUN, stages=stages), 2) if one.stage.stage_id == 17
    )
    assert model.partition_count(mib / 150.0, None).own == pytest.approx(partitions)


def test_files_beyond_a_block_are_cut() -> None:
    models = {model.stage.stage_id: model for model in stage_models(RUN, 2)}
    read = models[17].stage.outside_bytes
    ratio = 10.0 * 128.0 * 2.0**20 / read
    assert models[17].partition_count(ratio, None).own == pytest.approx(10.0)
