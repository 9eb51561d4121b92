"""`sparkplan experiments` and `sparkplan collect` as a person and a script meet them."""

import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from command_line import answer, refused, run

import engine
import sample_logs
from tui.cli import main
from tui.views.experiments import known_line

DESIGN = (
    "experiments --nodes 1:10 --fractions 6.25%:12.5% --steps 5 --partitions 512 --node-cores 2"
)


def test_a_budget_in_money_is_priced_by_the_type_of_the_runs_there_are(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It asked for the SOURCE that had been given."""
    line = "experiments nightly-features --nodes 1:4 --fractions 10%:50% --budget '$1'"
    found = answer(capsys, f"{line} --ran-on m5.xlarge")
    assert {each["instance"] for each in found["plan"]["runs"]} == {"m5.xlarge"}
    assert 0.0 < found["plan"]["cost"] <= 1.0
    named = answer(capsys, f"{line} --ran-on m5.xlarge --instances m5.xlarge")
    assert found["plan"] == named["plan"]
    assert "every run; name their type: --instances TYPE\n" in refused(capsys, line)


def test_a_measured_type_without_a_price_is_not_asked_of_the_catalog(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """The runs of this table are counted in cores, which no catalog has."""
    line = "experiments ernest-rcv1 --nodes 1:8 --fractions 10%:50% --budget '$1'"
    said = "a budget in money needs a price and an expected time of every run; name their type: "
    assert refused(capsys, line) == f"sparkplan: --budget: {said}--instances TYPE\n"


def test_a_design_without_any_run(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(capsys, f"{DESIGN} --budget 10")
    plan = found["plan"]
    assert plan["candidates"] == 50
    assert plan["criterion"] == pytest.approx(7.98605, rel=0.01)
    assert plan["greedy_criterion"] > 2.0 * plan["criterion"]
    assert plan["cost"] <= plan["budget"] == 10.0
    assert plan["seconds"] is None
    assert plan["usd"] is None
    assert found["next"] == []
    assert found["stop"] is None
    out, _ = run(capsys, f"{DESIGN} --budget 10")
    assert f"{len(plan['runs'])} runs" in out
    assert "the 39 cheapest runs for the same money: 19.84" in out


def test_a_guess_of_the_smallest_run(capsys: pytest.CaptureFixture[str]) -> None:
    line = "experiments --nodes 1:8 --fractions 1%:10% --instances m5.xlarge --smallest-run 3m"
    found = answer(capsys, f"{line} --budget '$5'")
    assert found["plan"]["unit"] == "usd"
    assert 4.0 < found["plan"]["usd"] <= 5.0
    out, _ = run(capsys, f"{line} --budget '$5'")
    assert "one after the other, $5.00 of $5.00\n" in out
    assert [warning["code"] for warning in found["warnings"]] == ["assumed-linear-time"]
    timed = answer(capsys, f"{line} --budget 2h")
    assert timed["plan"]["seconds"] <= 7200.0


def test_the_next_run_for_a_log(capsys: pytest.CaptureFixture[str]) -> None:
    line = "experiments nightly-features --ran-on m5.xlarge --deadline 10m --instances 'm5.*,c5.*'"
    found = answer(capsys, line)
    assert found["known"][0]["runs"] == 1
    assert found["now"]["p_deadline"] > 0.5
    assert found["now"]["low"] < found["now"]["seconds"] < found["now"]["high"]
    assert isinstance(found["stop"], bool)
    assert found["next"]
    for entry in found["next"]:
        assert entry["usd"] > 0.0
        assert entry["gain_usd"] >= 0.0
        assert 0.0 <= entry["changes"] <= 1.0
    out, _ = run(capsys, line)
    assert "pays after" in out
    assert found["reason"] in out


def test_the_papers_own_plans(capsys: pytest.CaptureFixture[str]) -> None:
    waves = answer(
        capsys,
        "experiments --plan simcost --partitions 150 --target-cores 30,60,90,120,150 "
        "--sample-partitions 5",
    )
    assert [entry["cores"] for entry in waves["plan"]["runs"]] == [1, 2, 3, 4, 5]
    sizes = answer(
        capsys,
        "experiments --plan peridot --nodes 1:4 --fractions 1%:10% --partitions 400 --node-cores 4",
    )
    first, second = sizes["plan"]["runs"]
    assert first["cores"] == second["cores"] == 4
    assert second["fraction"] == pytest.approx(2 * first["fraction"])


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("experiments", "nothing to plan from"),
        ("experiments --nodes 4:4 --fractions 1%:10% --budget 10", "cannot tell these terms apart"),
        (
            "experiments --nodes 1:10 --fractions 1%:10% --budget 10 --terms extended --steps 4 "
            "--partitions 100 --node-cores 4",
            "; 36 experiments with fewer partitions than cores are left out",
        ),
        ("experiments --nodes 1:8 --fractions 1%:10% --budget 0.01", "below the cheapest run"),
        ("experiments --nodes 1:8 --fractions 1%:10% --budget banana", "is not a budget"),
        ("experiments --nodes 1:8 --fractions 1%:10% --budget 2:00",
         "sparkplan: --budget: '2:00' is ambiguous: minutes and seconds, or hours and minutes; "
         "write 2m or 2h"),
        ("experiments sort-small --smallest-run 2:00", "sparkplan: --smallest-run: '2:00' is amb"),
        ("experiments sort-small --job-budget 2h", "--job-budget: '2h' is not an amount"),
        ("collect --app job.py --into out --timeout 2:00", "sparkplan: --timeout: '2:00' is amb"),
        ("predict sort-small --deadline 2:00", "sparkplan: --deadline: '2:00' is ambiguous"),
        ("recommend sort-small --budget 2:00", "sparkplan: --budget: '2:00' is not an amount"),
        ("experiments --nodes 1:8 --fractions 1%:10% --budget inf", "budget"),
        ("experiments --nodes 1:8 --fractions 1%:10% --budget '$5'", "a price and an expected"),
        ("experiments --nodes 1:8 --fractions 1%:10%", "a design needs a budget"),
        ("experiments --nodes 1:8 --fractions 10%:1% --budget 5", "runs backwards"),
        ("experiments --nodes 1:8 --fractions 150% --budget 5", "not a fraction"),
        ("experiments sort-small --budget 5", "needs sizes to choose from"),
        ("experiments sort-small --plan peridot", "needs sizes to choose from"),
        ("experiments sort-small --fractions 5%:9% --budget 5 --deadline 1h", "for the next run"),
        ("experiments sort-small --fractions 5%:9% --budget 5 --spot", "--spot: is of the real"),
        ("experiments sort-small --plan peridot --fractions 5%:9% --budget 5", "no budget"),
        ("experiments sort-small --target-cores 5", "--target-cores: is for SimCost"),
        ("experiments ernest-rcv1 --plan simcost", "needs the partitions of the input"),
        ("experiments sort-small --plan simcost --job-budget $5", "--job-budget"),
        ("experiments sort-small --fractions 5%:9% --budget 5 --smallest-run 1h", "--smallest-run"),
        ("experiments sort-small --partitions 5", "--partitions: is for a design"),
        ("experiments --plan simcost", "needs --partitions"),
        ("experiments sort-small --plan simcost --fractions 1%:10%", "--fractions"),
        ("experiments sort-small --plan simcost --smallest-run 5s", "--smallest-run"),
        ("experiments sort-small --plan simcost --iteration-share 5%", "--iteration-share"),
        ("experiments sort-small --plan simcost --instances m5.large,m5.xlarge",
         "one instance type"),
        ("experiments --plan peridot --fractions 1%,9% --node-cores 4 --instances m5.xlarge,x1",
         "one instance type"),
        ("experiments --plan peridot --fractions 1%:10% --terms extended", "--terms"),
        ("experiments sort-small --deadline 1m --terms extended", "--terms"),
        ("experiments --plan simcost --partitions 9 --target-cores x --sample-partitions 2",
         "whole number"),
        ("experiments --plan peridot --nodes 1:2 --fractions 1%:10%", "cores of a node"),
        ("collect --app 'job.py {fraction}' --into out", "no run is planned"),
        ("collect --app 'job.py {fraction}' --into out --run 4", "not NODES@FRACTION"),
        ("collect --app 'job.py {size}' --into out --run 4@10% --dry-run", "unknown placeholder"),
        ("collect --app job.py --into out --run 4@10% --conf x --dry-run", "not KEY=VALUE"),
        ("collect --app job.py --into out --plan nowhere.json --dry-run",
         "nowhere.json: No such file or directory; name a file"),
        ("collect --app job.py --into out --run 4@10% --spark-submit /nowhere", "not a command"),
    ],
)  # fmt: skip
def test_bad_input_is_one_line(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path,
    line: str, said: str,
) -> None:  # fmt: skip
    monkeypatch.chdir(tmp_path)
    err = refused(capsys, line)
    assert said in err
    assert list(tmp_path.iterdir()) == []


def test_a_plan_becomes_commands(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    out, _ = run(capsys, f"{DESIGN} --budget 10 --json")
    plan = tmp_path / "plan.json"
    plan.write_text(out)
    line = (
        f"collect --app 'job.py {{fraction}} {{partitions}}' --plan {plan} --into {tmp_path}/logs"
    )
    commands, _ = run(capsys, f"{line} --dry-run")
    assert len(commands.splitlines()) == len(json.loads(out)["plan"]["runs"])
    assert all(line.startswith("spark-submit --conf ") for line in commands.splitlines())
    assert not (tmp_path / "logs").exists()


def test_a_failed_run_ends_with_3_and_one_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    script = tmp_path / "submit"
    script.write_text("#!/bin/sh\nprintf 'java.lang.Error: \\033[31mbroken'\nexit 4\n")
    script.chmod(0o755)
    line = f"collect --app job.py --run 2@5% --into {tmp_path}/logs --spark-submit {script}"
    out, err = run(capsys, line, status=3)
    assert "failed" in out
    assert "ended with 4" in err
    assert "\x1b" not in err
    assert len(err.splitlines()) == 1


@pytest.mark.parametrize("into", ["runs", "my 'runs'", "-x", "a:b", "../aside/logs", "{here}/abs"])
def test_what_it_names_next_works_as_it_is_pasted(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    into: str,
) -> None:
    """It ended in three dots, which were taken for a source."""
    script, here = tmp_path / "submit", tmp_path / "here"
    log = Path(sample_logs.__file__).with_name("sales-report-small.zstd")
    script.write_text(
        f"#!{sys.executable}\nimport shutil, sys\nfrom urllib.parse import unquote, urlparse\n"
        "told = next(word for word in sys.argv if word.startswith('spark.eventLog.dir='))\n"
        f"shutil.copy({str(log)!r}, unquote(urlparse(told.partition('=')[2]).path) + '/a.zstd')\n"
    )
    script.chmod(0o755)
    here.mkdir()
    monkeypatch.chdir(here)
    folder = shlex.quote(f"--into={into.format(here=here)}")
    _, err = run(capsys, f"collect --app job.py --run 2@5% {folder} --spark-submit {script}")
    pasted = err.strip().splitlines()[-1].removeprefix("next: sparkplan ")
    out, _ = run(capsys, f"{pasted} --json")
    assert json.loads(out)["seconds"] > 0.0


def _as_from_a_terminal() -> None:
    """Under nohup the tests ignore hang-ups, in the background of a script interrupts, and what
    they start would as well: as it should."""
    signal.signal(signal.SIGHUP, signal.SIG_DFL)
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_an_ended_session_ends_the_run_and_leaves_nothing(
    tmp_path: Path, number: signal.Signals
) -> None:
    script, mark = tmp_path / "submit", tmp_path / "pid"
    script.write_text(f"#!/bin/sh\necho $$ > {mark}.new && mv {mark}.new {mark}\nexec sleep 60\n")
    script.chmod(0o755)
    words = ["collect", "--app", "job.py", "--run", "2@5%", "--into", str(tmp_path / "logs")]
    process = subprocess.Popen(
        [sys.executable, "-m", "tui.cli", *words, "--spark-submit", str(script)],
        stderr=subprocess.PIPE, text=True, preexec_fn=_as_from_a_terminal,
    )  # fmt: skip
    waited = time.monotonic() + 120.0
    while not mark.exists() and time.monotonic() < waited:
        time.sleep(0.05)
    process.send_signal(number)
    _, err = process.communicate(timeout=120.0)
    assert process.returncode == 130
    assert err == "sparkplan: interrupted\n"
    with pytest.raises(ProcessLookupError):
        os.kill(int(mark.read_text()), 0)
    assert [path.name for path in (tmp_path / "logs").iterdir() if "running" in path.name] == []


def test_a_slow_host_is_said_once_with_what_to_do(capsys: pytest.CaptureFixture[str]) -> None:
    from engine.sources.distilling.hosts import SlowHost
    from tui.headless.collect import warn_of_slow_hosts

    job = engine.Job(template=("job.py",))
    runs = engine.training_runs([engine.Experiment(3, 0.1)], job, repeat=2)
    warn_of_slow_hosts(
        [
            engine.Outcome(run, "done", (), 1.0, slow=(SlowHost("bad\x1b[31m", ratio, 40),))
            for run, ratio in zip(runs, (1.3, 1.5), strict=True)
        ]
    )
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "1.50 times" in said
    assert "nodes3-input10pc-seed2" in said
    assert "spark.yarn.exclude.nodes=bad" in said
    assert "\x1b" not in said


def test_changed_code_is_said_once_with_the_logs_to_remove(
    capsys: pytest.CaptureFixture[str],
) -> None:
    from tui.headless.collect import as_dict, warn_of_changed_code

    job = engine.Job(template=("job.py",))
    runs = engine.training_runs([engine.Experiment(3, 0.1)], job, repeat=5)
    old = [engine.Outcome(run, "kept", (), changed=("a\x1b[31m.py",)) for run in runs]
    warn_of_changed_code([*old, engine.Outcome(runs[0], "done", ())])
    said = capsys.readouterr().err
    assert said.count("\n") == 1
    assert "nodes3-input10pc-seed3 and 2 more [code-changed]" in said
    assert "remove those logs" in said
    assert "\x1b" not in said
    assert as_dict(old[0])["changed_code"] == ["a\x1b[31m.py"]
    warn_of_changed_code([engine.Outcome(runs[0], "kept", ())])
    assert capsys.readouterr().err == ""


def test_a_log_tells_simcosts_plan_what_it_needs(capsys):
    command = "experiments nightly-features --ran-on m5.xlarge --instances m5.xlarge --plan simcost"
    found = answer(capsys, f"{command} --nodes 1:8")["plan"]
    assert found["method"] == "simcost"
    assert [run["cores"] for run in found["runs"]] == [1, 2, 3, 4, 5]
    assert all(run["seconds"] > 0.0 and run["usd"] > 0.0 for run in found["runs"])
    times = [run["seconds"] for run in found["runs"]]
    assert times == sorted(times, reverse=True)


def test_a_budget_of_the_job_asks_for_the_run_that_saves_time(capsys):
    command = "experiments nightly-features --ran-on m5.xlarge --instances m5.* --job-budget $0.2"
    found = answer(capsys, command)
    assert found["now"]["weighed_by"] == "time and the budget"
    assert found["now"]["cost_usd"] <= 0.2
    assert found["next"]
    assert all(run["gain_usd"] is None and run["gain_seconds"] >= 0.0 for run in found["next"])
    assert main(command.split()) == 0
    shown = capsys.readouterr().out
    assert "pays after" not in shown
    assert "weighed by time and the budget" in shown


@pytest.mark.parametrize(("runs", "differs"), [(3, True), (2, False)])
def test_why_a_run_of_the_choice_has_another_time_is_said(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, runs: int, differs: bool
) -> None:
    """A process of the runs alone knows no speeds of other types, as the model does. It is fitted
    to three runs or more."""
    rows = ("1,48GB,500,m5.xlarge", "2,48GB,260,m5.xlarge", "4,48GB,150,m5.xlarge")
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(("nodes,input_size,seconds,instance_type", *rows[:runs], "")))
    ask = ["experiments", str(table), "--deadline", "4m", "--nodes", "1:8"]
    assert main([*ask, "--instances", "c7a.2xlarge"]) == 0
    shown = capsys.readouterr().out
    assert ("give the time by the model alone. The search for a next run also" in shown) is differs


def test_spot_prices_are_weighed_where_they_are_asked_for(capsys):
    """Among so few clusters that each is replayed: of many, times are read off a curve."""
    command = "experiments nightly-features --ran-on m5.xlarge --instances m5.* --deadline 10m"
    command += " --nodes 1:8"
    listed = answer(capsys, command)
    spot = answer(capsys, f"{command} --spot")
    assert (listed["now"]["spot"], spot["now"]["spot"]) == (False, True)
    listed_of, spot_of = (
        {(run["instance"], run["nodes"]): run for run in found["next"]} for found in (listed, spot)
    )
    both = listed_of.keys() & spot_of.keys()
    assert both
    for trial in both:
        assert spot_of[trial]["usd"] < listed_of[trial]["usd"]
        assert spot_of[trial]["seconds"] >= listed_of[trial]["seconds"]


def test_runs_by_cores_are_made_with_executors_of_one(capsys, tmp_path):
    line = "collect --run 3c@10% --into DIR --executor-cores 1 --dry-run --app job.py"
    words = line.replace("DIR", str(tmp_path / "runs")).split()
    assert main(words) == 0
    assert "spark.cores.max=3" in capsys.readouterr().out


def test_the_next_run_comes_with_the_warnings_of_the_recommendation(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A log that does not say where it ran is no surer ground for a run than for a cluster."""
    line = "sort-large --deadline 10m --instances 'm5.*'"
    codes = {each["code"] for each in answer(capsys, f"experiments {line}")["warnings"]}
    found = answer(capsys, f"recommend {line}")
    told = {each["code"] for each in (*found["warnings"], *found["recommended"]["warnings"])}
    assert {"unknown-source-type", "single-run"} <= told
    assert codes == told
    _, messages = run(capsys, f"experiments {line}")
    assert all(f"[{code}]" in messages for code in codes)


def test_a_choice_without_an_interval_is_told_so(capsys: pytest.CaptureFixture[str]) -> None:
    line = "experiments optex-als-yarn --instances 'm5.*' --deadline"
    now = answer(capsys, f"{line} 4m")["now"]
    assert (now["low"], now["high"], now["p_deadline"]) == (None, None, None)
    out, messages = run(capsys, f"{line} 4m")
    assert "(no interval)" in out
    assert "within 4m 00s by the time alone: met" in out
    assert "[no-interval]" in messages
    out, _ = run(capsys, f"{line} 40s")
    assert "within 40 s by the time alone: not met" in out


def test_what_runs_do_not_tell_is_said_in_words():
    """A size that no log told was a dash at the end of the line."""
    silent = engine.KnownType(None, 1, (), (), 1, None)
    assert known_line([silent], "bytes")[1][0] == (
        "unnamed nodes, 1 run on nodes unknown, input unknown"
    )


def test_one_run_is_counted_as_one(capsys):
    """It said 1 smallest runs, the 1 cheapest runs, 1 possible runs."""
    line = "experiments ernest-rcv1 --nodes 1:1 --fractions 0.1 --budget 1"
    assert main(line.split()) == 0
    out = capsys.readouterr().out
    assert "1 smallest run of 1 smallest run\n" in out
    assert "the 1 cheapest run for the same money" in out
    assert "1 possible run, terms" in out
