"""Predictions from logs of small runs against larger runs, measured with real Spark.

    python benchmarks/logs.py [--held-out [--jobs NAMES]] [--folder FOLDER] [--repeats N]

Makes logs (about eight minutes; needs Java and `pip install 'sparkplan[spark]'`, or SPARK_HOME), or
takes those that FOLDER already holds, and prints for each question which logs a model was given,
which run it was asked for, predicted and measured time, and whether that lies inside the interval.

Two executors of one core each at most, so that every task has a core of its own; input size is the
main axis. `iterate` keeps its input in executor memory: its largest run does not fit there, and
with more memory does. Other programs disturb: with `--repeats N` each run is made N times and the
fastest counts, and `busy` says which share of their time its tasks computed.

`--held-out` makes the runs of `held_out.py` instead (512 runs, over six hours on an idle machine;
its MLlib jobs need numpy in Spark's Python, `grouped_frames`, `vectorised`, `two_core_tasks` and
`cogrouped` pandas and pyarrow) and prints errors and how often intervals hold, by job and by
question; `--jobs windows,words` makes and asks those alone.
"""

from __future__ import annotations

import argparse
import gzip
import os
import random
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import held_out
import held_out_runs
from held_out_runs import Made
from tables import print_table

import engine
from engine.cluster import Cluster, Workload
from engine.errors import EngineError
from engine.models import MODELS
from engine.profile import Profile, Run

JOBS = Path(__file__).with_name("spark_jobs.py")
TABLE_JOBS = Path(__file__).with_name("table_jobs.py")
OF_SCRIPTS = {
    "table_jobs.py": held_out_runs.TABLE_JOBS,
    "library_jobs.py": held_out_runs.LIBRARY_JOBS,
    "analysis_jobs.py": held_out_runs.ANALYSIS_JOBS,
    "pipeline_jobs.py": held_out_runs.PIPELINE_JOBS,
    "warehouse_jobs.py": held_out_runs.WAREHOUSE_JOBS,
    "platform_jobs.py": held_out_runs.PLATFORM_JOBS,
    "service_jobs.py": held_out_runs.SERVICE_JOBS,
    "record_jobs.py": held_out_runs.RECORD_JOBS,
    "cache_jobs.py": held_out_runs.CACHE_JOBS,
    "classic_jobs.scala": held_out_runs.CLASSIC_JOBS,
}
"""The jobs of each script; all others are those of `spark_jobs.py`."""

LINES_PER_FILE = 125_000
BYTES_PER_FILE = 44.0 * LINES_PER_FILE
"""One input file is one partition."""


SETTINGS = {"spark.sql.shuffle.partitions": "16", **held_out_runs.SETTINGS}
SMALL, ROOMY = 512, 1024
AGGREGATE = [Made("aggregate", files, 2, ROOMY) for files in (6, 12, 24, 72)]
AGGREGATE_ONE = Made("aggregate", 24, 1, ROOMY)
ITERATE = [Made("iterate", files, 2, SMALL) for files in (6, 12, 24, 72)]
ITERATE_ROOMY = Made("iterate", 72, 2, ROOMY)

QUESTIONS: tuple[tuple[str, tuple[Made, ...], Made], ...] = (
    ("one small log, 2x", (AGGREGATE[0],), AGGREGATE[1]),
    ("one small log, 12x", (AGGREGATE[0],), AGGREGATE[3]),
    ("two small logs, 6x", tuple(AGGREGATE[:2]), AGGREGATE[3]),
    ("three logs, 3x", tuple(AGGREGATE[:3]), AGGREGATE[3]),
    ("one log, twice the cores", (AGGREGATE_ONE,), AGGREGATE[2]),
    ("one log, half the cores", (AGGREGATE[2],), AGGREGATE_ONE),
    ("large log, a twelfth", (AGGREGATE[3],), AGGREGATE[0]),
    ("two small logs, cache fits", tuple(ITERATE[:2]), ITERATE[2]),
    ("two small logs, cache does not fit", tuple(ITERATE[:2]), ITERATE[3]),
    ("three logs, cache does not fit", tuple(ITERATE[:3]), ITERATE[3]),
    ("two small logs, more memory: fits", tuple(ITERATE[:2]), ITERATE_ROOMY),
    ("log that did not fit, more memory: fits", (ITERATE[3],), ITERATE_ROOMY),
)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--folder", type=Path, help="where logs are kept (a temporary one)")
    parser.add_argument("--repeats", type=int, default=1, help="times each run is made")
    parser.add_argument("--held-out", action="store_true", help="the jobs of held_out.py")
    parser.add_argument("--jobs", type=chosen_jobs, help="with --held-out: only these, with commas")
    options = parser.parse_args()
    if options.jobs and not options.held_out:
        parser.error("--jobs chooses among the jobs of --held-out")
    with tempfile.TemporaryDirectory(prefix="sparkplan-logs-") as temporary:
        folder = (options.folder or Path(temporary)).resolve()
        if options.held_out:
            jobs = options.jobs or tuple(held_out_runs.JOBS)
            for made in held_out_runs.runs(jobs):
                make_held_out(made, folder, options.repeats)
            held_out.show(folder, jobs)
            return
        wanted = list(
            dict.fromkeys(run for _, known, asked in QUESTIONS for run in (*known, asked))
        )
        for made in wanted:
            make(made, folder, options.repeats, write_input, SETTINGS)
        show({made: fastest(made, folder) for made in wanted})


