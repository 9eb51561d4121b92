"""What the command says of named compositions."""

from pathlib import Path

import pytest
from command_line import answer, refused, run
from test_headless import LOG

import engine
from tui.headless import recommend, sensitivity_lines

ON = f"predict {LOG} --ran-on m5.xlarge"


def test_a_mix_has_a_time_an_interval_and_every_part_of_its_cost(
    capsys: pytest.CaptureFixture[str],
) -> None:
    found = answer(capsys, f"{ON} --composition m5.2xlarge=3,r5.4xlarge=2 --deadline 10m")
    assert found["composition"] == {"m5.2xlarge": 3, "r5.4xlarge": 2}
    assert found["low"] < found["seconds"] < found["high"]
    assert found["phases"] is None
    parts = [value for name, value in found["cost"].items() if name.endswith("_usd")]
    assert sum(parts) == pytest.approx(found["cost_usd"])
    assert found["cost_low_usd"] < found["cost_usd"] < found["cost_high_usd"]
    assert found["p_deadline"] > 0.5
    out, err = run(capsys, f"{ON} --composition m5.2xlarge=3,r5.4xlarge=2")
    assert "on 3 × m5.2xlarge + 2 × r5.4xlarge" in out
    assert "cost: workers" in out
    assert "[mixed-cluster]" in err


@pytest.mark.parametrize("more", ["", " --spot", " --max-spot 50%", " --deadline 3m"])
def test_one_type_is_what_nodes_and_instance_say(
    capsys: pytest.CaptureFixture[str], more: str
) -> None:
    """With its cost: `predict --nodes` told none, whatever the catalog."""
    named = answer(capsys, f"{ON} --composition m5.xlarge=3{more}")
    assert answer(capsys, f"{ON} --nodes 3 --instance m5.xlarge{more}") == named
    assert named["cost_low_usd"] < named["cost_usd"] < named["cost_high_usd"]
    out, _ = run(capsys, f"{ON} --nodes 3 --instance m5.xlarge{more}")
    assert f"{engine.format_usd(named['cost_usd'])} (" in out
    assert "start-up 210 s assumed" in out
    assert "surcharge $" in out
    assert "surcharge 25 %" not in out, "the fee of m5.xlarge is published"


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("--nodes 3 --instance c1.medium", "c1.medium holds no executor (1.699 GiB)"),
        ("--composition m5.xlarge=1,c1.medium=2", "c1.medium holds no executor (1.699 GiB)"),
        ("--nodes 3 --instance m4.large --overhead-per-core 9g", "m4.large holds no executor"),
    ],
)
def test_a_type_that_holds_no_executor_is_named(
    capsys: pytest.CaptureFixture[str], line: str, why: str
) -> None:
    """It was "none of the instance types", and "'*' for all of them", which `predict` does not
    know."""
    err = refused(capsys, f"{ON} {line}")
    assert f"catalog aws: {why}" in err
    assert "; name a type with more memory" in err
    assert "'*'" not in err


