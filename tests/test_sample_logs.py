"""The bundled samples: complete, small, valid Spark logs that tell of no machine."""

import io
import json
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml
import zstandard

from sample_logs.scrub import HOST, USER, Machine, Scrubber, leaks
from tui.start import DEFAULT_SAMPLE

FOLDER = Path(str(files("sample_logs")))
INDEX: list[dict[str, Any]] = yaml.safe_load((FOLDER / "index.yaml").read_text(encoding="utf-8"))
LOGS = [entry for entry in INDEX if entry["kind"] == "event-log"]
CATEGORIES = {"sql", "streaming", "mllib", "graphx", "core"}
PUBLISHED = {
    "optex-als-standalone",
    "optex-als-yarn",
    "optex-wordcount-standalone",
    "optex-wordcount-yarn",
    "optex-als-table3",
    "ernest-rcv1",
}
NO_MACHINE = Machine(paths=(), hosts=("127.0.0.1", "localhost"), user="root")


def lines(entry: dict[str, Any]) -> Iterator[str]:
    (name,) = entry["files"]
    path = FOLDER / name
    parts = sorted(path.glob("events_*")) if path.is_dir() else [path]
    assert parts
    for part in parts:
        with part.open("rb") as raw:
            reader = zstandard.ZstdDecompressor().stream_reader(raw)
            yield from io.TextIOWrapper(reader, encoding="utf-8")


def events(entry: dict[str, Any]) -> list[dict[str, Any]]:
    return [json.loads(line) for line in lines(entry)]


def by_name(entry: dict[str, Any]) -> str:
    return str(entry["name"])


def test_index_names_every_sample_once() -> None:
    names = [entry["name"] for entry in INDEX]
    assert len(set(names)) == len(names)
    assert set(names) >= {*PUBLISHED, DEFAULT_SAMPLE}
    assert all((FOLDER / name).exists() for entry in INDEX for name in entry["files"])
    assert all(entry["shows"] for entry in INDEX)


def test_two_sizes_of_every_category() -> None:
    counts = dict.fromkeys(CATEGORIES, 0)
    for entry in LOGS:
        counts[entry["category"]] += 1
    assert min(counts.values()) >= 2


def test_logs_take_less_than_8_mb() -> None:
    logs = (path for path in FOLDER.rglob("*") if path.is_file() and "zstd" in path.name)
    assert sum(path.stat().st_size for path in logs) < 8_000_000


@pytest.mark.parametrize("entry", LOGS, ids=by_name)
def test_log_is_complete_and_tells_of_no_machine(entry: dict[str, Any]) -> None:
    text = list(lines(entry))
    assert leaks("".join(text), NO_MACHINE) == []
    found = [msgspec.json.decode(line) for line in text]
    kinds = [event["Event"] for event in found]
    assert kinds[0] == "SparkListenerLogStart"
    assert kinds[-1] == "SparkListenerApplicationEnd"
    assert "SparkListenerExecutorAdded" in kinds
    ends = [event for event in found if event["Event"] == "SparkListenerTaskEnd"]
    assert kinds.count("SparkListenerTaskStart") == len(ends)
    assert {end["Task Info"]["Host"] for end in ends} == {HOST}
    assert {end["Task End Reason"]["Reason"] for end in ends} == {"Success"}
    assert sum(end["Task Metrics"]["Input Metrics"]["Bytes Read"] for end in ends) > 1_000_000


def test_default_sample_has_enough_long_tasks_for_nodes_to_matter() -> None:
    (default,) = (entry for entry in INDEX if entry["name"] == DEFAULT_SAMPLE)
    ends = [event for event in events(default) if event["Event"] == "SparkListenerTaskEnd"]
    seconds = [
        (end["Task Info"]["Finish Time"] - end["Task Info"]["Launch Time"]) / 1000 for end in ends
    ]
    assert sum(value >= 0.7 for value in seconds) >= 200


@pytest.mark.parametrize("name", ["order-stream-small", "order-stream-large"])
def test_streams_have_micro_batches(name: str) -> None:
    (entry,) = (entry for entry in LOGS if entry["name"] == name)
    starts = [event for event in events(entry) if event["Event"] == "SparkListenerJobStart"]
    batches = {event["Properties"].get("streaming.sql.batchId") for event in starts}
    assert len(batches) >= 10
    assert all("sql.streaming.queryId" in event["Properties"] for event in starts)


MACHINE = Machine(
    paths=(("/scratch/me/work", "/data"), ("/home/jane", f"/home/{USER}")),
    hosts=("box7.corp.example", "box7", "10.1.2.3"),
    user="jane",
)


def scrub(event: dict[str, Any]) -> dict[str, Any]:
    scrubbed: dict[str, Any] = json.loads(Scrubber(MACHINE).line(json.dumps(event)))
    return scrubbed


def test_scrubber_replaces_paths_and_hosts_wherever_they_stand() -> None:
    event = {
        "Event": "X",
        "plan": "[file:/scratch/me/work/input] box7:7077 on box7.corp.example",
        "deep": [{"host": "10.1.2.3"}, "/home/jane/x", 3.5],
    }
    assert scrub(event) == {
        "Event": "X",
        "plan": f"[file:/data/input] {HOST}:7077 on {HOST}",
        "deep": [{"host": HOST}, f"/home/{USER}/x", 3.5],
    }


def test_scrubber_leaves_words_that_only_begin_like_a_name() -> None:
    text = "box70 abox7 /scratch/me/workers 110.1.2.34"
    assert scrub({"Event": "X", "text": text})["text"] == text


def test_scrubber_reduces_the_environment_to_spark_properties() -> None:
    event = {
        "Event": "SparkListenerEnvironmentUpdate",
        "JVM Information": {"Java Home": "/usr/lib/jvm", "Java Version": "17"},
        "Spark Properties": {
            "spark.executor.memory": "1g",
            "spark.sql.shuffle.partitions": "200",
            "spark.driver.host": "box7",
            "spark.sql.warehouse.dir": "file:/x",
        },
        "Hadoop Properties": {"hadoop.tmp.dir": "/x"},
        "System Properties": {"user.name": "jane"},
        "Metrics Properties": {"a": "b"},
        "Classpath Entries": {"/x.jar": "System"},
    }
    scrubbed = scrub(event)
    assert set(scrubbed) == set(event)
    assert scrubbed["JVM Information"] == {"Java Version": "17"}
    assert scrubbed["Spark Properties"] == {
        "spark.executor.memory": "1g",
        "spark.sql.shuffle.partitions": "200",
    }
    assert not any(scrubbed[part] for part in list(event)[3:])


@pytest.mark.parametrize(
    "text",
    ["on box7 ", "jane@x", "/tmp/a", "file:/opt/x", "/work/logs", "/root", "at 192.168.0.7:80"],
)
def test_leaks_finds(text: str) -> None:
    assert leaks(f"all well {text}", MACHINE)


@pytest.mark.parametrize("text", ["/data/worker-1", "version 3.5.9", "jvmHeap", "a/tmpfile"])
def test_leaks_lets_pass(text: str) -> None:
    assert leaks(text, MACHINE) == []