def make_held_out(made: Made, folder: Path, repeats: int) -> None:
    """Make a run of a held-out job on the input that it reads."""
    own = held_out_runs.SETTINGS_OF.get(made.job, {})
    if made.reads_store:
        make(made, folder, repeats, write_store, own)
    elif made.reads_tables:
        make(made, folder, repeats, write_tables, {**held_out_runs.TABLE_SETTINGS, **own})
    else:
        make(made, folder, repeats, held_out_runs.write_records, held_out_runs.SETTINGS)


def chosen_jobs(text: str) -> tuple[str, ...]:
    """The held-out jobs of a list with commas."""
    names = tuple(dict.fromkeys(text.split(",")))
    unknown = [name for name in names if name not in held_out_runs.JOBS]
    if unknown:
        valid = ", ".join(held_out_runs.JOBS)
        raise argparse.ArgumentTypeError(f"no such job: {', '.join(unknown)} (there are {valid})")
    return names


def make(
    made: Made,
    folder: Path,
    repeats: int,
    write: Callable[[Path, int], None],
    settings: Mapping[str, str],
) -> None:
    """Runs a job so often that `folder` holds `repeats` logs of it."""
    logs = folder / made.name
    logs.mkdir(parents=True, exist_ok=True)
    for _ in range(repeats - len(held_out.finished(logs))):
        source, out = folder / made.input, folder / "output"
        write(source, made.files)
        conf = {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": logs.as_uri(),
            "spark.eventLog.logBlockUpdates.enabled": "true",
            "spark.executor.memory": f"{made.memory_mib}m",
            "spark.driver.memory": "1g",
            "spark.executor.extraJavaOptions": f"-XX:ActiveProcessorCount={made.cores}",
            "spark.ui.enabled": "false",
            **settings,
        }
        master = f"local-cluster[{made.executors},{made.cores},{made.memory_mib}]"
        script = script_of(made.job)
        print(f"running {made.name}", file=sys.stderr, flush=True)
        submit(made.job, master, conf, script, (made.job, source.as_uri(), out.as_uri()))
        shutil.rmtree(out, ignore_errors=True)


def script_of(job: str) -> Path:
    """The program that has a job."""
    found = (name for name, jobs in OF_SCRIPTS.items() if job in jobs)
    return JOBS.with_name(next(found, JOBS.name))


