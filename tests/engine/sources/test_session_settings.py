"""Settings that a program makes while it runs, and which of them count."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of

from engine.profile import Profile
from engine.sources.formats.profile_file import write_profile

PARTITIONS = "spark.sql.shuffle.partitions"
ADVISORY = "spark.sql.adaptive.advisoryPartitionSizeInBytes"


def events_of(*queries: tuple[float, dict[str, str]], **began: str) -> list[log.Event]:
    """A query of one task of so many seconds after the other, each with settings of its session;
    `began` are those with which the application did."""
    events, start = log.header(**began), 2.0
    for number, (seconds, settings) in enumerate(queries):
        stage, end = log.info(number, 1), start + seconds
        properties = {"spark.sql.execution.id": str(number)} | settings
        events += [log.job(number, [stage], start, **properties), log.submitted(stage, start)]
        events += [log.task(number, number, start, end, index=0)]
        events += [log.completed(stage, start, end), log.job_end(number, end)]
        start = end
    return [*events, log.end(start + 1.0)]


def test_settings_of_the_session_are_those_of_the_run(tmp_path: Path) -> None:
    settings = {PARTITIONS: "800", ADVISORY: "4m", "spark.sql.warehouse.dir": "/home/someone"}
    run = run_of(tmp_path, events_of((4.0, settings), spark_sql_shuffle_partitions="64"))
    assert run.config == {PARTITIONS: "800", ADVISORY: "4m", "spark.master": "yarn"}
    assert run.notices == ()


@pytest.mark.parametrize(
    ("before", "after", "kept", "said"),
    [
        (1.0, 9.5, "800", False),
        (2.0, 8.0, "800", True),
        (8.0, 2.0, "64", True),
        (3.0, 0.1, "64", False),
    ],
)
def test_of_several_values_that_counts_with_which_queries_ran_longest(
    tmp_path: Path, before: float, after: float, kept: str, said: bool
) -> None:
    """Sessions that have set nothing have what the application began with."""
    queries = ((before, {}), (after, {PARTITIONS: "800"}))
    run = run_of(tmp_path, events_of(*queries, spark_sql_shuffle_partitions="64"))
    assert run.config[PARTITIONS] == kept
    assert [notice.code for notice in run.notices] == ["settings-changed"] * said
    if said:
        assert f"while it ran: {PARTITIONS} = {kept} in most of it" in run.notices[0].text
        assert "queries of 20 % of the task time had other values" in run.notices[0].text


def test_the_default_counts_where_most_queries_had_it(tmp_path: Path) -> None:
    run = run_of(tmp_path, events_of((8.0, {}), (2.0, {PARTITIONS: "800"})))
    assert PARTITIONS not in run.config
    assert f"{PARTITIONS} = default in most of it" in run.notices[0].text


def test_each_stage_keeps_what_its_query_set_otherwise(tmp_path: Path) -> None:
    """An empty value stands for Spark's default."""
    queries = ((8.0, {PARTITIONS: "800"}), (2.0, {ADVISORY: "4m"}), (1.0, {PARTITIONS: "800"}))
    stages = run_of(tmp_path, events_of(*queries)).stages
    assert [stage.query_settings for stage in stages] == [
        (),
        ((ADVISORY, "4m"), (PARTITIONS, "")),
        (),
    ]


def test_a_query_that_set_nothing_keeps_what_the_application_began_with(tmp_path: Path) -> None:
    queries = ((1.0, {}), (8.0, {PARTITIONS: "800"}))
    run = run_of(tmp_path, events_of(*queries, spark_sql_shuffle_partitions="64"))
    assert [stage.query_settings for stage in run.stages] == [((PARTITIONS, "64"),), ()]


def without_query(events: list[log.Event], job: int) -> list[log.Event]:
    """The events as if a job belonged to no query."""
    for event in events:
        if event["Event"] == "SparkListenerJobStart" and event["Job ID"] == job:
            del event["Properties"]["spark.sql.execution.id"]
    return events


def test_jobs_of_rdds_and_values_that_are_none_tell_nothing(tmp_path: Path) -> None:
    """Jobs of RDDs have no session, whatever the queries beside them set; a value may be any
    text."""
    queries = ((4.0, {PARTITIONS: "8 /home/someone/x"}), (4.0, {}), (1.0, {PARTITIONS: "800"}))
    run = run_of(tmp_path, without_query(events_of(*queries), 1))
    assert run.config == {"spark.master": "yarn"}
    assert [stage.query_settings for stage in run.stages] == [(), (), ((PARTITIONS, "800"),)]
    left = {"spark.sql.execution.root.id": "0"}
    rdds = without_query(events_of((4.0, left), (1.0, {PARTITIONS: "800"})), 0)
    assert run_of(tmp_path, rdds).config[PARTITIONS] == "800", "the query's time alone counts"


def test_a_job_that_infers_a_schema_lists_the_settings_of_its_session(tmp_path: Path) -> None:
    """Spark hands these on (`SQLExecution.withSQLConfPropagated`), though it is of no query."""
    queries = ((1.0, {PARTITIONS: "800"}), (8.0, {ADVISORY: "4m"}))
    run = run_of(tmp_path, without_query(events_of(*queries), 0))
    settings = [stage.query_settings for stage in run.stages]
    assert settings == [((ADVISORY, ""), (PARTITIONS, "800")), ()]
    one = without_query(events_of((1.0, {PARTITIONS: "800"})), 0)
    assert run_of(tmp_path, one).config[PARTITIONS] == "800"


@pytest.mark.parametrize("longer", [0, 1])
def test_what_is_no_plain_setting_at_the_start_is_kept_nowhere(tmp_path: Path, longer: int) -> None:
    """Neither where other queries had another value, nor where most of the run had that one."""
    secret = "hdfs://user:secret@host/\x1b[2J\n" + "x" * 300
    key = "spark.sql.adaptive.customCostEvaluatorClass"
    seconds = [1.0, 2.0]
    queries = ((seconds[longer], {}), (seconds[1 - longer], {key: "own.Evaluator"}))
    events = events_of(*queries, spark_sql_adaptive_customCostEvaluatorClass=secret)
    assert secret in events[1]["Spark Properties"].values()
    run = run_of(tmp_path, events)
    path = tmp_path / "profile.yaml"
    write_profile(Profile("kept", (run,)), path)
    texts = [path.read_text(), str(run)]
    assert not any("secret" in text or "xxx" in text for text in texts)
    assert [notice.code for notice in run.notices] == ["settings-changed"]
    own, other = run.stages
    assert (own.query_settings, other.query_settings) == (
        ((), ((key, "own.Evaluator"),)) if longer else (((key, ""),), ())
    )
