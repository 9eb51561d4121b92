"""An HTTP client for one service: reads JSON and large files, with bounded retries and timeouts.

It uses the standard library's `urllib.request`, which supports proxies and verified TLS. A larger
library would add nothing that a few GET requests need. Three policies are implemented here in any
case: redirects are followed only within the server (so that credentials go nowhere else), too slow
a transfer counts as a stall, and no secret of the server or the environment reaches an error
message.
"""

from __future__ import annotations

import http.client
import socket
import ssl
import time
import urllib.request
from collections.abc import Callable, Iterator
from email.message import Message
from typing import IO, TypeVar
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit

from engine.errors import BadInput, EngineError, ServiceUnavailable
from engine.sources.access.http_connections import (
    CA_FILE,
    PASSWORD,
    TIMEOUT,
    TOKEN,
    USER,
    Access,
    Http,
    Https,
    SameServer,
    tls_context,
)

LEAST_BYTES_PER_SECOND = 256
"""A slower transfer over a whole timeout counts as stalled."""

TRIES = 3
FIRST_PAUSE_SECONDS = 0.5
LONGEST_PAUSE_SECONDS = 20.0
CHUNK_BYTES = 1 << 18

LARGEST_JSON_BYTES = 256 << 20

_MAY_PASS = (408, 429, 502, 503, 504)
"""HTTP statuses that are retried."""

Answer = TypeVar("Answer")


class TransientError(ServiceUnavailable):
    """A transient failure that is retried; after the last try it is final."""

    after_seconds: float = 0.0


