"""Which applications an address takes, of a server that gives them in any order, and what it is
asked for."""

import json
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

import pytest
from faulty_server import API, listed

from engine.errors import BadInput, UnknownName
from engine.sources.access import history_server
from engine.sources.access.address import parse_address
from engine.sources.access.history_server import HistoryServer
from engine.sources.access.http_client import Client, NotFound

BASE = "http://history:18080"


class Held:
    """A client of a server that holds these applications, and heeds no filter itself."""

    def __init__(self, *applications: dict[str, Any]) -> None:
        self.applications = applications
        self.asked: list[dict[str, list[str]]] = []

    def get(self, path: str) -> bytes:
        parts = urlsplit(path)
        if parts.path == API:
            query = parse_qs(parts.query)
            self.asked.append(query)
            most = int(query["limit"][0]) if "limit" in query else None
            return json.dumps(self.applications[:most]).encode()
        for application in self.applications:
            if parts.path == f"{API}/{application['id']}":
                return json.dumps(application).encode()
        raise NotFound("has no such thing")


def server(chosen: str, held: Held) -> HistoryServer:
    return HistoryServer(parse_address(BASE + chosen), cast(Client, held))


def ids(chosen: str, *applications: dict[str, Any]) -> list[str]:
    found, _ = server(chosen, Held(*applications)).chosen()
    return [entry.app_id for entry in found]


OLD, LATE, MIDDLE = (
    listed("app-1", "etl", start_s=0),
    listed("app-3", "etl", start_s=200),
    listed("app-2", "etl", start_s=100),
)
"""Each lasts a minute."""

UNKNOWN_START = listed("app-9", "etl", start_s=50)
UNKNOWN_START["attempts"][0] |= {"startTimeEpoch": -1, "startTime": "1969-12-31T23:59:59.999GMT"}
NEVER_BEGAN = {"id": "app-0", "name": "etl", "attempts": []}


def at(seconds: int) -> str:
    """A moment as an address says it: START_MS is 2023-11-14 22:13:20."""
    return f"2023-11-14T22:{13 + (20 + seconds) // 60}:{(20 + seconds) % 60:02d}"


@pytest.mark.parametrize(
    ("chosen", "found"),
    [
        ("#app=etl&last=2", ["app-3", "app-2"]),
        ("#app=app-*&last=9", ["app-3", "app-2", "app-9", "app-1"]),
        (f"#app=etl&last=9&since={at(100)}", ["app-3", "app-2"]),
        (f"#app=etl&last=9&until={at(100)}", ["app-1"]),
    ],
)
def test_the_newest_that_match_whatever_their_order(chosen: str, found: list[str]) -> None:
    """Patterns are of names and ids; what began at `since` is taken, what began at `until` is not,
    nor what does not say when it began. An application without an attempt has no log."""
    assert ids(chosen, NEVER_BEGAN, OLD, UNKNOWN_START, LATE, MIDDLE) == found


def test_an_application_named_by_its_id_is_held_against_the_filters_too() -> None:
    assert ids("#app=app-1&status=completed", OLD) == ["app-1"]
    with pytest.raises(BadInput, match="18080#app=app-1: no application matches; loosen"):
        ids("#app=app-1&status=running", OLD)
    with pytest.raises(BadInput, match="holds no application"):
        ids("#app=app-0", NEVER_BEGAN)


def test_an_unknown_name_is_said_also_where_filters_stand_beside_it() -> None:
    with pytest.raises(UnknownName, match="did you mean etl"):
        ids("#app=elt&since=2023-01-01", OLD)


def test_the_only_one_of_a_name_is_no_choice_among_several() -> None:
    assert server("#app=etl", Held(OLD, listed("app-4", "report"))).chosen()[1] == ()
    (said,) = server("#app=etl", Held(OLD, LATE)).chosen()[1]
    assert said.code == "newest-application"


def test_a_server_is_asked_for_no_more_than_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The filters it knows, times in UTC; a further page only where one was full and not enough."""
    monkeypatch.setattr(history_server, "PAGES", (2, 3, None))
    held, few = Held(OLD, LATE), Held(OLD)
    server("#app=etl&last=1&status=completed&since=2023-11-01&until=2023-11-30", held).chosen()
    (query,) = held.asked
    assert query == {
        "status": ["completed"],
        "minDate": ["2023-11-01T00:00:00.000GMT"],
        "maxDate": ["2023-12-01T00:00:00.000GMT"],
        "limit": ["2"],
    }
    with pytest.raises(BadInput):
        server("#app=report&last=1", few).chosen()
    assert {query["limit"][0] for query in few.asked} == {"2"}
