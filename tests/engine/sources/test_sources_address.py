"""Addresses of history servers: what is understood, and what is refused without repeating it."""

import pytest

from engine.errors import BadInput
from engine.sources import read
from engine.sources.access.address import (
    FIRST_MS,
    LAST_MS,
    HistoryAddress,
    is_history_server,
    parse_address,
)

DAY_MS = 86_400_000
MIDNIGHT_MS = 1_795_219_200_000
"""2026-11-21 00:00 UTC."""


@pytest.mark.parametrize(
    ("source", "expected"),
    [
        ("http://host:18080", {}),
        ("HTTP://Host:18080/", {}),
        ("http://host:18080/api/v1", {}),
        ("http://host:18080/api/v1/applications", {}),
        ("http://host:18080#app=nightly-etl&last=5", {"app": "nightly-etl", "last": 5}),
        ("http://host:18080#app=a%26b%20c", {"app": "a&b c"}),
        ("http://host:18080#app=a+b", {"app": "a+b"}),
        ("http://host:18080#app=Spark shell&last=2", {"app": "Spark shell", "last": 2}),
        ("http://host:18080#app=x&attempt=all", {"app": "x", "attempt": "all"}),
        ("http://host:18080#last=3&status=running", {"last": 3, "status": "running"}),
        ("http://host:18080#app=x&since=2026-11-21", {"app": "x", "since_ms": MIDNIGHT_MS}),
        (
            "http://host:18080#app=x&until=2026-11-21",
            {"app": "x", "until_ms": MIDNIGHT_MS + DAY_MS},
        ),
        (
            "http://host:18080#app=x&since=2026-11-21T01:00:00%2B01:00",
            {"app": "x", "since_ms": MIDNIGHT_MS},
        ),
        (
            "http://host:18080/history/application_17_0042/2/jobs/",
            {"app": "application_17_0042", "attempt": "2"},
        ),
        ("http://host:18080/history/app-1/stages/", {"app": "app-1"}),
        ("http://host:18080/history/app-1/stages/stage/?id=3&attempt=1", {"app": "app-1"}),
        ("http://host:18080/history/app-1/2/SQL/execution/?id=0", {"app": "app-1", "attempt": "2"}),
        ("http://host:18080/?showIncomplete=false", {}),
        ("http://host:18080/?showIncomplete=true#app=etl", {"app": "etl", "status": "running"}),
        ("http://host:18080/api/v1/applications/app-1/logs", {"app": "app-1"}),
        ("http://host:18080#since=0001-01-01T00:00%2B14:00", {"since_ms": FIRST_MS}),
        ("http://host:18080#until=9999-12-31", {"until_ms": LAST_MS}),
    ],
)
def test_what_an_address_says(source: str, expected: dict[str, object]) -> None:
    assert is_history_server(source)
    assert parse_address(source) == HistoryAddress(base="http://host:18080", **expected)


def test_a_server_behind_a_gateway_keeps_its_path() -> None:
    found = parse_address("https://gate/x/sparkhistory/history/app-1/jobs/")
    assert (found.base, found.app) == ("https://gate/x/sparkhistory", "app-1")
    assert parse_address("https://gate/sparkhistory/").base == "https://gate/sparkhistory"


def test_letters_beyond_ascii_travel_as_their_numbers() -> None:
    assert parse_address("http://gate/größe/a%20b").base == "http://gate/gr%C3%B6%C3%9Fe/a%20b"


@pytest.mark.parametrize(
    ("source", "said"),
    [
        ("http://host:18080#ap=x", "did you mean app"),
        ("http://host:18080#colour=x", "choices: app, last"),
        ("http://host:18080#app", "has no value"),
        ("http://host:18080#app=", "has no value"),
        ("http://host:18080#app=x&app=y", "twice"),
        ("http://host:18080/history/app-1#app=x", "twice"),
        ("http://host:18080#last=0", "from 1 to 1000"),
        ("http://host:18080#last=many", "from 1 to 1000"),
        ("http://host:18080#status=done", "choices: completed, running"),
        ("http://host:18080#since=yesterday", "is no date"),
        ("http://host:18080/?showIncomplete=true&key=1", "behind a '\\?'"),
        ("http://host:18080/?x=1", "behind a '\\?'"),
        ("http://", "http://host:18080"),
        ("http://host:99999", "http://host:18080"),
        ("http://ho st", "http://host:18080"),
        ("http://[::1", "http://host:18080"),
        ("http://host..name:18080", "http://host:18080"),
        (f"http://{'a' * 70}:18080", "http://host:18080"),
    ],
)
def test_what_cannot_be_meant_is_one_line(source: str, said: str) -> None:
    with pytest.raises(BadInput, match=said) as caught:
        parse_address(source)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    "source",
    [
        "http://anna:hunter2@host:18080",
        "http://anna:hunter2@host:18080#app=x",
        "http://anna:hunter2#@host",
        "http://anna:hunter2/@host",
        "https://hunter2@host/api/v1",
        "http://host:1#hunter2@app=x",
    ],
)
def test_a_password_in_an_address_is_refused_and_not_repeated(source: str) -> None:
    with pytest.raises(BadInput, match="SPARKPLAN_HISTORY_TOKEN") as caught:
        read(source)
    assert "hunter2" not in str(caught.value)
    assert "anna" not in str(caught.value)
