"""Public logs of many versions: read, or refused in one line."""

from pathlib import Path

import pytest
from shared import SHARED, needs_shared

from engine.errors import EngineError
from engine.sources import read
from engine.sources.formats.profile_file import parse
from engine.sources.formats.profile_text import format_profile

LOGS = sorted(
    path
    for path in SHARED.glob("eventlogs/**/*")
    if path.name.startswith("eventlog_v2_")
    or (path.is_file() and "eventlog_v2_" not in path.parent.name and path.suffix != ".md")
)
WITHOUT_TASKS = {"empty_eventlog", "application_1656321732247_0006_1",
                 "application_1656321732247_0006_2"}  # fmt: skip


@needs_shared
@pytest.mark.parametrize("path", LOGS, ids=lambda path: path.name)
def test_public_log(path: Path) -> None:
    if path.name in WITHOUT_TASKS:
        with pytest.raises(EngineError, match="no finished task"):
            read(path)
        return
    profile = read(path)
    (run,) = profile.runs
    assert run.cluster.slots
    assert 0.0 <= run.driver_seconds <= run.seconds
    for stage in run.stages:
        assert 0 < stage.task_seconds.count <= stage.tasks
        assert set(stage.parents) < {other.stage_id for other in run.stages}
        assert all(
            other.submitted_seconds <= stage.submitted_seconds
            for other in run.stages
            if other.stage_id in stage.parents
        )
    assert parse(format_profile(profile), "p.yaml") == profile


@needs_shared
@pytest.mark.parametrize(
    ("name", "version", "category", "slots", "complete"),
    [
        ("apache-spark/app-20161115172038-0000", "2.1.0-SNAPSHOT", "core", 16, True),
        ("apache-spark/local-1430917381534", "1.4.0-SNAPSHOT", "core", 8, True),
        ("kubeflow/application_1713000000000_0001_1.zstd", "4.1.0", "sql", 2, False),
        ("spark-rapids-tools/attempt_1_eventlog.zstd", "3.3.0-amzn-0", "sql", 30, True),
        ("spark-rapids-tools/db_subExecution_id.zstd", "3.3.0 (Databricks 11.3.x-scala2.12)",
         "sql", 16, False),
        ("spark-rapids-tools/truncated_eventlog", "3.1.1", "sql", 12, False),
    ],
)  # fmt: skip
def test_what_public_logs_say(
    name: str, version: str, category: str, slots: int, complete: bool
) -> None:
    profile = read(SHARED / "eventlogs" / name)
    run = profile.runs[0]
    assert run.spark_version == version
    assert profile.category == category
    assert run.cluster.slots == slots
    assert run.complete == complete


@needs_shared
def test_adaptive_stages_find_the_stages_that_they_read() -> None:
    """Under adaptive execution every exchange is a job; parents point at skipped stages."""
    (run,) = read(SHARED / "eventlogs/spark-rapids-tools/aqeshuffle_eventlog.zstd").runs
    reads = [stage for stage in run.stages if stage.shuffle_read_bytes is not None]
    assert reads
    assert all(stage.parents for stage in reads)


@needs_shared
def test_folder_of_all_public_logs() -> None:
    profile = read(SHARED / "eventlogs")
    assert len(profile.runs) == 18  # 19 are read; two are the same application
    codes = [notice.code for notice in profile.notices]
    assert "mixed-applications" in codes
    assert "skipped-files" in codes
