"""HTTP connections: access settings from the environment, deadlines, redirects.

Command lines are visible to all users of a machine and kept in shell histories, so secrets are
never taken from an address or an option.
"""

from __future__ import annotations

import http.client
import os
import socket
import ssl
import threading
import urllib.request
from base64 import b64encode
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from http.client import HTTPMessage
from pathlib import Path
from typing import IO
from urllib.parse import urlsplit

from engine.errors import BadInput, ServiceUnavailable
from engine.text.lists import printable

TOKEN = "SPARKPLAN_HISTORY_TOKEN"
USER = "SPARKPLAN_HISTORY_USER"
PASSWORD = "SPARKPLAN_HISTORY_PASSWORD"
CA_FILE, TIMEOUT = "SPARKPLAN_HISTORY_CA", "SPARKPLAN_HISTORY_TIMEOUT"

TIMEOUT_SECONDS = 30.0
"""Maximum time without data from the service."""


@dataclass(frozen=True, slots=True)
class Access:
    """Access settings of a service.

    `authorization` is a secret and left out of the representation.
    """

    authorization: str | None = field(default=None, repr=False)
    ca_file: str | None = None
    timeout_seconds: float = TIMEOUT_SECONDS

    @classmethod
    def from_environment(cls, environment: Mapping[str, str] | None = None) -> Access:
        """Credentials, the user's certificate authority and the timeout, from the environment.

        Raises:
            BadInput: naming the invalid variable, never its value.
        """
        environment = os.environ if environment is None else environment
        ca_file = environment.get(CA_FILE) or None
        if ca_file is not None and not Path(ca_file).is_file():
            raise BadInput("no such file", where=CA_FILE, remedy="name a PEM file, or unset it")
        return cls(_authorization(environment), ca_file, _timeout(environment.get(TIMEOUT)))


def _authorization(environment: Mapping[str, str]) -> str | None:
    """The value of the Authorization header; None without credentials."""
    token, user = environment.get(TOKEN, "").strip(), environment.get(USER, "")
    password = environment.get(PASSWORD, "")
    if token and user:
        raise BadInput("both are set", where=f"{TOKEN} and {USER}", remedy="unset one of them")
    if password and not user:
        raise BadInput("is set without a user", where=PASSWORD, remedy=f"set {USER} as well")
    if ":" in user:
        raise BadInput("holds a ':', which basic authentication cannot send", where=USER)
    if token:
        if not token.isascii() or any(c.isspace() or not c.isprintable() for c in token):
            raise BadInput("is not a token: it holds a space or a sign beyond ASCII", where=TOKEN)
        return f"Bearer {token}"
    if user:
        return "Basic " + b64encode(f"{user}:{password}".encode()).decode("ascii")
    return None


def _timeout(text: str | None) -> float:
    if not text:
        return TIMEOUT_SECONDS
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0.0 < seconds <= 3600.0:
        raise BadInput(
            "is not a number of seconds", where=TIMEOUT, remedy="give one between 0 and 3600"
        )
    return seconds


def tls_context(access: Access) -> ssl.SSLContext:
    """A TLS context with the system's certificate authorities (or those of `SSL_CERT_FILE`), plus
    the user's own one."""
    context = ssl.create_default_context()
    if access.ca_file is not None:
        try:
            context.load_verify_locations(cafile=access.ca_file)
        except (ssl.SSLError, OSError):
            raise BadInput(
                "holds no certificate in PEM form", where=CA_FILE, remedy="name a PEM file"
            ) from None
    return context


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
