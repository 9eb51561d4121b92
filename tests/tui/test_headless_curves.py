"""`sparkplan curve`: times and costs over nodes, executors, input size and iterations."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace

import pytest
from command_line import answer, refused, run
from test_headless import LOG

import engine
from tui.headless import curve


def test_curve_over_nodes_has_a_point_per_node_count(capsys: pytest.CaptureFixture[str]) -> None:
    found = answer(
        capsys, f"curve {LOG} --ran-on m5.xlarge --instance m5.xlarge --over nodes --nodes 1:12"
    )
    assert [point["nodes"] for point in found["points"]] == list(range(1, 13))
    costs = {"cost_usd", "cost_low_usd", "cost_high_usd"}
    assert set(found["points"][0]) == {"nodes", "seconds", "low", "high", *costs}
    times = [point["seconds"] for point in found["points"]]
    assert times == sorted(times, reverse=True)
    assert all(point["cost_usd"] > 0 for point in found["points"])
    assert found["instance"] == "m5.xlarge"
    assert found["confidence"] == 0.9


def test_a_long_table_lists_the_rows_where_something_changes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    line = f"curve {LOG} --ran-on m5.xlarge --instance m5.xlarge --over nodes"
    out, _ = run(capsys, line)
    body, _, _ = out.partition("\n\n")
    *rows, said = body.splitlines()[1:]
    nodes = [int(row.split()[0]) for row in rows]
    assert nodes[:4] == [1, 2, 3, 5]
    assert nodes[-1] == 64
    assert len(nodes) < 24
    assert said.startswith(f"{64 - len(nodes)} of 64 rows are left out: ")
    points = answer(capsys, line)["points"]
    assert len(points) == 64
    assert min(points, key=lambda point: (point["seconds"], point["nodes"]))["nodes"] in nodes
    for before, after in pairwise(nodes):
        for point in points[before : after - 1]:
            for key in ("seconds", "cost_usd"):
                assert point[key] == pytest.approx(points[before - 1][key], rel=0.2)
    out, _ = run(capsys, f"{line} --nodes 1:25")
    assert "left out" not in out


def test_a_curve_warns_of_its_first_point_too(capsys: pytest.CaptureFixture[str]) -> None:
    """A cache that does not fit one node went unsaid where it fits eight."""
    line = "curve pagerank-large --over nodes --nodes 1:8 --ran-on m5.xlarge --instance m5.large"
    found = answer(capsys, f"{line} --input-size 40x")
    said = {notice["code"]: notice["text"] for notice in found["warnings"]}
    assert said["cache-does-not-fit"].startswith("at 1 node: ")
    assert not said["extrapolating-size"].startswith("at ")
    assert len(found["warnings"]) == len(said), "what holds for both ends is said once"


def test_a_curve_says_what_its_columns_mean(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"curve {LOG} --ran-on m5.xlarge --instance m5.xlarge --over input-size --nodes 2"
    out, _ = run(capsys, f"{line} --confidence 80%")
    rows = out.splitlines()
    ends = rows.index("")
    assert all(row.split()[1] in ("kB", "MB", "GB") for row in rows[1:ends]), "sizes have a unit"
    by_catalog = "cost is that of the time, by catalog aws us-east-1 of 2026-07-20"
    assert rows[ends + 1] == (f"8 in 10 runs take from low to high, {by_catalog}; model sparkplan")
    assert any("start-up 210 s assumed" in row for row in rows[ends + 2 :])
    out, _ = run(capsys, f"{line} --model optex")
    assert f"no interval, {by_catalog}; model optex" in out
    assert "between" not in out, "without an interval the cost has none"
    out, _ = run(capsys, f"curve {LOG} --executors 4 --over input-size")
    assert "no cost: executors have no price; name nodes (--nodes N --instance TYPE)" in out


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("m5.large", "surcharge 25 % assumed: EMR's fee above the machines' price"),
        ("m5.24xlarge", "surcharge $0.27 per hour of m5.24xlarge assumed (2025-09-24): ceiling"),
        ("m4.large", "surcharge $0.03 per hour of m4.large as published 2017-12-05"),
        ("m5.xlarge", None),
    ],
)
def test_a_curve_tells_what_the_fee_of_its_type_rests_on(
    capsys: pytest.CaptureFixture[str], name: str, said: str | None
) -> None:
    line = f"curve {LOG} --ran-on m5.xlarge --instance {name} --over input-size --nodes 2"
    out, _ = run(capsys, line)
    told = [row.strip() for row in out.splitlines() if row.strip().startswith("surcharge")]
    assert len(told) == (said is not None)
    assert said is None or told[0].startswith(said)


def test_a_share_of_spot_nodes_costs_at_each_point_what_predict_says(
    capsys: pytest.CaptureFixture[str],
) -> None:
    cluster = f"{LOG} --ran-on m5.xlarge --max-spot 50%"
    line = f"curve {cluster} --over nodes --nodes 1:4"
    found = answer(capsys, line)
    assert found["spot"] is True
    for point in found["points"]:
        one = answer(capsys, f"predict {cluster} --instance m5.xlarge --nodes {point['nodes']}")
        for name in ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd"):
            assert point[name] == pytest.approx(one[name])
    spot, rented = (
        answer(capsys, line.replace("--max-spot 50%", terms))["points"][3]["cost_usd"]
        for terms in ("--spot", "")
    )
    assert spot < found["points"][3]["cost_usd"] < rented
    none = answer(capsys, line.replace("50%", "0%"))
    assert none["spot"] is False
    assert none["points"][3]["cost_usd"] == pytest.approx(rented)
    out, _ = run(capsys, line.replace("50%", "0%"))
    assert "price estimated" not in out, "no spot price is in these costs"
    err = refused(capsys, f"curve {LOG} --over nodes --max-spot 50%")
    assert "--max-spot: only nodes of a catalog" in err


@pytest.mark.parametrize("terms", ["", "--spot", "--max-spot 50%", "--model optex"])
def test_a_deadline_is_kept_at_each_point_as_surely_as_predict_says(
    capsys: pytest.CaptureFixture[str], terms: str
) -> None:
    cluster = f"{LOG} --ran-on m5.xlarge --instance m5.xlarge --deadline 2m {terms}"
    for point in answer(capsys, f"curve {cluster} --over nodes --nodes 1:3")["points"]:
        one = answer(capsys, f"predict {cluster} --nodes {point['nodes']}")
        assert point["p_deadline"] == pytest.approx(one["p_deadline"])


def test_a_deadline_is_a_column_and_a_line(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    line = f"curve {LOG} --over nodes --nodes 1:3 --deadline 2m"
    table, _, legend = run(capsys, line)[0].partition("\n\n")
    assert table.splitlines()[0].endswith("in time")
    assert "in time is the share within 2m 00s" in legend
    assert "in time is" not in run(capsys, f"{line} --model optex")[0], "no share is known"
    run(capsys, f"{line} --output {tmp_path / 'curve.svg'}")
    assert "deadline 2m 00s" in (tmp_path / "curve.svg").read_text()
    run(capsys, f"{line} --output {tmp_path / 'curve.csv'}")
    assert "p_deadline" in (tmp_path / "curve.csv").read_text().splitlines()[0].split(",")


def test_a_types_name_cannot_steer_the_terminal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rows = [f"{n},10,{20 + 100 / n},e\x1b[31mred" for n in (1, 2, 4)]
    table = tmp_path / "runs.csv"
    table.write_text("\n".join(["nodes,input_size,seconds,instance_type", *rows]))
    out, _ = run(capsys, f"curve {table} --over nodes --nodes 1:3")
    assert "no price of e\\x1b[31mred is known" in out


@pytest.mark.parametrize(
    ("over", "options", "key"),
    [
        ("input-size", "--input-size 0.5x:4x --nodes 4", "input_size"),
        ("iterations", "--iterations 1:5 --nodes 4", "iterations"),
    ],
)
def test_curves_over_size_and_iterations_rise(
    over: str, options: str, key: str, capsys: pytest.CaptureFixture[str]
) -> None:
    source = LOG if over == "input-size" else "optex-als-table3 --model optex"
    found = answer(capsys, f"curve {source} --over {over} {options}")
    times = [point["seconds"] for point in found["points"]]
    # Packing tasks on slots may gain a trifle from more tasks: a list-scheduling anomaly.
    assert all(later > 0.995 * sooner for sooner, later in pairwise(times))
    assert times[-1] > 1.05 * times[0]
    assert all(point[key] > 0 and point["nodes"] == 4 for point in found["points"])


@pytest.mark.parametrize("options", ["", "--spot", "--spot --discount 15%"])
def test_the_planner_draws_the_curve_of_the_command(
    options: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Its grid is a little off for a replay, and never by more than the hundredth it may be."""
    line = f"curve {LOG} --ran-on m5.xlarge --instance c5.2xlarge --over nodes --nodes 1:12"
    points = answer(capsys, f"{line} {options}")["points"]
    catalog = engine.load_catalog("aws").with_terms(
        discount_fraction=0.15 if "discount" in options else None
    )
    profile = engine.read(LOG, ran_on="m5.xlarge")
    request = engine.PlanRequest(profile, catalog, instances=("c5.2xlarge",), max_nodes=12)
    billing = replace(catalog.billing, spot="--spot" in options)
    drawn = engine.prepare(request).curve("c5.2xlarge", engine.Goal(max_nodes=12), billing)
    for name in ("seconds", "low", "high", "cost_usd"):
        told = [point[name] for point in points]
        assert getattr(drawn, name).tolist() == pytest.approx(told, rel=0.01)


