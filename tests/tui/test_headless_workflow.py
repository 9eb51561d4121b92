"""`sparkplan workflow`: states as text and JSON, recommendations, and one line per mistake."""

from pathlib import Path
from typing import Any

import pytest
from command_line import answer, refused, run

import engine

FIG_1 = """format: sparkplan-workflow/1
name: site \x1b[31m analytics
cluster: {nodes: 1, cores: 6, slots: 8}
jobs:
- name: visits
  stages: [{name: map, tasks: 8, steps: [{cpu: 20s}]}]
- name: report
  after: visits
  stages: [{name: map, tasks: 2, steps: [{cpu: 20s}]}]
"""
ON = "--nodes 4 --instance m5.2xlarge"


@pytest.fixture
def fig_1(tmp_path: Path) -> str:
    path = tmp_path / "fig1.yaml"
    path.write_text(FIG_1.replace("\x1b[31m ", ""))
    return str(path)


def test_states_with_parallelism_bottleneck_and_task_time(
    capsys: pytest.CaptureFixture[str], fig_1: str
) -> None:
    found = answer(capsys, f"workflow {fig_1}")
    assert found["seconds"] == pytest.approx(46.667, abs=0.01)
    assert found["low"] < found["seconds"] < found["high"]
    first, second = found["states"]
    assert first["running"] == [
        {
            "job": "visits", "stage": "map", "parallelism": 8, "tracks": [8], "pending": 0,
            "task_seconds": pytest.approx(26.667, abs=0.01), "bottleneck": "cpu",
            "contended": True,
        }
    ]  # fmt: skip
    assert (second["running"][0]["task_seconds"], second["running"][0]["contended"]) == (
        20.0,
        False,
    )
    assert second["end_seconds"] == pytest.approx(found["seconds"])
    assert [job["after"] for job in found["jobs"]] == [[], ["visits"]]
    assert "prior-interval" in {warning["code"] for warning in found["warnings"]}


def test_text_is_lettered(capsys: pytest.CaptureFixture[str], fig_1: str) -> None:
    out, err = run(capsys, f"workflow {fig_1}")
    assert "site analytics ends after 46.7 s (9 in 10 runs:" in out
    lines = out.splitlines()
    assert any("visits: map" in line and line.endswith(" C") for line in lines)
    assert any("report: map" in line and line.endswith(" c") for line in lines)
    assert "[prior-interval]" in err


def test_what_unlike_tasks_add_is_told_where_it_shows(
    capsys: pytest.CaptureFixture[str], fig_1: str
) -> None:
    line = "workflow nightly-pipeline --nodes 4 --instance m5.xlarge"
    unlike = run(capsys, line)[0]
    assert "tasks of unlike length add" in unlike
    assert "of that (no interval)" in unlike
    assert "unlike" not in run(capsys, f"{line} --task-profile mean")[0]
    assert "unlike" not in run(capsys, f"workflow {fig_1}")[0]


def test_the_file_s_cluster_gives_way_to_options(
    capsys: pytest.CaptureFixture[str], fig_1: str
) -> None:
    assert answer(capsys, f"workflow {fig_1} --nodes 2")["seconds"] == pytest.approx(40.0)
    assert answer(capsys, f"workflow {fig_1} {ON}")["seconds"] == pytest.approx(40.0)


def test_a_log_shows_its_own_jobs(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "workflow sort-small")
    assert next(job["name"] for job in found["jobs"]) == "job 0"
    assert {state["running"][0]["bottleneck"] for state in found["states"] if state["running"]}


def test_nodes_of_a_catalog_have_a_cost(capsys: pytest.CaptureFixture[str], fig_1: str) -> None:
    """The one that `workflow recommend` tells of the same cluster."""
    found = answer(capsys, f"workflow nightly-pipeline {ON}")
    limit = "--instances m5.2xlarge --max-nodes 4 --deadline 4h"
    listed = answer(capsys, f"workflow recommend nightly-pipeline {limit}")["frontier"]
    (same,) = (each for each in listed if each["composition"] == {"m5.2xlarge": 4})
    for name in ("seconds", "cost_usd", "cost_low_usd", "cost_high_usd"):
        assert found[name] == pytest.approx(same[name], rel=0.01)
    assert found["catalog"]["name"] == "aws"
    assert sum(
        found["cost"][f"{part}_usd"]
        for part in ("workers", "master", "startup", "rounding", "discount", "surcharge", "dbu")
    ) == pytest.approx(found["cost_usd"])
    out, _ = run(capsys, f"workflow {fig_1} {ON}")
    assert "by catalog aws us-east-1 of" in out
    assert "surcharge 25 % assumed" in out


