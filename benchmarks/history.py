"""From a log to its stages: sparkplan's reader against the history server of a real Spark.

A real log is repeated to the asked size (see ingest.py). Each reader starts as a new process, with
the log in the file cache, and is timed from its start until the stages are there: for the history
server until `/api/v1/applications/<id>/stages` has answered, for sparkplan until the profile is
made. Processor seconds are those of the process and say more than the clock on a busy machine; peak
memory is its too. A third row has sparkplan fetch the same log from that server, which then runs
already and packs it.

    SPARK_HOME=... python benchmarks/history.py [--log FILE] [--gigabytes 0.5]

Without SPARK_HOME an installed pyspark is used.
"""

from __future__ import annotations

import argparse
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from pathlib import Path

from ingest import default_log, measure, repeat

import engine

MOST_SECONDS = 600
JAVA_HEAP = "4g"
"""The server's default of 1 GB does not hold the stages of a large log."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--log", type=Path, help="an event log (default: a bundled sample)")
    parser.add_argument("--gigabytes", type=float, default=0.5)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        logs = Path(folder) / "logs"
        logs.mkdir()
        big = logs / "repeated"
        tasks = repeat(args.log or default_log(), big, int(args.gigabytes * 1e9))
        print(f"{big.stat().st_size / 1e6:.0f} MB, {tasks} finished tasks")
        ours_cpu, ours_seconds, ours_megabytes = measure("sparkplan", big)
        with Server(logs, Path(folder)) as server:
            theirs_seconds = server.stages()
            theirs = (theirs_seconds, server.processor_seconds(), server.peak_megabytes())
            start = time.perf_counter()
            engine.read(server.url)
            fetched_seconds = time.perf_counter() - start
        print(
            f"{'':36}{'clock s':>9}{'ratio':>7}{'cpu s':>9}{'ratio':>7}{'peak MB':>9}{'ratio':>7}"
        )
        for title, measured in (
            ("history server: start to stages", theirs),
            ("sparkplan: start to profile", (ours_seconds, ours_cpu, ours_megabytes)),
            ("sparkplan: fetched from the server", (fetched_seconds,)),
        ):
            pairs = zip(measured, theirs, strict=False)
            print(f"{title:36}" + "".join(f"{own:9.2f}{their / own:7.1f}" for own, their in pairs))


class Server:
    """The history server as a process of its own, while the context lasts."""

    def __init__(self, logs: Path, work: Path) -> None:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._command = [str(spark_home() / "bin" / "spark-class")]
        self._command.append("org.apache.spark.deploy.history.HistoryServer")
        options = f"-Dspark.history.fs.logDirectory={logs.as_uri()} -Dspark.history.ui.port={port}"
        self._environment = {
            **os.environ,
            "SPARK_HISTORY_OPTS": options,
            "SPARK_DAEMON_MEMORY": JAVA_HEAP,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOG_DIR": str(work),
        }
        self._said = work / "server.log"

    def __enter__(self) -> Server:
        self._started = time.perf_counter()
        with self._said.open("wb") as said:
            self._process = subprocess.Popen(
                self._command, env=self._environment, stdout=said, stderr=said
            )
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait()

    def stages(self) -> float:
        """Seconds from the start until the stages of the only application are there."""
        while time.perf_counter() - self._started < MOST_SECONDS:
            try:
                (application,) = json.loads(self._get(""))
                self._get(f"/{application['id']}/stages")
                return time.perf_counter() - self._started
            except (ValueError, OSError):
                if self._process.poll() is not None:
                    break
                time.sleep(0.05)
        sys.exit(f"the history server did not answer: {self._said.read_text()[-1000:]}")

    def _get(self, path: str) -> bytes:
        address = f"{self.url}/api/v1/applications{path}"
        with urllib.request.urlopen(address, timeout=MOST_SECONDS) as answer:
            found: bytes = answer.read()
            return found

    def processor_seconds(self) -> float:
        """Processor time of the server so far; spark-class becomes the Java process."""
        stat = Path(f"/proc/{self._process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(stat[11]) + int(stat[12])) / os.sysconf("SC_CLK_TCK")

    def peak_megabytes(self) -> float:
        """Most memory that the server has held."""
        status = Path(f"/proc/{self._process.pid}/status").read_text().splitlines()
        (line,) = (line for line in status if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024


def spark_home() -> Path:
    named = os.environ.get("SPARK_HOME")
    if named:
        return Path(named)
    try:
        import pyspark
    except ImportError:
        sys.exit("no Spark here: set SPARK_HOME or install pyspark")
    return Path(pyspark.__file__).parent


if __name__ == "__main__":
    main()