def test_a_curve_at_spot_prices_is_that_of_predict(capsys: pytest.CaptureFixture[str]) -> None:
    """Interruptions are in the time of every point, and are warned of."""
    job = f"{LOG} --ran-on m5.xlarge --instance c5.2xlarge --spot --input-size 200x"
    found = answer(capsys, f"curve {job} --over nodes --nodes 3:4")
    assert found["spot"] is True
    assert "spot-interruptions" in {notice["code"] for notice in found["warnings"]}
    for point in found["points"]:
        told = answer(capsys, f"predict {job} --nodes {point['nodes']}")
        for name in ("seconds", "low", "high", "cost_usd", "cost_low_usd", "cost_high_usd"):
            assert point[name] == pytest.approx(told[name], rel=1e-9)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ("--over input-size --spot", "add --nodes N --instance TYPE"),
        ("--over nodes --instance m5.xlarge@aws --spot", "unknown instance type"),
        ("--executors 4 --over input-size --spot", "add --nodes N --instance TYPE"),
        ("--over nodes --nodes 1:3 --spot", "add --catalog NAME"),
    ],
)
def test_spot_nodes_of_no_known_type_are_refused(
    options: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, f"curve {LOG} {options}")


class _NeedsNodes:
    """A fitted model whose job starts on `least` nodes and not on fewer."""

    def __init__(self, least: int) -> None:
        self.least, self.asked = least, list[int]()

    def predict(self, *, cluster: engine.Cluster, workload: engine.Workload) -> SimpleNamespace:
        self.asked.append(cluster.nodes or 0)
        few = engine.Notice(curve.TOO_FEW_SLOTS, f"here is room for {cluster.nodes}", "take more")
        return SimpleNamespace(warnings=(few,) if (cluster.nodes or 0) < self.least else ())


