"""A history server that does as it is told, and nothing of this machine's own settings."""

from collections.abc import Iterator

import pytest
import sparklog as log
from faulty_server import Faulty, listed, serving, zipped
from history_servers import TEXT

from engine.sources.access import http_client

ENVIRONMENT = ("TOKEN", "USER", "PASSWORD", "CA", "TIMEOUT")


@pytest.fixture
def no_access_settings(monkeypatch: pytest.MonkeyPatch) -> None:
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
