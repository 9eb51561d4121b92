"""Logs of servers: Spark Connect's and the Thrift server's, which wait for clients."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from pitfall_logs import DATA, codes, notice, one, text_of

from engine.models.stages.stage_matching import stage_counterparts
from engine.profile import Run
from engine.runs.stage_labels import stage_label
from engine.sources.logs.clients import Clients, ConnectOperation, Session, ThriftEnd, ThriftStart

LOG = DATA / "clients.zstd"
"""Two clients of Spark Connect, one after the other."""

CONNECT = "org.apache.spark.sql.connect.service.SparkListenerConnect"
TIMES = ("eventTime", "time", "Timestamp", "Submission Time", "Completion Time", "Launch Time",
         "Finish Time")  # fmt: skip


def test_what_each_client_asked_for_is_a_span_of_work():
    clients = Clients()
    clients.operation_started(ThriftStart("a", 100))
    clients.operation_started(ConnectOperation("b", 200))
    clients.operation_ended(ThriftEnd("a", 300))
    clients.operation_ended(ThriftEnd("a", 900))
    clients.operation_ended(ConnectOperation("b", 250))
    clients.operation_ended(ConnectOperation("never asked", 250))
    assert clients.spans == [(100, 300), (200, 250)]


def test_one_client_is_nothing_to_be_said():
    clients = Clients()
    for session in ("one", "one"):
        clients.session_opened(Session(session))
        assert clients.notice is None
    clients.session_opened(Session("another"))
    assert clients.notice is not None
    assert clients.notice.code == "several-clients"


def test_a_log_of_two_clients_says_so():
    assert "2 sessions of clients" in notice(one(LOG), "several-clients")


def test_stages_of_a_client_are_shown_by_what_they_do():
    labels = {stage_label(stage) for stage in one(LOG).stages}
    assert labels == {"Exchange", "AQEShuffleRead"}
    assert {stage.name for stage in one(LOG).stages} == {"Spark Connect"}


def test_stages_of_two_sessions_are_matched_one_by_one():
    run = one(LOG)
    assert stage_counterparts(run, run) == list(range(len(run.stages)))
    half = len(run.stages) // 2
    first, second = _of_stages(run, 0, half), _of_stages(run, half, 2 * half)
    assert stage_counterparts(second, first) == list(range(half))


def _of_stages(run: Run, start: int, stop: int) -> Run:
    return replace(run, stages=run.stages[start:stop])


def later(event: Any, by_ms: int) -> Any:
    """An event, or a part of it, with all of its times so much later."""
    if isinstance(event, list):
        return [later(part, by_ms) for part in event]
    if not isinstance(event, dict):
        return event
    return {
        key: value + by_ms
        if key in TIMES and isinstance(value, int) and value
        else later(value, by_ms)
        for key, value in event.items()
    }


@pytest.mark.parametrize(("minutes", "idle"), [(4, False), (6, True)])
def test_minutes_without_a_client_are_idle_from_the_fifth_on(
    tmp_path: Path, minutes: int, idle: bool
):
    lines, sessions = [], 0
    for line in text_of(LOG).splitlines():
        event = json.loads(line)
        sessions += event["Event"] == CONNECT + "SessionStarted"
        lines.append(json.dumps(later(event, (sessions == 2) * minutes * 60_000)))
    path = tmp_path / "apart"
    path.write_text("\n".join(lines) + "\n")
    run, merged_profile = one(path), one(LOG)
    assert ("idle-time" in codes(run)) is idle
    assert (run.seconds < merged_profile.seconds + 60.0) is idle
