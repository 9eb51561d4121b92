"""`sparkplan fleet`: every application of the sources, each with a cluster of its own."""

from __future__ import annotations

from pathlib import Path

import pytest
from test_headless import answer, run

import engine
from tui.headless import fleet

LOGS = Path(engine.__file__).parents[1] / "sample_logs"
TWO = "sales-report-small word-count-small --ran-on m5.xlarge --instances m5.*,c7a.*"


def test_each_application_is_a_job_with_all_of_its_runs() -> None:
    read = engine.read_each("sort-small", "word-count-small", "sort-large")
    assert [(profile.name, len(profile.runs)) for profile in read] == [
        ("sort", 2),
        ("word-count", 1),
    ]
    assert not any(n.code == "mixed-applications" for p in read for n in p.notices)
    alone = engine.read("sort-small", "sort-large")
    assert read[0].runs == alone.runs
    assert read[0].category == alone.category


def test_a_table_of_several_applications_is_several_jobs(tmp_path: Path) -> None:
    table = tmp_path / "both.csv"
    rows = [f"{name},{nodes},10GB,300" for name in ("a", "b", "") for nodes in (2, 4)]
    table.write_text("\n".join(["application,nodes,input_size,seconds", *rows]))
    read = engine.read_each(table, "sort-small")
    assert [(profile.name, len(profile.runs)) for profile in read] == [
        ("a", 2),
        ("b", 2),
        ("both", 2),
        ("sort", 1),
    ]
    kept = tmp_path / "kept.yaml"
    engine.write_profile(engine.read(table), kept)
    again = engine.read_each(kept)
    assert [profile.name for profile in again][:2] == ["a", "b"]
    assert not any(n.code == "mixed-applications" for p in again for n in p.notices)


def test_what_is_no_log_in_a_folder_is_no_job(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    for name in ("sort-small", "word-count-small"):
        (tmp_path / name).write_bytes((LOGS / f"{name}.zstd").read_bytes())
    (tmp_path / "README.md").write_text("about these logs")
    found = answer(capsys, f"fleet {tmp_path} --ran-on m5.xlarge --deadline 2m --instances m5.*")
    assert [job["application"] for job in found["jobs"]] == ["sort", "word-count"]
    for job in found["jobs"]:
        assert "skipped-files" in [warning["code"] for warning in job["warnings"]]
    _, err = run(capsys, f"fleet {tmp_path} --ran-on m5.xlarge --deadline 2m --instances m5.*")
    (line,) = (line for line in err.splitlines() if "skipped-files" in line)
    assert line.startswith("warning: every job: 1 of 3 files in ")


def test_a_log_that_broke_off_does_not_say_how_long_a_job_takes(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    cut = tmp_path / "cut.zstd"
    cut.write_bytes((LOGS / "pagerank-large.zstd").read_bytes()[:20_000])
    options = "--ran-on m5.xlarge --instances m5.*,c7a.*"
    (job,) = answer(capsys, f"fleet {cut} pagerank-small {options}")["jobs"]
    alone = engine.read("pagerank-small").runs[0]
    assert job["runs"] == 1
    assert job["measured_seconds"] == job["deadline_seconds"] == alone.seconds
    assert "incomplete-runs" in [warning["code"] for warning in job["warnings"]]
    _, err = run(capsys, f"fleet {cut} {options}", status=2)
    assert "no run of it came to its end" in err


def test_a_message_on_many_jobs_names_the_first_of_them() -> None:
    names = [f"job{i}" for i in range(9)]
    assert fleet.named(names[:1], 1) == "job0"
    assert fleet.named(names[:5], 9) == "job0, job1, job2, job3, job4"
    assert fleet.named(names[:8], 9) == "job0, job1, job2, job3 and 4 more"
    assert fleet.named(names, 9) == "every job"


def test_without_a_goal_no_job_is_slower_than_it_was(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"fleet {TWO}")
    assert [job["application"] for job in found["jobs"]] == ["sales-report", "word-count"]
    for job in found["jobs"]:
        assert job["deadline_from"] == "measured"
        assert job["deadline_seconds"] == job["measured_seconds"]
        assert job["recommended"]["p_deadline"] >= 0.9
    costs = [job["recommended"]["cost_usd"] for job in found["jobs"]]
    assert found["total_usd"] == pytest.approx(sum(costs))
    out, _ = run(capsys, f"fleet {TWO}")
    assert out.count("as measured") == 2
    assert "2 jobs, $" in out


def test_a_job_is_answered_as_by_itself(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"fleet {TWO} --deadline 40s")
    alone = answer(capsys, f"recommend {TWO.removeprefix('sales-report-small ')} --deadline 40s")
    (job,) = (job for job in found["jobs"] if job["application"] == "word-count")
    assert job["recommended"]["composition"] == alone["recommended"]["composition"]
    assert job["recommended"]["cost_usd"] == alone["recommended"]["cost_usd"]
    assert (job["deadline_seconds"], job["deadline_from"]) == (40.0, "given")


def test_a_job_without_a_cluster_leaves_no_sum(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, f"fleet {TWO} --deadline 4s", status=1)
    assert "none (nearest " in out
    assert "without a cluster" in out
    assert "$" not in out.splitlines()[-1]


def test_a_budget_is_of_each_run_and_sets_no_deadline(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"fleet {TWO} --budget $1")
    assert [job["deadline_from"] for job in found["jobs"]] == [None, None]
    assert all(job["recommended"]["cost_usd"] <= 1.0 for job in found["jobs"])


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("sort-small --model nope", "unknown model"),
        ("sort-small --instances nothing.*", "nothing.*"),
        ("nightly-pipeline", "is a workflow"),
        ("nowhere", "unknown file or sample 'nowhere'; check the path; `sparkplan samples`"),
        ("sort-small --max-executors 4", "--max-executors"),
    ],
)
def test_what_is_wrong_for_every_job_is_one_line(
    capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    out, err = run(capsys, f"fleet {options}", status=2)
    assert out == ""
    assert said in err
    assert len(err.splitlines()) == 1
