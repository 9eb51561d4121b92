"""`sparkplan fleet`: every application of the sources, each with a cluster of its own."""

from pathlib import Path

import pytest
from command_line import answer, refused, run
from rich.cells import cell_len

import engine
from tui.headless import fleet, fleet_table

LOGS = Path(engine.__file__).parents[1] / "sample_logs"
TWO = "sales-report-small word-count-small --ran-on m5.xlarge --instances m5.*,c7a.*"


def test_each_application_is_a_job_with_all_of_its_runs() -> None:
    read = engine.read_each("sort-small", "word-count-small", "sort-large")
    assert [(job.name, job.runs) for job in read] == [("sort", 2), ("word-count", 1)]
    profiles = [job.profile for job in read if job.profile]
    assert len(profiles) == 2
    assert not any(n.code == "mixed-applications" for p in profiles for n in p.notices)
    alone = engine.read("sort-small", "sort-large")
    assert profiles[0].runs == alone.runs
    assert profiles[0].category == alone.category


def test_a_table_of_several_applications_is_several_jobs(tmp_path: Path) -> None:
    table = tmp_path / "both.csv"
    rows = [f"{name},{nodes},10GB,300" for name in ("a", "b", "") for nodes in (2, 4)]
    table.write_text("\n".join(["application,nodes,input_size,seconds", *rows]))
    read = engine.read_each(table, "sort-small")
    assert [(job.name, job.runs) for job in read] == [
        ("a", 2),
        ("b", 2),
        ("both", 2),
        ("sort", 1),
    ]
    kept = tmp_path / "kept.yaml"
    engine.write_profile(engine.read(table), kept)
    again = engine.read_each(kept)
    assert [job.name for job in again][:2] == ["a", "b"]
    notices = [n for job in again if job.profile for n in job.profile.notices]
    assert not any(n.code == "mixed-applications" for n in notices)


