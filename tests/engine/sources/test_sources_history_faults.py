"""History servers: every fault of the service or of a download is one line."""

import tempfile
from collections.abc import Callable
from pathlib import Path

import pytest
from faulty_server import Faulty, send, send_json, serving, zipped
from history_servers import SECRET, TEXT, Handler

import engine
from engine.errors import BadInput, EngineError, ServiceUnavailable
from engine.sources import read
from engine.sources.access import http_client
from engine.sources.access.address import parse_address
from engine.sources.access.history_server import HistoryServer
from engine.sources.access.http_client import Client
from engine.sources.access.http_connections import Access

pytestmark = pytest.mark.usefixtures("no_access_settings")


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


def endless_length(handler: Handler, path: str) -> bool:
    handler.wfile.write(
        b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
        b"Content-Length: " + b"9" * 5000 + b"\r\n\r\n[]"
    )
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
        (redirecting(lambda h: "http://[::1/"), "does not speak HTTP"),
        (redirecting(lambda h: "http://127.0.0.1:99999/"), "does not speak HTTP"),
        (endless_length, "does not speak HTTP"),
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


def test_pauses_grow(faulty: Faulty, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "FIRST_PAUSE_SECONDS", 0.5)
    waited: list[float] = []

    def busy(handler: Handler, path: str) -> bool:
        send(handler, b"", "text/plain", status=503)
        return True

    faulty.fault = busy
    client = Client(faulty.url, Access(), pause=waited.append)
    with pytest.raises(ServiceUnavailable, match="answers 503"):
        HistoryServer(parse_address(faulty.url), client).newest(1)
    assert waited == [0.5, 1.5]


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
