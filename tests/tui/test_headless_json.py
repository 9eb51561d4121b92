"""Every headless command prints one JSON object where it is asked to."""

import json
import shlex
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import answer, refused, run
from fakes import profile

import engine
from engine.choosing import owned
from tui.cli import main
from tui.storage import config

LOG = "nightly-features"
GOAL = f"{LOG} --ran-on m5.2xlarge --instances 'm5.*' --deadline"


def test_export_adds_its_text_to_the_recommendation(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"export {GOAL} 45m --to spark-submit")
    assert main(shlex.split(f"export {GOAL} 45m --to spark-submit")) == 0
    assert found["export"] == {
        "to": "spark-submit", "text": capsys.readouterr().out, "file": None
    }  # fmt: skip
    assert found["recommended"]["composition"]


def test_export_has_no_text_where_nothing_is_in_time(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"export {GOAL} 1s --to emr", status=1)
    assert found["recommended"] is None
    assert found["nearest"]["composition"]
    assert found["export"] == {"to": "emr", "text": None, "file": None}


def test_profile_says_what_it_holds(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "a.yaml"
    found = answer(capsys, f"profile {LOG} nightly-features-small -o {file}")
    assert file.read_text().startswith("format:")
    assert found["file"] == str(file)
    assert found["category"] == "sql"
    first, second = found["runs"]
    assert first["input_bytes"] > second["input_bytes"] > 0
    assert first["iterations"] is None
    assert first["stages"] > 0
    assert answer(capsys, f"profile {LOG}")["file"] is None


def test_a_profile_leaves_out_pauses_where_it_is_told_to(
    capsys: pytest.CaptureFixture[str],
) -> None:
    whole = answer(capsys, f"profile {LOG}")["runs"][0]["seconds"]
    cut = answer(capsys, f"profile {LOG} --pauses 1s")
    assert cut["runs"][0]["seconds"] < whole - 1.0
    assert [warning["code"] for warning in cut["warnings"]].count("idle-time") == 1
    assert main(["profile", LOG, "--pauses", "1h", "--json"]) == 0
    out, err = capsys.readouterr()
    assert json.loads(out)["runs"][0]["seconds"] == whole
    assert "no job waited for 1h 00m or more: nothing is left out" in err


def test_the_settings_as_an_object(capsys: pytest.CaptureFixture[str]) -> None:
    path = config.config_path()
    nothing = answer(capsys, "config show")
    assert nothing["path"] == str(path)
    assert set(nothing["settings"]) == set(config.READERS)
    assert not any(nothing["settings"].values())
    assert answer(capsys, "config set nodes 200")["settings"]["nodes"] == 200
    assert answer(capsys, "config set keys.pin P")["keys"] == {"pin": "P"}
    assert answer(capsys, "config")["settings"]["nodes"] == 200
    path.write_text("nonsense: 1\n")
    assert answer(capsys, "config path") == {"path": str(path)}


def test_a_catalog_is_valid_or_its_problems_are_listed(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    good = answer(capsys, "catalog validate aws")
    assert good["problems"] == []
    assert good["types"] > 100
    file = tmp_path / "mine.yaml"
    file.write_text("nonsense: 1\n")
    bad = answer(capsys, f"catalog validate {file}", status=2)
    assert bad["types"] is None
    assert str(file) in bad["problems"][0]


def test_no_text_of_a_log_steers_the_terminal(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    written = r"café \x1b[31m \x9b31m \u202e \u2028 \x7f \U000e0041"
    path = tmp_path / "job.yaml"
    runs = "runs:\n- {seconds: 9, nodes: 2, input_size: 5}\n"
    path.write_text(f'format: sparkplan-profile/1\nname: "{written}"\n{runs}')
    assert main(["profile", str(path), "--json"]) == 0
    out = capsys.readouterr().out.removesuffix("\n")
    assert out.isprintable()
    assert "café" in out
    assert json.loads(out)["name"] == "café \x1b[31m \x9b31m \u202e \u2028 \x7f \U000e0041"


def test_what_a_mix_misses_is_said_though_no_type_is_rejected_for_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    types = ("c7a.xlarge", "m7a.xlarge", "r7a.xlarge")
    limits = " ".join(f"--limit {name}=2" for name in types)
    line = f"recommend {LOG} --deadline 20s --mix 3 --instances {','.join(types)} {limits}"
    found = answer(capsys, line, status=1)
    nearest, miss = found["nearest"], found["nearest_miss"]
    assert len(nearest["composition"]) > 1
    assert miss["composition"] == nearest["composition"]
    assert miss["composition"] not in [one["composition"] for one in found["rejected"]]
    assert set(miss) == set(found["rejected"][0])
    assert miss["instance"] == " + ".join(nearest["composition"])
    assert (miss["code"], miss["over_usd"]) == ("deadline", None)
    assert (miss["seconds"], miss["cost_usd"]) == (nearest["seconds"], nearest["cost_usd"])
    assert 0.0 < miss["late_seconds"] < min(one["late_seconds"] for one in found["rejected"])
    assert miss["reason"].startswith("misses the deadline by ")
    enough = 20.0 + miss["late_seconds"]
    assert answer(capsys, line.replace("20s", f"{enough + 0.1:.1f}s"))["nearest_miss"] is None


def test_a_job_that_does_not_end_on_a_cluster_meets_no_deadline(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It was said to be met with a probability of 99 %, above the warning that Spark waits
    forever."""
    log = Path(__file__).parents[1] / "data" / "wide_tasks.zstd"
    asked = f"predict {log} --executors 4 --deadline 1h --executor-cores"
    stuck, ends = answer(capsys, f"{asked} 1"), answer(capsys, f"{asked} 2")
    assert "stage-needs-cores" in {warning["code"] for warning in stuck["warnings"]}
    assert (stuck["deadline_met"], stuck["p_deadline"]) == (False, 0.0)
    assert (ends["deadline_met"], ends["p_deadline"] > 0.9) == (True, True)
    out, _ = run(capsys, f"{asked} 1")
    assert "deadline 1h 00m: not met, the job does not end on this cluster" in out


STUCK = Path(__file__).parents[1] / "data" / "wide_tasks.zstd"
"""A log of tasks of two cores each: on executors of one core its job waits forever."""


def test_where_a_job_does_not_end_no_time_and_no_cost_are_given(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The time of its tasks as slots fall free stood there, beside the warning."""
    line = f"{STUCK} --nodes 4 --instance m7g.medium --deadline 1h"
    found = answer(capsys, f"predict {line}")
    of_a_run = ("seconds", "low", "high", "phases", "vcore_seconds", "cost", "cost_usd")
    assert [found[key] for key in of_a_run] == [None] * len(of_a_run)
    assert found["executors"] == 4
    out, _ = run(capsys, f"predict {line}")
    assert out.startswith("no time and no cost: the job does not end on 4 × m7g.medium")
    assert "$" not in out
    mixed = f"{STUCK} --composition m7g.medium=2,m6g.medium=1"
    for stuck in (line, mixed):
        on_spot = answer(capsys, f"predict {stuck} --spot")
        codes = {warning["code"] for warning in on_spot["warnings"]}
        assert on_spot["seconds"] is None
        assert "spot-interruptions" not in codes, "there is no time that they add to"
    larger = line.replace("m7g.medium", "m7g.large")
    ends = answer(capsys, f"predict {larger} --spot")
    assert "spot-interruptions" in {warning["code"] for warning in ends["warnings"]}
    compared = answer(capsys, f"predict {line} --all-models")["models"]
    said = [model for model in compared if model["warnings"]]
    assert said
    assert {model["seconds"] for model in said} == {None}
    assert {model["p_deadline"] for model in said} == {0.0}
    out, _ = run(capsys, f"predict {line} --all-models")
    assert [row.split()[2:5] for row in out.splitlines() if row.startswith("*")] == [
        ["does", "not", "end"]
    ]


def written_barrier(folder: Path) -> Path:
    """A profile whose second stage is a barrier of 30 tasks, as a file."""
    evidence, file = profile(runs=1), folder / "training.yaml"
    read, fit = evidence.runs[0].stages
    training = replace(fit, tasks=30, task_seconds=engine.Measure(30, 3e5, (9e3, 1e4, 1e4)))
    stages = (read, replace(training, barrier=True))
    runs = (replace(evidence.runs[0], stages=stages),)
    engine.write_profile(replace(evidence, runs=runs), str(file))
    return file


def test_a_workflow_that_does_not_end_has_no_course(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = written_barrier(tmp_path)
    line = f"workflow {file} --instance m5.2xlarge --catalog aws --nodes"
    few, enough = answer(capsys, f"{line} 3"), answer(capsys, f"{line} 4")
    assert (few["seconds"], few["cost_usd"], few["states"], few["jobs"]) == (None, None, [], [])
    assert enough["seconds"] > 0.0
    assert enough["states"]
    out, _ = run(capsys, f"{line} 3")
    assert out.startswith("no time and no cost: nightly-als does not end on this cluster")


def test_a_curve_has_no_time_where_a_job_does_not_end(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    found = answer(capsys, f"curve {STUCK} --over nodes --nodes 1:3 --instance m7g.medium")
    keys = ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd")
    assert [[point[key] for key in keys] for point in found["points"]] == [[None] * 6] * 3
    assert "stage-needs-cores" in {warning["code"] for warning in found["warnings"]}
    line = f"curve {STUCK} --over nodes --nodes 1:3 --instance m7g.medium --catalog aws"
    out, _ = run(capsys, line)
    *_, said = out.splitlines()
    assert said == "no time and no cost: the job ends in no row; model sparkplan"
    picture = tmp_path / "curve.svg"
    run(capsys, f"{line} -o {picture}")
    assert picture.read_text(encoding="utf-8").startswith("<svg")


def test_a_curve_is_priced_where_some_node_counts_start_its_job(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Nothing was said of the job where none does: the price of its type was called unknown."""
    file = written_barrier(tmp_path)
    line = f"curve {file} --over nodes --instance m5.2xlarge --catalog aws --nodes"
    few, _ = run(capsys, f"{line} 1:3")
    enough, _ = run(capsys, f"{line} 1:4")
    assert "no time and no cost: the job ends in no row; model" in few
    assert "assumed" not in few
    assert "no price" not in few
    assert "cost is that of the time" in enough
    assert len(enough.splitlines()) > len(few.splitlines()) + 1
    for terms in ("", "--max-spot 50%"):
        found = answer(capsys, f"{line} 3:4 --deadline 9h {terms}")
        none, some = (point["p_deadline"] for point in found["points"])
        assert none == 0.0 < some


@pytest.mark.parametrize("objective", ["runtime", "throughput"])
def test_objectives_by_other_names_are_those_of_the_engine(
    capsys: pytest.CaptureFixture[str], objective: str
) -> None:
    asked = "recommend ernest-rcv1 --catalog papers --budget 5 --objective"
    named = answer(capsys, f"{asked} {objective}")
    assert named["goal"]["objective"] == engine.OBJECTIVE_SYNONYMS[objective] == "time"
    err = refused(capsys, f"{asked} nix")
    for name in (*owned.OBJECTIVES, "cost"):
        assert repr(name) in err
