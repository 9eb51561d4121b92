"""Micro-benchmarks of the local machine: processor, memory, disk, loopback.

Each probe repeats its work for a bounded time and returns the rate of every repetition, without
interpretation. The CPU kernels run in libraries that release Python's global interpreter lock, so
that threads use all cores.
"""

from __future__ import annotations

import hashlib
import mmap
import os
import socket
import statistics
import tempfile
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

from engine.errors import BadInput
from engine.forecast import IntArray

MIB = 1024**2
CHUNK_BYTES = 4 * MIB
FREE_SPACE_FACTOR = 1.25
"""Required free space, as a multiple of the bytes written."""
ANOTHER_FOLDER = "name another folder with --dir"


@dataclass(frozen=True, slots=True)
class Measured:
    """A rate, measured several times: the median and the extremes, per second."""

    median: float
    low: float
    high: float
    repetitions: int

    @classmethod
    def of(cls, rates: list[float]) -> Measured:
        """The summary of at least one repetition."""
        return cls(statistics.median(rates), min(rates), max(rates), len(rates))


@dataclass(frozen=True, slots=True)
class DiskRates:
    """Write and read rates of a file [B/s]; `read` is None where it may have come from memory.

    `direct` is whether reads bypassed the page cache; `note` explains limits of the figures.
    """

    write: Measured
    read: Measured | None
    bytes_written: int
    direct: bool
    note: str | None = None


Work = Callable[[], float]
"""Does a piece of work and returns its amount (bytes, or numbers sorted)."""


def cpu_kernels() -> Mapping[str, Callable[[], Work]]:
    """Name -> factory of a kernel for one thread: compression (branches and tables, as in
    shuffles), hashing (arithmetic), sorting (comparisons and memory)."""
    return {"compress": _compress, "hash": _hash, "sort": _sort}


def _compress() -> Work:
    import zstandard

    compressor, text = zstandard.ZstdCompressor(level=3), _text()
    return lambda: float(len(text) * bool(compressor.compress(text)))


def _hash() -> Work:
    text = _text()
    return lambda: float(len(text) * bool(hashlib.blake2b(text).digest()))


def _sort() -> Work:
    numbers = _numbers()
    return lambda: float(np.sort(numbers, kind="stable").size)


@cache
def _numbers() -> IntArray:
    """Random numbers, the same on every machine."""
    return np.random.default_rng(1).integers(0, 1 << 62, 200_000)


@cache
def _text() -> bytes:
    """2 MiB of words with Zipf frequencies, as in natural language; the same on every machine."""
    rng = np.random.default_rng(1)
    words = [b"%x" % number for number in rng.integers(0, 50_000, 20_000)]
    picked = rng.zipf(1.3, 500_000) % len(words)
    return b" ".join(words[place] for place in picked)[: 2 * MIB]


def rate_on_one_core(make: Callable[[], Work], *, repetitions: int, seconds: float) -> list[float]:
    """Work per second of CPU time of one thread; each repetition takes `seconds`.

    CPU time rather than elapsed time, so that other processes do not lower the rate.
    """
    work = make()
    work()
    return [_rate(work, seconds, time.thread_time) for _ in range(repetitions)]


def rate_on_all_cores(
    make: Callable[[], Work],
    *,
    threads: int,
    repetitions: int,
    seconds: float,
    clock: Callable[[], float] = time.thread_time,
) -> list[float]:
    """Summed work per second of concurrent threads.

    `clock` is each thread's CPU time as in `rate_on_one_core`, or elapsed time for resources that
    cores share.
    """
    works = [make() for _ in range(threads)]
    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(lambda work: work(), works))
        return [
            sum(pool.map(lambda work: _rate(work, seconds, clock), works))
            for _ in range(repetitions)
        ]


def _rate(work: Work, seconds: float, clock: Callable[[], float]) -> float:
    """Work per second of `clock`, repeated for `seconds` of elapsed time and at least once."""
    done, used, start = 0.0, clock(), time.perf_counter()
    while not done or time.perf_counter() - start < seconds:
        done += work()
    return done / max(clock() - used, 1e-9)


