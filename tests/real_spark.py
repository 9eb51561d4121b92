"""A real Spark, where this machine has one, for tests that skip without it."""

import importlib.util
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

STARTS_WITHIN_SECONDS = 90

SHORT_LIVED = {"JDK_JAVA_OPTIONS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"}
"""In the environment of a JVM that lives for seconds: compiling for a long life costs it as much
processor time again."""


def spark_home() -> Path | None:
    """The folder of a Spark: `SPARK_HOME`, else that of an installed pyspark; None without Java."""
    named = os.environ.get("SPARK_HOME")
    installed = importlib.util.find_spec("pyspark")
    if named:
        home = Path(named)
    elif installed is not None and installed.origin:
        home = Path(installed.origin).parent
    else:
        return None
    java = shutil.which("java") or os.environ.get("JAVA_HOME")
    return home if java and (home / "bin" / "spark-class").is_file() else None


@contextmanager
def history_server(
    home: Path, logs: Path, work: Path, settings: Mapping[str, str]
) -> Iterator[str]:
    """The address of a real history server over a folder of logs, once it answers."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = {
        "spark.history.fs.logDirectory": logs.as_uri(),
        "spark.history.ui.port": str(port),
        "spark.history.fs.update.interval": "1s",
        **settings,
    }
    environment = {
        **os.environ,
        **SHORT_LIVED,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOG_DIR": str(work),
        "SPARK_HISTORY_OPTS": " ".join(f"-D{key}={value}" for key, value in options.items()),
    }
    command = [str(home / "bin" / "spark-class"), "org.apache.spark.deploy.history.HistoryServer"]
    with (work / "history-server.log").open("wb") as said:
        server = subprocess.Popen(command, env=environment, stdout=said, stderr=said)
    try:
        until = time.monotonic() + STARTS_WITHIN_SECONDS
        while server.poll() is None and time.monotonic() < until:
            with socket.socket() as probe:
                probe.settimeout(1.0)
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.2)
        else:
            raise RuntimeError((work / "history-server.log").read_text()[-2000:])
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        try:
            server.wait(20)
        except subprocess.TimeoutExpired:
            server.kill()
            server.wait()
