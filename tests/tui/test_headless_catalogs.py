"""The headless commands on prices, clouds and machines: what they take, say and refuse."""

from datetime import date, timedelta
from pathlib import Path

import pytest
from command_line import answer, refused, run

import engine

LOG = "nightly-features"
GOAL = f"recommend {LOG} --deadline 10m --max-nodes 8 --ran-on m5.xlarge"


@pytest.mark.parametrize("name", ["aws", "azure", "azure-databricks", "gcp"])
def test_every_catalog_recommends_with_every_part_of_the_cost(
    name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    found = answer(capsys, f"{GOAL} --catalog {name}")["recommended"]
    parts = {key: usd for key, usd in found["cost"].items() if key.endswith("_usd")}
    assert sum(parts.values()) == pytest.approx(found["cost_usd"])
    assert (parts["dbu_usd"] > 0) == (name == "azure-databricks")
    assert (parts["surcharge_usd"] > 0) == (name in ("aws", "gcp"))
    codes = {warning["code"] for warning in found["warnings"]}
    assert ("no-cpu-score" in codes) == name.startswith("azure")
    assert ("old-price" in codes) >= (name == "azure-databricks")


def test_the_parts_are_shown_to_a_person(capsys: pytest.CaptureFixture[str]) -> None:
    out, err = run(capsys, f"{GOAL} --catalog azure-databricks --discount 20% --dbu-price 0.22")
    cost = next(line for line in out.splitlines() if "cost:" in line)
    for part in ("workers $", "master $", "discount -$", "DBUs $"):
        assert part in cost
    assert "DBU at $0.22: your own price" in out
    assert "discount of 20 % off the instance prices" in out
    assert "e-0" not in cost
    assert "price of a DBU" not in err


def test_a_discount_lowers_the_instance_price_alone(capsys: pytest.CaptureFixture[str]) -> None:
    line = f"{GOAL} --catalog azure-databricks --instances Standard_D4s_v5"
    full = answer(capsys, line)["recommended"]["cost"]
    half = answer(capsys, f"{line} --discount 50%")["recommended"]["cost"]
    assert half["dbu_usd"] == pytest.approx(full["dbu_usd"])
    instance = sum(full[f"{part}_usd"] for part in ("workers", "master", "startup", "rounding"))
    assert half["discount_usd"] == pytest.approx(-0.5 * instance)


def test_a_discount_of_a_file_can_be_left_out(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text(
        "date: 2026-05-01\nsource: x\nbilling: {discount_fraction: 0.5}\ninstances: |\n"
        "  name,vcpus,memory_gib,usd_per_hour\n  small,4,16,0.1\n"
    )
    line = f"recommend {LOG} --deadline 5h --catalog {file}"
    theirs = answer(capsys, line)["recommended"]["cost"]
    assert theirs["discount_usd"] == pytest.approx(-0.5 * theirs["workers_usd"], rel=1e-2)
    for none in ("0", "0%"):
        full = answer(capsys, f"{line} --discount {none}")["recommended"]["cost"]
        assert full["discount_usd"] == 0.0


@pytest.mark.parametrize(
    ("ran_on", "shown"),
    [
        ("m5.xlarge", "1 × m5.xlarge"),
        ("n2d-standard-4", "1 × n2d-standard-4"),
        ("Standard_D4s_v5", "1 × Standard_D4s_v5"),
        ("Standard_D8s_v3@azure-databricks", "1 × Standard_D8s_v3"),
        ("m3.xlarge@papers", "1 × m3.xlarge"),
    ],
)
def test_types_of_every_catalog_say_where_it_ran(
    ran_on: str, shown: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert shown in run(capsys, f"predict {LOG} --ran-on {ran_on}")[0]


def test_types_of_ones_own_catalog_say_where_it_ran(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "ours.yaml"
    text = "date: 2026-05-01\nsource: card\nregion: cellar\ninstances: |\n"
    text += "  name,vcpus,memory_gib,usd_per_hour,cpu_score\n  old,4,16,0.2,40\n  new,4,16,0.2,80\n"
    file.write_text(text, encoding="utf-8")
    line = f"recommend {LOG} --deadline 10m --max-nodes 4 --catalog {file} --instances new"
    found = answer(capsys, f"{line} --ran-on old")["recommended"]
    assert any("2.00 times the measured speed" in w["text"] for w in found["warnings"])
    found = answer(capsys, f"{line} --ran-on m5.xlarge")["recommended"]
    assert "no-cpu-score" in {w["code"] for w in found["warnings"]}


def test_the_number_of_nodes_is_shown_where_no_type_is(capsys: pytest.CaptureFixture[str]) -> None:
    assert "on 2 executors of 1 core on 1 node" in run(capsys, f"predict {LOG}")[0]


@pytest.mark.parametrize(
    ("cluster", "why"),
    [
        ("", "the type of these nodes is not known; name it (--ran-on TYPE)"),
        ("--executors 4", "executors have no price; name nodes (--nodes N --instance TYPE)"),
    ],
)
def test_predict_says_why_there_is_no_cost(
    cluster: str, why: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """A time without a word on cost left one to guess what would give it one."""
    out, _ = run(capsys, f"predict {LOG} {cluster}")
    assert out.splitlines()[-1] == f"no cost: {why}"


def test_export_counts_one_executor_in_the_singular(capsys: pytest.CaptureFixture[str]) -> None:
    options = "--deadline 1h --max-executors 4 --executor-cores 4 --executor-memory 8g"
    out, _ = run(capsys, f"export {LOG} {options} --to spark-submit")
    assert "1 executor, model" in out


@pytest.mark.parametrize(
    ("line", "said"),
    [
        (f"predict {LOG} --ran-on m5.xlrge", "did you mean m5.xlarge"),
        (f"predict {LOG} --ran-on n2d-standart-4", "did you mean n2d-standard-4"),
        (f"predict {LOG} --ran-on m5.xlarge@azure", "catalog azure: unknown instance type"),
        (f"predict {LOG} --ran-on m5.xlarge@", "names no catalog"),
        (f"predict {LOG} --ran-on @aws", "names no type"),
        (f"predict {LOG} --executors 3 --catalog aws", "--catalog: executors are no instance"),
        (f"predict {LOG} --input-size 0x", "--input-size: a factor must be more than zero"),
        (f"{GOAL} --region eu-west-1", "catalog aws: unknown region 'eu-west-1'"),
        (f"{GOAL} --region eu-west-1", "(choices: us-east-1)"),
        (f"{GOAL} --catalog gcp --region europe-west4", "(choices: us-central1)"),
        (f"{GOAL} --dbu-price 0.2", "catalog aws meters no DBUs"),
        (f"{GOAL} --catalog azure-databricks --dbu-price premum", "unknown DBU tier 'premum'"),
        (f"{GOAL} --catalog azure-databricks --dbu-price -1", "--dbu-price"),
        (
            f"{GOAL} --catalog azure-databricks --dbu-price 0.2 --platform kubernetes",
            "no DBUs are paid on kubernetes; leave it out, or plan for Databricks with --platform",
        ),
        (f"{GOAL} --discount 120%", "--discount: a share lies between"),
        (
            f"recommend {LOG} --deadline 1h --max-executors 5 --executor-cores 2 --discount 5%",
            "--discount: with --max-executors the cluster is one's own, there are no prices",
        ),
        (f"curve {LOG} --over nodes --nodes 1:3 --discount 5%", "--discount: no catalog is used"),
        ("predict sort-small --nodes 2 --discount 9%", "--discount: no catalog is used"),
        (
            "predict sort-small --nodes 2 --instance m5.xlarge --all-models --discount 9%",
            "--discount: --all-models compares times",
        ),
        ("workflow sort-small --discount 9%", "no type is looked up"),
        ("experiments sort-small --region moon --deadline 9m", "unknown region 'moon'"),
        ("catalog validate nowhere.yaml", "nowhere.yaml: no such file"),
        ("catalog validate nowhere", "unknown catalog 'nowhere'"),
        ("catalog show gcp --region mars", "unknown region 'mars'"),
        ("catalog refresh aws --from none.json -o x", "none.json: cannot be read"),
        ("catalog refresh aws -o x", "--from"),
        ("catalog refresh aws --from x -o y --date soon", "--date: 'soon' is not a date"),
        ("measure-host --usd-per-hour 0.1", "--usd-per-hour: goes into a file"),
        ("measure-host -o nowhere/x.yaml", "nowhere/x.yaml: its folder does not exist; make"),
        ("measure-host --dir nowhere", "nowhere: cannot be used"),
        ("measure-host --disk-size 900PB", "8 GiB"),
        ("measure-host --name a/b", "'a/b' cannot be the name of a type"),
    ],
)
def test_what_is_refused_is_one_line_on_stderr(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert said in refused(capsys, line)


def test_show_tells_billing_and_what_is_assumed(capsys: pytest.CaptureFixture[str]) -> None:
    out, _ = run(capsys, "catalog show gcp --instances 'n2-standard-*'")
    assert out.startswith("gcp: 183 types, us-central1, 2026-06-22\n")
    assert "surcharge $0.01 per vCPU and hour" in out
    assert "start-up not billed" in out
    assert "DBU/h" not in out
    out, _ = run(capsys, "catalog show azure-databricks --instances '*D4s*'")
    assert "DBU/h" in out
    assert "DBU at $0.3: premium-jobs, 2023-06-20" in out
    shown = answer(capsys, "catalog show azure-databricks --instances '*D4s*'")
    assert shown["billing"]["dbu_tiers"][0]["name"] == "premium-jobs"
    assert shown["instances"][0]["dbu_per_hour"] > 0


def test_prices_in_another_currency_say_so_in_the_answer(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "euro.yaml"
    text = "date: 2026-05-01\nsource: card\ncurrency: EUR\nregion: cellar\n"
    text += "exchange: {usd: 1.25, date: 2026-04-30, source: the bank}\ninstances: |\n"
    text += "  name,vcpus,memory_gib,price_per_hour\n  small,4,16,0.2\n"
    file.write_text(text, encoding="utf-8")
    out, _ = run(capsys, f"{GOAL} --catalog {file}")
    assert "prices converted from EUR at 1.25 USD (2026-04-30): the bank" in out
    shown, _ = run(capsys, f"catalog show {file}")
    assert "prices converted: 1 EUR = 1.25 USD (2026-04-30, the bank)" in shown
    assert answer(capsys, f"catalog show {file}")["currency"] == "EUR"


def test_refresh_says_what_changed_and_its_file_is_a_catalog(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.csv"
    rows = "name,usd_per_hour\nn2-standard-4,0.1\nn2-standard-8,0.5\nn9-standard-4,1\n"
    prices.write_text(rows, encoding="utf-8")
    folder = tmp_path / "mine"
    line = f"catalog refresh gcp --from {prices} -o {folder} --date 2026-11-01"
    out, err = run(capsys, line)
    assert f"{folder}/gcp.us-central1.2026-11-01.prices.yaml: 2 types" in out
    assert "2 of 2 prices changed: median" in out
    assert "(n2-standard-4)" in out
    assert "not in the list: 181 types" in out
    assert "left out, vCPUs and memory (or DBUs) not known: 1 type (n9-standard-4)" in err
    found = answer(capsys, f"{GOAL} --catalog {folder} --instances '*'")
    assert found["recommended"]["composition"]
    run(capsys, f"catalog validate {folder}")
    assert "is there already" in refused(capsys, line)


@pytest.mark.parametrize(
    ("day", "told"), [("2025-01-01", True), ("2026-06-22", False), ("2026-11-01", False)]
)
def test_prices_older_than_the_catalog_are_said_to_be(
    day: str, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("name,usd_per_hour\nn2-standard-4,0.1\n", encoding="utf-8")
    line = f"catalog refresh gcp --from {prices} -o {tmp_path}"
    out, err = run(capsys, f"{line}/one --date {day}")
    assert f"gcp.us-central1.{day}.prices.yaml: 1 type" in out
    said = f"warning: prices of {day} are older than those of gcp (2026-06-22)"
    assert (said in err) is told
    found = answer(capsys, f"{line}/two --date {day}")
    assert found["newer"] == ("2026-06-22" if told else None)


@pytest.mark.parametrize(("days", "told"), [(-1, False), (1, False), (2, True), (36500, True)])
def test_prices_dated_in_the_future_are_said_to_be(
    days: int, told: bool, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    prices = tmp_path / "prices.csv"
    prices.write_text("name,usd_per_hour\nn2-standard-4,0.1\n", encoding="utf-8")
    day = date.today() + timedelta(days=days)
    _, err = run(capsys, f"catalog refresh gcp --from {prices} -o {tmp_path}/one --date {day}")
    assert (f"warning: prices are dated {day}, in the future" in err) is told


def test_measure_host(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    measure, reports = engine.measure_host, list[engine.HostReport]()

    def measured_once(**given: object) -> engine.HostReport:
        if not reports:
            reports.append(measure(**{**given, "seconds": 0.02}))
        return reports[0]

    monkeypatch.setattr(engine, "measure_host", measured_once)
    box, throughputs = tmp_path / "box.yaml", tmp_path / "resources.yaml"
    line = f"measure-host --name box --dir {tmp_path} --disk-size 4MiB"
    out, err = run(capsys, f"{line} -o {box} --resources {throughputs}")
    assert out.startswith("box: ")
    assert "in 5 repetitions" in out
    assert "by calibration" in out
    assert "[calibrated-score]" in err
    assert f"wrote {box}: --ran-on box@{box}\n" in err
    assert sorted(tmp_path.iterdir()) == [box, throughputs]
    out, _ = run(capsys, f"predict {LOG} --ran-on box@{box}")
    assert "1 × box" in out
    out, _ = run(capsys, f"recommend {LOG} --deadline 10m --max-nodes 4 --ran-on box@{box}")
    assert "cost:" in out
    found = answer(capsys, line)
    assert found["cpu_score"]["low"] <= found["cpu_score"]["median"]
    assert found["cpu_benchmark"] == "coremark"
    assert {warning["code"] for warning in found["warnings"]} >= {"calibrated-score"}


def test_terms_hold_wherever_prices_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    for named in ("--composition m5.xlarge=3", "--nodes 3 --instance m5.xlarge", "--nodes 3"):
        line = f"predict sort-small {named} --ran-on m5.xlarge"
        full, less = (answer(capsys, f"{line}{more}") for more in ("", " --discount 50%"))
        assert less["cost_usd"] < full["cost_usd"]
        assert less["seconds"] == full["seconds"]
    line = "workflow recommend nightly-pipeline --deadline 1h --instances m5.xlarge --max-nodes 4"
    full, less = (answer(capsys, f"{line}{more}") for more in ("", " --discount 50%"))
    assert less["recommended"]["cost_usd"] < full["recommended"]["cost_usd"]


def test_a_catalog_of_one_type_is_said_in_the_singular(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    file = tmp_path / "lab.yaml"
    file.write_text(
        "date: 2026-07-01\nsource: the invoice\ninstances: |\n"
        "  name,vcpus,memory_gib,usd_per_hour\n  small,4,16,0.11\n"
    )
    for action in ("validate", "show"):
        out, _ = run(capsys, f"catalog {action} {file}")
        assert "1 type, " in out
