"""`sparkplan fleet`: every application of the sources, each with a cluster of its own."""

from __future__ import annotations

import pytest
from test_headless import answer, run

import engine

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
        ("nowhere", "unknown file or sample"),
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
