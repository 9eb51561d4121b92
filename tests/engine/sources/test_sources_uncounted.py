"""Rows of which Spark counts no bytes, beside files: a database that is written to Parquet."""

from dataclasses import replace

from pitfall_logs import DATA, codes, notice, one

from engine.sources.distilling.uncounted_records import uncounted_notice

RUN = one(DATA / "database.zstd")


def test_the_input_is_said_to_be_that_of_other_sources() -> None:
    assert RUN.workload.input_bytes is not None
    said = notice(RUN, "input-not-counted")
    assert said.startswith("stage 1 (")
    assert "read records (2,000) of which Spark counts no bytes" in said
    assert "9.85 kB" in said


def test_rows_that_the_program_makes_are_no_source() -> None:
    made = [stage for stage in RUN.stages if stage.generated]
    assert any(stage.input_records for stage in made)
    assert uncounted_notice(made, 1e6) is None


def test_where_no_input_is_known_nobody_takes_it_for_all() -> None:
    assert uncounted_notice(RUN.stages, None) is None
    assert codes(one(DATA / "python_source.zstd")) == []


def test_several_sources_are_counted() -> None:
    stage = next(stage for stage in RUN.stages if stage.stage_id == 1)
    said = uncounted_notice([stage, replace(stage, stage_id=7, input_records=3000.0)], 1e6)
    assert said is not None
    assert said.text.startswith("stage 7 (")
    assert " and 1 more read records (5,000)" in said.text
