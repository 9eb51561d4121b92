"""Training runs through a spark-submit that is a script: logs, resuming, failures, nothing lost."""

import json
import sys
import time
from pathlib import Path

import pytest
from real_spark import SHORT_LIVED, spark_home

import engine
from engine.collect import MANIFEST, collect_runs, read_manifest
from engine.errors import BadInput
from engine.experiments.commands import Job, template_of, training_runs
from engine.experiments.plans import Experiment
from engine.sources.training_manifest import changed_files, code_hashes, code_notices

HOME = spark_home()

SAMPLE = Path(__file__).parents[2] / "sample_logs" / "word-count-small.zstd"

FAKE = """#!{python}
import shutil, sys, time
from pathlib import Path
from urllib.parse import urlparse
words = sys.argv[1:]
conf = dict(w.split("=", 1) for w in words if w.startswith("spark."))
folder = Path(urlparse(conf["spark.eventLog.dir"]).path)
with open({calls!r}, "a") as calls:
    calls.write(" ".join(words) + "\\n")
if "slow" in words:
    (folder / "app.inprogress").write_text("half")
    time.sleep(60)
if "fail" in words:
    (folder / "app.zstd.inprogress").write_text("half")
    print("at line 1")
    print("java.lang.IllegalStateException: \\x1b[31mno such table")
    print("shutting down")
    sys.exit(7)
if "unfinished" in words:
    (folder / "app.zstd.inprogress").write_text("half")
elif "silent" not in words:
    shutil.copy({sample!r}, folder / "app-1.zstd")
"""


@pytest.fixture
def fake(tmp_path: Path) -> Path:
    script = tmp_path / "spark-submit"
    script.write_text(
        FAKE.format(python=sys.executable, calls=str(tmp_path / "calls"), sample=str(SAMPLE))
    )
    script.chmod(0o755)
    return script


def calls(fake: Path) -> list[str]:
    path = fake.parent / "calls"
    return path.read_text().splitlines() if path.exists() else []


PLANNED = (Experiment(1, 0.1), Experiment(2, 0.05))


def job(fake: Path, template: str = "job.py --share {fraction}") -> Job:
    return Job(template_of(template), str(fake), executors_per_node=2, executor_cores=4)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def test_logs_appear_and_the_folder_predicts(fake: Path, tmp_path: Path) -> None:
    runs = training_runs(PLANNED, job(fake))
    outcomes = list(collect_runs(runs, job(fake), tmp_path / "logs"))
    assert [outcome.status for outcome in outcomes] == ["done", "done"]
    assert visible(tmp_path / "logs") == ["nodes1-input10pc-seed1", "nodes2-input5pc-seed1"]
    profile = engine.read(str(tmp_path / "logs"))
    assert len(profile.runs) >= 1
    assert engine.fit(profile).predict(cluster=profile.runs[0].cluster).seconds > 0.0
    assert set(read_manifest(tmp_path / "logs")) == {run.name for run in runs}


def test_a_second_call_resumes_and_overwrites_nothing(fake: Path, tmp_path: Path) -> None:
    folder, runs = tmp_path / "logs", training_runs(PLANNED, job(fake))
    list(collect_runs(runs[:1], job(fake), folder))
    (folder / runs[0].name).write_text("mine")
    outcomes = list(collect_runs(runs, job(fake), folder))
    assert [outcome.status for outcome in outcomes] == ["kept", "done"]
    assert (folder / runs[0].name).read_text() == "mine"
    assert len(calls(fake)) == 2


def with_code(fake: Path, text: str) -> Job:
    program = fake.parent / "job.py"
    program.write_text(text)
    modules = f"--py-files {fake.parent}/lib.zip,s3://x/y.zip"
    return job(fake, f"{modules} {program} --share {{fraction}}")


