"""Takes everything that tells of the machine out of an event log and leaves a normal log.

What is taken out or replaced stands in README.md. `leaks` finds what may have been overlooked; the
script that makes the samples refuses to write a log in which it finds anything.
"""

from __future__ import annotations

import getpass
import json
import re
import socket
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

HOST = "worker-1"
USER = "analyst"
LOOPBACK = ("127.0.0.1", "127.0.1.1", "localhost", "::1")

SPARK_PROPERTIES = re.compile(
    r"spark\.(app\.(id|name|startTime)|master|submit\.deployMode|default\.parallelism"
    r"|driver\.(cores|memory)|executor\.(id|cores|memory|instances)|cores\.max|task\..*"
    r"|eventLog\.(?!dir).*|taskMetrics\..*|memory\..*|shuffle\..*|serializer|rdd\.compress"
    r"|scheduler\.mode|locality\..*|dynamicAllocation\..*|sql\.(?!warehouse|catalogImplement).*"
    r"|(glue|emr-serverless|dataproc|databricks|native|comet)\..*|cluster\.type|repl\.local\.jars)"
)
"""Properties of the application that a reader of event logs may want; all others are dropped."""

JOB_PROPERTIES = re.compile(
    r"spark\.(job\..*|jobGroup\.id|rdd\.scope.*|sql\.execution\..*|scheduler\.pool)"
    r"|(sql\.streaming|streaming\.sql|callSite|__fetch).*"
)
"""Properties of one job; those of `SPARK_PROPERTIES` are kept as well."""

WORDS_OF_SPARK = {"spark", "hadoop", "java", "scala", "data", "local", "user", "worker"}
"""A user or host with such a name cannot be told from Spark's own words outside its field."""


@dataclass(frozen=True)
class Machine:
    """Names of the machine that must not show: paths with what stands for them, hosts, the user."""

    paths: tuple[tuple[str, str], ...]
    hosts: tuple[str, ...]
    user: str

    @classmethod
    def this_one(cls, work: Path, spark_home: Path) -> Machine:
        """The machine that the script runs on; `work` is shown as /data."""
        paths = {
            str(work): "/data",
            str(spark_home): "/usr/lib/spark",
            tempfile.gettempdir(): "/data/scratch",
            str(Path.home()): f"/home/{USER}",
        }
        # The longest first: one of these folders may lie in another.
        ordered = tuple(sorted(paths.items(), key=lambda item: -len(item[0])))
        return cls(ordered, tuple(dict.fromkeys((*_hosts(), *LOOPBACK))), getpass.getuser())


def _hosts() -> Iterator[str]:
    name = socket.gethostname()
    yield from (socket.getfqdn(), name, name.split(".")[0])
    try:
        for *_, address in socket.getaddrinfo(name, None):
            yield str(address[0])
    except OSError:  # a machine that cannot resolve its own name has no more to hide
        return
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # sends nothing: asks which address would be used
            yield probe.getsockname()[0]
        except OSError:
            return


class Scrubber:
    """Scrubs one event after the other; the same name always gets the same stand-in."""

    def __init__(self, machine: Machine) -> None:
        self._stand_ins = {**dict(machine.paths), **dict.fromkeys(machine.hosts, HOST)}
        # Lower case too: some parts of Spark print host names that way.
        paths = [re.escape(path) + r"(?![\w-])" for path, _ in machine.paths]
        hosts = [rf"(?<![\w.-]){re.escape(host)}(?![\w-])" for host in _private(machine.hosts)]
        self._pattern = re.compile("|".join(paths + hosts))

    def line(self, line: str) -> str:
        """One line of the log (one event) without the machine's names."""
        event = json.loads(line)
        _reduce(event)
        return json.dumps(self._walk(event), separators=(",", ":"), ensure_ascii=False)

    def _walk(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._pattern.sub(lambda match: self._stand_ins[match[0]], value)
        if isinstance(value, list):
            return [self._walk(item) for item in value]
        if isinstance(value, dict):
            return {key: self._walk(item) for key, item in value.items()}
        return value


def _private(names: Iterable[str]) -> list[str]:
    return [name for name in names if name and name.lower() not in WORDS_OF_SPARK]


def _reduce(event: dict[str, Any]) -> None:
    """Empties the parts of an event that tell of the machine alone; the parts themselves stay."""
    kind = event["Event"]
    if kind == "SparkListenerEnvironmentUpdate":
        event["JVM Information"].pop("Java Home", None)
        event["Spark Properties"] = _kept(event["Spark Properties"], SPARK_PROPERTIES)
        for part in ("Hadoop", "System", "Metrics"):
            event[f"{part} Properties"] = {}
        event["Classpath Entries"] = {}
    elif kind == "SparkListenerApplicationStart":
        event["User"] = USER
        event.pop("Driver Logs", None)
        event.pop("Driver Attributes", None)
    elif kind == "SparkListenerExecutorAdded":
        event["Executor Info"]["Log Urls"] = {}
        event["Executor Info"]["Attributes"] = {}
    if "Properties" in event:
        event["Properties"] = _kept(event["Properties"], SPARK_PROPERTIES, JOB_PROPERTIES)


def _kept(properties: dict[str, str], *patterns: re.Pattern[str]) -> dict[str, str]:
    return {
        key: value
        for key, value in properties.items()
        if any(pattern.fullmatch(key) for pattern in patterns)
    }


def leaks(text: str, machine: Machine) -> list[str]:
    """What in the text still tells of a machine: its names, common roots of paths, addresses."""
    names = [re.escape(name) for name in _private([*machine.hosts, machine.user])]
    # Each begins with what it looks for, what must not stand before that comes after it: so a
    # text is searched ten times as fast.
    patterns = [rf"{name}(?<![\w.-]{name})(?![\w-])" for name in names]
    patterns += [re.escape(path) + r"(?![\w-])" for path, _ in machine.paths]
    patterns += [r"/(?<![\w/]/)(?:root|tmp|opt|work|Users|var|mnt|private)(?![\w-])"]
    patterns += [r"\d(?<![\w.-]\d)\d{0,2}(?:\.\d{1,3}){3}(?![\w.-])"]
    if not any(re.search(pattern, text) for pattern in patterns):
        return []
    found = re.finditer("|".join(patterns), text)
    return sorted({text[max(0, hit.start() - 40) : hit.end() + 20] for hit in found})
