"""History servers: what is chosen, and how it is read."""

import gzip
import tempfile
from pathlib import Path

import pytest
from faulty_server import API, Faulty, listed, send_json, serving, zipped
from history_servers import TEXT, Handler

import engine
from engine.errors import BadInput, EngineError, UnknownName
from engine.sources import read
from engine.sources.access.history_server import list_applications

pytestmark = pytest.mark.usefixtures("no_access_settings")


def sources(faulty: Faulty, chosen: str) -> tuple[str, ...]:
    return tuple(run.source or "" for run in read(faulty.url + chosen).runs)


# Choosing


@pytest.mark.parametrize(
    ("chosen", "logs"),
    [
        ("#app=etl", ("app-2",)),
        ("#app=etl&last=2", ("app-2", "app-1")),
        ("#app=et*&last=9", ("app-2", "app-1")),
        ("#app=app-1", ("app-1",)),
        ("#app=app-3", ("app-3.inprogress",)),
        ("#app=etl&status=running", ("app-3.inprogress",)),
        ("#app=report%20[x]", ("app-4_2",)),
        ("#app=report [x]", ("app-4_2",)),
        ("#app=app-4&attempt=1", ("app-4_1",)),
        ("#app=app-4&attempt=all", ("app-4_2", "app-4_1")),
        ("/history/app-4/1/jobs/", ("app-4_1",)),
        ("#last=1", ("app-4_2",)),
        ("#app=etl&until=2023-11-14T22:20:00", ("app-1",)),
        ("#app=etl&since=2023-11-14T22:20:00", ("app-2",)),
    ],
)
def test_which_logs_an_address_takes(
    faulty: Faulty, chosen: str, logs: tuple[str, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(sources(faulty, chosen)) <= set(logs)  # equal runs count once
    asked = [path for path in faulty.asked if path.endswith("/logs")]
    folders = [name.removesuffix(".inprogress").replace("_", "/") for name in logs]
    assert asked == [f"{API}/{folder}/logs" for folder in folders]


@pytest.mark.parametrize("year", ["0001", "0999", "2023"])
def test_a_server_is_asked_for_years_of_four_digits(faulty: Faulty, year: str) -> None:
    read(f"{faulty.url}#app=etl&last=1&since={year}-01-02")
    bound = f"minDate={year}-01-02T00%3A00%3A00.000GMT"
    assert [path for path in faulty.asked if bound in path]


def test_a_log_of_a_server_gives_the_runs_of_the_file(faulty: Faulty, tmp_path: Path) -> None:
    (tmp_path / "app-1").write_bytes(TEXT)
    assert read(faulty.url + "#app=app-1") == read(tmp_path / "app-1")


def test_the_newest_of_several_is_taken_and_said(faulty: Faulty) -> None:
    (notice,) = read(faulty.url + "#app=etl").notices
    assert notice.code == "newest-application"
    assert notice.text == "of several applications 'etl' the newest was read (app-2)"
    (notice,) = read(faulty.url + "#app=et*").notices
    assert notice.text == "of several applications 'et*' the newest was read ('etl', app-2)"
    assert not read(faulty.url + "#app=etl&last=1").notices


@pytest.mark.parametrize(
    ("chosen", "kind", "said"),
    [
        ("", BadInput, "holds 4 applications and none is named.*#app=etl"),
        ("#app=elt", UnknownName, "did you mean etl"),
        ("#app=zzz", BadInput, r"choices: etl, report \[x\]"),
        ("#app=app-4&attempt=7", BadInput, "no attempt 7 .*choices: 2, 1, all"),
        ("#app=app-1&attempt=7", BadInput, "leave out attempt="),
        ("#app=etl&since=2026-01-01", BadInput, "loosen status"),
    ],
)
def test_what_cannot_be_chosen_is_said_with_what_could(
    faulty: Faulty, chosen: str, kind: type[EngineError], said: str
) -> None:
    with pytest.raises(kind, match=said):
        read(faulty.url + chosen)


def test_a_running_application_is_not_taken_by_its_name_unasked(faulty: Faulty) -> None:
    faulty.applications = faulty.applications[2:3]
    with pytest.raises(BadInput, match="status=running"):
        read(faulty.url + "#app=etl")


def test_a_server_without_applications(faulty: Faulty) -> None:
    faulty.applications = []
    with pytest.raises(BadInput, match="holds no application"):
        read(faulty.url)


def test_the_listing_knows_what_the_server_knows(faulty: Faulty) -> None:
    faulty.applications[1]["coresGranted"] = 8
    found = list_applications(faulty.url)
    assert [entry.app_id for entry in found] == ["app-3", "app-4", "app-2", "app-1"]
    running, _, second, _ = found
    assert (running.seconds, running.ended_ms, running.complete) == (None, None, False)
    assert (second.seconds, second.cores, second.spark_version) == (60.0, 8, "3.5.1")
    assert second.source == f"{faulty.url}#app=app-2"
    assert [entry.app_id for entry in list_applications(faulty.url, limit=2)] == ["app-3", "app-4"]


def test_the_times_of_old_servers() -> None:
    old = listed("app-1", "etl")
    for key in ("startTimeEpoch", "endTimeEpoch", "duration", "appSparkVersion"):
        del old["attempts"][0][key]
    old["attempts"][0] |= {
        "startTime": "2015-03-27T21:45:10.120GMT",
        "endTime": "2015-03-27T21:46:10.620GMT",
    }

    def only_this(handler: Handler, path: str) -> bool:
        send_json(handler, [old])
        return True

    with serving(Faulty(fault=only_this)) as server:
        (entry,) = list_applications(server.url + "#status=completed")
    assert entry.seconds == 60.5


def test_a_name_beyond_the_first_page_is_found(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    from engine.sources.access import history_server

    monkeypatch.setattr(history_server, "PAGES", (1, 2, None))
    assert sources(faulty, "#app=et*&last=2")
    limits = [path.rpartition("limit=")[2] for path in faulty.asked if path.startswith(API + "?")]
    assert limits == ["1", "2", f"{API}?status=completed"]


# Reading


def test_a_rolling_log_is_read_in_the_order_of_its_parts(faulty: Faulty, tmp_path: Path) -> None:
    lines = TEXT.splitlines(keepends=True)
    folder = "eventlog_v2_app-1"
    parts = {
        f"{folder}/events_10_app-1": b"".join(lines[-2:]),
        f"{folder}/events_2_app-1.gz": gzip.compress(b"".join(lines[5:-2])),
        f"{folder}/appstatus_app-1": b"",
        f"{folder}/events_1_app-1": b"".join(lines[:5]),
    }
    faulty.logs["app-1/logs"] = zipped({f"{folder}/": b"", **parts})
    (run,) = read(faulty.url + "#app=app-1").runs
    assert run.source == folder
    lost = [notice.text for notice in run.notices if notice.code == "incomplete-log"]
    assert lost
    assert "parts 3, 4, 5, 6, 7 and 2 more of 10 missing" in lost[0]


def test_nothing_is_left_behind(
    faulty: Faulty, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    read(faulty.url + "#app=app-1")
    assert not list(tmp_path.iterdir())


def test_progress_counts_what_arrives_and_may_end_it(faulty: Faulty) -> None:
    class EnoughError(Exception):
        pass

    seen: list[tuple[int, int | None]] = []
    read(faulty.url + "#app=app-1", progress=lambda done, total: seen.append((done, total)))
    assert seen[0] == (len(faulty.logs["app-1/logs"]), None)
    assert [done for done, _ in seen] == sorted(done for done, _ in seen)

    def stop(done: int, total: int | None) -> None:
        raise EnoughError

    with pytest.raises(EnoughError):
        read(faulty.url + "#app=app-1", progress=stop)


def test_logs_without_a_run_are_skipped_and_counted(faulty: Faulty) -> None:
    faulty.logs["app-2/logs"] = zipped({"app-2": TEXT.splitlines(keepends=True)[0]})
    profile = read(faulty.url + "#app=etl&last=2")
    assert [notice.code for notice in profile.notices] == ["skipped-files"]
    with pytest.raises(BadInput, match="no finished task"):
        read(faulty.url + "#app=app-2")


def test_the_public_names() -> None:
    assert engine.list_applications is list_applications
