"""Exports name releases of a service: which Spark these have, and which the job ran with."""

from dataclasses import replace

import pytest
from handovers_made import handover

import engine
from engine.exports import render


@pytest.mark.parametrize("to", ["emr", "databricks", "kubernetes", "terraform", "spark-submit"])
@pytest.mark.parametrize(
    ("version", "said"),
    [
        ("3.1.2", True),
        ("4.0.1 (Databricks 17.x)", True),
        ("3.5.9", False),
        (None, False),
        ("Databricks 13.3", False),
    ],
)
def test_a_release_with_another_spark_than_the_job_ran_with_is_said(
    to: str, version: str | None, said: bool
) -> None:
    text = render(handover(spark_version=version), to=to)
    assert ("[other-spark]" in text) == (said and to != "spark-submit")
    if "[other-spark]" in text:
        assert f"the job ran with Spark {version}, the release named here has Spark 3.5" in text


def test_the_release_is_held_against_the_log_of_the_largest_run() -> None:
    read = engine.read("word-count-small")
    runs = tuple(replace(run, spark_version="2.4.8") for run in read.runs)
    for profile, said in ((read, False), (replace(read, runs=runs), True)):
        found = engine.recommend(
            engine.fit(profile), catalog=engine.load_catalog("aws"), deadline_seconds=3600.0,
            instances=["m5.xlarge"], max_nodes=2,
        )  # fmt: skip
        text = engine.export(found, to="emr", profile=profile, catalog=engine.load_catalog("aws"))
        assert ("ran with Spark 2.4.8" in text) == said
