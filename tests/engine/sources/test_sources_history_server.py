"""History servers: what is chosen, how it is read, and every fault in one line."""

from __future__ import annotations

import gzip
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
import sparklog as log
from faulty_server import API, Faulty, listed, send, send_json, serving, zipped

import engine
from engine.errors import BadInput, EngineError, ServiceUnavailable, UnknownName
from engine.sources import http_client, read
from engine.sources.address import parse_address
from engine.sources.history_server import HistoryServer, list_applications
from engine.sources.http_access import Access
from engine.sources.http_client import Client

TEXT = log.text(log.one_stage())
SECRET = "s3cr3t-t0ken"
ENVIRONMENT = ("TOKEN", "USER", "PASSWORD", "CA", "TIMEOUT")
Handler = BaseHTTPRequestHandler


@pytest.fixture(autouse=True)
def _environment(monkeypatch: pytest.MonkeyPatch) -> None:
    """No credentials, no proxy, and no pause between tries."""
    for name in ENVIRONMENT:
        monkeypatch.delenv(f"SPARKPLAN_HISTORY_{name}", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(http_client, "FIRST_PAUSE_SECONDS", 0.0)


@pytest.fixture
def faulty() -> Iterator[Faulty]:
    """A server with three runs of one job and one of another."""
    held = Faulty(
        applications=[
            listed("app-1", "etl", start_s=0),
            listed("app-2", "etl", start_s=1000),
            listed("app-3", "etl", start_s=2000, complete=False),
            listed("app-4", "report [x]", start_s=3000, attempts=("2", "1")),
        ],
        logs={
            "app-1/logs": zipped({"app-1": TEXT}),
            "app-2/logs": zipped({"app-2": log.lz4_blocks(TEXT)}),
            "app-3/logs": zipped({"app-3.inprogress": TEXT[:-100]}),
            "app-4/2/logs": zipped({"app-4_2": TEXT}),
            "app-4/1/logs": zipped({"app-4_1": TEXT}),
        },
    )
    with serving(held) as server:
        yield server


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
    assert len(asked) == len(logs)


def test_a_log_of_a_server_gives_the_runs_of_the_file(faulty: Faulty, tmp_path: Path) -> None:
    (tmp_path / "app-1").write_bytes(TEXT)
    assert read(faulty.url + "#app=app-1") == read(tmp_path / "app-1")


def test_the_newest_of_several_is_taken_and_said(faulty: Faulty) -> None:
    assert [n.code for n in read(faulty.url + "#app=etl").notices] == ["newest-application"]
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
    from engine.sources import history_server

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


# Credentials


@pytest.mark.parametrize(
    ("environment", "sent"),
    [
        ({"TOKEN": SECRET}, f"Bearer {SECRET}"),
        ({"USER": "anna", "PASSWORD": "pä:ss"}, "Basic YW5uYTpww6Q6c3M="),
        ({}, None),
    ],
)
def test_credentials_come_from_the_environment(
    faulty: Faulty, environment: dict[str, str], sent: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment.items():
        monkeypatch.setenv(f"SPARKPLAN_HISTORY_{name}", value)
    read(faulty.url + "#app=app-1")
    assert set(faulty.authorizations) == {sent}


@pytest.mark.parametrize(
    ("environment", "said"),
    [
        ({"TOKEN": "a\nHost: evil"}, "SPARKPLAN_HISTORY_TOKEN: is not a token"),
        ({"TOKEN": "hunter2 ü"}, "SPARKPLAN_HISTORY_TOKEN: is not a token"),
        ({"TOKEN": "hunter2", "USER": "anna"}, "both are set"),
        ({"PASSWORD": "hunter2"}, "without a user"),
        ({"USER": "hunter2:x"}, "SPARKPLAN_HISTORY_USER"),
        ({"CA": "/nowhere/hunter.pem"}, "SPARKPLAN_HISTORY_CA: no such file"),
        ({"TIMEOUT": "soon"}, "SPARKPLAN_HISTORY_TIMEOUT"),
        ({"TIMEOUT": "-1"}, "SPARKPLAN_HISTORY_TIMEOUT"),
    ],
)
def test_an_environment_that_cannot_be_meant(environment: dict[str, str], said: str) -> None:
    named = {f"SPARKPLAN_HISTORY_{name}": value for name, value in environment.items()}
    with pytest.raises(BadInput, match=said) as caught:
        Access.from_environment(named)
    assert "hunter2" not in str(caught.value)


def test_credentials_are_not_in_the_representation_of_anything() -> None:
    access = Access.from_environment({"SPARKPLAN_HISTORY_TOKEN": SECRET})
    assert SECRET not in repr(access)
    assert SECRET not in repr(Client("http://h", access).__dict__)


@pytest.mark.parametrize(
    ("status", "sent", "asks", "said"),
    [
        (401, False, "Basic realm=x", "asks for credentials .401.; set SPARKPLAN_HISTORY_TOKEN"),
        (401, True, "Bearer", "does not accept the credentials .401.; check"),
        (403, True, "", "does not allow this user"),
        (401, True, "Negotiate", "Kerberos"),
    ],
)
def test_a_wrong_key_is_the_users_and_never_shown(
    faulty: Faulty, status: int, sent: bool, asks: str, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sent:
        monkeypatch.setenv("SPARKPLAN_HISTORY_TOKEN", SECRET)

    def refuse(handler: Handler, path: str) -> bool:
        body = f"bad {handler.headers.get('Authorization')}".encode()
        send(handler, body, "text/plain", status=status, **{"WWW_Authenticate": asks})
        return True

    faulty.fault = refuse
    with pytest.raises(BadInput, match=said) as caught:
        read(faulty.url + "#app=etl")
    assert caught.value.exit_code == 2
    assert SECRET not in str(caught.value)
    assert len(faulty.asked) == 1


# Faults of the service


def redirecting(where: Callable[[Handler], str], status: int = 302):
    def redirect(handler: Handler, path: str) -> bool:
        send(handler, b"", "text/plain", status=status, Location=where(handler))
        return True

    return redirect


def html(handler: Handler, path: str) -> bool:
    send(handler, b"<html>please log in</html>", "text/html; charset=utf-8")
    return True


def html_as_json(handler: Handler, path: str) -> bool:
    send(handler, b"<html>please log in</html>", "application/json")
    return True


def other_json(handler: Handler, path: str) -> bool:
    send_json(handler, {"error": "x"})
    return True


def deep_json(handler: Handler, path: str) -> bool:
    send(handler, b"[" * 100_000, "application/json")
    return True


def failing(handler: Handler, path: str) -> bool:
    send(handler, b"java.lang.NullPointerException", "text/plain", status=500)
    return True


def truncating(handler: Handler, path: str) -> bool:
    handler.send_response(200)
    handler.send_header("Content-Type", "application/json")
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"[")
    return True


def breaking_chunks(handler: Handler, path: str) -> bool:
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\n5\r\n[[[[[\r\nff\r\n["
    )
    return True


def hanging_up(handler: Handler, path: str) -> bool:
    return True


def no_http(handler: Handler, path: str) -> bool:
    handler.wfile.write(b"220 smtp ready\r\n")
    return True


@pytest.mark.parametrize(
    ("fault", "said"),
    [
        (html, "web page"),
        (html_as_json, "not a list of applications"),
        (other_json, "not a list of applications"),
        (deep_json, "not a list of applications"),
        (failing, "answers 500"),
        (truncating, "broke off after 1 of 1000 bytes"),
        (breaking_chunks, "broke off"),
        (hanging_up, "broke off"),
        (no_http, "does not speak HTTP"),
        (redirecting(lambda h: "http://login.example.com/sso?next=x"), "redirects to another"),
        (redirecting(lambda h: "https://127.0.0.1:18480/"), "https://127.0.0.1:18480"),
        (redirecting(lambda h: h.path), "redirects in circles"),
        (redirecting(lambda h: "file:///etc/passwd"), "redirects in circles, or to nowhere"),
    ],
)
def test_a_fault_of_the_service_is_one_line_and_exit_code_3(
    faulty: Faulty, fault: Callable[[Handler, str], bool], said: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    monkeypatch.setenv("SPARKPLAN_HISTORY_TOKEN", SECRET)
    faulty.fault = fault
    with pytest.raises(ServiceUnavailable, match=said) as caught:
        read(faulty.url + "#app=etl")
    assert caught.value.exit_code == 3
    assert faulty.url in str(caught.value)
    assert SECRET not in str(caught.value)
    assert "\n" not in str(caught.value)


def test_no_credentials_reach_another_server(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARKPLAN_HISTORY_TOKEN", SECRET)
    with serving(Faulty()) as other:
        faulty.fault = redirecting(lambda handler: other.url + handler.path)
        with pytest.raises(ServiceUnavailable, match="nothing was sent"):
            read(faulty.url + "#app=etl")
        assert other.asked == []


def test_a_redirect_within_the_server_is_followed(faulty: Faulty) -> None:
    def moved(handler: Handler, path: str) -> bool:
        if path.startswith("/old"):
            send(handler, b"", "text/plain", status=307, Location=handler.path[len("/old") :])
            return True
        return False

    faulty.fault = moved
    assert len(read(faulty.url + "/old#app=app-1").runs) == 1


@pytest.mark.parametrize("drip", ["nothing", "head", "body"])
def test_a_server_that_stalls_is_given_up(
    faulty: Faulty, drip: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARKPLAN_HISTORY_TIMEOUT", "0.2")

    def stall(handler: Handler, path: str) -> bool:
        if drip != "nothing":
            handler.wfile.write(b"HTTP/1.1 200 OK\r\nX: " + b"\r\n\r\n" * (drip == "body"))
            while not faulty.released.wait(0.02):
                handler.wfile.write(b" ")
        else:
            faulty.stall(handler)
        return True

    faulty.fault = stall
    with pytest.raises(ServiceUnavailable, match=r"stalls: next to nothing for 0\.2 s"):
        read(faulty.url + "#app=etl")
    assert len(faulty.asked) == 1


def test_nothing_listens() -> None:
    with serving(Faulty()) as gone:
        url = gone.url
    with pytest.raises(ServiceUnavailable, match="nothing listens there"):
        read(url)


def test_a_proxy_of_the_environment_is_named(
    faulty: Faulty, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("no_proxy", raising=False)
    monkeypatch.setenv("http_proxy", "http://anna:hunter2@127.0.0.1:1")
    with pytest.raises(ServiceUnavailable, match="through the proxy") as caught:
        read(faulty.url)
    assert "hunter2" not in str(caught.value)
    monkeypatch.setenv("no_proxy", "127.0.0.1")
    assert read(faulty.url + "#app=app-1").runs


def test_the_host_is_not_kept_in_the_profile(faulty: Faulty) -> None:
    assert "127.0.0.1" not in engine.format_profile(read(faulty.url + "#app=etl"))


def test_an_unknown_host() -> None:
    with pytest.raises(ServiceUnavailable, match=r"no host of this name|cannot be reached"):
        read("http://no-such-host.invalid:18080")


def test_an_address_that_is_no_history_server(faulty: Faulty) -> None:
    with pytest.raises(BadInput, match="no Spark history server"):
        read(faulty.url + "/elsewhere")


@pytest.mark.parametrize("status", [429, 502, 503])
def test_a_passing_fault_is_tried_again(faulty: Faulty, status: int) -> None:
    waited: list[float] = []

    def twice(handler: Handler, path: str) -> bool:
        if len(faulty.asked) > 2:
            return False
        send(handler, b"", "text/plain", status=status, Retry_After="7" if status == 429 else "x")
        return True

    faulty.fault = twice
    client = Client(faulty.url, Access(), pause=waited.append)
    assert HistoryServer(parse_address(faulty.url), client).newest(9)
    assert waited == ([7.0, 7.0] if status == 429 else [0.0, 0.0])


def test_tries_come_to_an_end(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_PAUSE_SECONDS", 0.5)
    waited: list[float] = []

    def busy(handler: Handler, path: str) -> bool:
        send(handler, b"", "text/plain", status=503, Retry_After="86400" * (len(faulty.asked) > 1))
        return True

    faulty.fault = busy
    with pytest.raises(ServiceUnavailable, match="answers 503"):
        HistoryServer(
            parse_address(faulty.url), Client(faulty.url, Access(), pause=waited.append)
        ).newest(1)
    assert waited == [0.5, http_client.LONGEST_PAUSE_SECONDS]
    assert len(faulty.asked) == http_client.TRIES


# Faults of a download


def test_a_download_that_breaks_off_is_fetched_again(faulty: Faulty) -> None:
    whole = faulty.logs["app-1/logs"]

    def first_half(handler: Handler, path: str) -> bool:
        halves = [asked for asked in faulty.asked if asked.endswith("/logs")]
        if not path.endswith("/logs") or len(halves) > 1:
            return False
        handler.send_response(200)  # no length: only the zip tells that it is not whole
        handler.end_headers()
        handler.wfile.write(whole[: len(whole) // 2])
        return True

    faulty.fault = first_half
    assert len(read(faulty.url + "#app=app-1").runs) == 1


@pytest.mark.parametrize(
    ("body", "kind", "said", "code"),
    [
        (zipped({"a": TEXT})[:-30], "application/zip", "broke off after", 3),
        (b"<html>log in</html>", "text/html", "web page", 3),
        (b"sorry", "application/octet-stream", "something else than an event log", 3),
        (b"", "application/octet-stream", "something else than an event log", 3),
        (zipped({}), "application/zip", "holds no event log", 2),
        (zipped({"a": b"no log"}), "application/zip", "is not an event log", 2),
        (zipped({"a": b""}), "application/zip", "is empty", 2),
    ],
    ids=["cut", "html", "text", "nothing", "empty-zip", "no-log", "empty-file"],
)
def test_a_download_that_is_no_log(
    faulty: Faulty, body: bytes, kind: str, said: str, code: int
) -> None:
    def other(handler: Handler, path: str) -> bool:
        if path.endswith("/logs"):
            send(handler, body, kind)
        return path.endswith("/logs")

    faulty.fault = other
    with pytest.raises(EngineError, match=said) as caught:
        read(faulty.url + "#app=app-1")
    assert caught.value.exit_code == code


def test_bits_that_flipped_on_the_way(faulty: Faulty) -> None:
    body = bytearray(faulty.logs["app-1/logs"])
    body[100:120] = bytes(20)
    faulty.logs["app-1/logs"] = bytes(body)
    with pytest.raises(ServiceUnavailable, match="arrived damaged"):
        read(faulty.url + "#app=app-1")


def test_a_log_that_is_not_there_any_more(faulty: Faulty) -> None:
    del faulty.logs["app-1/logs"]
    with pytest.raises(BadInput, match="etl app-1 is not there any more"):
        read(faulty.url + "#app=app-1")


def test_no_room_for_the_download(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> object:
        return open("/dev/full", "r+b", buffering=0)

    if not Path("/dev/full").exists():
        pytest.skip("no device that is always full")
    monkeypatch.setattr(tempfile, "TemporaryFile", full)
    monkeypatch.setattr(http_client, "_empty", lambda file: None)
    with pytest.raises(BadInput, match="TMPDIR"):
        read(faulty.url + "#app=app-1")


# TLS


@pytest.fixture(scope="module")
def certificates(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Certificates for 127.0.0.1 and for another host, made here."""
    if shutil.which("openssl") is None:
        pytest.skip("no openssl to make certificates with")
    folder = tmp_path_factory.mktemp("tls")
    for name, host in (("right", "IP:127.0.0.1"), ("other", "DNS:elsewhere.example")):
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-days", "2", "-subj", f"/CN={name}", "-addext", f"subjectAltName={host}",
             "-keyout", folder / f"{name}.key", "-out", folder / f"{name}.pem"],
            check=True, capture_output=True,
        )  # fmt: skip
        both = (folder / f"{name}.key").read_bytes() + (folder / f"{name}.pem").read_bytes()
        (folder / f"{name}.both").write_bytes(both)
    return folder


def secured(certificates: Path, name: str = "right"):
    held = Faulty([listed("app-1", "etl")], {"app-1/logs": zipped({"app-1": TEXT})})
    return serving(held, certificates / f"{name}.both")


@pytest.mark.parametrize("variable", ["SPARKPLAN_HISTORY_CA", "SSL_CERT_FILE"])
def test_an_own_authority_is_trusted_when_named(
    certificates: Path, variable: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(variable, str(certificates / "right.pem"))
    with secured(certificates) as server:
        assert len(read(server.url).runs) == 1


def test_a_certificate_that_nobody_signed(certificates: Path) -> None:
    with (
        secured(certificates) as server,
        pytest.raises(ServiceUnavailable, match=r"certificate is not trusted.*HISTORY_CA"),
    ):
        read(server.url)


def test_a_certificate_of_another_host(certificates: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARKPLAN_HISTORY_CA", str(certificates / "other.pem"))
    with (
        secured(certificates, "other") as server,
        pytest.raises(ServiceUnavailable, match="certificate is not trusted"),
    ):
        read(server.url)
    assert server.asked == []


def test_an_authority_file_without_certificates(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "ca").write_text("none")
    monkeypatch.setenv("SPARKPLAN_HISTORY_CA", str(tmp_path / "ca"))
    with pytest.raises(BadInput, match="PEM"):
        read("https://127.0.0.1:1")


def test_tls_asked_of_a_plain_server(faulty: Faulty) -> None:
    with pytest.raises(ServiceUnavailable, match="no TLS"):
        read(faulty.url.replace("http:", "https:"))


def test_the_public_names() -> None:
    assert engine.list_applications is list_applications
