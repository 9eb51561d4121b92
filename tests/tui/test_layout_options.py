"""--overhead-per-core and --fill-nodes, and executors in words with what is beside their heap."""

import shlex
from pathlib import Path

import pytest
from command_line import answer, run
from screen import settled

import engine
from tui.cli import main
from tui.format import executor_size
from tui.session import EngineSession
from tui.training_exports import collect_line

LOG = Path(engine.__file__).parents[1] / "tests" / "data" / "overhead.zstd"
CODE = "more-beside-heap"
NODES = "--nodes 4 --instance m5.xlarge"
OWNED = "--deadline 1h --max-executors 8 --executor-cores 2 --executor-memory 4g"
FIRST_RUNS = "--nodes 1:4 --fractions 1%:10% --budget 10"
GOAL = f"recommend {LOG} --deadline 1h --max-nodes 4 --ran-on m5.xlarge --instances m5.xlarge"


def test_the_option_overrules_the_log(capsys: pytest.CaptureFixture[str]) -> None:
    line = GOAL.replace(" --ran-on m5.xlarge", "")
    for option, overhead, codes in (
        ("", 8.0, [CODE]),
        (" --overhead-per-core 512m", 2.0, []),
        (" --overhead-per-core 0", None, []),
    ):
        found = answer(capsys, f"{line}{option}")
        layout = found["recommended"]["layout"]
        own = overhead or 0.1 * layout["executor_memory_gib"]
        assert layout["executor_memory_overhead_gib"] == pytest.approx(own)
        assert [w["code"] for w in found["warnings"] if w["code"] == CODE] == codes


