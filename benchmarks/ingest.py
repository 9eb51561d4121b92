"""How fast an event log becomes a profile, against a bare line loop and the standard json module,
and from every container that Spark writes.

A real log (a bundled sample unless another is named) is repeated in a temporary folder, with
shifted stage, job and task ids and times, until it has the asked size; then every reader reads
it in a process of its own, one after the other, and one table is printed.

    python benchmarks/ingest.py [--log FILE] [--gigabytes 1.0]

Speeds are megabytes of uncompressed text per second of processor time (what one core does; on a
busy machine the clock says less) and, in brackets, per second on the clock. The ratio is to the
bare line loop of the same run. Starting Python and importing are part of the time. The second
table reads the same text (of lzf a tenth) out of each container; its ratio is to plain text.
"""

from __future__ import annotations

import argparse
import json
import re
import resource
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

from engine.sources import codecs
from engine.sources.samples import list_samples, sample_files

TASK_END = b'{"Event":"SparkListenerTaskEnd"'
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
    parser.add_argument("--child", nargs=2, metavar=("READER", "FILE"), help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.child:
        child(*args.child)
        return
    with tempfile.TemporaryDirectory() as folder:
        big = Path(folder) / "repeated.log"
        tasks = repeat(args.log or default_log(), big, int(args.gigabytes * 1e9))
        print(f"{big.stat().st_size / 1e6:.0f} MB, {tasks} finished tasks")
        megabytes = big.stat().st_size / 1e6
        print(f"{'reader':36}{'MB/s':>8}{'clock':>9}{'ratio':>8}{'peak MB':>9}")
        base = None
        for name, (title, _) in READERS.items():
            cpu, clock, peak = measure(name, big)
            base = base or cpu
            print(
                f"{title:36}{megabytes / cpu:8.0f}{f'({megabytes / clock:.0f})':>9}"
                f"{base / cpu:8.3f}{peak:9.0f}",
                flush=True,
            )
        codec_table(big)


def codec_table(plain: Path) -> None:
    """Reads the log from each container, one process each, and prints a table."""
    print(f"\n{'container':24}{'MB':>8}{'MB/s':>8}{'clock':>9}{'of plain':>10}{'peak MB':>9}")
    base = None
    for name, compress in CONTAINERS.items():
        path, size = (plain, plain.stat().st_size) if compress is None else pack(plain, name)
        cpu, clock, peak = measure("sparkplan", path)
        speed = size / 1e6 / cpu
        base = base or speed
        print(
            f"{name:24}{path.stat().st_size / 1e6:8.1f}{speed:8.0f}"
            f"{f'({size / 1e6 / clock:.0f})':>9}{speed / base:10.2f}{peak:9.0f}",
            flush=True,
        )
        if path != plain:
            path.unlink()


def default_log() -> Path:
    """The log of the sample that the planner opens by itself."""
    logs = [sample for sample in list_samples() if sample.kind == "event-log"]
    chosen = next((sample for sample in logs if sample.default), logs[0])
    (path,) = (Path(str(entry)) for entry in sample_files(chosen))
    return path


# The repeated log


def repeat(log: Path, target: Path, size: int) -> int:
    """Writes the log again and again, ids and times shifted; returns the finished tasks."""
    lines = b"".join(codecs.open_path(log).chunks()).splitlines(keepends=True)
    once = [line for line in lines if any(word in line[:60] for word in _ONCE)]
    ends = [line for line in lines if b"ApplicationEnd" in line[:60]]
    body = [pieces(line) for line in lines if line not in once and line not in ends]
    highest = {key: max((v for p in body for k, v in p if k == key), default=0) for key in STEPS}
    times = [value for line in body for key, value in line if key == "time"]
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


def pieces(line: bytes) -> list[tuple[str | None, object]]:
    """A line cut at its ids and times: (None, text) and (what it is, number) in turn."""
    found: list[tuple[str | None, object]] = []
    position = 0
    for start, end, kind, number in sorted(numbers(line)):
        found.append((None, line[position:start]))
        found.append((kind, number))
        position = end
    found.append((None, line[position:]))
    return found


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


def shifted(line: list[tuple[str | None, object]], rounds: int, step: dict[str, int]) -> bytes:
    return b"".join(
        value if kind is None else b"%d" % (value + rounds * step[kind])  # type: ignore
        for kind, value in line
    )


# The readers


def line_loop(path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as file:
        for _ in file:
            pass


def prefix_test(path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as file:
        sum(line.startswith(TASK_END) for line in file)


def stdlib_json(path: Path) -> None:
    with path.open("rb", buffering=1 << 20) as file:
        for line in file:
            if not line.startswith(b'{"Event":"SparkListenerTaskStart"'):
                json.loads(line)


def sparkplan(path: Path) -> None:
    import engine

    engine.read(path)


READERS = {
    "line_loop": ("bare line loop", line_loop),
    "prefix_test": ("line loop with a prefix test", prefix_test),
    "stdlib_json": ("stdlib json, all but task starts", stdlib_json),
    "sparkplan": ("sparkplan: log to profile", sparkplan),
}


# The containers

SLOW = {"lzf"}
"""Compressing is slow here: a tenth of the text does."""

BLOCK_BYTES = 1 << 15
"""`spark.io.compression.*.blockSize`: 32 KiB."""

Blocks = Iterator[bytes]


def pack(plain: Path, name: str) -> tuple[Path, int]:
    """The log in another container, beside the plain one, and how much of it that is."""
    compress = CONTAINERS[name]
    assert compress is not None
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


def measure(name: str, path: Path) -> tuple[float, float, float]:
    """Processor seconds, clock seconds and peak megabytes of a reader in a process of its own."""
    command = [sys.executable, __file__, "--child", name, str(path)]
    start = time.perf_counter()
    answer = subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()
    return float(answer[0]), time.perf_counter() - start, float(answer[1])


def child(name: str, file: str) -> None:
    READERS[name][1](Path(file))
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, peak_megabytes(used.ru_maxrss / 1024))


def peak_megabytes(fallback: float) -> float:
    """Peak memory of this process; `ru_maxrss` also counts that of the process that started it."""
    status = Path("/proc/self/status")
    if not status.exists():
        return fallback
    (line,) = (line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
    return int(line.split()[1]) / 1024


if __name__ == "__main__":
    main()
