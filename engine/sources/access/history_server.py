"""Client of Spark history servers: lists applications and downloads their event logs.

`/api/v1/applications` lists them; `/api/v1/applications/<id>[/<attempt>]/logs` returns the raw log
of one as a zip. (The REST endpoints for stages are not used: they drop stages beyond
`spark.ui.retainedStages` and have no parents.) The zip is stored in an anonymous temporary file,
which the system removes however the program ends, and is read from there part by part.
"""

from __future__ import annotations

import re
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fnmatch import fnmatchcase
from functools import partial
from typing import TypeVar
from urllib.parse import quote, urlencode

import msgspec

from engine.errors import BadInput, ServiceUnavailable, UnknownName
from engine.notices import Notice
from engine.sources.access.address import HistoryAddress, Status, parse_address
from engine.sources.access.archives import Archive
from engine.sources.access.history_archive import arrived_damaged, check_whole
from engine.sources.access.http_client import Client, NotFound
from engine.sources.access.http_connections import Access

PAGES = (1_000, 20_000, None)
"""Successive limits of the list request, until the selection is decided. The server has no paging;
it returns the newest applications first, up to a limit."""

LISTED = 8
"""Number of names listed in an error."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HistoryApplication:
    """One attempt of an application on a history server; None where the server gives no value.

    Args:
        source: the SOURCE argument that reads it.
        attempt: id of the attempt; None where the application has a single, unnamed one.
        started_ms, ended_ms: epoch milliseconds.
        seconds: from start to end; None while it runs.
        cores: granted cores, where the server knows.
    """

    source: str
    app_id: str
    name: str
    attempt: str | None = None
    started_ms: int | None = None
    ended_ms: int | None = None
    seconds: float | None = None
    complete: bool = False
    spark_version: str | None = None
    cores: int | None = None

    @property
    def label(self) -> str:
        """Its name and id, with the attempt where there are several."""
        return f"{self.name} {self.app_id}" + (f"/{self.attempt}" if self.attempt else "")


class _Attempt(msgspec.Struct):
    """An attempt as the REST interface writes it (Spark 1.4 to 4.x)."""

    id: str | None = msgspec.field(default=None, name="attemptId")
    start: str = msgspec.field(default="", name="startTime")
    end: str = msgspec.field(default="", name="endTime")
    start_ms: int | None = msgspec.field(default=None, name="startTimeEpoch")
    end_ms: int | None = msgspec.field(default=None, name="endTimeEpoch")
    complete: bool = msgspec.field(default=False, name="completed")
    version: str | None = msgspec.field(default=None, name="appSparkVersion")


class _Application(msgspec.Struct):
    id: str
    name: str = ""
    cores: int | None = msgspec.field(default=None, name="coresGranted")
    attempts: list[_Attempt] = []


_APPLICATION = msgspec.json.Decoder(_Application)
_APPLICATIONS = msgspec.json.Decoder(list[_Application])
_ID = re.compile(r"[A-Za-z0-9_.-]+")

Answer = TypeVar("Answer")


def list_applications(address: str, *, limit: int = 500) -> tuple[HistoryApplication, ...]:
    """The `limit` newest applications of a history server, each with its last attempt.

    Args:
        address: of the server; the part after `#` filters.

    Raises:
        BadInput: for an invalid address, or credentials that are refused.
        ServiceUnavailable: when it does not answer like a history server.
    """
    server = HistoryServer(parse_address(address))
    return tuple(server.newest(limit))


class HistoryServer:
    """A history server with a selection of its applications.

    Args:
        address: the parsed SOURCE (`parse_address`).
        client: the HTTP client; by default configured by the environment.
    """

    def __init__(self, address: HistoryAddress, client: Client | None = None) -> None:
        self.address = address
        self._client = client or Client(address.base, Access.from_environment())

    def newest(self, wanted: int) -> list[HistoryApplication]:
        """The newest matching applications, at most `wanted`; running ones come first."""
        if self.address.status is None:
            both = [*self._only("running").newest(wanted), *self._only("completed").newest(wanted)]
            return both[:wanted]
        matches: list[HistoryApplication] = []
        for page in PAGES:
            total, matches = self._matching(page)
            if page is None or total < page or len(matches) >= wanted:
                break
        return matches[:wanted]

    def chosen(self) -> tuple[list[HistoryApplication], tuple[Notice, ...]]:
        """The attempts that the address selects, and notices about defaults that were applied.

        By default that is the last attempt of the newest completed application of that name; an
        application selected by id is taken in any state.

        Raises:
            BadInput: when nothing matches, or the selection is ambiguous.
        """
        address = self.address
        named = self._by_id(address.app) if address.app is not None else None
        if named is not None:
            return self._attempts([self._entry(named, named.attempts[0])]), ()
        if address.app is None and address.last is None:
            return self._only_one(), ()
        wanted = address.last or 1
        matches = self._completed(wanted + 1) if address.status is None else self.newest(wanted + 1)
        if not matches:
            raise self._nothing_matches()
        more = len(matches) > wanted and address.last is None
        notices = (self._newest_notice(matches[0]),) if more else ()
        return self._attempts(matches[:wanted]), notices

    def _only(self, status: Status) -> HistoryServer:
        return HistoryServer(replace(self.address, status=status), self._client)

    def _completed(self, wanted: int) -> list[HistoryApplication]:
        """The completed ones; running ones are only taken on request."""
        completed = self._only("completed").newest(wanted)
        if not completed and self._only("running").newest(1):
            raise BadInput(
                "no such application has ended", where=self._where,
                remedy="add &status=running to read one that still runs",
            )  # fmt: skip
        return completed

    def _only_one(self) -> list[HistoryApplication]:
        """The only application of a server; of several one must be named."""
        newest = self.newest(200)
        if len(newest) == 1:
            return self._attempts(newest)
        if not newest:
            raise self._nothing_matches()
        names = list(dict.fromkeys(entry.name for entry in newest))
        example = quote(names[0], safe=" ()[],:*./_-")
        raise BadInput(
            f"holds {len(newest)}{' or more' if len(newest) == 200 else ''} applications and none "
            "is named",
            where=self.address.base,
            remedy=f"add '#app={example}' for the newest of that name, &last=5 for five",
            choices=[_shown(name) for name in names[:LISTED]] + ["..."] * (len(names) > LISTED),
        )

    def _nothing_matches(self) -> BadInput:
        anything = HistoryServer(HistoryAddress(base=self.address.base), self._client).newest(500)
        if not anything:
            return BadInput(
                "holds no application (yet)", where=self.address.base,
                remedy="a server that has just started may still be reading its logs",
            )  # fmt: skip
        address = self.address
        filtered = (address.status, address.since_ms, address.until_ms) != (None, None, None)
        named = HistoryServer(HistoryAddress(base=address.base, app=address.app), self._client)
        if address.app is None or (filtered and named.newest(1)):
            return BadInput(
                "no application matches", where=self._where, remedy="loosen status, since or until"
            )
        names = list(dict.fromkeys(_shown(entry.name) for entry in anything))
        unknown = UnknownName("application", address.app, names, where=self.address.base)
        if not unknown.close:
            return BadInput(
                unknown.what, where=self.address.base,
                remedy="give an id, a name or a pattern such as 'nightly*'",
                choices=names[:LISTED] + ["..."] * (len(names) > LISTED),
            )  # fmt: skip
        return unknown

    def _newest_notice(self, chosen: HistoryApplication) -> Notice:
        """The notice that the newest of several matches was read; with a pattern the others may
        have different names."""
        pattern, which = self.address.app, f"({chosen.app_id})"
        if pattern != chosen.name:
            which = f"({chosen.name!r}, {chosen.app_id})"
        return Notice(
            "newest-application",
            f"of several applications {pattern!r} the newest was read {which}",
            "add &last=5 to its address to read five of them",
        )

    @property
    def _where(self) -> str:
        app = self.address.app
        return self.address.base + (f"#app={_shown(app)}" if app else "")

    # Listing

    def _matching(self, page: int | None) -> tuple[int, list[HistoryApplication]]:
        """The number of applications that the server returned, and the matches, newest first."""
        listed = self._list(page)
        matches = [
            self._entry(application, application.attempts[0])
            for application in listed
            if application.attempts and self._matches(application)
        ]
        last = sorted(
            matches, key=lambda attempt: attempt.ended_ms or attempt.started_ms or 0, reverse=True
        )
        return len(listed), last

    def _by_id(self, app_id: str) -> _Application | None:
        """The application with that id, if the server has it and the filters accept it."""
        if not _ID.fullmatch(app_id):
            return None
        try:
            application = self._decoded(_APPLICATION, f"/api/v1/applications/{app_id}")
        except NotFound:
            return None
        return application if application.attempts and self._matches(application) else None

    def _matches(self, application: _Application) -> bool:
        wanted, attempt = self.address, application.attempts[0]
        if wanted.app is not None and not (
            wanted.app in (application.id, application.name)
            or fnmatchcase(application.name, wanted.app)
            or fnmatchcase(application.id, wanted.app)
        ):
            return False
        if wanted.status is not None and attempt.complete != (wanted.status == "completed"):
            return False
        start = _epoch_ms(attempt.start_ms, attempt.start)
        if wanted.since_ms is not None and (start is None or start < wanted.since_ms):
            return False
        return wanted.until_ms is None or (start is not None and start < wanted.until_ms)

    def _list(self, page: int | None) -> list[_Application]:
        parameters: dict[str, str] = {}
        if self.address.status is not None:
            parameters["status"] = self.address.status
        for key, moment in (("minDate", self.address.since_ms), ("maxDate", self.address.until_ms)):
            if moment is not None:
                # Years have four digits, which strftime does not give to those before 1000.
                utc_time = datetime.fromtimestamp(moment // 1000, UTC).replace(tzinfo=None)
                parameters[key] = f"{utc_time.isoformat()}.000GMT"
        if page is not None:
            parameters["limit"] = str(page)
        path = "/api/v1/applications" + (f"?{urlencode(parameters)}" if parameters else "")
        try:
            return self._decoded(_APPLICATIONS, path)
        except NotFound:
            raise BadInput(
                "no Spark history server answers there (404)", where=self.address.base,
                remedy="give its address as in the browser, such as http://host:18080",
            ) from None  # fmt: skip

    def _decoded(self, decoder: msgspec.json.Decoder[Answer], path: str) -> Answer:
        try:
            return decoder.decode(self._client.get(path))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            raise ServiceUnavailable(
                "its answer is not a list of applications", where=self.address.base,
                remedy="check that this is the address of a Spark history server",
            ) from None  # fmt: skip

    def _attempts(self, applications: Sequence[HistoryApplication]) -> list[HistoryApplication]:
        """The selected attempts: the last one, one by its id, or all of them."""
        if self.address.attempt is None:
            return list(applications)
        with_attempts = [self._by_id(entry.app_id) for entry in applications]
        attempts = [
            self._entry(application, attempt)
            for application in with_attempts
            if application is not None
            for attempt in application.attempts
        ]
        if self.address.attempt == "all":
            return attempts
        chosen = [entry for entry in attempts if entry.attempt == self.address.attempt]
        if not chosen:
            known = [entry.attempt for entry in attempts if entry.attempt]
            raise BadInput(
                f"has no attempt {_shown(self.address.attempt)}", where=self._where,
                remedy=None if known else "leave out attempt=, it has one without a number",
                choices=[*known, "all"] if known else (),
            )  # fmt: skip
        return chosen

    def _entry(self, application: _Application, attempt: _Attempt) -> HistoryApplication:
        start = _epoch_ms(attempt.start_ms, attempt.start)
        end = _epoch_ms(attempt.end_ms, attempt.end) if attempt.complete else None
        several = len(application.attempts) > 1 and attempt is not application.attempts[0]
        known = start is not None and end is not None and end >= start
        return HistoryApplication(
            source=f"{self.address.base}#app={quote(application.id, safe='')}"
            + (f"&attempt={quote(attempt.id, safe='')}" if several and attempt.id else ""),
            app_id=application.id,
            name=application.name or application.id,
            attempt=attempt.id,
            started_ms=start,
            ended_ms=end,
            seconds=(end - start) / 1000.0 if known and start and end else None,
            complete=attempt.complete,
            spark_version=attempt.version or None,
            cores=application.cores or None,
        )

    # Logs

    @contextmanager
    def archive(
        self, entry: HistoryApplication, progress: Callable[[int], None] | None = None
    ) -> Iterator[Archive]:
        """Downloads the log of one attempt; it is deleted when the context ends.

        Raises:
            BadInput: when the disk is full, or the server no longer has it.
            ServiceUnavailable: when the server does not send it completely.
        """
        path = f"/api/v1/applications/{quote(entry.app_id, safe='')}"
        path += f"/{quote(entry.attempt, safe='')}/logs" if entry.attempt else "/logs"
        with tempfile.TemporaryFile(prefix="sparkplan-") as file:
            try:
                self._client.download(
                    path, file, lambda: check_whole(file, self.address.base), progress
                )
            except NotFound:
                raise BadInput(
                    f"the event log of {_shown(entry.label)} is not there any more",
                    where=self.address.base, remedy="choose a newer application",
                ) from None  # fmt: skip
            with zipfile.ZipFile(file) as archive:
                yield Archive(archive, partial(arrived_damaged, self.address.base))


def _epoch_ms(number: int | None, text: str) -> int | None:
    """Epoch milliseconds; servers before Spark 2 write "2015-03-27T21:45:10.120GMT" alone."""
    if number is not None:
        return number if number > 0 else None
    try:
        moment = datetime.fromisoformat(text.replace("GMT", "+00:00"))
    except ValueError:
        return None
    return round(moment.timestamp() * 1000) if moment.year > 1970 else None


def _shown(text: str) -> str:
    return text if len(text) <= 60 else text[:57] + "..."
