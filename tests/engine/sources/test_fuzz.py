"""Mutation fuzz: whatever happens to a log, the answer is a profile or one line, and it comes.

Real logs are damaged as files (bits flipped, bytes cut, repeated, put in) and as events (lines
deleted, repeated, moved, cut, joined; values of another type or size). 100 cases are part of the
ordinary run, 500 of the deep one; `SPARKPLAN_FUZZ=10000 pytest tests/engine/sources/test_fuzz.py`
runs so many, on the public logs and samples too. A case is known by its number alone:
`SPARKPLAN_FUZZ=417-417`.
"""

import gzip
import json
import math
import os
import random
import re
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import sparklog as log
import zstandard
from depth import cases
from shared import SHARED

import engine
from engine.errors import EngineError
from engine.profile import Profile
from engine.sources import read
from engine.sources.access import codecs
from engine.sources.formats.profile_file import parse
from engine.sources.formats.profile_text import format_profile

DATA = Path(__file__).parents[2] / "data"
SAMPLES = Path(__file__).parents[3] / "sample_logs"
ASKED = os.environ.get("SPARKPLAN_FUZZ", str(cases(60, deep=500)))
FIRST, LAST = (int(n) for n in ASKED.split("-")) if "-" in ASKED else (0, int(ASKED) - 1)
BATCH = 50
HANG_SECONDS = 120
"""No case needs a hundredth of it: a case that takes as long hangs."""

MOST_LINES = 400
"""A longer log is cut to a stretch of so many lines: it would only make the cases slower."""

VALUES: tuple[Any, ...] = (
    *(-1, 0, 1, 1e300, 1.5, True, None, "x", "", [], {}, [1], {"a": 1}, "\u0000", "\ud800"),
    *(2**31, 2**63 - 1, -(2**63), 2**64, 10**30, "9" * 40, "-1", "NaN", 10**13, 10**14 + 1),
)
NUMBER = re.compile(rb":(-?\d+)(?=[,}\]])")


@cache
def corpus() -> tuple[bytes, ...]:
    """The texts of the logs to damage."""
    paths = sorted(DATA.glob("*.zstd*"))
    texts = [b"".join(codecs.open_path(path).chunks()) for path in paths]
    texts.append(log.text(log.one_stage()))
    if LAST >= 1000:
        paths = sorted(SAMPLES.glob("*.zstd"))
        paths += [p for p in sorted(SHARED.glob("eventlogs/*/*")) if p.is_file()]
        texts += [b"".join(codecs.open_path(path).chunks()) for path in paths]
    return tuple(texts)


@cache
def containers() -> tuple[bytes, ...]:
    """Whole files as Spark wrote them, in every codec."""
    paths = [path for path in sorted(DATA.iterdir()) if path.name.startswith("plain.")]
    whole = [path.read_bytes() for path in paths]
    text = corpus()[0]
    return (*whole, text, gzip.compress(text), log.lz4_blocks(text, 999), log.lzf_blocks(text))


def damaged_bytes(data: bytes, rng: random.Random) -> bytes:
    """A file with flipped bits, holes, repeated or foreign bytes, or cut off."""
    found = bytearray(data)
    for _ in range(rng.choice((1, 1, 2, 10))):
        if not found:
            break
        at = rng.randrange(len(found))
        size = rng.choice((1, 2, 7, 100, 5000))
        match rng.randrange(7):
            case 0 | 1:
                found[at] ^= 1 << rng.randrange(8)
            case 2:
                del found[at : at + size]
            case 3:
                found[at:at] = found[at : at + size]
            case 4:
                found[at : at + size] = rng.randbytes(size)
            case 5:
                del found[at:]
            case 6:  # headers are where lengths are
                found[min(at, 40)] = rng.randrange(256)
    return bytes(found)


def damaged_lines(text: bytes, rng: random.Random) -> bytes:
    """A log whose events are deleted, repeated, moved, cut, joined or changed."""
    lines = text.splitlines(keepends=True)
    if len(lines) > MOST_LINES:
        start = rng.choice((0, rng.randrange(len(lines) - MOST_LINES)))
        lines = lines[start : start + MOST_LINES]
    for _ in range(rng.choice((1, 2, 5, 30))):
        if not lines:
            break
        at, other = rng.randrange(len(lines)), rng.randrange(len(lines))
        size = rng.choice((1, 1, 3, 40))
        match rng.randrange(9):
            case 0:
                del lines[at : at + size]
            case 1:
                lines[other:other] = lines[at : at + size]
            case 2:
                lines[at], lines[other] = lines[other], lines[at]
            case 3:
                lines[at] = lines[at][: rng.randrange(len(lines[at]) + 1)]
            case 4:
                rng.shuffle(lines)
            case 5:
                lines[at] = lines[at].rstrip(b"\n") + lines[other]
            case 6:
                lines[at] = damaged_bytes(lines[at], rng)
            case 7:
                lines[at] = other_value(lines[at], rng)
            case 8:
                lines[at] = other_structure(lines[at], rng)
    return b"".join(lines)


