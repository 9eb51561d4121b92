"""How fast an event log becomes a profile, against a bare line loop and the standard json module,
and from every container that Spark writes.

A real log (a bundled sample unless another is named) is repeated in a temporary folder, with
shifted stage, job and task ids and times, until it has the asked size; then every reader reads
it in a process of its own, and a table is printed. Readers take turns, and the median of each is
shown: a machine's speed differs from one minute to the next.

    python benchmarks/ingest.py [--log FILE] [--gigabytes 1.0] [--rounds 5]

Speeds are megabytes of uncompressed text per second of processor time (what one core does; on a
busy machine the clock says less) and, in brackets, per second on the clock. The ratio is to the
bare line loop of the same run. Starting Python and importing are part of the time. The second
table reads the same text (of lzf a tenth) out of each container; its ratio is to plain text.
"""

from __future__ import annotations

import argparse
import os
import re
import struct
import subprocess
import sys
import tempfile
import time
import zlib
from collections.abc import Callable, Iterator
from functools import partial
from itertools import islice
from pathlib import Path
from statistics import median

from engine.sources.access import codecs
from engine.sources.samples import list_samples, sample_files
from tui.cli import ALGEBRA_THREADS
from tui.start import DEFAULT_SAMPLE

TASK_END = b'{"Event":"SparkListenerTaskEnd"'
READERS = {
    "line_loop": "bare line loop",
    "prefix_test": "line loop with a prefix test",
    "stdlib_json": "stdlib json, all but task starts",
    "sparkplan": "sparkplan: log to profile",
}
"""Reader of `read_once.py` -> what it is called in the table."""

Taken = tuple[float, float, float]
"""Processor seconds, seconds on the clock, peak megabytes."""

READ_ONCE = Path(__file__).with_name("read_once.py")
_NUMBER = re.compile(
    rb'"(Stage ID|Job ID|Task ID|Launch Time|Finish Time|Submission Time|Completion Time'
    rb'|Timestamp|time)":(\d+)'
)
_LIST = re.compile(rb'"Stage IDs":\[([\d,]*)\]|"Parent IDs":\[([\d,]*)\](?=,"Details")')
_ONCE = (b"LogStart", b"ApplicationStart", b"EnvironmentUpdate", b"Executor", b"BlockManager",
         b"ResourceProfile")  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, help="an event log (default: a bundled sample)")
    parser.add_argument("--gigabytes", type=float, default=1.0)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "repeated.log"
        tasks = repeat(args.log or default_log(), big, int(args.gigabytes * 1e9))
        megabytes = big.stat().st_size / 1e6
        print(f"{megabytes:.0f} MB, {tasks} finished tasks")
        reader_table(big, megabytes, args.rounds)
        codec_table(big, args.rounds)


def reader_table(log: Path, megabytes: float, rounds: int) -> None:
    """Reads the plain log with every reader and prints a table."""
    taken = in_turn({name: (name, log) for name in READERS}, rounds)
    base = taken["line_loop"][0]
    print(f"{'reader':36}{'MB/s':>8}{'clock':>9}{'ratio':>8}{'peak MB':>9}")
    for name, (cpu, clock, peak) in taken.items():
        print(
            f"{READERS[name]:36}{megabytes / cpu:8.0f}{f'({megabytes / clock:.0f})':>9}"
            f"{base / cpu:8.3f}{peak:9.0f}"
        )


def codec_table(plain: Path, rounds: int) -> None:
    """Reads the log from each container and prints a table."""
    packed = {name: pack(plain, name) for name in CONTAINERS}
    taken = in_turn({name: ("sparkplan", path) for name, (path, _) in packed.items()}, rounds)
    base = packed["plain"][1] / taken["plain"][0]
    print(f"\n{'container':24}{'MB':>8}{'MB/s':>8}{'clock':>9}{'of plain':>10}{'peak MB':>9}")
    for name, (cpu, clock, peak) in taken.items():
        path, size = packed[name]
        print(
            f"{name:24}{path.stat().st_size / 1e6:8.1f}{size / 1e6 / cpu:8.0f}"
            f"{f'({size / 1e6 / clock:.0f})':>9}{size / cpu / base:10.2f}{peak:9.0f}"
        )