def test_a_measured_type_is_laid_out_anew_in_its_containers(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """0.5 GiB of heap and 2.5625 GiB beside it."""
    measured = answer(capsys, GOAL)["recommended"]["layout"]
    assert (measured["executor_memory_gib"], measured["executor_memory_overhead_gib"]) == (0.5, 2.0)
    asked = answer(capsys, f"{GOAL} --overhead-per-core 1g")["recommended"]["layout"]
    assert asked["executor_memory_gib"] == pytest.approx(3.0625 - 1.0)
    assert asked["executor_memory_overhead_gib"] == 1.0


def test_an_export_says_who_asked_for_it(capsys: pytest.CaptureFixture[str]) -> None:
    line = GOAL.replace("recommend", "export") + " --to spark-defaults"
    assert f"as executors of the logs had [{CODE}]" in run(capsys, line)[0]
    asked, _ = run(capsys, f"{line} --overhead-per-core 1g")
    assert "# assumes: 1 GiB beside the heap of each executor, as --overhead-per-core says" in asked
    assert "spark.executor.memoryOverhead   1024m" in asked
    plain, _ = run(capsys, f"{line} --overhead-per-core 0")
    assert "beside the heap" not in plain


@pytest.mark.parametrize("command", ["fleet", "workflow recommend", "export"])
def test_every_command_that_lays_executors_out_takes_it(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was dropped by `fleet`, and unknown to `workflow`."""
    line = GOAL.replace("recommend", command).replace(" --ran-on m5.xlarge", "")
    to = " --to emr" if command == "export" else ""
    for option, overhead in ((" --overhead-per-core 512m", 2.0), (" --overhead-per-core 1g", 4.0)):
        found = answer(capsys, f"{line}{to}{option}")
        chosen = (found["jobs"][0] if command == "fleet" else found)["recommended"]
        assert chosen["layout"]["executor_memory_overhead_gib"] == overhead


@pytest.mark.parametrize("command", ["recommend", "fleet", "workflow recommend", "export"])
def test_a_measured_type_is_filled_like_others_on_request(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    def executors(option: str) -> tuple[int, int]:
        to = " --to emr" if command == "export" else ""
        found = answer(capsys, f"{GOAL.replace('recommend', command)}{to}{option}")
        layout = (found["jobs"][0] if command == "fleet" else found)["recommended"]["layout"]
        return layout["executors_per_node"], layout["executor_cores"]

    assert executors("") == (2, 1)
    assert executors(" --fill-nodes") == (1, 4)


def test_single_answers_and_curves_fill_nodes_too(capsys: pytest.CaptureFixture[str]) -> None:
    origin = f"{LOG} --ran-on m5.xlarge"
    as_it_ran = answer(capsys, f"predict {origin} {NODES}")["seconds"]
    filled = answer(capsys, f"predict {origin} {NODES} --fill-nodes")["seconds"]
    of_cores = "--executors 4 --executor-cores 4 --executor-memory 10g"
    assert filled == answer(capsys, f"predict {LOG} {of_cores}")["seconds"]
    assert filled != as_it_ran
    curve = answer(capsys, f"curve {origin} --over nodes --instance m5.xlarge --fill-nodes")
    (point,) = (point for point in curve["points"] if point["nodes"] == 4)
    assert point["seconds"] == filled


@pytest.mark.parametrize(
    ("line", "says"),
    [
        (f"{GOAL} --overhead-per-core much", "--overhead-per-core: 'much' is not an amount"),
        (f"{GOAL} --overhead-per-core=-1g", "--overhead-per-core"),
        (f"{GOAL} --overhead-per-core 99g", "99 GiB per core beside the heap"),
        (f"predict {LOG} {NODES} --overhead-per-core 99g", "m5.xlarge holds no executor (16 GiB, "),
        (f"curve {LOG} --over nodes --instance m5.xlarge --overhead-per-core 99g", "holds no exec"),
        (f"predict {LOG} --overhead-per-core 1g", "no executors are laid out"),
        (f"predict {LOG} --executors 2 --overhead-per-core 1g", "no executors are laid out"),
        (f"workflow {LOG} --overhead-per-core 1g", "no executors are laid out"),
        (f"predict {LOG} --fill-nodes", "--fill-nodes: no executors are laid out"),
        (f"predict {LOG} --executors 2 --fill-nodes", "no executors are laid out"),
        (f"predict {LOG} --nodes 4 --fill-nodes", "how many vCPUs the measured nodes had is not"),
        (f"curve {LOG} --over nodes --fill-nodes", "--fill-nodes: how many vCPUs"),
        (f"workflow {LOG} --nodes 4 --fill-nodes", "--fill-nodes: how many vCPUs"),
        (f"recommend {LOG} {OWNED} --fill-nodes", "--fill-nodes: executors have the cores"),
        (f"experiments {FIRST_RUNS} --fill-nodes", "--fill-nodes: says how executors of logs"),
        (f"experiments {FIRST_RUNS} --overhead-per-core 0", "says how executors of logs"),
    ],
)
def test_what_cannot_be_is_one_line(
    line: str, says: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        status = main(shlex.split(line))
    except SystemExit as left:
        status = int(left.code or 0)
    told = capsys.readouterr().err
    assert (status, told.count("\n")) == (2, 1)
    assert says in told


def test_executors_in_words() -> None:
    layout = engine.Layout(2, 4, 14.0, engine.BesideHeap(6.0, 3.0))
    assert executor_size(layout) == " of 4 cores and 14 GiB (9 GiB beside the heap)"
    assert executor_size(engine.Layout(2, 4, 14.0)) == " of 4 cores and 14 GiB"
    assert executor_size(engine.Layout(2, 4)) == " of 4 cores"


def test_training_runs_get_it() -> None:
    layout = engine.Layout(2, 4, 14.0, engine.BesideHeap(6.0, 3.0))
    line = collect_line([engine.Experiment(2, 0.1, "m5.xlarge")], layout)
    for setting in ("memory=14336m", "memoryOverhead=6144m", "pyspark.memory=3072m"):
        assert f"spark.executor.{setting}" in line
    by_cores = collect_line([engine.Experiment(None, 0.1, "m5.xlarge", cores=8)], layout)
    for setting in ("memory=3584m", "memoryOverhead=1536m", "pyspark.memory=768m"):
        assert f"spark.executor.{setting}" in by_cores


async def test_measured_nodes_are_filled_on_request(planner):
    app = planner(EngineSession(), sources=(str(LOG),), ran_on="m5.xlarge", mix=1)
    async with app.run_test(size=(120, 40)) as pilot:
        await app.run_command_line("instances m5.xlarge")
        await settled(pilot)
        measured = app.answer.best.layout
        await app.run_command_line("fill-nodes on")
        await settled(pilot)
        filled = app.answer.best.layout
        assert (measured.executor_cores, filled.executor_cores) == (1, 4)
        app.action_undo()
        await settled(pilot)
        assert app.answer.best.layout == measured


def test_a_design_lays_executors_out_on_nodes_like_the_measured_ones(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Of filled nodes of no type that is named it told no times."""
    line = f"experiments {LOG} --ran-on m5.xlarge --nodes 1:4 --fractions 1%:10% --budget 10"
    measured = answer(capsys, line)["plan"]["runs"]
    filled = answer(capsys, f"{line} --fill-nodes")["plan"]["runs"]
    assert all(run["seconds"] for run in (*measured, *filled))
    assert [run["seconds"] for run in filled] != [run["seconds"] for run in measured]


def test_a_type_of_unknown_memory_is_not_told_to_have_more(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was said to hold no executor (nan GiB)."""
    table = tmp_path / "runs.csv"
    header = "application,instance_type,vcpus,nodes,input_size,seconds"
    table.write_text(f"{header}\nsort,own,4,2,160MB,20\n")
    line = f"predict sort-small {table} --nodes 3 --instance own --model boe"
    assert main(shlex.split(line)) == 2
    said = "own has no known memory, so that its executors are not known either; say its memory"
    assert capsys.readouterr().err.startswith(f"sparkplan: {said} (memory_gib), or executors")