def memory_copy(*, total_bytes: int, threads: int) -> Callable[[], Work]:
    """Factory of a kernel that copies a block; counts bytes read plus bytes written. The blocks of
    all threads together far exceed any cache and take at most an eighth of `total_bytes`."""
    size = max(CHUNK_BYTES, min(64 * MIB, total_bytes // (16 * threads))) // 8

    def make() -> Work:
        source, target = np.ones(size), np.zeros(size)

        def work() -> float:
            np.copyto(target, source)
            return 2.0 * source.nbytes

        return work

    return make


def disk_rates(folder: Path, *, size_bytes: int, repetitions: int, seconds: float) -> DiskRates:
    """Write rate of a file including fsync, and the rate of reading it back.

    The file is anonymous, so that it disappears even if this process is killed. A repetition ends
    after `seconds` even if the file is not full, which bounds the time on a slow disk.

    Raises:
        BadInput: when the folder cannot be written or has too little free space.
    """
    require_free_space(folder, size_bytes)
    writes, reads, direct_reads, most_written = [], [], [], 0
    try:
        for _ in range(repetitions):
            with tempfile.TemporaryFile(dir=folder) as file:
                written, rate = _write(file.fileno(), size_bytes, seconds)
                writes.append(rate)
                most_written = max(most_written, written)
                direct, rate = _read(file.fileno(), seconds)
                reads.append(rate)
                direct_reads.append(direct)
    except OSError as error:
        raise BadInput(f"cannot be measured: {error.strerror}", where=str(folder)) from None
    kind = filesystem_of(folder)
    note = f"{folder} is memory ({kind}), not a disk" if kind in ("tmpfs", "ramfs") else None
    if not all(direct_reads) and note is None:
        note = "reads could not pass by the page cache and may have come from memory: not counted"
    known = all(direct_reads) or kind in ("tmpfs", "ramfs")
    read = Measured.of(reads) if known else None
    return DiskRates(Measured.of(writes), read, most_written, all(direct_reads), note)


def require_free_space(folder: Path, size_bytes: int) -> None:
    """Refuses a folder without enough free space or write access.

    Raises:
        BadInput: with the free and the needed space.
    """
    try:
        file_system = os.statvfs(folder)
    except OSError as error:
        raise BadInput(
            f"cannot be used: {error.strerror}", where=str(folder), remedy=ANOTHER_FOLDER
        ) from None
    free, needed = file_system.f_bavail * file_system.f_frsize, int(size_bytes * FREE_SPACE_FACTOR)
    if free < needed:
        raise BadInput(
            f"{free / 1e6:,.0f} MB free, {needed / 1e6:,.0f} MB are needed",
            where=str(folder),
            remedy="name another folder with --dir, or write less with --disk-size",
        )
    if not (folder.is_dir() and os.access(folder, os.W_OK | os.X_OK)):
        raise BadInput(
            "is no folder that can be written to", where=str(folder), remedy=ANOTHER_FOLDER
        )


def _write(descriptor: int, size_bytes: int, seconds: float) -> tuple[int, float]:
    """Bytes written, and bytes per second including fsync."""
    chunk = os.urandom(CHUNK_BYTES)
    written, start = 0, time.perf_counter()
    while written < size_bytes and time.perf_counter() - start < seconds:
        written += os.write(descriptor, chunk[: size_bytes - written])
    os.fsync(descriptor)
    return written, written / (time.perf_counter() - start)


def _read(descriptor: int, seconds: float) -> tuple[bool, float]:
    """Whether the read bypassed the page cache (O_DIRECT), and bytes per second."""
    with suppress(OSError, AttributeError):
        os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
    direct_flag = getattr(os, "O_DIRECT", 0)
    buffer = mmap.mmap(-1, CHUNK_BYTES)
    with suppress(OSError):
        if direct_flag:
            again = os.open(f"/proc/self/fd/{descriptor}", os.O_RDONLY | direct_flag)
            return True, _read_all(again, buffer, seconds)
    return False, _read_all(os.dup(descriptor), buffer, seconds)


def _read_all(descriptor: int, buffer: mmap.mmap, seconds: float) -> float:
    done, start = 0, time.perf_counter()
    try:
        while time.perf_counter() - start < seconds:
            count = os.preadv(descriptor, [buffer], done)
            done += count
            if count < len(buffer):
                break
    finally:
        os.close(descriptor)
    return done / (time.perf_counter() - start)


def filesystem_of(folder: Path, mounts: Path = Path("/proc/mounts")) -> str | None:
    """The type of the file system that a folder is on ("ext4", "tmpfs"); None if not known."""
    try:
        lines = mounts.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return None
    where, best, kind = folder.resolve(), -1, None
    for line in lines:
        parts = line.split()
        if len(parts) > 2 and where.is_relative_to(parts[1]) and len(parts[1]) >= best:
            best, kind = len(parts[1]), parts[2]
    return kind


def loopback_rates(*, repetitions: int, seconds: float) -> list[float]:
    """Bytes per second through one TCP connection over loopback.

    Raises:
        BadInput: when the machine refuses connections to itself.
    """
    try:
        return [_loopback(seconds) for _ in range(repetitions)]
    except OSError as error:
        reason = error.strerror or str(error)
        raise BadInput(f"cannot be measured: {reason}", where="network loopback") from None


def _loopback(seconds: float) -> float:
    block = bytes(MIB)
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(5.0)

        def send() -> None:
            with suppress(OSError), socket.create_connection(server.getsockname(), 5.0) as out:
                until = time.perf_counter() + seconds
                while time.perf_counter() < until:
                    out.sendall(block)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        received, buffer = 0, bytearray(MIB)
        connection, _ = server.accept()
        with connection:
            connection.settimeout(5.0)
            start = time.perf_counter()
            while count := connection.recv_into(buffer):
                received += count
            passed = time.perf_counter() - start
        sender.join(5.0)
    return received / passed


def link_bytes_per_second(folder: Path = Path("/sys/class/net")) -> float | None:
    """The speed of the fastest network card [B/s], as the system states it; None without one."""
    speeds = []
    for path in sorted(folder.glob("*/speed")):
        with suppress(OSError, ValueError):
            speeds.append(float(path.read_text()))
    megabits = max(speeds, default=0.0)
    return megabits * 1e6 / 8.0 if megabits > 0.0 else None
