"""Event logs made of exactly the events that a test needs."""

import json
import struct
from pathlib import Path
from typing import Any

import cramjam

START_MS = 1_700_000_000_000
Event = dict[str, Any]


def text(events: list[Event]) -> bytes:
    """The log as Spark writes it: one compact JSON object per line."""
    return b"".join(json.dumps(e, separators=(",", ":")).encode() + b"\n" for e in events)


def write(path: Path, events: list[Event]) -> Path:
    path.write_bytes(text(events))
    return path


def header(
    *, master: str = "yarn", executors: int = 2, cores: int = 2, **properties: str
) -> list[Event]:
    """The events before the first job: executors 1..n, each on its own host, from second 1."""
    named = {key.replace("_", "."): value for key, value in properties.items()}
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": "3.5.1"},
        {
            "Event": "SparkListenerEnvironmentUpdate",
            "Spark Properties": {"spark.master": master, **named},
        },
        {
            "Event": "SparkListenerApplicationStart",
            "App Name": "job",
            "App ID": "app-1",
            "Timestamp": START_MS,
        },
        *(added(str(n + 1), 1.0, host=f"h{n}", cores=cores) for n in range(executors)),
    ]


def ms(seconds: float) -> int:
    return START_MS + round(seconds * 1000)


def added(name: str, at: float, *, host: str = "h0", cores: int = 2, profile: int = 0) -> Event:
    info = {"Host": host, "Total Cores": cores, "Resource Profile Id": profile}
    return {
        "Event": "SparkListenerExecutorAdded",
        "Timestamp": ms(at),
        "Executor ID": name,
        "Executor Info": info,
    }


def removed(name: str, at: float, *, reason: Any = None) -> Event:
    """An executor that went; the log says nothing of why where `reason` is None."""
    found = {"Event": "SparkListenerExecutorRemoved", "Timestamp": ms(at), "Executor ID": name}
    return found if reason is None else found | {"Removed Reason": reason}


def rdd(rdd_id: int, parents: list[int] | None = None, *, name: str = "X", cached: bool = False,
        scope: str | None = None, partitions: int = 0, barrier: bool = False) -> Event:  # fmt: skip
    found: Event = {
        "RDD ID": rdd_id,
        "Name": name,
        "Parent IDs": parents or [],
        "Number of Partitions": partitions,
        "Storage Level": {"Use Disk": False, "Use Memory": cached},
        "Barrier": barrier,
    }
    return found | ({"Scope": json.dumps({"id": "1", "name": scope})} if scope else {})


def info(stage: int, tasks: int, *, attempt: int = 0, parents: list[int] | None = None,
         rdds: list[Event] | None = None, details: str = "") -> Event:  # fmt: skip
    return {
        "Stage ID": stage,
        "Stage Attempt ID": attempt,
        "Stage Name": f"count at job.py:{stage}",
        "Number of Tasks": tasks,
        "RDD Info": rdds or [rdd(stage)],
        "Parent IDs": parents or [],
        "Details": details,
    }


def job(number: int, stages: list[Event], at: float, **properties: str) -> Event:
    return {
        "Event": "SparkListenerJobStart",
        "Job ID": number,
        "Submission Time": ms(at),
        "Stage Infos": stages,
        "Stage IDs": [stage["Stage ID"] for stage in stages],
        "Properties": properties,
    }


def job_end(number: int, at: float) -> Event:
    return {"Event": "SparkListenerJobEnd", "Job ID": number, "Completion Time": ms(at)}


def submitted(stage: Event, at: float) -> Event:
    return {
        "Event": "SparkListenerStageSubmitted",
        "Stage Info": stage | {"Submission Time": ms(at)},
    }


def completed(stage: Event, start: float, end: float, *, failure: str | None = None) -> Event:
    times = {"Submission Time": ms(start), "Completion Time": ms(end)}
    why = {"Failure Reason": failure} if failure else {}
    return {"Event": "SparkListenerStageCompleted", "Stage Info": stage | times | why}


def task_info(task: int, index: int, start: float, end: float, executor: str) -> Event:
    return {
        "Task ID": task,
        "Index": index,
        "Attempt": 0,
        "Launch Time": ms(start),
        "Executor ID": executor,
        "Host": "h0",
        "Finish Time": ms(end),
        "Failed": False,
        "Killed": False,
        "Accumulables": [],
    }


def task_start(
    stage: int, task: int, start: float, *, index: int = 0, executor: str = "1"
) -> Event:
    return {
        "Event": "SparkListenerTaskStart",
        "Stage ID": stage,
        "Task Info": task_info(task, index, start, 0.0, executor),
    }


def task(stage: int, task: int, start: float, end: float, *, index: int | None = None,
         partition: int | None = None, attempt: int = 0, executor: str = "1",
         reason: str = "Success", metrics: Event | None = None) -> Event:  # fmt: skip
    """A task end; by default a success that ran all but 0.1 s of its time."""
    described = task_info(task, task if index is None else index, start, end, executor)
    if partition is not None:
        described["Partition ID"] = partition
    found: Event = {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": attempt,
        "Task End Reason": {"Reason": reason},
        "Task Info": described,
    }
    if reason == "Success":
        run = {"Executor Run Time": round((end - start) * 1000) - 100}
        found["Task Metrics"] = run | (metrics or {})
    return found


def end(at: float) -> Event:
    return {"Event": "SparkListenerApplicationEnd", "Timestamp": ms(at)}


def one_stage(tasks: int = 4, *, seconds: float = 2.0) -> list[Event]:
    """A job of one stage: `tasks` tasks of 2 s (one after the other on the clock), then the end."""
    stage = info(0, tasks)
    finish = 2.0 + tasks * seconds
    return [
        *header(),
        job(0, [stage], 1.9),
        submitted(stage, 2.0),
        *(task(0, n, 2.0 + n * seconds, 2.0 + (n + 1) * seconds) for n in range(tasks)),
        completed(stage, 2.0, finish),
        job_end(0, finish),
        end(finish + 1.0),
    ]


def lz4_blocks(data: bytes, size: int = 1 << 15) -> bytes:
    """lz4-java's block stream, as Spark writes it, with its end mark."""
    found = b""
    for start in range(0, len(data), size):
        part = data[start : start + size]
        packed = bytes(cramjam.lz4.compress_block(part, store_size=False))
        stored = len(packed) >= len(part)
        body = part if stored else packed
        token = (0x10 if stored else 0x20) | 5
        found += struct.pack("<8sBiiI", b"LZ4Block", token, len(body), len(part), 0) + body
    return found + struct.pack("<8sBiiI", b"LZ4Block", 0x15, 0, 0, 0)


def snappy_blocks(data: bytes, size: int = 1 << 15) -> bytes:
    """xerial's stream of snappy blocks, as Spark writes it."""
    found = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for start in range(0, len(data), size):
        packed = bytes(cramjam.snappy.compress_raw(data[start : start + size]))
        found += struct.pack(">I", len(packed)) + packed
    return found


def lzf_blocks(data: bytes, size: int = 1 << 15) -> bytes:
    """ning's chunks, every other one stored and the rest as literals only."""
    found = b""
    for number, start in enumerate(range(0, len(data), size)):
        part = data[start : start + size]
        if number % 2:
            found += b"ZV\x00" + struct.pack(">H", len(part)) + part
            continue
        packed = b"".join(
            bytes([len(part[n : n + 32]) - 1]) + part[n : n + 32] for n in range(0, len(part), 32)
        )
        found += b"ZV\x01" + struct.pack(">HH", len(packed), len(part)) + packed
    return found
