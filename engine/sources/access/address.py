"""Parses the address of a history server: its URL, and which applications to read.

    http://host:18080#app=nightly-etl&last=5
    https://gateway/sparkhistory/history/application_1700000000000_0042/1/jobs/

Everything before the `#` is the server (a page's URL copied from the browser works too), everything
after it selects applications. docs/history_server.md describes it for users.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, datetime
from difflib import get_close_matches
from typing import Literal
from urllib.parse import SplitResult, quote, unquote, urlsplit

from engine.errors import BadInput

Status = Literal["completed", "running"]
STATUSES: tuple[Status, ...] = ("completed", "running")

KEYS = ("app", "last", "attempt", "status", "since", "until")
"""Keys allowed after the `#`."""

MOST_APPLICATIONS = 1000
"""Maximum of `last`: each application is a download."""

_HTTP = re.compile(r"https?://", re.IGNORECASE)
_PAGE = re.compile(
    r"(?P<base>.*?)(?:/history/(?P<app>[^/]+)(?:/(?P<attempt>\d+))?(?:/.*)?"
    r"|/api/v1(?:/applications(?:/(?P<api_app>[^/]+)(?:/(?P<api_attempt>\d+))?(?:/.*)?)?)?)?/*"
)

_SAFE = "/%:!$&'()*+,;=~"
"""Characters kept in a path; characters beyond ASCII are percent-encoded."""

_LISTS = re.compile(r"showIncomplete=(true|false)")
"""Query string of the page that lists the applications. The pages of one application name stages,
jobs and queries there, which select nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryAddress:
    """A history server and the selection of applications on it.

    Args:
        base: scheme, host, port and path of the server, without a slash at its end.
        app: id or name of the application, or a pattern of either; None for any.
        last: maximum number of applications, the newest first; None if not given.
        attempt: id of the attempt, "all", or None for the last one.
        status: only completed or only running applications; None if not given.
        since_ms, until_ms: bounds of the application's start, epoch milliseconds in UTC.
    """

    base: str
    app: str | None = None
    last: int | None = None
    attempt: str | None = None
    status: Status | None = None
    since_ms: int | None = None
    until_ms: int | None = None


def is_history_server(source: str) -> bool:
    """Whether a SOURCE is the address of a history server."""
    return _HTTP.match(source) is not None


def parse_address(source: str) -> HistoryAddress:
    """The address in `source`.

    Raises:
        BadInput: for an invalid address; the message never repeats a password in it.
    """
    parts = _split(source)
    page = _PAGE.fullmatch(parts.path)
    base_path = quote((page["base"] if page else parts.path).rstrip("/"), safe=_SAFE)
    base = f"{parts.scheme.lower()}://{parts.netloc.lower()}{base_path}"
    values = _fragment(parts.fragment, base)
    app = unquote(page["app"] or page["api_app"] or "") if page else ""
    attempt = (page["attempt"] or page["api_attempt"] or "") if page else ""
    if app and "app" in values:
        raise BadInput(
            "names the application twice", where=base, remedy="leave out #app= or the page's path"
        )
    return HistoryAddress(
        base=base,
        app=values.get("app") or app or None,
        last=_count(values["last"], base) if "last" in values else None,
        attempt=values.get("attempt") or attempt or None,
        status=_status(values["status"], base) if "status" in values else _listed(parts.query),
        since_ms=_epoch_ms(values["since"], base, "since") if "since" in values else None,
        until_ms=_epoch_ms(values["until"], base, "until", end=True) if "until" in values else None,
    )


def _split(source: str) -> SplitResult:
    """The parts of a URL, without secrets."""
    if "@" in source:  # wherever it stands: a password may hold any sign, a '#' too
        raise BadInput(
            "a user or password in the address is not taken, as others could read it",
            where="history server",
            remedy="set SPARKPLAN_HISTORY_USER and SPARKPLAN_HISTORY_PASSWORD, or "
            "SPARKPLAN_HISTORY_TOKEN, in the environment (an @ in a name is written %40)",
        )
    host, parts = None, SplitResult("", "", "", "", "")
    try:
        parts = urlsplit(source)
        host, _ = parts.hostname, parts.port
        (host or "").rstrip(".").encode("idna")  # as it is looked up: no part is empty or too long
    except ValueError:
        host = None
    before = source.partition("#")[0]  # names of applications have spaces, servers have none
    if not host or " " in before or not source.isprintable():
        raise BadInput(
            "is not the address of a history server",
            where=source.partition("?")[0].partition("#")[0][:80],
            remedy="write it like http://host:18080",
        )
    page = _PAGE.fullmatch(parts.path)
    if parts.query and not (page and page["app"]) and not _LISTS.fullmatch(parts.query):
        raise BadInput(
            "takes nothing behind a '?'",
            where=f"{parts.scheme}://{parts.netloc}{parts.path}",
            remedy="leave it out; choose applications with #app=NAME&last=5",
        )
    return parts


def _fragment(text: str, base: str) -> dict[str, str]:
    """The key-value pairs after the `#`."""
    values: dict[str, str] = {}
    for pair in text.split("&") if text else ():
        key, equals, value = pair.partition("=")
        if key not in KEYS:
            close = get_close_matches(key, KEYS, n=1)
            raise BadInput(
                f"#{key} is not known", where=base,
                remedy=f"did you mean {close[0]}?" if close else "write it like #app=NAME&last=5",
                choices=() if close else KEYS,
            )  # fmt: skip
        if key in values:
            raise BadInput(f"#{key} is given twice", where=base, remedy="give it once")
        values[key] = unquote(value).strip()
        if not equals or not values[key]:
            raise BadInput(f"#{key} has no value", where=base, remedy=f"write {key}=...")
    return values


def _count(text: str, base: str) -> int:
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII) or not 1 <= int(text) <= MOST_APPLICATIONS:
        raise BadInput(
            f"last={text} is not a number of applications", where=base,
            remedy=f"give a number from 1 to {MOST_APPLICATIONS}",
        )  # fmt: skip
    return int(text)


def _status(text: str, base: str) -> Status:
    for status in STATUSES:
        if text == status:
            return status
    raise BadInput(f"status={text} is not known", where=base, choices=STATUSES)


def _listed(query: str) -> Status | None:
    """The status filter of a copied list page: "running" or None."""
    return "running" if query == "showIncomplete=true" else None


DAY_MS = 86_400_000
FIRST_MS, LAST_MS = -62_135_596_800_000, 253_402_300_799_000
"""The years 1 to 9999."""


def _epoch_ms(text: str, base: str, key: str, *, end: bool = False) -> int:
    """Epoch milliseconds of a date or ISO 8601 time, in UTC without a zone. A date as an `end`
    includes its whole day. Values out of the range of dates are clipped to it."""
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise BadInput(
            f"{key}={text} is no date", where=base, remedy=f"write it like {key}=2026-11-21"
        ) from None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=UTC)
    day = DAY_MS if end and "T" not in text and " " not in text else 0
    return min(max(round(moment.timestamp() * 1000) + day, FIRST_MS), LAST_MS)
