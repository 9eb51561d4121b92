"""A history server on the loopback that answers as a test wishes, faults and all."""

import io
import json
import ssl
import threading
import zipfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import sparklog as log

API = "/api/v1/applications"


def zipped(files: dict[str, bytes]) -> bytes:
    """A zip as the server makes it."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return out.getvalue()


def listed(app_id: str, name: str, *, start_s: int = 0, complete: bool = True,
           attempts: tuple[str | None, ...] = (None,)) -> dict[str, Any]:  # fmt: skip
    """An application as the REST interface lists it, its newest attempt first."""
    start = log.START_MS + 1000 * start_s
    entry = {
        "startTime": "2023-11-14T22:13:20.000GMT",
        "startTimeEpoch": start,
        "endTimeEpoch": start + 60_000 if complete else -1,
        "duration": 60_000 if complete else 0,
        "completed": complete,
        "appSparkVersion": "3.5.1",
    }
    named = [entry | ({"attemptId": attempt} if attempt else {}) for attempt in attempts]
    return {"id": app_id, "name": name, "attempts": named}


@dataclass
class Faulty:
    """What the server holds, what it does instead of answering, and what it was asked.

    `fault` gets the handler and its path; it returns True when it has answered by itself.
    """

    applications: list[dict[str, Any]] = field(default_factory=list)
    logs: dict[str, bytes] = field(default_factory=dict)
    fault: Callable[[BaseHTTPRequestHandler, str], bool] | None = None
    asked: list[str] = field(default_factory=list)
    authorizations: list[str | None] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    url: str = ""

    def answer(self, handler: BaseHTTPRequestHandler) -> None:
        self.asked.append(handler.path)
        self.authorizations.append(handler.headers.get("Authorization"))
        parts = urlsplit(handler.path)
        if self.fault is not None and self.fault(handler, parts.path):
            return
        if parts.path == API:
            send_json(handler, self._list(parse_qs(parts.query)))
        elif parts.path.removeprefix(API + "/") in self.logs:
            send(handler, self.logs[parts.path.removeprefix(API + "/")], "application/octet-stream")
        else:
            found = [a for a in self.applications if parts.path == f"{API}/{a['id']}"]
            if found:
                send_json(handler, found[0])
            else:
                send(handler, b"no such app", "text/plain", status=404)

    def _list(self, query: dict[str, list[str]]) -> list[dict[str, Any]]:
        kept = self.applications
        if "status" in query:
            wanted = query["status"][0] == "completed"
            kept = [a for a in kept if a["attempts"][0]["completed"] == wanted]
        newest = sorted(kept, key=lambda a: -a["attempts"][0]["startTimeEpoch"])
        return newest[: int(query["limit"][0])] if "limit" in query else newest

    def stall(self, handler: BaseHTTPRequestHandler) -> None:
        """Says nothing until the test is over."""
        self.released.wait(30)


def send(handler: BaseHTTPRequestHandler, body: bytes, kind: str, *, status: int = 200,
         **headers: str) -> None:  # fmt: skip
    handler.send_response(status)
    handler.send_header("Content-Type", kind)
    handler.send_header("Content-Length", str(len(body)))
    for name, value in headers.items():
        handler.send_header(name.replace("_", "-"), value)
    handler.end_headers()
    handler.wfile.write(body)


def send_json(handler: BaseHTTPRequestHandler, value: Any) -> None:
    send(handler, json.dumps(value).encode(), "application/json")


@contextmanager
def serving(faulty: Faulty, certificate: Path | None = None) -> Iterator[Faulty]:
    """The server, while the context lasts; with a certificate (and key in one file) over TLS."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            faulty.answer(self)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            pass

    server = Server(("127.0.0.1", 0), Handler)
    if certificate is not None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=lambda: server.serve_forever(poll_interval=0.02), daemon=True)
    thread.start()
    faulty.url = f"http{'s' * (certificate is not None)}://127.0.0.1:{server.server_port}"
    try:
        yield faulty
    finally:
        faulty.released.set()
        server.shutdown()
        server.server_close()
        thread.join(5)
