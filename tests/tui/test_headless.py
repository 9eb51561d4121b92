"""The headless commands: their JSON contract, what they print, their exit codes."""

import re
import shlex
from pathlib import Path

import pytest
from command_line import answer, refused, run
from depth import values

import engine
from engine.models.boe.workflow import TASK_PROFILES
from tui.cli import main
from tui.headless import workflow

LOG = "nightly-features"


def test_predict_prints_the_object_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"predict {LOG} --executors 8 --executor-cores 2")
    assert found["model"] == "sparkplan"
    assert found["low"] < found["seconds"] < found["high"]
    assert found["confidence"] == 0.9
    assert sum(found["phases"].values()) == pytest.approx(found["seconds"], rel=0.01)
    assert isinstance(found["bottleneck"], str)
    assert all(set(w) == {"code", "text", "remedy"} for w in found["warnings"])
    assert "single-run" in {w["code"] for w in found["warnings"]}


def test_predict_says_whether_a_deadline_is_met_and_how_surely(
    capsys: pytest.CaptureFixture[str],
) -> None:
    met = answer(capsys, f"predict {LOG} --executors 8 --executor-cores 2 --deadline 2h")
    missed = answer(capsys, f"predict {LOG} --executors 8 --executor-cores 2 --deadline 10s")
    assert met["deadline_met"] is True
    assert met["p_deadline"] > 0.99
    assert missed["deadline_met"] is False
    assert missed["p_deadline"] < 0.01
    out, _ = run(capsys, f"predict {LOG} --executors 8 --executor-cores 2 --deadline 2h")
    assert "deadline 2h 00m at 90 %: met (probability >99 %)" in out


def test_predict_says_the_confidence_as_asked(capsys: pytest.CaptureFixture[str]) -> None:
    named = f"predict {LOG} --executors 8 --executor-cores 2 --confidence"
    high = answer(capsys, f"{named} 97.5%")["high"]  # 98.75 % keep it
    met, _ = run(capsys, f"{named} 97.5% --deadline {high}s")
    missed, _ = run(capsys, f"{named} 98.85% --deadline {high}s")
    assert "97.5 %: met (probability 99 %)" in met
    assert "98.85 %: not met (probability <98.85 %)" in missed


def test_more_input_takes_longer_and_more_executors_less(
    capsys: pytest.CaptureFixture[str],
) -> None:
    def seconds(options: str) -> float:
        return float(answer(capsys, f"predict {LOG} --executor-cores 2 {options}")["seconds"])

    small = seconds("--executors 4")
    assert seconds("--executors 4 --input-size 3x") > 1.5 * small
    assert seconds("--executors 16") < small


def test_recommend_prints_the_object_of_the_contract(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"recommend {LOG} --ran-on m5.xlarge --instances 'm5.*' --deadline 4m")
    best = found["recommended"]
    assert set(found) >= {
        "goal", "recommended", "alternatives", "frontier", "rejected", "nearest", "optimal",
        "evaluated", "model",
    }  # fmt: skip
    assert best["p_deadline"] >= 0.9
    assert best["cost_low_usd"] <= best["cost_usd"] <= best["cost_high_usd"]
    assert found["optimal"] is True
    assert found["nearest"] is None
    cheaper = [c["cost_usd"] for c in found["alternatives"]]
    assert all(cost >= best["cost_usd"] for cost in cheaper)