def test_spot_and_discount_make_it_cheaper(capsys: pytest.CaptureFixture[str], fig_1: str) -> None:
    listed = answer(capsys, f"workflow {fig_1} {ON}")
    spot = answer(capsys, f"workflow {fig_1} {ON} --spot")
    both = answer(capsys, f"workflow {fig_1} {ON} --spot --discount 20%")
    assert both["cost_usd"] < spot["cost_usd"] < listed["cost_usd"]
    assert spot["spot"] == {"m5.2xlarge": 4}
    assert spot["seconds"] > listed["seconds"], "interruptions are expected"
    assert "spot-interruptions" in {notice["code"] for notice in spot["warnings"]}
    line = f"workflow {fig_1} {ON} --spot --input-size 4000x"
    assert "interruptions are expected to add" in run(capsys, line)[0]


def test_nodes_that_have_no_price_have_no_cost(
    capsys: pytest.CaptureFixture[str], fig_1: str
) -> None:
    found = answer(capsys, f"workflow {fig_1}")
    assert [found[f"cost_{end}usd"] for end in ("", "low_", "high_")] == [None, None, None]
    assert "$" not in run(capsys, f"workflow {fig_1}")[0]
    said = {
        "--spot": "only nodes of a catalog that are named can be spot nodes",
        "--discount 10%": "these nodes have no prices of a catalog",
    }
    for option, why in said.items():
        err = refused(capsys, f"workflow {fig_1} {option}")
        assert f"{why}; add --nodes N --instance TYPE" in err


def test_recommend_is_of_the_family_of_recommend(capsys: pytest.CaptureFixture[str]) -> None:
    goal = "--catalog aws --deadline 20m --instances 'm5.?xlarge' --max-nodes 2"
    found = answer(capsys, f"workflow recommend nightly-pipeline {goal}")
    best = found["recommended"]
    assert best["p_deadline"] >= 0.9
    assert next(iter(best["composition"])).startswith("m5.")
    missed = answer(
        capsys,
        "workflow recommend nightly-pipeline --deadline 20s --instances m5.large --max-nodes 2",
        status=1,
    )
    assert missed["recommended"] is None
    assert missed["nearest"] is not None


def test_recommend_keeps_to_limits(capsys: pytest.CaptureFixture[str]) -> None:
    ask = "workflow recommend nightly-pipeline --deadline 20m --max-nodes 4"
    ask += " --instances m5.large,m5.xlarge,m5.2xlarge,c5.large,c5.xlarge"
    found = answer(capsys, f"{ask} --exclude 'c5.*' --min-nodes 2 --max-vcpus 12")
    choices = [found["recommended"], *found["alternatives"]]
    vcpus = {"m5.large": 2, "m5.xlarge": 4}
    for choice in choices:
        (name, nodes) = next(iter(choice["composition"].items()))
        assert nodes >= 2
        assert nodes * vcpus[name] <= 12
    assert len(choices) > 1
    anything = answer(capsys, ask)["recommended"]["composition"]
    assert next(iter(anything)).startswith("c5.")


def test_recommend_may_rent_some_nodes_at_spot_prices(capsys: pytest.CaptureFixture[str]) -> None:
    ask = "workflow recommend nightly-pipeline --deadline 20m --instances c5.xlarge"
    half = answer(capsys, f"{ask} --min-nodes 2 --max-nodes 2 --max-spot 50%")["recommended"]
    none, every = (
        answer(capsys, f"{ask} --min-nodes 2 --max-nodes 2 {spot}")["recommended"]
        for spot in ("", "--spot")
    )
    assert half["spot"] == {"c5.xlarge": 1}
    assert every["cost_usd"] < half["cost_usd"] < none["cost_usd"]