def test_planning_that_takes_long_says_how_far_it_is(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tui.read_progress.FIRST_LINE_AFTER_SECONDS", 0.0)
    monkeypatch.setattr("tui.read_progress.LINES_EVERY_SECONDS", 0.0)
    out, err = run(capsys, f"fleet {TWO}")
    assert "planned 0 of 2 jobs\nplanned 1 of 2 jobs\n" in err
    assert "planned" not in out


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
    err = refused(capsys, f"fleet {cut} {options}")
    assert "no run of it came to its end" in err


def test_a_message_on_many_jobs_names_the_first_of_them() -> None:
    names = [f"job{i}" for i in range(9)]
    assert fleet.job_names(names[:1], 1) == "job0"
    assert fleet.job_names(names[:5], 9) == "job0, job1, job2, job3, job4"
    assert fleet.job_names(names[:8], 9) == "job0, job1, job2, job3 and 4 more"
    assert fleet.job_names(names, 9) == "every job"


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


def test_a_job_over_budget_is_said_to_be(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "fleet sort-small --ran-on m5.xlarge --budget 0.001", status=1)
    assert out.count("    it is over budget by $") == 1


def test_two_ways_out_of_a_deadline_and_a_budget_have_a_line_each(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """They ran on in one sentence."""
    goal = "--deadline 3s --budget 0.001"
    out, _ = run(capsys, f"fleet sort-small --ran-on m5.xlarge {goal}", status=1)
    assert out.count("    it misses the deadline by ") == 1
    assert out.count("\n    with --deadline ") == 2


def test_why_the_nearest_does_not_count_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """It took two thirds of the time, and the row said "none": 78 % are no 90 %."""
    one = "sort-small --catalog aws --ran-on m5.xlarge"
    (job,) = answer(capsys, f"fleet {one}", status=1)["jobs"]
    assert job["nearest"]["seconds"] < job["deadline_seconds"]
    assert job["nearest_misses"].startswith("misses the deadline by ")
    assert "at 90 %" in job["nearest_misses"]
    out, _ = run(capsys, f"fleet {one}", status=1)
    assert out.count("it misses the deadline by") == 1
    deadline = out.partition("--deadline ")[2].split()[0]
    assert all(len(line) <= 80 for line in out.splitlines())
    taken = answer(capsys, f"fleet {one} --deadline {deadline}")["jobs"][0]
    assert taken["recommended"] is not None
    assert taken["nearest_misses"] is None


def test_a_chance_that_hardly_misses_is_not_told_as_the_one_asked_for(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The row said "none" beside the 90 % that were asked for."""
    one = "fleet sort-small --catalog aws --ran-on m5.xlarge --confidence 50%"
    (job,) = answer(capsys, f"{one} --deadline 5s", status=1)["jobs"]
    just_less = 0.998 * job["nearest"]["seconds"]
    out, _ = run(capsys, f"{one} --deadline {just_less:.4f}s", status=1)
    assert out.count("<50 %") == 1


def test_the_likeliest_of_a_job_is_that_of_recommend(capsys: pytest.CaptureFixture[str]) -> None:
    """It was told by `recommend` alone."""
    asked = "sort-small --catalog aws --ran-on m5.xlarge --budget 0.028 --deadline 12s"
    (job,) = answer(capsys, f"fleet {asked}", status=1)["jobs"]
    alone = answer(capsys, f"recommend {asked}", status=1)
    assert job["likeliest"] == alone["likeliest"] is not None
    out, _ = run(capsys, f"fleet {asked}", status=1)
    (line,) = (line for line in out.splitlines() if "likeliest of one type" in line)
    assert line.startswith("    likeliest of one type to keep this deadline within the budget: ")
    _, said = run(capsys, f"fleet {asked}", status=1)
    (name,) = job["likeliest"]["composition"]
    assert name not in job["nearest"]["composition"]
    assert [f"{name} was not measured" in warning for warning in said.splitlines()].count(True) == 1
    assert all(len(line) <= 80 for line in out.splitlines())


@pytest.mark.parametrize("times", [1.0, 1.001, 1.003])
def test_the_deadline_that_a_job_of_weeks_needs_is_said_to_the_hour(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, times: float
) -> None:
    """Rounded down, the deadline that was named did not do."""
    table = tmp_path / "long.csv"
    rows = [(1, 4_000_123), (2, 2_100_456), (4, 1_200_789)]
    lines = [f"{n},100,{seconds * times:.0f},m5.xlarge,4,16" for n, seconds in rows]
    table.write_text("\n".join(["nodes,input_size,seconds,instance_type,vcpus,memory_gib", *lines]))
    line = f"fleet {table} --instances m5.xlarge --max-nodes 2 --deadline"
    out, _ = run(capsys, f"{line} 2000000s", status=1)
    deadline = out.partition("--deadline")[2].split()[0]
    assert answer(capsys, f"{line} {deadline}")["jobs"][0]["recommended"] is not None
    too_short = engine.parse_seconds(deadline) - 3601.0
    assert answer(capsys, f"{line} {too_short:.0f}s", status=1)


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
    assert said in refused(capsys, f"fleet {options}")


@pytest.fixture
def contradicting(tmp_path: Path) -> str:
    """Two tables of one application that differ in the shape of a type."""
    for name, vcpus in (("one", 4), ("two", 8)):
        rows = [f"alpha,x,{vcpus},{nodes},10GB,{600 / nodes}" for nodes in (2, 4)]
        head = "application,instance_type,vcpus,nodes,input_size,seconds"
        (tmp_path / f"{name}.csv").write_text("\n".join([head, *rows]))
    return f"{tmp_path / 'one.csv'} {tmp_path / 'two.csv'}"


def test_sources_that_contradict_each_other_leave_the_other_jobs(
    capsys: pytest.CaptureFixture[str], contradicting: str
) -> None:
    line = f"fleet {contradicting} {TWO} --deadline 2m"
    found = answer(capsys, line, status=1)
    wrong, *others = found["jobs"]
    assert (wrong["application"], wrong["runs"], wrong["recommended"]) == ("alpha", 4, None)
    assert "two.csv:2: x has 8 vCPUs here and 4 in one.csv:2" in wrong["problem"]
    assert all(job["recommended"] for job in others)
    out, err = run(capsys, line, status=1)
    assert "  not planned: two.csv:2: x has 8 vCPUs here and 4 in one.csv:2\n" in out
    assert "[not-planned]; correct one of them" in err
    refused(capsys, f"fleet {contradicting} --deadline 2m")


def test_nodes_that_the_jobs_share_are_told_where_they_want_more(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def said(limits: str) -> list[str]:
        return [w["text"] for w in answer(capsys, f"fleet {TWO} {limits}")["warnings"]]

    assert said("--deadline 40s") == []
    (own,) = said("--own m5.xlarge=4 --deadline 40s")
    assert "the 4 owned nodes of m5.xlarge" in own
    assert "would take 8 nodes" in own
    assert len(said("--own m5.xlarge=4 --deadline 40s --max-vcpus 20 --limit m5.*=4")) == 3
    _, err = run(capsys, f"fleet {TWO} --own m5.xlarge=4 --deadline 40s")
    assert "[shared-by-jobs]" in err


def test_costs_without_a_master_say_whose_it_is(capsys: pytest.CaptureFixture[str]) -> None:
    """Jobs at $0.00 had no line that their master is owned."""
    said = "the master is that of the owned nodes and costs nothing here"
    asked = f"fleet {TWO} --own m5.xlarge=4 --deadline"
    out, _ = run(capsys, f"{asked} 40s --own-master")
    assert "2 jobs, $0.00 for one run of each" in out
    assert out.splitlines().count(said) == 1
    assert said in run(capsys, f"{asked} 1s --own-master", status=1)[0]
    assert said not in run(capsys, f"{asked} 40s")[0]


@pytest.mark.parametrize(
    "name",
    [
        "a job with a name that is as long as people make them and then a little longer still",
        "夜間バッチ 売上集計と在庫照合、各店舗の特徴量を前日の受注から作り直し、翌朝の発注へ",
        "夜間バッチ" * 20,
    ],
)
def test_no_row_is_wider_than_a_terminal(
    name: str, capsys: pytest.CaptureFixture[str], contradicting: str, tmp_path: Path
) -> None:
    long = tmp_path / "long.csv"
    head = "application,instance_type,nodes,input_size,seconds"
    long.write_text("\n".join([head, *(f"{name},m5.xlarge,{n},10GB,{600 / n}" for n in (2, 4, 8))]))
    sources = f"{contradicting} {long} order-stream-small {TWO} --mix 2 --deadline 3h"
    out, _ = run(capsys, f"fleet {sources}", status=1)
    assert max(map(cell_len, out.splitlines())) <= 80
    assert "".join(name.split()) in "".join(out.split())


def test_a_name_of_blanks_alone_is_one_empty_line() -> None:
    """It had no first word to begin with."""
    blanks, named = " " * 90, f"  {'a ' * 60}"
    lines = fleet_table._format_rows([*fleet_table.HEAD, blanks, named])
    assert lines[len(fleet_table.HEAD)] == ""
    assert " ".join(lines[3:]).split() == ["a"] * 60
    assert max(map(cell_len, lines)) <= fleet_table.WIDTH


def test_a_stream_is_answered_for_one_micro_batch(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"fleet order-stream-small {TWO}"
    found = answer(capsys, line)
    assert [job["time_of"] for job in found["jobs"]] == ["micro-batch", "run", "run"]
    out, _ = run(capsys, line)
    assert "order-stream (one micro-batch)" in out
    assert "(of a stream one micro-batch)" in out