def test_what_cannot_be_met_ends_with_1_and_the_nearest_miss(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"recommend {LOG} --ran-on m5.xlarge --instances m5.xlarge --deadline 10s"
    found = answer(capsys, line, status=1)
    assert found["recommended"] is None
    assert found["nearest"]["composition"]
    assert {entry["instance"] for entry in found["rejected"]} == {"m5.xlarge"}
    out, _ = run(capsys, line, status=1)
    assert "satisfies the goal (deadline 10 s at 90 %); the nearest miss:" in out
    low, high = (engine.format_usd(found["nearest"][f"cost_{end}_usd"]) for end in ("low", "high"))
    assert f" ({low} to {high})" in out


@pytest.mark.parametrize(
    "on",
    [
        "--ran-on m5.xlarge --instances 'm5.*'",
        "--ran-on m5.xlarge --instances 'm5.*' --confidence 99%",
        "--instances m5.large --min-nodes 2 --max-nodes 3 --model optex",
        "--max-executors 9 --executor-cores 2 --executor-memory 4g",
    ],
)
def test_a_miss_is_told_the_deadline_that_can_be_met(
    on: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It ended in a list of 409 types, each so and so late."""
    out, _ = run(capsys, f"recommend {LOG} {on} --deadline 3s", status=1)
    (line,) = (line for line in out.splitlines() if line.startswith("--deadline "))
    named = line.split()[1]
    assert ("or a smaller --confidence would do" in line) == ("optex" not in on)
    run(capsys, f"recommend {LOG} {on} --deadline {named}")
    enough = engine.parse_seconds(named)
    step = 0.11 if enough <= 60.0 else 1.1
    run(capsys, f"recommend {LOG} {on} --deadline {enough - step:.2f}s", status=1)


@pytest.mark.parametrize("goal", ["--deadline 19.418s", "--budget $0.06"])
def test_where_a_better_answer_begins_it_is_given(
    goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """ "From a deadline of 20.4 s" was rounded to the nearest: who typed it got the old answer."""
    on = (
        "word-count-small word-count-large --ran-on c5.xlarge --instances r5.?xlarge --max-nodes 16"
    )
    out, _ = run(capsys, f"recommend {on} {goal}")
    asked = goal.split()[0]
    steps = re.findall(r"^from a (?:deadline|budget) of (.+?): (.+) (?:saves|is) ", out, re.M)
    hour_or_dollar = r"^one more \w+: (.+) (?:saves|is) .+, from a (?:deadline|budget) of (.+) on$"
    steps += [(at, composition) for composition, at in re.findall(hour_or_dollar, out, re.M)]
    steps += [
        (at, out.partition("  ")[0])
        for at in re.findall(
            r"^stays the answer down to a (?:deadline|budget) of (.+?); below", out, re.M
        )
    ]
    assert len(steps) >= 2
    for at, composition in steps:
        again, _ = run(capsys, f"recommend {on} {asked} '{at}'")
        assert again.startswith(f"{composition}  "), at


@pytest.mark.parametrize(
    "goal", values("", "--spot", "--deadline 20m --mix 2", deep=["--deadline 20m"])
)
def test_a_miss_is_told_the_budget_that_is_enough(
    goal: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Only of deadlines was it said what would do."""
    line = f"recommend {LOG} --ran-on m5.xlarge --instances 'm5.?xlarge' --max-nodes 24 {goal}"
    out, _ = run(capsys, f"{line} --budget 0.01", status=1)
    (named,) = re.findall(r"^--budget (\S+) would do$", out, re.M)
    run(capsys, f"{line} --budget {named}")
    run(capsys, f"{line} --budget {0.98 * float(named)}", status=1)


@pytest.mark.parametrize(
    ("clusters", "ways"),
    [("--instances 'm5.*,c5.*'", 2), ("--instances m5.xlarge --max-nodes 1", 1)],
)
def test_a_miss_of_both_is_told_goals_that_can_be_met(
    capsys: pytest.CaptureFixture[str], clusters: str, ways: int
) -> None:
    """Where a deadline and a budget were asked for, nothing said what would do."""
    line = f"recommend {LOG} --ran-on m5.xlarge {clusters}"
    asked = {"--deadline": "3s", "--budget": "0.001"}
    out, _ = run(capsys, f"{line} --deadline 3s --budget 0.001", status=1)
    assert "the nearest miss:" in out
    assert "would do" not in out
    named = re.findall(r"^with (.+?): (.+?)  ", out, re.M)
    assert len(named) == ways
    for options, _ in named:
        words = options.split()
        given = asked | dict(zip(words[::2], words[1::2], strict=True))
        goal = " ".join(f"{option} {value}" for option, value in given.items())
        run(capsys, f"{line} {goal}")


def test_a_miss_is_said_with_its_warnings_by_export_too(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"export {LOG} --ran-on m5.xlarge --instances r5.xlarge --deadline 10s --to emr"
    out, err = run(capsys, line, status=1)
    assert out == ""
    assert "the nearest miss:" in err
    assert "[transferred-speed]" in err


def test_clusters_one_owns_need_no_prices(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys,
        f"recommend {LOG} --executor-cores 2 --executor-memory 4g --max-executors 40 --deadline 5m",
    )
    best = found["recommended"]
    assert best["cost_usd"] is None
    assert 1 <= best["executors"] <= 40
    assert best["vcore_seconds"] == pytest.approx(best["executors"] * 2 * best["seconds"])


@pytest.mark.parametrize("target", ["spark-submit", "spark-defaults", "emr"])
def test_export_is_text_to_paste(target: str, capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, f"export {LOG} --ran-on m5.xlarge --deadline 4m --to {target}")
    assert out.startswith("# sparkplan: ")
    assert "executor" in out
    assert re.search(r"^# expected cost .*, by catalog aws us-east-1 of [-0-9]{10}$", out, re.M)


def test_an_export_is_written_to_a_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a whole, where there is an answer: else a file of that name stays as it is."""
    monkeypatch.chdir(tmp_path)
    line = f"export {LOG} --ran-on m5.xlarge --to emr --deadline"
    printed, _ = run(capsys, f"{line} 4m")
    assert run(capsys, f"{line} 4m -o -")[0] == printed
    assert not list(tmp_path.iterdir())
    out, err = run(capsys, f"{line} 4m -o create.sh")
    assert out == ""
    assert err.startswith("wrote create.sh\n")
    (written,) = tmp_path.iterdir()
    assert written.read_text(encoding="utf-8") == printed
    assert answer(capsys, f"{line} 4m -o create.sh")["export"]["file"] == "create.sh"
    _, err = run(capsys, f"{line} 1s -o create.sh", status=1)
    assert "wrote" not in err
    assert answer(capsys, f"{line} 1s -o create.sh", status=1)["export"]["file"] is None
    assert written.read_text(encoding="utf-8") == printed
    assert "no/such.sh: No such file or directory" in refused(capsys, f"{line} 4m -o no/such.sh")


def test_a_report_says_whose_prices_it_counts_and_begins_with_the_cluster(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Months later nobody could tell of when its prices were; each assumption was said twice."""
    out, _ = run(capsys, f"export {LOG} --ran-on m5.xlarge --deadline 4m --to markdown")
    assert re.search(r"^## Recommendation\n\n- \d+ x \S+, model sparkplan$", out, re.M)
    assert re.search(r"^- expected cost .*, by catalog aws us-east-1 of \d{4}-", out, re.M)
    assert "- surcharge 25 % assumed: " in out


def test_profile_gives_the_same_predictions_as_its_log(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    written = tmp_path / "p.yaml"
    run(capsys, f"profile {LOG} -o {written}")
    for options in ("--executors 6 --executor-cores 2", "--executors 40 --executor-cores 4"):
        log = answer(capsys, f"predict {LOG} {options}")
        yaml = answer(capsys, f"predict {written} {options}")
        assert yaml["seconds"] == pytest.approx(log["seconds"], rel=0.02)


def test_a_dash_is_standard_output_for_profiles_as_well(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    out, _ = run(capsys, f"profile {LOG} -o -")
    assert out == run(capsys, f"profile {LOG}")[0]
    assert answer(capsys, f"profile {LOG} -o - --json")["file"] is None
    assert not list(tmp_path.iterdir())


def test_a_long_name_of_a_stage_fits_eighty_columns(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """JSON has the whole name; the table keeps its beginning and its end."""
    long = "a stage whose name says every step of it one by one and Scan json " * 3
    written = tmp_path / "p.yaml"
    written.write_text(run(capsys, f"profile {LOG}")[0].replace("Scan json", long))
    phases = answer(capsys, f"predict {written}")["phases"]
    assert max(map(len, phases)) > 200
    out, _ = run(capsys, f"predict {written}")
    assert "parquet: Filter, Project, a st…" in out
    assert "and Scan json, Exchange  " in out
    assert all(len(line) <= 80 for line in out.splitlines())


def test_simcost_shows_what_it_learnt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rates = tmp_path / "rates.yaml"
    rates.write_text(
        "network_bytes_per_second: 1GB\nlocal_read_bytes_per_second: 400MB\n"
        "local_write_bytes_per_second: 300MB\n"
    )
    line = f"predict {LOG} --model simcost --executors 8 --executor-cores 2"
    found = answer(capsys, line)
    assert set(found["phases"]) == {
        "overhead", "stragglers", "compute", "read", "write", "shuffle"
    }  # fmt: skip
    assert found["job_profile"]["shuffle_bytes"] > 0
    (said,) = [w["remedy"] for w in found["warnings"] if w["code"] == "rates-from-log"]
    # The other file that measure-host writes (-o) is a type, and no resource profile.
    assert "sparkplan measure-host --resources FILE" in said
    assert "add --resources FILE" in said
    measured = answer(capsys, f"{line} --resources {rates}")
    assert "rates-from-log" not in {warning["code"] for warning in measured["warnings"]}
    out, _ = run(capsys, f"{line} --resources {rates}")
    assert "resource time" in out
    assert "vcore-s" in out
    written = tmp_path / "p.yaml"
    run(capsys, f"profile {LOG} -o {written}")
    yaml = answer(capsys, line.replace(LOG, str(written)))
    assert yaml["seconds"] == pytest.approx(found["seconds"], rel=0.02)


def test_simcost_recommends_number_and_size(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"recommend {LOG} --model simcost --max-executors 30 --executor-cores 2"
    found = answer(capsys, line)
    best = found["recommended"]
    assert best["layout"]["executor_memory_gib"] >= 1.0
    assert best["resource_time"] > best["vcore_seconds"]
    assert "assured-memory" in {warning["code"] for warning in found["warnings"]}
    searched = answer(capsys, f"{line} --epsilon 2")
    assert searched["recommended"]["why"][-1].startswith("range search: [0, 30]")
    assert searched["evaluated"] < found["evaluated"]
    fast = answer(capsys, f"{line} --objective runtime")["recommended"]
    assert fast["seconds"] <= best["seconds"]
    out, _ = run(capsys, line)
    assert " cores and " in out


def test_samples_and_models_are_listed(capsys: pytest.CaptureFixture[str]) -> None:
    names = {sample["name"] for sample in answer(capsys, "samples")["samples"]}
    assert names >= {LOG, "optex-als-standalone", "ernest-rcv1", "optex-als-table3"}
    models = {model["name"] for model in answer(capsys, "models")["models"]}
    assert models >= {"sparkplan", "optex", "ernest", "ernest-extended", "simcost"}


def test_catalogs_are_listed_shown_and_validated(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    listed = {entry["name"]: entry for entry in answer(capsys, "catalog list")["catalogs"]}
    assert listed["aws"]["types"] > 1000
    shown = answer(capsys, "catalog show papers --instances 'm2.*'")
    price = {entry["instance"]: entry["price"] for entry in shown["instances"]}["m2.xlarge"]
    assert price["usd_per_hour"] == 0.41
    assert price["date"]
    assert price["source"]
    broken = tmp_path / "mine.yaml"
    broken.write_text("catalog: mine\nprise: 3\n", encoding="utf-8")
    out, _ = run(capsys, f"catalog validate {broken}", status=2)
    assert f"{broken}:" in out


def test_version_and_help(capsys: pytest.CaptureFixture[str]) -> None:
    for line in ("--version", "--help", "recommend --help"):
        with pytest.raises(SystemExit) as stopped:
            main(shlex.split(line))
        assert stopped.value.code == 0
    assert "sparkplan 0.1.0" in capsys.readouterr().out


def test_a_miss_by_a_hair_is_told_from_the_confidence_asked(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"recommend {LOG} --deadline 1h --confidence 99.9999%"
    out, _ = run(capsys, f"{line} --instances m5.xlarge --max-nodes 1", status=1)
    assert "misses the deadline by " in out
    assert "at 99.9999 % with 1 node" in out
    assert "nearly every" not in out


def test_clusters_one_owns_are_named_by_their_executors(
    capsys: pytest.CaptureFixture[str],
) -> None:
    out, _ = run(capsys, f"recommend {LOG} --deadline 1h --max-executors 5 --executor-cores 2")
    assert out.startswith("1 executor of 2 cores")
    assert "2 executors " in out


def test_all_models_side_by_side(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, "predict ernest-rcv1 --nodes 8 --all-models --deadline 6s")
    models = {entry["model"]: entry for entry in found["models"]}
    assert (found["used"], found["runs"], found["deadline_seconds"]) == ("sparkplan", 7, 6.0)
    alone = answer(capsys, "predict ernest-rcv1 --nodes 8 --model ernest")
    ernest = models["ernest"]
    for key in ("seconds", "low", "high"):
        assert ernest[key] == alone[key]
    assert ernest["leave_one_out_error"] == pytest.approx(alone["leave_one_out_error"])
    errors = [pair["relative_error"] for pair in ernest["left_out"]]
    assert sum(map(abs, errors)) / len(errors) == pytest.approx(ernest["leave_one_out_error"])
    promised = [pair for pair in ernest["left_out"] if pair["predicted_seconds"] < 6.0]
    kept = [pair for pair in promised if pair["measured_seconds"] <= 6.0]
    assert ernest["deadline_cases"] == len(promised) == 2
    assert ernest["deadline_satisfaction"] == len(kept) / len(promised)
    assert models["peridot"]["seconds"] is None
    assert "two event logs" in models["peridot"]["why_not"]


def test_all_models_as_a_table(capsys: pytest.CaptureFixture[str]) -> None:
    line = "predict ernest-rcv1 --nodes 8 --all-models --model ernest"
    out, _ = run(capsys, line)
    assert [row.split()[1] for row in out.splitlines() if row.startswith("*")] == ["ernest"]
    assert "peridot: peridot needs two event logs" in out
    assert "left-out run" in out
    assert "4.72 s" in out


def test_all_models_refuses_an_unknown_one_and_a_question_without_an_answer(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    err = refused(capsys, "predict ernest-rcv1 --nodes 8 --all-models --model nix")
    assert "unknown model 'nix'" in err
    refused(capsys, "predict ernest-rcv1 --nodes 8 --instance nix --all-models")


def test_choices_that_help_names_before_the_engine_is_loaded_are_its_own() -> None:
    assert workflow.TASK_PROFILES == TASK_PROFILES
