"""Executors that died are told from those that were sent away; what Spark says of it is quoted."""

from pathlib import Path

import pytest
import sparklog as log
from distilled import run_of
from shared import SHARED, needs_shared

from engine.notices import Notice
from engine.profile import Run
from engine.sources import read
from engine.sources.logs.entities import Executor
from engine.sources.logs.eventlog import EventLog
from engine.sources.logs.lost_executors import LONGEST_REASON, drained_ms, lost_notice, shortened

DYNAMIC = {"spark_dynamicAllocation_enabled": "true"}
AUTOSCALING = {"spark_databricks_clusterUsageTags_clusterScalingType": "autoscaling"}
YARN = (
    "Container marked as failed: container_e18_1628109047826_1317105_01_000003 on host: "
    "ip-10-0-0-7.eu-west-1.compute.internal. Exit status: 137. Diagnostics: Container killed on "
    "request. Exit code is 137"
)


def two_executors(tmp_path: Path, *gone: log.Event, **properties: str) -> Run:
    """A stage from second 2 to 12 on executors 1 and 2, of which some go."""
    stage = log.info(0, 1)
    ran = [
        log.submitted(stage, 2.0),
        log.task(0, 0, 2.0, 12.0),
        log.completed(stage, 2.0, 12.0),
        log.end(13.0),
    ]
    return run_of(tmp_path, [*log.header(**properties), *gone, *ran])


def codes(run: Run) -> list[str]:
    return [notice.code for notice in run.notices]


def lost(run: Run) -> Notice:
    (found,) = (notice for notice in run.notices if notice.code == "lost-executors")
    return found