def submit(
    name: str, master: str, conf: Mapping[str, str], script: Path, arguments: Sequence[str]
) -> None:
    """Runs a job; a script in Scala is pasted into a shell, which 4.0 does not read with `-i`."""
    in_shell = script.suffix == ".scala"
    wanted = "spark-shell" if in_shell else "spark-submit"
    home = os.environ.get("SPARK_HOME")
    program = str(Path(home) / "bin" / wanted) if home else shutil.which(wanted)
    if program is None:
        raise SystemExit("no Spark found: pip install 'sparkplan[spark]', or set SPARK_HOME")
    conf = {**conf, "spark.classic": ",".join(arguments)} if in_shell else conf
    options = [part for item in conf.items() for part in ("--conf", "=".join(item))]
    said = f":paste {script.resolve()}\n" if in_shell else ""
    options += [] if in_shell else [str(script), *arguments]
    with tempfile.TemporaryDirectory(prefix="sparkplan-work-") as work:
        done = subprocess.run(
            [program, "--master", master, "--name", name, *options], input=said,
            env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_DIRS": work},
            cwd=work, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode:
        raise SystemExit(f"Spark failed on {name}:\n{done.stderr[-2000:]}")


def write_tables(folder: Path, files: int) -> None:
    """The first files of a pool that Spark writes once; inputs of other sizes share them."""
    pool, most = folder.parent / "tables", max(held_out_runs.SIZES)
    if not (pool / "json" / f"part-{most - 1:04d}.json").exists():
        memory = {"spark.driver.memory": "4g", "spark.ui.enabled": "false"}
        submit("tables", "local[2]", memory, TABLE_JOBS, ("write_files", str(pool), str(most)))
    if not (pool / "people" / f"part-{most - 1:04d}.parquet").exists():
        memory = {"spark.driver.memory": "4g", "spark.ui.enabled": "false"}
        script = JOBS.with_name("warehouse_jobs.py")
        submit("sources", "local[2]", memory, script, ("write_sources", str(pool), str(most)))
    for source in (path for path in sorted(pool.glob("*/part-*")) if int(path.stem[5:]) < files):
        link = folder / source.parent.name / source.name
        link.parent.mkdir(parents=True, exist_ok=True)
        if not link.exists():
            os.link(source, link)


def write_store(folder: Path, files: int) -> None:
    """The same of the sales of a shop, and all of the gzipped files as one."""
    pool, most = folder.parent / "store", max(held_out_runs.SIZES)
    if not any((pool / "gz").glob(f"part-{most - 1:04d}.*")):
        memory = {"spark.driver.memory": "4g", "spark.ui.enabled": "false"}
        script = JOBS.with_name("classic_jobs.scala")
        submit("store", "local[2]", memory, script, ("store", str(most), str(pool)))
    for kind in (*held_out_runs.DIMENSIONS, "sales", "lines", "gz"):
        (folder / kind).mkdir(parents=True, exist_ok=True)
        for source in sorted((pool / kind).glob("part-*")):
            link = folder / kind / source.name
            if int(source.name[5:9]) < files and not link.exists():
                os.link(source, link)
    one = folder / "one.csv.gz"
    if not one.exists():
        with gzip.open(one, "wb", compresslevel=6) as out:
            for number, source in enumerate(sorted((folder / "gz").glob("*.gz"))):
                lines = gzip.decompress(source.read_bytes())
                out.write(lines if number == 0 else lines.partition(b"\n")[2])


def write_input(folder: Path, files: int) -> None:
    """CSV files of random numbers, the same block of lines again and again."""
    if folder.exists():
        return
    folder.mkdir(parents=True)
    draw = random.Random(1).random
    block = "".join(f"{draw():.8f},{draw():.8f},{draw():.8f},{draw():.8f}\n" for _ in range(25_000))
    for number in range(files):
        with (folder / f"part-{number:04d}.csv").open("w") as out:
            for _ in range(LINES_PER_FILE // 25_000):
                out.write(block)


def fastest(made: Made, folder: Path) -> Run:
    """The fastest of a run's repetitions."""
    runs = [engine.read(log).runs[0] for log in held_out.finished(folder / made.name)]
    return min(runs, key=lambda run: run.seconds)


def show(runs: dict[Made, Run]) -> None:
    rows: list[tuple[str, ...]] = [
        ("run", "input MB", "slots", "seconds", "busy %", "cached MB", "storage MB")
    ]
    rows += [(made.name, *map(str, facts(run))) for made, run in runs.items()]
    print_table(rows, apart=True)
    rows = [("question", "model", "measured s", "predicted s", "off %", "inside 90 %", "warned")]
    for name, known, asked in QUESTIONS:
        for model in MODELS:
            row = answer(model.name, {made: runs[made] for made in known}, runs[asked], asked)
            if row is not None:
                rows.append((name, model.name, *row))
    print_table(rows, apart=True)


def facts(run: Run) -> tuple[object, ...]:
    ran = sum(s.run_seconds.total for s in run.stages if s.run_seconds)
    cpu = sum(s.cpu_seconds.total for s in run.stages if s.cpu_seconds)
    return (
        round((run.workload.input_bytes or 0.0) / 1e6),
        run.cluster.slots,
        round(run.seconds, 1),
        round(100 * cpu / ran) if ran else "-",
        "-" if run.cached_bytes is None else round(run.cached_bytes / 1e6),
        round((run.storage_memory_bytes or 0.0) / 1e6),
    )


def answer(model: str, known: Mapping[Made, Run], asked: Run, made: Made) -> tuple[str, ...] | None:
    """What a model says of a run; None where it does not fit the evidence."""
    sized = [replace(run, workload=Workload(size_of(source))) for source, run in known.items()]
    profile = Profile(made.job, tuple(sized), category="sql")
    cluster = Cluster.of_executors(
        executors=made.executors, executor_cores=1, executor_memory_gib=made.memory_mib / 1024.0
    )
    try:
        fitted = engine.fit(profile, model=model)
        found = fitted.predict(cluster=cluster, workload=Workload(size_of(made)))
    except EngineError:
        return None
    inside = "-"
    if found.low is not None and found.high is not None:
        inside = "yes" if found.low <= asked.seconds <= found.high else "no"
    warned = "yes" if any(n.code == "cache-does-not-fit" for n in found.warnings) else ""
    off = 100.0 * (found.seconds / asked.seconds - 1.0)
    return f"{asked.seconds:.1f}", f"{found.seconds:.1f}", f"{off:+.1f}", inside, warned


def size_of(made: Made) -> float:
    """Bytes of a run's input files: a log of a cache that does not fit tells its re-reads too."""
    return made.files * BYTES_PER_FILE


if __name__ == "__main__":
    main()
