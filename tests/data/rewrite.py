"""Writes the events of a text again with Spark's own writer of event logs; `make_logs.py` runs it
with `spark-submit rewrite.py TEXT FOLDER CODEC ...`. Each codec gives a whole log, and one of an
application that was killed before its last stage ended."""

from __future__ import annotations

import json
import os
import signal
import sys
from pathlib import Path
from typing import Any

from pyspark import SparkContext

NOT_FLUSHED = ("StageSubmitted", "TaskStart", "TaskGettingResult", "TaskEnd", "EnvironmentUpdate",
               "BlockUpdated", "ResourceProfileAdded")  # fmt: skip
"""Events after which `EventLoggingListener` leaves its buffers as they are."""


def write(jvm: Any, lines: list[str], folder: Path, name: str, codec: str, *, close: bool) -> None:
    """One log, flushed where Spark flushes."""
    conf = jvm.org.apache.spark.SparkConf(False)
    conf.set("spark.eventLog.compress", "true").set("spark.eventLog.compression.codec", codec)
    writer = jvm.org.apache.spark.deploy.history.SingleEventLogFileWriter(
        name, jvm.scala.Option.apply(None), jvm.java.net.URI(folder.as_uri()), conf,
        jvm.org.apache.hadoop.conf.Configuration(),
    )  # fmt: skip
    writer.start()
    for line in lines:
        event = json.loads(line)["Event"].removeprefix("SparkListener")
        writer.writeEvent(line, event not in NOT_FLUSHED)
    if close:
        writer.stop()


def main() -> None:
    text, folder = Path(sys.argv[1]), Path(sys.argv[2])
    lines = text.read_text(encoding="utf-8").splitlines()
    last = max(n for n, line in enumerate(lines) if "StageCompleted" in line[:60])
    jvm: Any = SparkContext()._jvm
    for codec in sys.argv[3:]:
        write(jvm, lines, folder, "whole", codec, close=True)
        write(jvm, lines[:last], folder, "killed", codec, close=False)
    os.kill(int(jvm.ProcessHandle.current().pid()), signal.SIGKILL)


if __name__ == "__main__":
    main()
