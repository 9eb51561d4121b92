"""The history server of a real Spark over real logs: what it serves is what the files hold."""

import json
import shutil
import sys
import time
import urllib.request
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import pytest

import engine
from engine.sources.access import codecs
from engine.sources.samples import list_samples

ROOT = Path(__file__).parents[3]
sys.path += [str(ROOT / "tests"), str(ROOT / "benchmarks")]

from ingest import repeat  # noqa: E402
from real_spark import history_server, spark_home  # noqa: E402

HOME = spark_home()
BIG, RUNNING = "local-big", "local-running"
RETAINED = 100
"""Stages of an application that the server remembers: by default 1,000, and to go through a log of
more takes it half a minute of processor time."""

LISTS_WITHIN_SECONDS = 90

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(HOME is None, reason="no Spark here: set SPARK_HOME or install pyspark"),
]


@pytest.fixture(scope="module")
def logs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled logs, one of more stages than the server retains and one of an application that
    runs."""
    folder = tmp_path_factory.mktemp("logs")
    bundled = Path(str(files("sample_logs")))
    for sample in list_samples():
        for name in sample.files if sample.kind == "event-log" else ():
            copy = shutil.copytree if (bundled / name).is_dir() else shutil.copyfile
            copy(bundled / name, folder / name)
    repeat(bundled / "word-count-small.zstd", folder / BIG, 15_000_000)
    (_, app_id) = ids_of(folder / BIG)
    text = (folder / BIG).read_bytes().replace(app_id, BIG.encode())
    (folder / BIG).write_bytes(text.replace(b'"App Name":"word-count"', b'"App Name":"big job"'))
    sort = b"".join(codecs.open_path(bundled / "sort-large.zstd").chunks())
    (folder / "sort").write_bytes(sort)
    (_, app_id) = ids_of(folder / "sort")
    (folder / "sort").unlink()
    whole = sort.replace(app_id, RUNNING.encode()).splitlines(keepends=True)
    (folder / f"{RUNNING}.inprogress").write_bytes(b"".join(whole[:-1]))
    return folder


def ids_of(log: Path) -> tuple[bytes, bytes]:
    """Name and id of the application in a log."""
    for line in log.read_bytes().splitlines():
        if b"SparkListenerApplicationStart" in line:
            event = json.loads(line)
            return event["App Name"].encode(), event["App ID"].encode()
    raise AssertionError("no application in this log")


@pytest.fixture(scope="module")
def server(logs: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The server once it has listed every log."""
    assert HOME is not None
    expected = len(list(logs.iterdir()))
    retained = {"spark.ui.retainedStages": str(RETAINED)}
    with history_server(HOME, logs, tmp_path_factory.mktemp("server"), retained) as url:
        until = time.monotonic() + LISTS_WITHIN_SECONDS
        while listed(url) < expected and time.monotonic() < until:
            time.sleep(0.5)
        yield url


def listed(url: str) -> int:
    """Applications that the server lists; none while it does not answer."""
    try:
        return len(engine.list_applications(url))
    except engine.ServiceUnavailable:
        return 0


def test_every_log_is_listed_with_what_the_files_say(server: str, logs: Path) -> None:
    found = engine.list_applications(server)
    assert len(found) == len(list(logs.iterdir()))
    assert [entry.app_id for entry in found if not entry.complete] == [RUNNING]
    (big,) = (entry for entry in found if entry.app_id == BIG)
    (run,) = engine.read(logs / BIG).runs
    assert big.name == "big job"
    assert big.seconds == pytest.approx(run.seconds)
    assert big.spark_version
    ended = [entry.ended_ms or 0 for entry in found if entry.complete]
    assert ended == sorted(ended, reverse=True)


def test_every_log_of_the_server_gives_the_profile_of_its_file(server: str, logs: Path) -> None:
    read = {}
    for entry in engine.list_applications(server):
        profile = engine.read(entry.source)
        read[profile.runs[0].source] = profile
    assert sorted(read) == sorted(path.name for path in logs.iterdir())
    for name, profile in read.items():
        assert profile == engine.read(logs / name)


def test_stages_that_the_rest_interface_forgets_are_read(server: str) -> None:
    with urllib.request.urlopen(f"{server}/api/v1/applications/{BIG}/stages") as answer:
        told = json.load(answer)
    (run,) = engine.read(f"{server}#app=big*").runs
    assert len(run.stages) > RETAINED >= len(told)


def test_a_running_application_is_read_as_far_as_it_is(server: str) -> None:
    (run,) = engine.read(f"{server}/history/{RUNNING}/jobs/").runs
    assert [notice.code for notice in run.notices] == ["incomplete-log"]


def test_several_runs_of_a_name(server: str) -> None:
    assert len(engine.read(f"{server}#app=sort&last=5").runs) == 2
    with pytest.raises(engine.BadInput, match="did you mean sort"):
        engine.read(f"{server}#app=sorrt")