def in_turn(reads: dict[str, tuple[str, Path]], rounds: int) -> dict[str, Taken]:
    """The medians of what each (reader, file) takes, all of them once in every round."""
    taken: dict[str, list[Taken]] = {name: [] for name in reads}
    for _ in range(rounds):
        for name, (reader, path) in reads.items():
            taken[name].append(measure(reader, path))
    medians = {name: tuple(map(median, zip(*each, strict=True))) for name, each in taken.items()}
    return {name: (found[0], found[1], found[2]) for name, found in medians.items()}


def default_log() -> Path:
    """The log of the sample that the planner opens by itself."""
    (sample,) = (one for one in list_samples() if one.name == DEFAULT_SAMPLE)
    (path,) = (Path(str(entry)) for entry in sample_files(sample))
    return path


# The repeated log


def repeat(log: Path, target: Path, size: int) -> int:
    """Writes the log again and again, ids and times shifted; returns the finished tasks."""
    lines = b"".join(codecs.open_path(log).chunks()).splitlines(keepends=True)
    once = [line for line in lines if any(word in line[:60] for word in _ONCE)]
    ends = [line for line in lines if b"ApplicationEnd" in line[:60]]
    body = [pieces(line) for line in lines if line not in once and line not in ends]
    found: dict[str, list[int]] = {key: [] for key in STEPS}
    for kind, value in (piece for line in body for piece in line if isinstance(piece, tuple)):
        found[kind].append(value)
    highest, times = {key: max(found[key], default=0) for key in STEPS}, found["time"]
    step = {"stage": highest["stage"] + 1, "job": highest["job"] + 1, "task": highest["task"] + 1}
    step["time"] = max(times) - min(times) + 1
    tasks_per_round = sum(line.startswith(TASK_END) for line in lines)
    rounds = 0
    with target.open("wb") as out:
        out.writelines(once)
        while out.tell() < size:
            out.writelines(shifted(line, rounds, step) for line in body)
            rounds += 1
        out.writelines(shifted(pieces(line), rounds - 1, step) for line in ends)
    return rounds * tasks_per_round


STEPS = ("stage", "job", "task", "time")
_KINDS = {b"Stage ID": "stage", b"Job ID": "job", b"Task ID": "task"}


Piece = bytes | tuple[str, int]
"""Text, or what an id or time is of, and its number."""


def pieces(line: bytes) -> list[Piece]:
    """A line cut at its ids and times."""
    found: list[Piece] = []
    position = 0
    for start, end, kind, number in sorted(numbers(line)):
        found += [line[position:start], (kind, number)]
        position = end
    return [*found, line[position:]]


def numbers(line: bytes) -> Iterator[tuple[int, int, str, int]]:
    for match in _NUMBER.finditer(line):
        kind = _KINDS.get(match[1], "time")
        if kind != "time" or match[2] != b"0":  # a task that starts has "Finish Time":0
            yield match.start(2), match.end(2), kind, int(match[2])
    for match in _LIST.finditer(line):
        group = 1 if match[1] is not None else 2
        for number in re.finditer(rb"\d+", match[group]):
            start = match.start(group)
            yield start + number.start(), start + number.end(), "stage", int(number[0])


def shifted(line: list[Piece], rounds: int, step: dict[str, int]) -> bytes:
    return b"".join(
        piece if isinstance(piece, bytes) else b"%d" % (piece[1] + rounds * step[piece[0]])
        for piece in line
    )


# The containers

SLOW = {"lzf"}
"""Compressing is slow here: a tenth of the text does."""

BLOCK_BYTES = 1 << 15
"""`spark.io.compression.*.blockSize`: 32 KiB."""