@pytest.mark.parametrize(
    ("least", "said"),
    [
        (1, []),
        (2, ["at 1 node: here is room for 1"]),
        (38, ["at 1 node, and so up to 37 nodes: here is room for 1"]),
        (64, ["at 1 node, and so up to 63 nodes: here is room for 1"]),
        (65, ["here is room for 64"]),
    ],
)
def test_up_to_which_number_of_nodes_a_job_does_not_start(least: int, said: list[str]) -> None:
    fitted, workload = _NeedsNodes(least), engine.Workload(input_bytes=1e9)
    points = [
        curve.Point(n, engine.Cluster((engine.NodeGroup(n),)), workload) for n in range(1, 65)
    ]
    found = curve.warnings_of(fitted, "nodes", points, unit="bytes")
    assert [notice.text for notice in found] == said
    assert len(fitted.asked) <= 9, "not every number of nodes is asked"


@pytest.mark.parametrize("over", ["input-size --input-size 1x:2x", "iterations --iterations 1:2"])
def test_nodes_of_a_named_type_are_as_many_as_the_largest_run_had(
    over: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """A type alone was refused, where neither type nor number was not."""
    rows = [f"{n},{10 * n},{k},{20 + 9 * k / n},m5.xlarge" for n in (1, 2, 3) for k in (1, 4)]
    header = "nodes,input_size,iterations,seconds,instance_type"
    table = tmp_path / "runs.csv"
    table.write_text("\n".join([header, *rows]))
    for command in (f"curve {table} --over {over}", f"predict {table} --input-size 30"):
        line = f"{command} --instance r5.xlarge"
        assert answer(capsys, line) == answer(capsys, f"{line} --nodes 3")
    assert "how many nodes is not said; add --nodes N" in refused(
        capsys, "predict optex-wordcount-yarn --instance m5.xlarge"
    )