def test_recommend_leaves_out_excluded_types(capsys: pytest.CaptureFixture[str]) -> None:
    goal = "--deadline 20m --instances m5.large,m5.xlarge,m5.2xlarge --max-nodes 4"
    best = answer(capsys, f"workflow recommend nightly-pipeline {goal}")["recommended"]
    (chosen,) = best["composition"]
    without = f"workflow recommend nightly-pipeline {goal} --exclude {chosen}"
    listed = answer(capsys, without)["frontier"]
    assert listed
    assert all(chosen not in choice["composition"] for choice in listed)


OBSERVED = """format: sparkplan-workflow/1
name: two logs
jobs:
- {name: features, source: nightly-features, ran_on: m5.large}
- {name: sort, source: sort-small, ran_on: m5.large, after: features}
"""


def notes_of(found: Any) -> dict[str, tuple[str, set[str]]]:
    """Type -> its note and the warnings about its speed."""
    return {
        next(iter(choice["composition"])): (
            choice["note"],
            {w["code"] for w in choice["warnings"]}
            & {"transferred-speed", "unknown-source-type", "speed-as-given"},
        )
        for choice in [found["recommended"], *found["alternatives"]]
    }


def test_where_each_job_ran_is_known_to_every_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path, goal = tmp_path / "w.yaml", "--deadline 2h --max-nodes 2 --instances m5.large,m5.xlarge"
    path.write_text(OBSERVED)
    same = notes_of(answer(capsys, f"workflow recommend {path} {goal}"))
    assert same == {
        "m5.large": ("measured type", set()),
        "m5.xlarge": ("speed transferred", {"transferred-speed"}),
    }
    path.write_text(OBSERVED.replace("m5.large", "m5.xlarge", 1))
    unlike = notes_of(answer(capsys, f"workflow recommend {path} {goal}"))
    assert {note for note, _ in unlike.values()} == {"speed transferred"}
    path.write_text(OBSERVED.replace(", ran_on: m5.large", "", 1))
    open_ = notes_of(answer(capsys, f"workflow recommend {path} {goal}"))
    assert {note for note, _ in open_.values()} == {"source type unknown"}
    assert "unknown-source-type" in open_["m5.xlarge"][1]


def test_seconds_of_no_type_are_taken_as_given(
    capsys: pytest.CaptureFixture[str], fig_1: str
) -> None:
    goal = "--deadline 2h --max-nodes 4 --instances 'm5.*'"
    found = notes_of(answer(capsys, f"workflow recommend {fig_1} {goal}"))
    assert set(map(str, found.values())) == {"('speed as given', {'speed-as-given'})"}


def test_hostile_names_reach_no_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(FIG_1.replace("\x1b[31m ", "").replace("name: visits", 'name: "\\e[31mv"')
                    .replace("after: visits", 'after: "\\e[31mv"'))  # fmt: skip
    out, _ = run(capsys, f"workflow {path}")
    assert "\x1b" not in out