Blocks = Iterator[bytes]


def pack(plain: Path, name: str) -> tuple[Path, int]:
    """The log in a container, beside the plain one, and how much of it that is."""
    compress = CONTAINERS[name]
    if compress is None:
        return plain, plain.stat().st_size
    target, blocks = plain.with_suffix(f".{name}"), plain.stat().st_size // BLOCK_BYTES + 1
    if name in SLOW:
        blocks //= 10
    with plain.open("rb") as file, target.open("wb") as out:
        pieces = islice(iter(partial(file.read, BLOCK_BYTES), b""), blocks)
        out.writelines(compress(pieces))
    return target, min(blocks * BLOCK_BYTES, plain.stat().st_size)


def zstd(blocks: Blocks) -> Blocks:
    import zstandard

    compressor = zstandard.ZstdCompressor(level=1).compressobj()
    yield from map(compressor.compress, blocks)
    yield compressor.flush()


def lz4(blocks: Blocks) -> Blocks:
    import cramjam

    for block in blocks:
        packed = bytes(cramjam.lz4.compress_block(block, store_size=False))
        yield struct.pack("<8sBiiI", b"LZ4Block", 0x25, len(packed), len(block), 0) + packed
    yield struct.pack("<8sBiiI", b"LZ4Block", 0x15, 0, 0, 0)


def snappy(blocks: Blocks) -> Blocks:
    import cramjam

    yield b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)
    for block in blocks:
        packed = bytes(cramjam.snappy.compress_raw(block))
        yield struct.pack(">I", len(packed)) + packed


def lzf(blocks: Blocks) -> Blocks:
    for block in blocks:
        packed = lzf_block(block)
        yield b"ZV\x01" + struct.pack(">HH", len(packed), len(block)) + packed


def lzf_block(block: bytes) -> bytes:
    """One chunk: at each place the longest continuation of the last place with the same 3 bytes."""
    out, last = bytearray(), dict[bytes, int]()
    literals, at = 0, 0
    while at < len(block):
        key = block[at : at + 3]
        before = last.get(key)
        last[key] = at
        if before is None or at - before > 8192 or len(key) < 3:
            at += 1
            literals += 1
            if literals == 32:
                out += b"\x1f" + block[at - 32 : at]
                literals = 0
            continue
        length = 3
        while (
            length < 264
            and block[at + length : at + length + 1]
            == block[before + length : before + length + 1]
            != b""
        ):
            length += 1
        if literals:
            out += bytes([literals - 1]) + block[at - literals : at]
            literals = 0
        back = at - before - 1
        if length < 9:
            out += bytes([(length - 2) << 5 | back >> 8, back & 255])
        else:
            out += bytes([7 << 5 | back >> 8, length - 9, back & 255])
        at += length
    if literals:
        out += bytes([literals - 1]) + block[at - literals : at]
    return bytes(out)


def gzipped(blocks: Blocks) -> Blocks:
    compressor = zlib.compressobj(1, wbits=31)
    yield from map(compressor.compress, blocks)
    yield compressor.flush()


CONTAINERS: dict[str, Callable[[Blocks], Blocks] | None] = {
    "plain": None,
    "zstd": zstd,
    "lz4": lz4,
    "snappy": snappy,
    "lzf": lzf,
    "gzip": gzipped,
}


def measure(name: str, path: Path) -> Taken:
    """Processor seconds, clock seconds and peak megabytes of a reader in a process of its own."""
    command = [sys.executable, str(READ_ONCE), name, str(path)]
    one_thread = {**os.environ, ALGEBRA_THREADS: "1"}  # as the installed command sets it
    start = time.perf_counter()
    run = subprocess.run(command, check=True, capture_output=True, text=True, env=one_thread)
    answer = run.stdout.split()
    return float(answer[0]), time.perf_counter() - start, float(answer[1])


if __name__ == "__main__":
    main()