def test_logs_of_another_version_of_the_code_are_named(fake: Path, tmp_path: Path) -> None:
    """Ernest 5: a model is of one version of the code; hashes of the files tell a change."""
    folder, runs = tmp_path / "logs", training_runs(PLANNED, job(fake))
    first = with_code(fake, "print(1)\n")
    list(collect_runs(runs[:1], first, folder))
    same = with_code(fake, "print(1)\n")
    assert [outcome.changed for outcome in collect_runs(runs[:1], same, folder)] == [()]
    assert "code-changed" not in {notice.code for notice in engine.read(str(folder)).notices}
    other = with_code(fake, "print(2)\n")
    program = str(tmp_path / "job.py")
    dry = list(collect_runs(runs, other, folder, dry_run=True))
    assert [(found.status, found.changed) for found in dry] == [
        ("kept", (program,)),
        ("planned", ()),
    ]
    made = list(collect_runs(runs, other, folder))
    assert [(found.status, found.changed) for found in made] == [("kept", (program,)), ("done", ())]
    (notice,) = [n for n in engine.read(str(folder)).notices if n.code == "code-changed"]
    assert "1 of 2 training runs in logs were made by another job.py" in notice.text
    assert runs[0].name in notice.text
    (folder / runs[0].name).unlink()
    list(collect_runs(runs, other, folder))
    assert "code-changed" not in {notice.code for notice in engine.read(str(folder)).notices}


@pytest.mark.parametrize(
    "spelt", ["{0}", "file:{0}", "file://{0}", "--py-files={0}", "spark.jars=s3://x/y.jar,{0}"]
)
def test_the_program_is_hashed_however_the_command_spells_it(tmp_path: Path, spelt: str) -> None:
    """A URI of one slash, as Spark itself prints it, told no change."""
    program = tmp_path / "job.py"
    program.write_text("1")
    before = code_hashes([spelt.format(program)])
    program.write_text("2, longer")
    (name,) = changed_files(before, code_hashes([spelt.format(program)]))
    assert name.endswith(str(program))


