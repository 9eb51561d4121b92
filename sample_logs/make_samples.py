"""Runs real Spark jobs and turns their event logs into the samples of this folder.

    python -m sample_logs.make_samples [--list] [--work FOLDER] [--out FOLDER] [NAME ...]

Needs Java, `pip install 'sparkplan[spark]'` (or a Spark of your own: SPARK_HOME, or spark-submit
on PATH), two cores, 4 GB of memory and 2 GB of disk; takes about a quarter of an hour. Jobs run
one after the other and never get more than two executor cores in all, so that each task has a
core of its own: give them a machine that does nothing else.

Everything happens in a neutral folder, shown as /data in the logs. Before a log is stored, what
tells of the machine is taken out of every event (README.md lists it), and the script fails when
anything is left.
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import zstandard

from sample_logs import inputs
from sample_logs.scrub import USER, Machine, Scrubber, leaks

HERE = Path(__file__).parent
CLUSTER = "local-cluster[2,1,1024]"
"""Two worker processes of one core and 1 GiB, each with an executor: what two cores can bear."""

COMMON = {
    "spark.eventLog.enabled": "true",
    "spark.executor.memory": "1g",
    "spark.driver.memory": "1g",
    # An executor of one core is to behave like one: no more threads to collect and compile.
    "spark.executor.extraJavaOptions": "-XX:ActiveProcessorCount=1",
    "spark.ui.enabled": "false",
    # All executors are on one host; blocks still go over the network, as between two machines.
    "spark.shuffle.readHostLocalDisk": "false",
}
BLOCKS = {
    # What the job caches, and how much of it: without these the log does not tell.
    "spark.eventLog.logBlockUpdates.enabled": "true",
    "spark.taskMetrics.trackUpdatedBlockStatuses": "true",
}


@dataclass(frozen=True)
class Sample:
    """One sample: which job on which input.

    Args:
        name: name of the sample and its log; its application is called the same for all sizes.
        job: file in `jobs/`.
        make_input: writes the input into the folder it is given.
        tables: what `make_tables.py` gets to make the input, where Spark has to write it.
        master: Spark master.
        conf: Spark properties beside the common ones.
        arguments: what the job gets after its input and output folders.
        rolling: whether Spark writes the log as a rolling folder.
    """

    name: str
    job: str
    make_input: Callable[[Path], None] | None = None
    tables: tuple[str, ...] = ()
    master: str = CLUSTER
    conf: Mapping[str, str] = field(default_factory=dict)
    arguments: tuple[str, ...] = ()
    rolling: bool = False

    @property
    def application(self) -> str:
        """The name without its size, so that the logs of one job are known to belong together."""
        return self.name.removesuffix("-small").removesuffix("-large")


def _nightly(name: str, hours: int, users: int) -> Sample:
    return Sample(
        name,
        "nightly_features.py",
        partial(inputs.clicks, hours=hours, rows_per_hour=24_000, users=users),
        conf={
            "spark.sql.files.maxPartitionBytes": "1m",  # never two hourly files in one task
            "spark.sql.shuffle.partitions": "200",
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "1m",  # merges small ones only
        },
    )


def _sales(name: str, rows: int, files: int) -> Sample:
    return Sample(
        name,
        "sales_report.py",
        conf={
            "spark.sql.files.maxPartitionBytes": "8m",
            "spark.sql.autoBroadcastJoinThreshold": "1m",  # the customers are shuffled
            "spark.sql.adaptive.advisoryPartitionSizeInBytes": "4m",
        },
        tables=(str(rows), str(files)),
    )


def _als(name: str, ratings: int, users: int, films: int) -> Sample:
    make_input = partial(inputs.ratings, count=ratings, users=users, films=films)
    conf = {**BLOCKS, "spark.sql.files.maxPartitionBytes": "1m"}
    return Sample(name, "movie_als.py", make_input, conf=conf, arguments=("10",))


def _pagerank(name: str, links: int, pages: int) -> Sample:
    make_input = partial(inputs.links, count=links, pages=pages)
    return Sample(name, "pagerank.scala", make_input, conf=BLOCKS, arguments=("10",))


def _stream(name: str, files_per_batch: int, *, rolling: bool = False) -> Sample:
    return Sample(
        name,
        "order_stream.py",
        partial(inputs.orders, files=12 * files_per_batch, rows=6_000),
        conf={"spark.sql.shuffle.partitions": "16"},
        arguments=(str(files_per_batch), "10 seconds"),
        rolling=rolling,
    )


def _core(name: str, job: str, make_input: Callable[[Path], None], master: str) -> Sample:
    return Sample(name, job, make_input, master=master)


SAMPLES = (
    _nightly("nightly-features", hours=240, users=180_000),
    _nightly("nightly-features-small", hours=48, users=36_000),
    _sales("sales-report-small", rows=3_000_000, files=24),
    _sales("sales-report-large", rows=9_000_000, files=72),
    _als("movie-als-small", ratings=400_000, users=8_000, films=2_000),
    _als("movie-als-large", ratings=1_200_000, users=24_000, films=4_000),
    _pagerank("pagerank-small", links=400_000, pages=40_000),
    _pagerank("pagerank-large", links=1_600_000, pages=160_000),
    _stream("order-stream-small", 4),
    _stream("order-stream-large", 8, rolling=True),
    _core("word-count-small", "word_count.scala", partial(inputs.text, files=16), "local[2]"),
    _core("word-count-large", "word_count.scala", partial(inputs.text, files=64), "local[2]"),
    _core("sort-small", "sort.scala", partial(inputs.records, files=10), CLUSTER),
    _core("sort-large", "sort.scala", partial(inputs.records, files=40), CLUSTER),
)


def spark_home() -> Path:
    """Where Spark is: SPARK_HOME, else the pyspark package, else next to spark-submit on PATH."""
    if "SPARK_HOME" in os.environ:
        return Path(os.environ["SPARK_HOME"])
    package = importlib.util.find_spec("pyspark")
    if package and package.origin:
        return Path(package.origin).parent
    submit = shutil.which("spark-submit")
    if submit is None:
        raise SystemExit("no Spark found: pip install 'sparkplan[spark]', or set SPARK_HOME")
    return Path(submit).resolve().parent.parent


def run_job(sample: Sample, home: Path, work: Path) -> Path:
    """Runs the job of a sample in `work`; returns the folder that holds its event log."""
    data, logs = work / "input" / sample.name, work / "logs" / sample.name
    out = work / "output" / sample.name
    for folder in (data, logs, out):
        shutil.rmtree(folder, ignore_errors=True)
    logs.mkdir(parents=True)
    # The jobs are copied: call sites in the log name the file that is run.
    shutil.copytree(HERE / "jobs", work / "jobs", dirs_exist_ok=True)
    spark = Spark(home, work, sample)
    spark.console.unlink(missing_ok=True)
    if sample.make_input is not None:
        sample.make_input(data)
    if sample.tables:
        spark.run("make_tables.py", (data.as_uri(), *sample.tables), {})
    conf = {**COMMON, **sample.conf, "spark.eventLog.dir": logs.as_uri()}
    if sample.rolling:
        conf["spark.eventLog.rolling.enabled"] = "true"
    spark.run(sample.job, (data.as_uri(), out.as_uri(), *sample.arguments), conf)
    shutil.rmtree(out, ignore_errors=True)
    shutil.rmtree(data)
    for log in logs.iterdir():  # executors of local-cluster leave their consoles here
        shutil.rmtree(home / "work" / log.name, ignore_errors=True)
    return logs


@dataclass(frozen=True)
class Spark:
    """Starts the jobs of a sample."""

    home: Path
    work: Path
    sample: Sample

    @property
    def console(self) -> Path:
        """What Spark printed while it ran the jobs of this sample."""
        return self.work / f"{self.sample.name}.console"

    def run(self, job: str, arguments: tuple[str, ...], conf: Mapping[str, str]) -> None:
        """Runs a job of `jobs/` to its end."""
        path = str(self.work / "jobs" / job)
        if job.endswith(".scala"):  # the shell takes no arguments
            conf = {**conf, "spark.sample.arguments": " ".join(arguments)}
            program, tail = "spark-shell", ["-i", path]
        else:
            program, tail = "spark-submit", [path, *arguments]
        options = ["--master", self.sample.master, "--name", self.sample.application]
        options += [part for item in conf.items() for part in ("--conf", "=".join(item))]
        self._call([str(self.home / "bin" / program), *options, *tail])

    def _call(self, command: list[str]) -> None:
        environment = {
            **os.environ,
            "SPARK_HOME": str(self.home),
            "SPARK_LOCAL_IP": "127.0.0.1",
            "SPARK_LOCAL_DIRS": str(self.work / "local"),
            "SPARK_USER": USER,
            "TZ": "UTC",
        }
        with self.console.open("a") as out:
            code = subprocess.run(
                command, cwd=self.work, env=environment, stdin=subprocess.DEVNULL,
                stdout=out, stderr=subprocess.STDOUT, check=False,
            ).returncode  # fmt: skip
        if code:
            raise SystemExit(f"{self.sample.name}: Spark ended with {code}, see {self.console}")


def store(sample: Sample, logs: Path, machine: Machine, out: Path) -> Path:
    """Scrubs, checks and compresses the log of a sample into `out`; returns what it made."""
    (found,) = logs.iterdir()
    if not sample.rolling:
        return _store_file(found, out / f"{sample.name}.zstd", machine)
    # Spark ends each of these names with the application's identifier, new in each run.
    folder = out / f"eventlog_v2_{sample.name}"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    (folder / f"appstatus_{sample.name}").touch()
    for part in found.glob("events_*"):
        number = part.name.split("_")[1]
        _store_file(part, folder / f"events_{number}_{sample.name}.zstd", machine)
    return folder


def _store_file(log: Path, target: Path, machine: Machine) -> Path:
    scrubber = Scrubber(machine)
    with log.open(encoding="utf-8") as lines:
        text = "".join(scrubber.line(line) + "\n" for line in lines)
    left = leaks(text, machine)
    if left:
        raise SystemExit(f"{log}: still tells of this machine: {left[:5]}")
    compressor = zstandard.ZstdCompressor(level=19, write_content_size=True)
    target.write_bytes(compressor.compress(text.encode()))
    return target


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME", help="samples to make (all)")
    parser.add_argument("--list", action="store_true", help="print the names and stop")
    parser.add_argument("--out", type=Path, default=HERE, help="where to put the logs")
    work = Path(tempfile.gettempdir()) / "sparkplan-samples"
    parser.add_argument("--work", type=Path, default=work, help="where the jobs run")
    options = parser.parse_args()
    if unknown := set(options.names) - {sample.name for sample in SAMPLES}:
        parser.error(f"no such sample: {', '.join(sorted(unknown))}; --list prints the names")
    return options


def main() -> None:
    """Makes the samples named on the command line, one after the other."""
    options = _options()
    chosen = [sample for sample in SAMPLES if not options.names or sample.name in options.names]
    if options.list:
        print("\n".join(sample.name for sample in chosen))
        return
    home, work = spark_home().resolve(), options.work.resolve()
    for folder in (work, options.out):
        folder.mkdir(parents=True, exist_ok=True)
    machine = Machine.this_one(work, home)
    for sample in chosen:
        begun = time.monotonic()
        made = store(sample, run_job(sample, home, work), machine, options.out)
        print(f"{sample.name}: {made.name}, {time.monotonic() - begun:.0f} s", flush=True)


if __name__ == "__main__":
    main()