@pytest.mark.parametrize(
    ("reason", "remedy"),
    [
        ("Command exited with code 137", "spark.executor.memoryOverhead"),
        (YARN, "spark.executor.memoryOverhead"),
        ("The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).",
         "spark.executor.memoryOverhead"),
        ("Container killed by YARN for exceeding physical memory limits. 5.5 GB of 5.5 GB used.",
         "spark.executor.memoryOverhead"),
        ("Command exited with code 52", "spark.executor.memoryOverhead"),
        ("Executor decommission: worker decommissioned because of kill request", "--spot"),
        ("Container c was preempted.", "--spot"),
        ("worker lost: Not receiving heartbeat for 60 seconds", "--spot"),
        ("Executor heartbeat timed out after 130000 ms", "garbage collection"),
        ("Remote RPC client disassociated. Likely due to network issues.", "garbage collection"),
        ("Command exited with code 1", "executor's own log"),
        (None, "executor's own log"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("settings", [{}, {"spark_dynamicAllocation_enabled": "false"}])
def test_an_executor_that_died_is_no_dynamic_allocation(
    tmp_path: Path, reason: str | None, remedy: str, settings: dict[str, str]
) -> None:
    run = two_executors(tmp_path, log.removed("1", 7.0, reason=reason), **settings)
    assert codes(run) == ["lost-executors"]
    assert lost(run).text.startswith("1 of 2 executors was lost 7 s after the start (")
    assert remedy in lost(run).remedy
    assert (reason is None) == ("the log does not say why" in lost(run).text)


@pytest.mark.parametrize(
    ("reason", "settings"),
    [
        ("Executor killed by driver.", {}),
        ("Executor killed by driver.", DYNAMIC),
        ("Container c exited from explicit termination request.", DYNAMIC),
        ("Executor decommission: spark scale down", DYNAMIC),
        ("Executor decommission.", DYNAMIC),
        (None, DYNAMIC),
        ("Executor decommission: worker decommissioned", AUTOSCALING),
        (None, AUTOSCALING),
    ],
)
def test_an_executor_that_was_sent_away_was_not_lost(
    tmp_path: Path, reason: str | None, settings: dict[str, str]
) -> None:
    run = two_executors(tmp_path, log.removed("1", 7.0, reason=reason), **settings)
    assert codes(run) == ["dynamic-allocation"]


@pytest.mark.parametrize("settings", [DYNAMIC, AUTOSCALING], ids=["dynamic", "autoscaling"])
def test_dynamic_allocation_and_a_crash_are_both_said(
    tmp_path: Path, settings: dict[str, str]
) -> None:
    gone = log.removed("1", 7.0, reason="Command exited with code 137")
    assert codes(two_executors(tmp_path, gone, **settings)) == [
        "dynamic-allocation",
        "lost-executors",
    ]


def test_the_commonest_kind_of_loss_is_quoted_and_the_first_dated(tmp_path: Path) -> None:
    reasons = ["Command exited with code 1", YARN, YARN]
    gone = [log.added(str(n), 1.5, host=f"h{n}") for n in (3, 4)]
    gone += [log.removed(str(n + 1), 5.0 + n, reason=why) for n, why in enumerate(reasons)]
    said = lost(two_executors(tmp_path, *gone))
    assert said.text.startswith("3 of 4 executors were lost, the first 5 s after the start (")
    assert "Exit status: 137" in said.text
    assert "memoryOverhead" in said.remedy


@pytest.mark.parametrize("at", [12.0, 12.5])
def test_after_the_last_stage_nothing_is_lost(tmp_path: Path, at: float) -> None:
    gone = log.removed("1", at, reason="Command exited with code 143")
    assert codes(two_executors(tmp_path, gone)) == []


@pytest.mark.parametrize(
    ("at", "reason", "said"),
    [
        (11.9, "Command exited with code 143", []),
        (11.9, "Exit status: 143. Diagnostics: Killed by external signal", []),
        (7.5, "Command exited with code 143", ["lost-executors"]),
        (11.9, "Command exited with code 1", ["lost-executors"]),
        (11.9, "killed for exceeding memory limits. Exit code is 143", ["lost-executors"]),
    ],
)
def test_executors_that_end_with_a_killed_application_were_not_lost(
    tmp_path: Path, at: float, reason: str, said: list[str]
) -> None:
    """Who kills an application sends its executors the same signal, a moment before it ends."""
    run = two_executors(tmp_path, log.removed("1", at, reason=reason))
    assert codes(run) == said


@pytest.mark.parametrize("reason", [7, ["x"], {"a": 1}])
def test_a_reason_that_is_no_text_loses_no_event(tmp_path: Path, reason: object) -> None:
    run = two_executors(tmp_path, log.removed("1", 7.0, reason=reason))
    assert codes(run) == ["lost-executors"]
    assert run.cores == ((1.0, 4), (7.0, 2))


def test_what_spark_says_is_one_short_line_without_places() -> None:
    said = shortened(YARN)
    assert said.startswith("Container marked as failed: … on … Exit status: 137.")
    assert len(said) <= LONGEST_REASON
    assert shortened("a\n\x1b[31mb\u202e " + "x" * 900).startswith("a [31mb xx")
    for place in ("10.1.2.3:7337", "hdfs://nn/tmp/x", "ip-10-0-0-7.ec2.internal", "me@host"):
        assert place not in shortened(f"lost on {place} today")
    kept = "Consider boosting spark.executor.memoryOverhead."
    assert shortened(kept) == kept


@needs_shared
@pytest.mark.parametrize(
    "name",
    [
        "apache-spark/application_1628109047826_1317105",
        "spark-rapids-tools/attempt_1_eventlog.zstd",
        "spark-rapids-tools/rp_nosql_eventlog",
    ],
)
def test_executors_of_public_logs_were_sent_away(name: str) -> None:
    (run,) = read(SHARED / "eventlogs" / name).runs
    assert "dynamic-allocation" in codes(run)
    assert "lost-executors" not in codes(run)


DRAINS = {"spark_decommission_enabled": "true"}
NODE_GOES = "Executor decommission: worker decommissioned because of kill request"


@pytest.mark.parametrize(
    ("reason", "settings", "until"),
    [
        (NODE_GOES, DRAINS, 4.0),
        (NODE_GOES, {}, 9.0),  # the settings say that executors go at once
        ("Command exited with code 137", DRAINS, 9.0),
        ("Executor decommission: spark scale down", DYNAMIC | DRAINS, 9.0),
    ],
)
def test_an_executor_that_only_hands_on_its_blocks_offers_no_slots(
    tmp_path: Path, reason: str, settings: dict[str, str], until: float
) -> None:
    """One whose node is to go gets no more tasks, and stays until its blocks are elsewhere; one
    that was sent away as it was idle could have had some until then."""
    stage = log.info(0, 2)
    events = [
        *log.header(**settings),
        log.submitted(stage, 2.0),
        log.task(0, 0, 2.0, 4.0, index=0, executor="1"),
        log.removed("1", 9.0, reason=reason),
        log.task(0, 1, 2.0, 12.0, index=1, executor="2"),
        log.completed(stage, 2.0, 12.0),
        log.end(13.0),
    ]
    run = run_of(tmp_path, events)
    assert run.cores == ((1.0, 4), (until, 2))
    if reason == NODE_GOES:
        assert lost(run).text.startswith("1 of 2 executors was lost 9 s after the start (")


@pytest.mark.parametrize(
    ("last_end_s", "until_s"),
    [(4.0, 4.0), (1.0, None), (0.5, None), (9.0, None), (10.0, None), (None, None)],
)
def test_an_executor_is_done_between_coming_and_going(
    last_end_s: float | None, until_s: float | None
) -> None:
    """Another clock may tell otherwise: then nobody knows."""
    gone = Executor("h", log.ms(1.0), removed_ms=log.ms(9.0), removed_reason=NODE_GOES)
    last_end_ms = None if last_end_s is None else log.ms(last_end_s)
    until_ms = None if until_s is None else log.ms(until_s)
    assert drained_ms(gone, {}, last_end_ms) == until_ms
    gone.removed_ms = None
    assert drained_ms(gone, {}, last_end_ms) is None


def test_the_reason_of_most_is_told_and_the_time_of_the_first() -> None:
    """Whatever their order; a clock that was behind has lost nothing before the start."""
    reasons = ((9.0, "Container c was preempted."), (4.0, "exit code 137"), (7.0, "exit code 52"))
    gone = [
        Executor("h", log.ms(1.0), removed_ms=log.ms(at), removed_reason=why) for at, why in reasons
    ]
    said = lost_notice(gone, executors=5, started_ms=log.ms(1.0))
    assert said.text.startswith("3 of 5 executors were lost, the first 3 s after the start")
    assert '"exit code 137"' in said.text
    assert "memoryOverhead" in said.remedy
    early = lost_notice(gone, executors=5, started_ms=log.ms(6.0))
    assert ", the first 0 s after the start" in early.text


def without_blocks(name: str, at: float) -> log.Event:
    """The driver has no block manager of an executor any more."""
    manager = {"Executor ID": name, "Host": "host-1", "Port": 7337}
    event = "SparkListenerBlockManagerRemoved"
    return {"Event": event, "Block Manager ID": manager, "Timestamp": log.ms(at)}


def test_an_executor_that_only_lost_its_blocks_is_still_there(tmp_path: Path) -> None:
    """Its own end, a second later, says when and why."""
    gone = without_blocks("1", 6.0), log.removed("1", 7.0, reason="Command exited with code 137")
    run = two_executors(tmp_path, *gone)
    assert lost(run).text.startswith("1 of 2 executors was lost 7 s after the start (")
    assert "137" in lost(run).text
    assert codes(two_executors(tmp_path, without_blocks("1", 6.0))) == []


def test_an_executor_that_was_never_announced_ends_with_its_blocks() -> None:
    """Spark 1.2 tells no executors, but their block managers: when they came and went."""
    added = without_blocks("1", 1.0) | {"Event": "SparkListenerBlockManagerAdded"}
    read_log = EventLog()
    gone = [without_blocks(name, at) for name, at in (("1", 6.0), ("2", 7.0), ("1", 8.0))]
    events = [added | {"Maximum Memory": 1000}, *gone]
    read_log.read([log.text(events)], "app")
    (executor,) = read_log.application.executors.by_id.values()
    assert (executor.added_ms, executor.removed_ms) == (log.ms(1.0), log.ms(6.0))
