"""Reads one file with one reader and says what that took; `ingest.py` starts it.

    python benchmarks/read_once.py READER FILE

Prints the processor seconds of this process, starting Python and importing included, and its peak
memory in MB. A reader imports what it needs itself, so that none pays for another.
"""

from __future__ import annotations

import resource
import sys

TASK_END = b'{"Event":"SparkListenerTaskEnd"'
TASK_START = b'{"Event":"SparkListenerTaskStart"'
BUFFER_BYTES = 1 << 20


def line_loop(path: str) -> None:
    with open(path, "rb", buffering=BUFFER_BYTES) as file:
        for _ in file:
            pass


def prefix_test(path: str) -> None:
    with open(path, "rb", buffering=BUFFER_BYTES) as file:
        sum(line.startswith(TASK_END) for line in file)


def stdlib_json(path: str) -> None:
    import json

    with open(path, "rb", buffering=BUFFER_BYTES) as file:
        for line in file:
            if not line.startswith(TASK_START):
                json.loads(line)


def sparkplan(path: str) -> None:
    import engine

    engine.read(path)


READERS = {reader.__name__: reader for reader in (line_loop, prefix_test, stdlib_json, sparkplan)}


def peak_megabytes(fallback: float) -> float:
    """Peak memory of this process; `ru_maxrss` also counts that of the process that started it."""
    try:
        with open("/proc/self/status") as status:
            peaks = [line for line in status if line.startswith("VmHWM")]
    except OSError:
        return fallback
    return int(peaks[0].split()[1]) / 1024 if peaks else fallback


if __name__ == "__main__":
    READERS[sys.argv[1]](sys.argv[2])
    used = resource.getrusage(resource.RUSAGE_SELF)
    print(used.ru_utime + used.ru_stime, peak_megabytes(used.ru_maxrss / 1024))
