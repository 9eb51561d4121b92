"""Which run the default input is from: the largest that came to its end."""

from pathlib import Path

import pytest
import zstandard

import engine

LOGS = Path(engine.__file__).parents[1] / "sample_logs"


@pytest.fixture
def broken_off(tmp_path: Path) -> Path:
    """Four fifths of the log of the larger sort."""
    with zstandard.open(LOGS / "sort-large.zstd", "rb") as stream:
        lines = stream.read().splitlines(keepends=True)
    path = tmp_path / "cut.log"
    path.write_bytes(b"".join(lines[: len(lines) * 4 // 5]))
    return path


def test_a_larger_log_that_broke_off_does_not_set_the_input(broken_off: Path) -> None:
    alone = engine.read("sort-small").largest_run
    profile = engine.read(broken_off, "sort-small")
    assert alone is not None
    assert max(run.workload.input_bytes or 0.0 for run in profile.runs) > 3e8
    assert profile.largest_run == alone
    (notice,) = (n for n in profile.notices if n.code == "largest-run-broke-off")
    assert notice.text.startswith("cut.log broke off after ")
    assert "160 MB of the largest run that came to its end are taken" in notice.text


def test_where_no_run_came_to_its_end_the_largest_is_taken(broken_off: Path) -> None:
    profile = engine.read(broken_off)
    assert profile.largest_run == profile.runs[0]
    assert profile.notices == ()


def test_a_smaller_log_that_broke_off_changes_nothing(broken_off: Path) -> None:
    profile = engine.read(broken_off, "sort-small", "sort-large")
    assert profile.largest_run == engine.read("sort-large").largest_run
    assert "largest-run-broke-off" not in [n.code for n in profile.notices]


def test_what_an_absolute_input_is_held_against_is_said(broken_off: Path) -> None:
    """What had been read until the log broke off: `--input-size` knew of it without a word."""
    (run,) = engine.read(broken_off).runs
    (notice,) = (n for n in run.notices if n.code == "incomplete-log")
    assert run.workload.input_bytes is not None
    read = engine.format_bytes(run.workload.input_bytes)
    assert notice.text.endswith(f"; input sizes are held against the {read} read until then")
    (whole,) = engine.read("sort-large").runs
    assert not [n for n in whole.notices if "held against" in n.text]
