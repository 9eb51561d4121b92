"""Numbers that stand as text in a log: any text may be there, and none ends the reading."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.sources.peek import peek

OF_A_JOB = ("spark.sql.execution.id", "streaming.sql.batchId", "spark.streaming.internal.batchTime")
OF_THE_APPLICATION = ("spark.task.cpus", "spark.executor.cores", "spark.executor.memory")


@pytest.mark.parametrize(
    "text",
    ["9" * 5000, "9" * 400, "²", "٣", "-1", ""],
    ids=["5000 digits", "400 digits", "superscript", "Arabic", "negative", "empty"],
)
def test_text_that_is_no_number_is_none(tmp_path: Path, text: str) -> None:
    """Python refuses to read thousands of digits, and those that are none in ASCII may be none."""
    of_job = dict.fromkeys(OF_A_JOB, text)
    settings = dict.fromkeys(OF_THE_APPLICATION, text) | {"spark.master": f"local[{text}]"}
    block = {"Block ID": f"rdd_{text}_0", "Memory Size": 5}
    start, environment, *rest = log.one_stage()
    start["Spark Version"] = f"{text}.{text}.1"
    environment["Spark Properties"] = settings
    for event in rest:
        event.get("Properties", {}).update(of_job)
    rest.append({"Event": "SparkListenerBlockUpdated", "Block Updated Info": block})
    run = run_of(tmp_path, [start, environment, *rest])
    (stage,) = run.stages
    assert (stage.task_cpus, stage.sql_execution_id, run.batch_id) == (1, None, None)
    assert run.cached_bytes is None
    assert run.complete
    assert peek(tmp_path / "app").complete