def other_value(line: bytes, rng: random.Random) -> bytes:
    """A number of the line replaced by anything."""
    found = list(NUMBER.finditer(line))
    if not found:
        return line
    start, end = rng.choice(found).span(1)
    return line[:start] + json.dumps(rng.choice(VALUES)).encode() + line[end:]


def other_structure(line: bytes, rng: random.Random) -> bytes:
    """A key anywhere in the event removed, renamed or given a value of another type."""
    try:
        event = json.loads(line)
    except ValueError:
        return line
    places = list(mappings(event))
    if not places:
        return line
    place = rng.choice(places)
    key = rng.choice(list(place))
    match rng.randrange(3):
        case 0:
            del place[key]
        case 1:
            place[rng.choice(("", "Event", "Stage ID", "Timestamp", key + "x"))] = place.pop(key)
        case 2:
            place[key] = rng.choice(VALUES)
    return json.dumps(event, separators=(",", ":")).encode() + b"\n"


def mappings(value: Any) -> Iterator[dict[str, Any]]:
    """Every mapping with keys within a value."""
    if isinstance(value, dict):
        if value:
            yield value
        for item in value.values():
            yield from mappings(item)
    elif isinstance(value, list):
        for item in value:
            yield from mappings(item)


def packed(text: bytes, rng: random.Random) -> bytes:
    """A damaged text in any container, each whole."""
    match rng.randrange(8):
        case 0:
            return zstandard.ZstdCompressor(level=1).compress(text)
        case 1:
            return log.snappy_blocks(text)
        case 2:
            return log.lz4_blocks(text)
    return text


def write_case(folder: Path, number: int) -> Path:
    """What case `number` is to read: a file, or a folder of parts of which some are missing."""
    rng = random.Random(number)
    kind = rng.randrange(10)
    if kind < 3:
        data = damaged_bytes(rng.choice(containers()), rng)
    else:
        data = packed(damaged_lines(rng.choice(corpus()), rng), rng)
    if kind < 9:
        path = folder / f"app-{number}"
        path.write_bytes(data)
        return path
    target = folder / f"eventlog_v2_{number}"
    target.mkdir()
    for part in rng.sample(range(1, 6), k=rng.randrange(1, 6)):
        name = rng.choice((f"events_{part}_app", f"events_{part}_app.compact"))
        (target / name).write_bytes(data[len(data) * (part - 1) // 5 : len(data) * part // 5])
    return target


@contextmanager
def hang_is_an_error(number: int) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise TimeoutError(f"case {number} hangs")

    before = signal.signal(signal.SIGALRM, stop)
    signal.alarm(HANG_SECONDS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


def check(profile: Profile) -> None:
    """A profile that can be written, read back and predicted from."""
    for run in profile.runs:
        assert run.seconds > 0
        assert math.isfinite(run.seconds)
        assert 0.0 <= (run.driver_seconds or 0.0) <= run.seconds + 0.001
        assert all(s.task_seconds.count <= s.tasks for s in run.stages)
        assert all(set(s.parents) <= {o.stage_id for o in run.stages} for s in run.stages)
    assert parse(format_profile(profile), "p.yaml") == profile
    try:
        cluster = engine.Cluster.of_executors(executors=3, executor_cores=2)
        prediction = engine.fit(profile).predict(cluster=cluster)
    except EngineError as error:
        one_line(error)
    else:
        assert prediction.seconds > 0


def one_line(error: EngineError) -> str:
    text = str(error)
    assert "\n" not in text
    return text


@pytest.mark.parametrize("first", range(FIRST, LAST + 1, BATCH))
def test_an_answer_or_one_line(tmp_path: Path, first: int) -> None:
    answers = 0
    for number in range(first, min(first + BATCH, LAST + 1)):
        path = write_case(tmp_path, number)
        with hang_is_an_error(number):
            try:
                check(read(path))
            except EngineError as error:
                said = one_line(error)
            except Exception as error:
                raise AssertionError(f"case {number}") from error
            else:
                answers += 1
                continue
        assert path.name in said, number
    assert answers > 0 or FIRST == LAST
