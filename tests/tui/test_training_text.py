"""Training runs in words: budgets, spans, and the lines to paste."""

import json
import shlex
import subprocess
from types import SimpleNamespace

import pytest

import engine
from tui import format as text
from tui.cli import main
from tui.input_text.training_text import budget_of, next_round_amount, saving_text, span
from tui.training_exports import TARGETS, collect_line, folder_of, render

EXPERIMENTS = [
    engine.Experiment(4, 0.05, "m5.xlarge"),
    engine.Experiment(1, 0.123456, "m5.xlarge"),
]
LAYOUT = engine.Layout(2, 3, 4.5)


def test_the_line_is_one_that_collect_takes(capsys, tmp_path):
    words = shlex.split(collect_line(EXPERIMENTS, LAYOUT))
    words[words.index("--into") + 1] = str(tmp_path)
    assert main([*words[1:], "--dry-run"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert len(lines) == 2
    assert "spark.executor.instances=8" in lines[0]
    assert "spark.executor.cores=3" in lines[0]
    assert "spark.executor.memory=4608m" in lines[0]
    assert "--sample 0.05" in lines[0]
    assert "--sample 0.123456" in lines[1]


@pytest.mark.parametrize("target", [name for name, *_ in TARGETS])
def test_every_target_holds_every_run(target):
    content = render(target, EXPERIMENTS, LAYOUT)
    assert content.endswith("\n")
    if target == "plan":
        assert [run["nodes"] for run in json.loads(content)["plan"]["runs"]] == [4, 1]
        assert engine.experiments_in(content, where="x")[1].fraction == 0.123456
    else:
        assert content.count("--sample") == (1 if target == "collect" else 2)
        assert "# on a cluster of 4 x m5.xlarge" in content


def test_submissions_find_the_folder_of_their_logs(tmp_path, monkeypatch):
    """It was a hidden one of `collect`, which nothing had made: Spark refuses to start so."""
    folder = tmp_path / "a folder"
    folder.mkdir()
    monkeypatch.chdir(folder)
    submit = """spark-submit() {
        for word; do
            case $word in spark.eventLog.dir=*) dir=${word#*=file://};; esac
        done
        test -d "${dir//%20/ }" && echo "$dir"
    }
    """
    text = submit + render("spark-submit", EXPERIMENTS, LAYOUT)
    ran = subprocess.run(["bash", "-c", text], capture_output=True, text=True, check=True)
    assert ran.stdout.splitlines() == 2 * [f"{tmp_path}/a%20folder/{folder_of(EXPERIMENTS)}"]
    assert not list((folder / folder_of(EXPERIMENTS)).iterdir())


def test_a_type_with_a_strange_name_stays_in_its_comment():
    strange = [engine.Experiment(1, 0.5, "m5\nrm -rf $HOME;`x`")]
    content = render("collect", strange, None)
    lines = [line for line in content.splitlines() if not line.startswith("#")]
    assert len(lines) == 1
    assert "rm" not in shlex.split(lines[0])


@pytest.mark.parametrize(
    ("amount", "unit", "above", "below"),
    [
        (0.23, "usd", 0.5, 0.2),
        (5.0, "usd", 10.0, 2.0),
        (7200.0, "seconds", 10800.0, 3600.0),
        (10.0, "smallest runs", 20.0, 5.0),
    ],
)
def test_a_budget_steps_over_round_amounts(amount, unit, above, below):
    assert next_round_amount(amount, unit, 1) == pytest.approx(above)
    assert next_round_amount(amount, unit, -1) == pytest.approx(below)


def test_a_typed_budget_is_money_time_or_a_number_of_runs():
    assert budget_of("$5") == (5.0, "usd")
    assert budget_of("2h") == (7200.0, "seconds")
    assert budget_of("12") == (12.0, "smallest runs")
    with pytest.raises(engine.BadInput, match="'inf' is not a budget"):
        budget_of("inf")
    with pytest.raises(engine.BadInput, match="not a budget"):
        budget_of("five")


def test_sizes_that_are_written_alike_are_written_once():
    """Batches of nearly the same size were "4.38 MB to 4.38 MB"."""
    assert span(["4.38 MB", "4.38 MB"]) == "4.38 MB"
    assert span(["1 GB", "2 GB", "3 GB"]) == "1 GB to 3 GB"
    assert (span(["1"]), span([])) == ("1", text.UNKNOWN)


@pytest.mark.parametrize(
    ("usd", "seconds", "said"),
    [(7.4e-05, None, "<$0.001"), (0.0123, None, "$0.0123"), (0.0, 61.0, "1m 01s")],
)
def test_what_a_run_saves_has_no_more_digits_than_matter(usd, seconds, said):
    """ "$0.0000740" stood in the table of the command."""
    assert saving_text(SimpleNamespace(gain_usd=usd, gain_seconds=seconds)) == said