MISTAKES = {
    f"nightly-pipeline {ON} --deadline 1h": "--deadline: is for sparkplan workflow recommend",
    f"nightly-pipeline {ON} --exclude 'm5.*'": "--exclude: is for sparkplan workflow recommend",
    "nightly-pipeline": "the file describes no cluster; add --nodes N --instance TYPE",
    "nightly-pipeline --instance m5.xlarge": "how many nodes is not said; add --nodes N",
    f"nightly-pipeline {ON} --scheduler fairest": "unknown scheduler 'fairest'",
    f"nightly-pipeline {ON} --input-size 0x": "--input-size: a factor must be more than zero",
    "nightly-pipeline --nodes 99999999999999 --instance m5.xlarge": "must be at most 1,000,000",
    f"nightly-pipeline {ON} --input-size 3GB": "'3GB' is not a factor; write it like 2x",
    f"nightly-pipelin {ON}": "did you mean nightly-pipeline?",
    "recommend nightly-pipeline": "no goal is given; add --deadline D, --budget B, or both",
    f"recommend nightly-pipeline --deadline 1h {ON}": "recommend chooses the cluster itself",
    "recommend": "no workflow is given",
    "sort-small --scheduler drf": "--scheduler: is for workflow files",
    "sort-small --task-profile mean": "--task-profile: is for workflow files",
    f"ernest-rcv1 {ON}": "boe needs an event log, and no run of",
    f"nightly-pipeline sort-small {ON}": "is a workflow, not a job",
    "missing.yaml": "missing.yaml: no such file",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_mistakes_are_one_line(capsys: pytest.CaptureFixture[str], line: str) -> None:
    assert MISTAKES[line] in refused(capsys, f"workflow {line}")


def test_a_task_that_fits_no_node_is_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(
        FIG_1.replace("\x1b[31m ", "").replace("tasks: 2,", "tasks: 2, task_memory: 900GB,")
    )
    err = refused(capsys, f"workflow {path} {ON}")
    assert "a task of map needs 900 GiB, a node offers 8 cores and 23.1 GiB" in err


CONTAINERS = """format: sparkplan-workflow/1
jobs:
- name: large
  task_memory: 40GB
  stages: [{tasks: 400, steps: [{cpu: 20s}]}]
"""


def test_types_whose_nodes_hold_no_container_are_not_recommended(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """m5.4xlarge offers 56 GiB to containers, r5.4xlarge 120: one and three of 40 on each node."""
    path = tmp_path / "w.yaml"
    path.write_text(CONTAINERS)
    types = "m5.large,m5.xlarge,m5.2xlarge,m5.4xlarge,r5.4xlarge"
    many = ",".join([types, "c5.*"])
    for asked in (types, many):
        line = f"workflow recommend {path} --deadline 40m --max-nodes 20 --instances '{asked}'"
        found = answer(capsys, line)
        rejected = {entry["instance"]: entry["reason"] for entry in found["rejected"]}
        for small in ("m5.large", "m5.xlarge", "m5.2xlarge"):
            assert rejected[small] == "the model has no prediction for it"
        chosen = [found["recommended"], *found["alternatives"]]
        assert {next(iter(entry["composition"])) for entry in chosen} <= {
            "m5.4xlarge", "r5.4xlarge", "c5.9xlarge", "c5.12xlarge", "c5.18xlarge", "c5.24xlarge",
            "c5.metal",
        }  # fmt: skip
    count = 7
    shown = answer(capsys, f"workflow {path} --nodes {count} --instance m5.4xlarge")
    assert {s["running"][0]["parallelism"] for s in shown["states"]} <= {count, 400 % count}


def test_tasks_of_which_nothing_is_known_are_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(FIG_1.replace("\x1b[31m ", "").replace("{cpu: 20s}", "{disk: 1GB}"))
    err = refused(capsys, f"workflow {path}")
    assert "nothing says how long any task takes" in err
    assert "give disk and network under cluster in the workflow file" in err


TWO_ARCHITECTURES = """date: 2026-05-01
source: test
instances: |
  name,vcpus,memory_gib,arch,cpu_score,usd_per_hour
  m5.xlarge,4,16,x86_64,80000,0.19
  m5.2xlarge,8,32,x86_64,160000,0.38
  m6g.xlarge,4,16,arm64,90000,0.15
  m6g.2xlarge,8,32,arm64,180000,0.31
"""


def test_recommend_stays_on_the_architecture_of_the_jobs(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """x86_64 was taken without a word, whatever the jobs ran on."""
    path = tmp_path / "few.yaml"
    path.write_text(TWO_ARCHITECTURES)
    goal = f"workflow recommend nightly-pipeline --deadline 2h --max-nodes 2 --catalog {path}"
    arm, x86, unknown = (
        answer(capsys, f"{goal} {more}")
        for more in ("--ran-on m6g.xlarge", "--ran-on m5.xlarge", "")
    )
    few = engine.load_catalog(str(path))
    for found, arch in ((arm, "arm64"), (x86, "x86_64"), (unknown, "x86_64")):
        (name,) = found["recommended"]["composition"]
        assert few.offers[name].instance.arch == arch
        codes = {warning["code"] for warning in found["warnings"]}
        assert ("assumed-architecture" in codes) == (found is unknown)