def test_a_type_of_half_a_vcpu_needs_no_more_memory(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """It was told to be named with more memory, of which it has 16 GiB."""
    catalog = tmp_path / "own.yaml"
    catalog.write_text(
        "{date: 2026-05-01, source: made up, instances: ["
        "{name: half, vcpus: 0.5, memory_gib: 16, usd_per_hour: 0.01}]}"
    )
    err = refused(capsys, f"{ON} --catalog {catalog} --nodes 3 --instance half")
    said = "half holds no executor (0.5 vCPUs); name a type with at least one vCPU"
    assert err == f"sparkplan: catalog own: {said}\n"


def test_nodes_of_the_evidence_cost_what_it_says(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """Times nodes by its own price, and null where it has none."""
    rows = ["nodes,input_size,seconds,instance_type,vcpus,memory_gib,price_hourly_usd"]
    rows += [f"{n},1GB,{60 + 600 / n},mine,4,16,0.36" for n in (1, 2, 4, 8)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(rows) + "\n")
    found = answer(capsys, f"predict {table} --nodes 4 --instance mine")
    for cost, time in (("cost_usd", "seconds"), ("cost_low_usd", "low"), ("cost_high_usd", "high")):
        assert found[cost] == pytest.approx(4 * 0.36 * found[time] / 3600)
    out, _ = run(capsys, f"predict {table} --nodes 4")
    assert f"{engine.format_usd(found['cost_usd'])} (" in out
    assert out.endswith("), by the prices of the runs alone\n")
    unknown = answer(capsys, f"predict {LOG} --executors 3")
    assert [unknown[f"cost_{end}usd"] for end in ("", "low_", "high_")] == [None, None, None]


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--composition nothing=3", "unknown instance type 'nothing'"),
        ("--composition m5.xlarge=0", "at least 1"),
        ("--composition m5.xlarge", "is not TYPE=N"),
        ("--composition m5.xlarge=1,m5.xlarge=2", "named twice"),
        ("--composition m5.xlarge=1 --nodes 2", "leave it out"),
        ("--composition m5.xlarge=1 --all-models", "one model"),
        ("--spot", "add --composition"),
    ],
)
def test_what_contradicts_is_one_line(
    capsys: pytest.CaptureFixture[str], options: str, said: str
) -> None:
    assert said in refused(capsys, f"{ON} {options}")


def table_of(folder: Path, *, price: str = "") -> Path:
    """A run table of a type of the default catalog, with the price that its writer pays or none."""
    column, cell = (",price_hourly_usd", f",{price}") if price else ("", "")
    rows = "".join(f"{n},1GB,{60 + 600 / n},m4.2xlarge{cell}\n" for n in (1, 2, 4, 8))
    table = folder / "runs.csv"
    table.write_text(f"nodes,input_size,seconds,instance_type{column}\n{rows}")
    return table


