"""HTTP connections with a deadline for the response head, and same-server redirects."""

from __future__ import annotations

import http.client
import socket
import ssl
import threading
import urllib.request
from contextlib import suppress
from http.client import HTTPMessage
from typing import IO
from urllib.parse import urlsplit

from engine.errors import ServiceUnavailable
from engine.sources.access.http_access import TIMEOUT_SECONDS
from engine.text.lists import printable

MOST_REDIRECTS = 5


class _HeadDeadlineConnection(http.client.HTTPConnection):
    """A connection with a deadline for the whole response head, even if bytes trickle in (the
    timeout of a socket restarts with every byte)."""

    def getresponse(self) -> http.client.HTTPResponse:
        """The response, with its head read.

        Raises:
            TimeoutError: when the deadline passes.
        """
        connection, late = self.sock, threading.Event()

        def give_up() -> None:
            late.set()
            with suppress(OSError):
                socket.socket.shutdown(connection, socket.SHUT_RDWR)

        timer = threading.Timer(self.timeout or TIMEOUT_SECONDS, give_up)
        timer.daemon = True
        timer.start()
        try:
            response = super().getresponse()
        except (OSError, http.client.HTTPException):
            if not late.is_set():
                raise
        finally:
            timer.cancel()
        if late.is_set():  # a head that was cut off passes for a whole one
            raise TimeoutError
        return response


class _HeadDeadlineTlsConnection(_HeadDeadlineConnection, http.client.HTTPSConnection):
    """The same over TLS."""


class Http(urllib.request.HTTPHandler):
    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Opens a watched connection."""
        return self.do_open(_HeadDeadlineConnection, req)


class Https(urllib.request.HTTPSHandler):
    def __init__(self, context: ssl.SSLContext) -> None:
        super().__init__(context=context)
        self._tls = context

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        """Opens a watched connection over TLS."""
        return self.do_open(_HeadDeadlineTlsConnection, req, context=self._tls)


class SameServer(urllib.request.HTTPRedirectHandler):
    """Follows redirects only within the server, since requests carry credentials."""

    max_redirections = MOST_REDIRECTS

    def __init__(self, base: str) -> None:
        self._base = base

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str,
        headers: HTTPMessage, newurl: str,
    ) -> urllib.request.Request | None:  # fmt: skip
        """The next request.

        Raises:
            ServiceUnavailable: when it would leave the server.
        """
        if _origin(newurl) != _origin(self._base):
            target = urlsplit(newurl)
            name = f"{target.scheme}://{target.hostname or ''}"
            name += f":{target.port}" if target.port else ""
            raise ServiceUnavailable(
                f"redirects to another server, {printable(name)[:120]}, where nothing was sent",
                where=self._base,
                remedy="if that is a Spark history server, give its address",
            )
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _origin(url: str) -> tuple[str, str | None, int | None]:
    parts = urlsplit(url)
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return parts.scheme, parts.hostname, parts.port or default