class Client:
    """HTTP client of one service.

    Args:
        base: URL of the service, also shown in errors.
        access: credentials, certificates and timeout.
        pause: sleeps for a number of seconds between tries.
    """

    def __init__(
        self,
        base: str,
        access: Access,
        *,
        pause: Callable[[float], None] = time.sleep,
    ) -> None:
        self.base = base
        self._access = access
        self._pause = pause
        handlers: list[urllib.request.BaseHandler] = [SameServer(base), Http()]
        if base.startswith("https:"):
            handlers.append(Https(context=tls_context(access)))
        self._proxied = _proxied(base)
        self._opener = urllib.request.build_opener(*handlers)

    def get(self, path: str) -> bytes:
        """The complete JSON text at `path`.

        Raises:
            ServiceUnavailable: when the service fails, after several tries.
            BadInput: when it refuses the credentials, or has nothing at `path`.
        """

        def read() -> bytes:
            parts, size = [], 0
            for chunk in self._chunks(path, "application/json"):
                parts.append(chunk)
                size += len(chunk)
                if size > LARGEST_JSON_BYTES:
                    raise ServiceUnavailable("its answer does not end", where=self.base)
            return b"".join(parts)

        return self._retried(read)

    def download(
        self,
        path: str,
        into: IO[bytes],
        check: Callable[[], None],
        progress: Callable[[int], None] | None,
    ) -> None:
        """Downloads `path` into a file; every try starts from the beginning.

        Args:
            path: relative to the base.
            into: a file that can be truncated.
            check: raises `TransientError` when the download is incomplete.
            progress: called with the bytes so far; an exception in it ends the download.

        Raises:
            ServiceUnavailable, BadInput: as `get`.
        """

        def read() -> None:
            _empty(into)
            done = 0
            for chunk in self._chunks(path, "*/*"):
                _store(into, chunk)
                done += len(chunk)
                if progress is not None:
                    progress(done)
            _store(into, b"")
            check()

        self._retried(read)

    def _retried(self, attempt: Callable[[], Answer]) -> Answer:
        pause = FIRST_PAUSE_SECONDS
        for _ in range(TRIES - 1):
            try:
                return attempt()
            except TransientError as failure:
                self._pause(min(LONGEST_PAUSE_SECONDS, max(pause, failure.after_seconds)))
                pause *= 3.0
        return attempt()

    def _chunks(self, path: str, accept: str) -> Iterator[bytes]:
        """The body at `path` in chunks as it arrives; failures become explained errors."""
        headers = {"Accept": accept, "Accept-Encoding": "identity", "User-Agent": "sparkplan"}
        if self._access.authorization is not None:
            headers["Authorization"] = self._access.authorization
        request = urllib.request.Request(self.base + path, headers=headers)
        try:
            with self._opener.open(request, timeout=self._access.timeout_seconds) as response:
                self._expect(response)
                yield from self._body(response)
        except HTTPError as error:
            error.close()
            raise self._refused(error) from None
        except (URLError, http.client.HTTPException, OSError) as error:
            raise self._broken(error) from None
        except ValueError:  # a length, or the address of a redirect, that is none
            raise ServiceUnavailable(
                "does not speak HTTP", where=self.base, remedy="check the address"
            ) from None

    def _body(self, response: http.client.HTTPResponse) -> Iterator[bytes]:
        length = response.headers.get("Content-Length", "")
        expected = int(length) if length.isdecimal() and length.isascii() else None
        size = window = 0
        timeout = self._access.timeout_seconds
        since = time.monotonic()
        while chunk := response.read1(CHUNK_BYTES):
            size += len(chunk)
            window += len(chunk)
            passed = time.monotonic() - since
            if passed > timeout:
                if window < passed * LEAST_BYTES_PER_SECOND:
                    raise TimeoutError
                since, window = time.monotonic(), 0
            yield chunk
        if expected is not None and size < expected:
            raise TransientError(
                f"broke off after {size} of {expected} bytes", where=self.base, remedy=_LATER
            )

    def _expect(self, response: http.client.HTTPResponse) -> None:
        if response.headers.get_content_type() == "text/html":
            raise ServiceUnavailable(
                "answered a web page where data was asked for", where=self.base,
                remedy="is it a Spark history server, and not a login page? give the address of "
                f"the server itself and credentials in {TOKEN} or {USER} and {PASSWORD}",
            )  # fmt: skip

    def _refused(self, error: HTTPError) -> EngineError:
        """The error for an HTTP status of 300 or more."""
        status, where = error.code, self.base
        if status in (401, 403, 407):
            return self._not_allowed(status, error.headers)
        if status in (404, 410):
            return NotFound("has no such thing", where=where)
        if status in _MAY_PASS:
            failure = TransientError(
                f"answers {status} ({_phrase(status)})", where=where, remedy=_LATER
            )
            after = error.headers.get("Retry-After", "") if error.headers else ""
            if after.isdecimal() and after.isascii():
                failure.after_seconds = float(after)
            return failure
        if 300 <= status < 400:
            return ServiceUnavailable(
                "redirects in circles, or to nowhere", where=where, remedy="check the address"
            )
        return ServiceUnavailable(
            f"answers {status} ({_phrase(status)})", where=where, remedy="its own log says why"
        )

    def _not_allowed(self, status: int, headers: Message | None) -> BadInput:
        asked = " ".join(headers.get_all("WWW-Authenticate", [])).lower() if headers else ""
        sent = self._access.authorization is not None
        if "negotiate" in asked and "basic" not in asked and "bearer" not in asked:
            remedy = "it asks for Kerberos, which is not spoken here: give a copy of the event log"
        elif sent:
            remedy = f"check {TOKEN}, or {USER} and {PASSWORD}"
        else:
            remedy = f"set {TOKEN}, or {USER} and {PASSWORD}, in the environment"
        what = "does not accept the credentials" if sent else "asks for credentials"
        if status == 403 and sent:
            what = "does not allow this user to read it"
        return BadInput(f"{what} ({status})", where=self.base, remedy=remedy)

    def _broken(self, error: Exception) -> EngineError:
        """The error for a failed connection, without any text of the server."""
        reason = error.reason if isinstance(error, URLError) else error
        where = self.base + (" (through the proxy of the environment)" if self._proxied else "")
        if isinstance(reason, ssl.SSLError):
            return _broken_tls(reason, where)
        if isinstance(reason, TimeoutError):
            return ServiceUnavailable(
                f"stalls: next to nothing for {self._access.timeout_seconds:g} s", where=where,
                remedy=f"try again, or wait longer with {TIMEOUT}=SECONDS",
            )  # fmt: skip
        if isinstance(reason, socket.gaierror):
            return ServiceUnavailable(
                "no host of this name is known", where=where, remedy="check the address"
            )
        if isinstance(reason, ConnectionRefusedError):
            return TransientError(
                "nothing listens there", where=where,
                remedy="check host and port (18080 by default), and that the server runs",
            )  # fmt: skip
        if isinstance(reason, http.client.BadStatusLine) and not isinstance(
            reason, ConnectionError
        ):
            return ServiceUnavailable(
                "does not speak HTTP", where=where, remedy="check the port, or write https://"
            )
        if isinstance(reason, http.client.HTTPException | ConnectionError):
            return TransientError("the connection broke off", where=where, remedy=_LATER)
        cause = reason.strerror if isinstance(reason, OSError) else None
        return ServiceUnavailable(
            f"cannot be reached ({cause or type(reason).__name__})", where=where,
            remedy="check the address",
        )  # fmt: skip


def _broken_tls(reason: ssl.SSLError, where: str) -> EngineError:
    if isinstance(reason, ssl.SSLCertVerificationError):
        why = " ".join(str(reason.verify_message).split())[:120]
        remedy = f"name the authority that signed it: {CA_FILE}=FILE.pem"
        return ServiceUnavailable(
            f"its certificate is not trusted ({why})", where=where, remedy=remedy
        )
    remedy = "check the port, or write http://"
    return ServiceUnavailable("speaks no TLS that this machine accepts", where=where, remedy=remedy)


_LATER = "try again later"


class NotFound(BadInput):
    """The service has nothing at this path (404)."""


def _proxied(base: str) -> bool:
    """Whether the environment configures a proxy for that service."""
    parts = urlsplit(base)
    named = urllib.request.getproxies().get(parts.scheme)
    return bool(named) and not urllib.request.proxy_bypass(parts.netloc)


def _phrase(status: int) -> str:
    return http.client.responses.get(status, "no standard answer")


def _empty(into: IO[bytes]) -> None:
    into.seek(0)
    into.truncate()


def _store(into: IO[bytes], chunk: bytes) -> None:
    """Writes a chunk; an empty one flushes the buffer."""
    try:
        into.write(chunk)
        if not chunk:
            into.flush()
    except OSError as error:
        raise BadInput(
            f"the log cannot be kept while it is read ({error.strerror})",
            where="temporary folder",
            remedy="name one with room in TMPDIR",
        ) from None
