"""What makes reading fast changes nothing of what is read: against a reader without any of it."""

import json
import random
from functools import cache
from pathlib import Path

import msgspec
import pytest
import sparklog as log
from depth import cases
from shared import SHARED

import engine
from engine.errors import EngineError
from engine.sources.access import codecs
from engine.sources.formats.profile_text import format_profile
from engine.sources.logs import eventlog, events, tasks
from engine.sources.logs.application import Application

ROOT = Path(__file__).parents[3]
LOGS = sorted(
    path
    for folder in (ROOT / "sample_logs", ROOT / "tests" / "data", SHARED / "eventlogs")
    for path in folder.rglob("*")
    if path.is_file() and path.suffix not in {".py", ".pyc", ".md", ".yaml", ".scala"}
)
SKIPPED = (b',"Accumulables":[', b'"Task Metrics":{')
MOST_LINES = 600
NUMBERS = (0, 1, -1, 7, 10**6, 10**12, 10**14, 2**62, 2**63)


def name_of(path: Path) -> str:
    return path.name


@cache
def whole() -> tuple[Path, ...]:
    """The logs that hold events."""
    return tuple(path for path in LOGS if text_of(path).startswith(b"{"))


@cache
def text_of(path: Path) -> bytes:
    return b"".join(codecs.open_path(path).chunks())


def profile_of(path: Path) -> str:
    """The profile of a log as text, or the one line that refuses it."""
    try:
        return format_profile(engine.read(path))
    except EngineError as problem:
        return str(problem)


@pytest.fixture
def plainly(monkeypatch: pytest.MonkeyPatch) -> pytest.MonkeyPatch:
    """Reads every task end and stage completion whole, and sums each stage up by itself."""
    decode = msgspec.json.Decoder(events.StageEvent).decode

    def submitted_again(application: Application, line: bytes) -> None:
        event = decode(line)
        application.stage_submitted(event, line)
        application.stage_completed(events.StageCompleted(event.info))
        application.summarise_completed()
        eventlog._stage_metrics(application, line)

    def one_by_one(stages: list[tasks.StageTasks]) -> None:
        for stage in stages:
            stage.flush()
            merged_profile([stage])

    merged_profile = tasks.summarise
    monkeypatch.setattr(eventlog.AccumulableStripper, "strip", lambda self, line: line)
    monkeypatch.setitem(eventlog._HANDLERS, b"SparkListenerStageCompleted", submitted_again)
    monkeypatch.setattr("engine.sources.logs.application.summarise", one_by_one)
    monkeypatch.setattr(tasks, "_take_successes", lambda stages: None)
    return monkeypatch


@pytest.mark.parametrize("path", LOGS, ids=name_of)
def test_every_log_gives_the_same_profile(path: Path, plainly: pytest.MonkeyPatch) -> None:
    slow = profile_of(path)
    plainly.undo()
    assert profile_of(path) == slow


def mutated(text: bytes, rng: random.Random) -> bytes:
    """A stretch of a log with lines deleted, repeated, moved or cut, and numbers changed; nothing
    within what is not read of a task end."""
    lines = text.splitlines(keepends=True)
    if len(lines) > MOST_LINES:
        start = rng.choice((0, rng.randrange(len(lines) - MOST_LINES)))
        lines = lines[start : start + MOST_LINES]
    for _ in range(rng.choice((1, 5, 40))):
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        line = lines[at]
        start, end = (line.find(key) for key in SKIPPED)
        parts = (line[:start], line[start:end], line[end:]) if 0 < start < end else (line, b"", b"")
        match rng.randrange(6):
            case 0:
                lines[at] = b"\n"
            case 1:
                lines.insert(other, line)
            case 2:
                lines[at], lines[other] = lines[other], line
            case 3:
                lines[at] = line[: rng.randrange(len(line) + 1)].rstrip(b"\n") + b"\n"
            case 4 | 5:
                which = rng.choice((0, 2) if parts[2] else (0,))
                changed = [*parts]
                changed[which] = changed_number(parts[which], rng)
                lines[at] = b"".join(changed)
    return b"".join(lines)


def changed_number(text: bytes, rng: random.Random) -> bytes:
    pieces = text.split(b":")
    at = rng.randrange(len(pieces))
    digits = len(pieces[at]) - len(pieces[at].lstrip(b"0123456789"))
    if digits:
        pieces[at] = str(rng.choice(NUMBERS)).encode() + pieces[at][digits:]
    return b":".join(pieces)


@pytest.mark.parametrize("seed", range(cases(12, deep=60)))
def test_mutated_lines_give_the_same_profile(
    seed: int, tmp_path: Path, plainly: pytest.MonkeyPatch
) -> None:
    rng = random.Random(seed)
    path = tmp_path / "log"
    path.write_bytes(mutated(text_of(rng.choice(whole())), rng))
    slow = profile_of(path)
    plainly.undo()
    assert profile_of(path) == slow


def test_the_totals_of_the_default_sample_are_those_of_its_lines() -> None:
    """Against nothing but the json module."""
    (path,) = (path for path in LOGS if path.name == "nightly-features.zstd")
    spent: dict[int, int] = {}
    written: dict[int, int] = {}
    for line in text_of(path).splitlines():
        event = json.loads(line)
        if event["Event"] == "SparkListenerTaskEnd":
            stage, info, metrics = event["Stage ID"], event["Task Info"], event["Task Metrics"]
            spent[stage] = spent.get(stage, 0) + info["Finish Time"] - info["Launch Time"]
            bytes_written = metrics["Shuffle Write Metrics"]["Shuffle Bytes Written"]
            written[stage] = written.get(stage, 0) + bytes_written
    (run,) = engine.read(path).runs
    assert {s.stage_id: round(1000 * s.task_seconds.total) for s in run.stages} == spent
    shuffled = {s.stage_id: s.shuffle_write_bytes for s in run.stages}
    assert {key: m.total if m else 0 for key, m in shuffled.items()} == written


def test_keys_that_move_within_the_line_are_found() -> None:
    """The next line's keys are looked for where they stood, and everywhere else after that."""
    decode = msgspec.json.Decoder(events.TaskEnd).decode
    ends = [line for line in text_of(ROOT / "sample_logs" / "nightly-features.zstd").splitlines()
            if line.startswith(eventlog.TASK_END)]  # fmt: skip
    stripper = eventlog.AccumulableStripper()
    rng = random.Random(4)
    for line in ends:
        filler = b"x" * rng.choice((0, 0, 3, 900))
        line = line.replace(b'"Host":"', b'"Host":"' + filler)
        line += b" " * rng.choice((0, 0, 5, 700))
        assert decode(stripper.strip(line)) == decode(line)
    assert stripper.strip(b"{}") == b"{}"
    short = log.text(log.one_stage()).splitlines()
    assert all(stripper.strip(line) == line for line in short if b"Accumulables" not in line)