def test_nodes_at_a_price_of_their_own_are_told_to_name_a_catalog(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """The remedy was to say the nodes and the type, which were said; with a catalog it answers."""
    table = table_of(tmp_path, price="0.4")
    line = f"predict {table} --nodes 4 --instance m4.2xlarge --spot"
    err = refused(capsys, line)
    assert err.endswith("; add --catalog NAME, or leave it out\n")
    assert answer(capsys, f"{line} --catalog aws")["cost_usd"] > 0.0


@pytest.mark.parametrize("options", ["", "--spot", "--discount 20%", "--spot --discount 20%"])
def test_all_commands_find_the_price_of_a_type_that_a_table_names_without_one(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: str
) -> None:
    """Only `recommend` did; the others said that no price is known."""
    table = table_of(tmp_path)
    told = answer(capsys, f"predict {table} --nodes 4 {options}")
    curve = answer(capsys, f"curve {table} --over nodes --nodes 4:4 {options}")
    (point,) = curve["points"]
    limit = "--instances m4.2xlarge --min-nodes 4 --max-nodes 4 --objective cost"
    best = answer(capsys, f"recommend {table} {limit} {options}")["recommended"]
    for name in ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd"):
        assert told[name] == pytest.approx(best[name], rel=1e-9)
        assert point[name] == pytest.approx(best[name], rel=1e-9)
    assert told["catalog"] == curve["catalog"]
    assert told["catalog"]["name"] == "aws"
    assert curve["spot"] is ("--spot" in options)


def test_a_price_that_the_runs_tell_goes_before_that_of_a_catalog_nobody_named(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = table_of(tmp_path, price="0.4")
    told = answer(capsys, f"predict {table} --nodes 4")
    assert told["cost_usd"] == pytest.approx(0.4 * 4 * told["seconds"] / 3600.0)
    assert told["catalog"] is None
    out, _ = run(capsys, f"curve {table} --over nodes --nodes 4:4")
    assert "cost is that of the time, by the prices of the runs alone" in out
    named = answer(capsys, f"predict {table} --nodes 4 --catalog aws")
    assert named["cost_usd"] > told["cost_usd"], "EMR's start-up, master and surcharge"


@pytest.mark.parametrize(("last", "known"), [("0.4", True), ("0.5", False), ("", False)])
def test_nodes_that_nobody_named_have_the_price_that_all_of_them_had(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, last: str, known: bool
) -> None:
    """A table with prices and without types was told no cost at all."""
    prices = ("0.4", "0.4", last)
    rows = [f"{n},1GB,{60 + 600 / n},{usd}" for n, usd in zip((1, 2, 4), prices, strict=True)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(["nodes,input_size,seconds,price_hourly_usd", *rows]))
    found = answer(capsys, f"predict {table} --nodes 3")
    paid = 0.4 * 3 * found["seconds"] / 3600.0
    assert found["cost_usd"] == (pytest.approx(paid) if known else None)


def test_the_run_as_it_was_measured_has_the_price_of_its_type(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    table = table_of(tmp_path)
    largest = answer(capsys, f"predict {table}")
    named = answer(capsys, f"predict {table} --nodes 1")
    assert largest["cost_usd"] == pytest.approx(named["cost_usd"], rel=1e-12)
    cheaper = answer(capsys, f"predict {table} --discount 20%")
    assert cheaper["cost_usd"] < largest["cost_usd"]
    out, _ = run(capsys, f"predict {LOG} --ran-on m5.xlarge")
    assert "by catalog aws us-east-1 of" in out
    assert "start-up 210 s assumed" in out
    assert "surcharge 25 % assumed" not in out
    out, _ = run(capsys, f"predict {LOG} --ran-on m5.large")
    assert "surcharge 25 % assumed" in out
    err = refused(capsys, f"predict {LOG} --catalog aws")
    assert "no type is looked up; add --nodes N --instance TYPE, or --ran-on TYPE" in err


@pytest.mark.parametrize("price", ["", "0.4"])
@pytest.mark.parametrize("command", ["predict", "predict --nodes 4", "curve --over input-size"])
def test_a_catalog_that_is_named_and_has_no_such_type_is_never_passed_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, command: str, price: str
) -> None:
    """Without --nodes the costs were those of the table, or none, and nothing was said."""
    table = table_of(tmp_path, price=price)
    err = refused(capsys, f"{command} {table} --catalog azure")
    assert err.startswith("sparkplan: catalog azure: unknown instance type 'm4.2xlarge'")


def test_a_recommendation_says_what_it_hangs_on(capsys: pytest.CaptureFixture[str]) -> None:
    few = "--instances m5.?xlarge,c5.?xlarge --max-nodes 32"
    line = f"recommend {LOG} --ran-on m5.2xlarge --deadline 60s {few}"
    found = answer(capsys, line)["sensitivity"]
    assert found["least_deadline_seconds"] <= 60.0
    assert found["one_more_hour"]["saved_usd"] > 0.0
    assert all(step["deadline_seconds"] > 60.0 for step in found["looser"])
    assert found["holds_until"] > 1.0
    out, _ = run(capsys, line)
    for said in (
        "one more hour:",
        "one more dollar:",
        "stays the answer down to a deadline of",
        "the goal is kept up to",
        "times the input asked for",
    ):
        assert said in out
    out, _ = run(capsys, f"{line} --budget 5 --objective time")
    assert "at most an hour slower:" in out
    assert "one more hour:" not in out
    out, _ = run(capsys, f"{line} --input-size 0.5x")
    (said,) = (row for row in out.splitlines() if row.startswith("input: the goal is kept up to"))
    assert float(said.split()[7]) > 1.0


@pytest.mark.parametrize(
    ("times", "said"),
    [
        (1.004, "input: the goal is kept with hardly more than the input asked for"),
        (1.016, "input: the goal is kept up to 1.01 times the input asked for"),
        (3.19, "input: the goal is kept up to 3.1 times the input asked for"),
    ],
)
def test_an_answer_that_hardly_holds_does_not_hold_until_once(times: float, said: str) -> None:
    found = engine.Sensitivity(
        one_more_hour=None, one_more_dollar=None, least_deadline_seconds=None,
        least_budget_usd=None, below=None, below_budget=None, looser=None, holds_until=times,
        holds_note="",
    )  # fmt: skip
    answer = engine.Recommendation(
        engine.Goal(), "sparkplan", None, (), (), (), None, optimal=True, evaluated=0
    )
    assert sensitivity_lines.lines(found, answer)[-1] == said


def test_what_an_hour_brings_is_said_once() -> None:
    """Twice it was, where a deadline within the hour brings the same."""

    def change(nodes: int, saved_usd: float, deadline_seconds: float) -> engine.Change:
        return engine.Change(
            deadline_seconds, None, {"a": nodes}, 90.0, 110.0, 5.0 - saved_usd, saved_usd, -9.0, 0.0
        )

    def said(*looser: engine.Change) -> list[str]:
        found = engine.Sensitivity(
            one_more_hour=change(3, 1.0, 3660.0), one_more_dollar=None,
            least_deadline_seconds=None, least_budget_usd=None, below=None, below_budget=None,
            looser=looser, holds_until=2.0, holds_note="",
        )  # fmt: skip
        answer = engine.Recommendation(
            engine.Goal(deadline_seconds=60.0), "sparkplan", None, (), (), (), None, optimal=True,
            evaluated=0,
        )  # fmt: skip
        return sensitivity_lines.lines(found, answer)[:-1]

    hour, dollar = "one more hour: 3 × a saves $1.00 ($4.00)", "one more dollar: saves no time"
    step = "from a deadline of 1m 30s: 4 × a saves $0.50 ($4.50)"
    assert said() == [hour, dollar]
    assert said(change(4, 0.5, 89.5)) == [hour, dollar, step]
    both = f"{hour}, from a deadline of 2m 00s on"
    assert said(change(3, 1.0, 119.5)) == [both, dollar]
    assert said(change(4, 0.5, 89.5), change(3, 1.0, 119.5)) == [both, dollar, step]
    assert said(change(3, 1.0, 119.5), change(3, 1.004, 149.5)) == [both, dollar]  # from the first


@pytest.mark.parametrize(("answered", "hinging"), [(True, False), (False, True)])
def test_what_no_search_has_proven_is_said(answered: bool, hinging: bool) -> None:
    """It ends by the clock: on a busy machine the lines were others, in silence."""
    found = engine.Recommendation(
        engine.Goal(), "sparkplan", None, (), (), (), None, optimal=answered, evaluated=1234,
        sensitivity=engine.Sensitivity(
            one_more_hour=None, one_more_dollar=None, least_deadline_seconds=None,
            least_budget_usd=None, below=None, below_budget=None, looser=None, holds_until=2.0,
            holds_note="", optimal=hinging,
        ),
    )  # fmt: skip
    shown = recommend.as_text(found, None)
    assert ("1,234 compositions evaluated: a better one may exist" in shown) is not answered
    assert ("not all compositions were compared exactly for these lines" in shown) is not hinging


def test_a_table_of_runners_up_names_what_it_shows(capsys: pytest.CaptureFixture[str]) -> None:
    """With what was to be least, and without columns that are known of none of them."""

    def heads(options: str) -> list[str]:
        out, _ = run(capsys, f"recommend {LOG} {options}")
        assert "9 in 10 runs are within the intervals" in out
        (line,) = (line for line in out.splitlines() if line.startswith("runners-up"))
        return [head.strip() for head in line.split("  ") if head][1:]

    rented = "--ran-on m5.2xlarge --instances m5.?xlarge,c5.?xlarge --max-nodes 24"
    assert heads(f"{rented} --deadline 90s") == ["time", "interval", "cost", "between", "in time"]
    least = ["time", "interval", "resource time", "cost", "between"]
    assert heads(f"{rented} --objective resource-time") == least
    owned = "--executor-cores 4 --max-executors 8"
    assert heads(owned) == least[:3]
    assert heads(f"{owned} --executor-memory 8g --deadline 1h") == [*least[:3], "in time"]


def test_executors_of_ones_own_have_their_vcore_seconds(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"recommend {LOG} --executor-cores 4 --max-executors 8"
    found = answer(capsys, line)["recommended"]
    out, _ = run(capsys, line)
    assert f"{found['vcore_seconds']:,.0f} vcore-s" in out.splitlines()[0]


@pytest.mark.parametrize(
    ("goal", "status"),
    [("--budget 5", 0), ("--deadline 2h --mix 2", 0), ("--deadline 1s --budget 0.001", 1)],
)
def test_what_owned_nodes_alone_can_do_costs_nothing(
    capsys: pytest.CaptureFixture[str], goal: str, status: int
) -> None:
    """It ended with "budget_usd must be more than zero", or with a warning of NumPy's."""
    asked = "recommend optex-als-table3 --catalog papers --instances m2.xlarge"
    limits = "--own m2.xlarge=4 --limit m2.xlarge=4"
    out, err = run(capsys, f"{asked} {limits} {goal}", status=status)
    assert "$0.00" in out
    assert "  cost: nothing\n" in out
    assert "4 nodes are owned and cost nothing here" in out
    assert "to a budget of" not in out
    assert "RuntimeWarning" not in err


def test_the_fastest_names_what_is_as_fast_for_less(capsys: pytest.CaptureFixture[str]) -> None:
    """Spot nodes are interrupted and so a millionth slower: half of them cost far less."""
    line = f"recommend {LOG} --ran-on m5.2xlarge --instances m5.2xlarge --max-nodes 4"
    out, _ = run(capsys, f"{line} --objective time --max-spot 50%")
    (said,) = (row for row in out.splitlines() if row.startswith("at most 1 % slower: "))
    assert "spot) saves $" in said
    out, _ = run(capsys, f"{line} --deadline 1h --max-spot 50%")
    assert "1 % slower" not in out


@pytest.mark.parametrize("types", ["c5.xlarge,c5.2xlarge,r5.xlarge", "m5.xlarge,c5.xlarge"])
def test_what_is_noted_of_all_runners_up_is_said_once(
    capsys: pytest.CaptureFixture[str], types: str
) -> None:
    """It stood in each row, which no terminal of 80 columns held."""
    line = f"recommend nightly-features --ran-on m5.xlarge --deadline 10m --instances {types}"
    out = run(capsys, line)[0]
    table = out.partition("runners-up")[2].partition("\n\n")[0]
    count = len(types.split(",")) - 1
    assert table.count("\n") == count + (count > 1)
    assert table.endswith("all of these: speed transferred") is (count > 1)
    assert count == 1 or max(map(len, table.splitlines())) < 80


def test_the_master_of_an_owned_cluster_costs_nothing(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Workers that one owns paid for a master and its start-up."""
    rented_line = f"recommend {LOG} --ran-on m5.xlarge --deadline 5m --own m5.2xlarge=4"
    line = f"{rented_line} --own-master"
    mine = answer(capsys, line)["recommended"]
    assert mine["composition"] == {"m5.2xlarge": 4}
    assert (mine["cost_usd"], mine["cost"]["startup_usd"]) == (0.0, 0.0)
    out, _ = run(capsys, line)
    assert "  cost: nothing\n" in out
    assert "the master is that of the owned nodes and costs nothing here" in out
    rented = answer(capsys, rented_line)["recommended"]
    assert rented["cost"]["workers_usd"] == 0.0
    assert min(rented["cost"]["master_usd"], rented["cost"]["startup_usd"]) > 0.0
    told = refused(capsys, line.replace("--own m5.2xlarge=4 ", ""))
    assert "--own-master: no nodes are owned" in told


def test_an_exported_cluster_has_a_master_that_the_cost_left_out(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """A create command starts one, whether or not nodes of the owner are in the cluster."""
    said = "# starts a master of its own, which is billed, and not in the cost"
    line = f"export {LOG} --ran-on m5.xlarge --to emr --own m5.2xlarge=1 --deadline"
    for deadline in ("5m", "45s"):
        assert said in run(capsys, f"{line} {deadline} --own-master")[0]
    assert said not in run(capsys, f"{line} 5m")[0]