def test_the_folder_one_stands_in_has_a_name(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It said "training runs in  were"."""
    folder = tmp_path / "logs"
    folder.mkdir()
    runs = {name: {"code": {"job.py": name}} for name in ("r1", "r2")}
    (folder / MANIFEST).write_text(json.dumps({"runs": runs}))
    monkeypatch.chdir(folder)
    (notice,) = code_notices(Path(), ["r1", "r2"])
    assert "training runs in logs were" in notice.text


def test_code_that_nobody_hashed_is_no_change(fake: Path, tmp_path: Path) -> None:
    """Manifests without hashes, and what is no manifest, say nothing of the code."""
    folder, runs = tmp_path / "logs", training_runs(PLANNED, job(fake))
    list(collect_runs(runs, with_code(fake, "1"), folder))
    entries = read_manifest(folder)
    del entries[runs[0].name]["code"]
    (folder / MANIFEST).write_text(json.dumps({"runs": entries}))
    outcomes = list(collect_runs(runs, with_code(fake, "2"), folder))
    assert [bool(outcome.changed) for outcome in outcomes] == [False, True]
    assert "code-changed" not in {notice.code for notice in engine.read(str(folder)).notices}
    for broken in ("{", '{"runs": {"a": 1}}', '{"runs": {"a": {"code": 3}}}', "[" * 100_000):
        (folder / MANIFEST).write_text(broken)
        profile = engine.read(str(folder))
        assert len(profile.runs) >= 1
        said = [one.text for one in profile.notices if one.code == "unreadable-manifest"]
        assert len(said) == (broken in ("{", "[" * 100_000)), "it was passed over in silence"
        assert all(text.startswith(f"{folder}/{MANIFEST}: is not") for text in said)


def test_a_failing_run_is_one_line_and_leaves_no_log(fake: Path, tmp_path: Path) -> None:
    folder, failing = tmp_path / "logs", job(fake, "fail {fraction}")
    outcomes = list(collect_runs(training_runs(PLANNED, failing), failing, folder))
    assert [outcome.status for outcome in outcomes] == ["failed"]
    assert "ended with 7" in outcomes[0].reason
    assert "IllegalStateException" in outcomes[0].reason
    assert "\n" not in outcomes[0].reason
    assert visible(folder) == []
    assert not list(folder.glob(".running*"))
    going = list(collect_runs(training_runs(PLANNED, failing), failing, folder, keep_going=True))
    assert [outcome.status for outcome in going] == ["failed", "failed"]
    repaired = job(fake, "good {fraction}")
    again = list(collect_runs(training_runs(PLANNED, repaired), repaired, folder))
    assert [outcome.status for outcome in again] == ["done", "done"]
    entries = read_manifest(folder)
    assert {entry["status"] for entry in entries.values()} == {"done"}


@pytest.mark.parametrize(
    ("word", "reason"), [("unfinished", "not finished"), ("silent", "no event log")]
)
def test_a_run_without_a_finished_log_failed(
    fake: Path, tmp_path: Path, word: str, reason: str
) -> None:
    given = job(fake, word)
    (outcome,) = collect_runs(training_runs(PLANNED[:1], given), given, tmp_path / "logs")
    assert outcome.status == "failed"
    assert reason in (outcome.reason or "")
    assert visible(tmp_path / "logs") == []


def test_a_run_that_takes_too_long_is_ended(fake: Path, tmp_path: Path) -> None:
    slow = job(fake, "slow")
    start = time.monotonic()
    (outcome,) = collect_runs(
        training_runs(PLANNED[:1], slow), slow, tmp_path / "logs", timeout_seconds=1.0
    )
    assert time.monotonic() - start < 30.0
    assert "stopped after 1 s" in (outcome.reason or "")
    assert visible(tmp_path / "logs") == []


def test_a_dry_run_runs_nothing(fake: Path, tmp_path: Path) -> None:
    outcomes = list(
        collect_runs(training_runs(PLANNED, job(fake)), job(fake), tmp_path / "x", dry_run=True)
    )
    assert [outcome.status for outcome in outcomes] == ["planned", "planned"]
    assert not (tmp_path / "x").exists()
    assert calls(fake) == []


def test_two_collections_do_not_share_a_folder(fake: Path, tmp_path: Path) -> None:
    folder, runs = tmp_path / "logs", training_runs(PLANNED, job(fake))
    first = collect_runs(runs, job(fake), folder)
    next(first)
    with pytest.raises(BadInput, match="another collection"):
        next(iter(collect_runs(runs, job(fake), folder)))
    assert [outcome.status for outcome in first] == ["done"]


def test_a_broken_manifest_is_not_written_over(fake: Path, tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    folder.mkdir()
    (folder / MANIFEST).write_text("{")
    with pytest.raises(BadInput, match="not a manifest"):
        list(collect_runs(training_runs(PLANNED, job(fake)), job(fake), folder))
    assert (folder / MANIFEST).read_text() == "{"
    assert calls(fake) == []


@pytest.mark.slow
@pytest.mark.skipif(HOME is None, reason="no Spark here: set SPARK_HOME or install pyspark")
def test_a_real_application_is_collected(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in {**SHORT_LIVED, "SPARK_LOCAL_IP": "127.0.0.1"}.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    program = tmp_path / "job.py"
    program.write_text(
        "import sys\n"
        "from pyspark import SparkContext\n"
        "spark = SparkContext(appName='collected')\n"
        "rows = int(1e6 * float(sys.argv[1]))\n"
        "spark.range(rows, numSlices=4).sum()\n"
        "spark.stop()\n"
    )
    template = f"--master 'local[{{total_cores}}]' {program} {{fraction}}"
    given = Job(template_of(template), str(HOME / "bin" / "spark-submit"))
    runs = training_runs((Experiment(2, 0.2),), given)
    (outcome,) = collect_runs(runs, given, tmp_path / "logs")
    assert outcome.status == "done", outcome
    (run,) = engine.read(str(tmp_path / "logs")).runs
    assert run.stages[0].tasks == 4
