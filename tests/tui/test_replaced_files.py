"""Evidence is not written over by what is made of it."""

import json
import shutil
from importlib.resources import files
from pathlib import Path

import pytest
import yaml
from command_line import refused, run

TABLE = "nodes,input_size,seconds\n2,10GB,40\n4,10GB,22\n8,10GB,13\n"
NODES = "--nodes 1:3 --instance m5.xlarge --ran-on m5.xlarge"


@pytest.fixture(autouse=True)
def table(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "runs.csv"
    path.write_text(TABLE, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("profile runs.csv -o runs.csv", "holds no profile, and would be replaced"),
        ("profile sort-small -o runs.csv", "holds no profile, and would be replaced"),
        (f"curve runs.csv --over nodes {NODES} --output runs.csv", "is a source, and would be"),
        (
            "export runs.csv --ran-on m5.xlarge --deadline 1h --to emr -o ./runs.csv",
            "is a source, and would be replaced; choose another file",
        ),
    ],
)
def test_what_was_run_is_not_replaced(
    capsys: pytest.CaptureFixture[str], table: Path, line: str, said: str
) -> None:
    """A slip such as `profile -o run1.zstd run2.zstd` lost the log of a run."""
    assert f"runs.csv: {said}" in refused(capsys, line)
    assert table.read_text(encoding="utf-8") == TABLE


def test_a_profile_may_be_replaced_by_what_it_went_into(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    kept = tmp_path / "kept.yaml"
    run(capsys, "profile sort-small -o kept.yaml")
    kept.write_text(f"# of May\n{kept.read_text('utf-8')}", encoding="utf-8")
    run(capsys, "profile kept.yaml sort-large -o kept.yaml")
    assert kept.read_text("utf-8").startswith("format: sparkplan-profile")
    (tmp_path / "empty.yaml").touch()
    run(capsys, "profile sort-small -o empty.yaml")
    run(capsys, "export sort-small --ran-on m5.xlarge --deadline 2m --to emr -o empty.yaml")


def sample(name: str, to: Path) -> Path:
    """A copy of a bundled log in a folder."""
    to.mkdir(parents=True, exist_ok=True)
    return Path(shutil.copy(str(files("sample_logs") / name), to))


@pytest.mark.parametrize("source", ["logs", "file://{folder}/logs", "logs/sub"])
def test_a_log_of_a_folder_is_not_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, source: str
) -> None:
    """`export logs -o logs/a.zstd` replaced a log that it had just read."""
    log = sample("sort-small.zstd", tmp_path / "logs" / "sub")
    before = log.read_bytes()
    line = f"export {source.format(folder=tmp_path)} --ran-on m5.xlarge --deadline 2m --to emr"
    err = refused(capsys, f"{line} -o logs/sub/sort-small.zstd")
    assert "logs/sub/sort-small.zstd: lies in " in err
    assert "a source, and would be replaced" in err
    assert log.read_bytes() == before
    run(capsys, f"{line} -o logs/new.sh")
    assert "aws emr" in (tmp_path / "logs" / "new.sh").read_text("utf-8")


def test_a_part_of_a_rolling_log_is_not_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    name = "eventlog_v2_order-stream-large"
    shutil.copytree(str(files("sample_logs") / name), tmp_path / name)
    part = f"{name}/events_1_order-stream-large.zstd"
    line = f"export {name} --ran-on m5.xlarge --deadline 2m --to spark-submit -o {part}"
    assert f"{part}: lies in '{name}', a source" in refused(capsys, line)


@pytest.mark.parametrize(
    ("options", "file", "kind"),
    [
        ("--catalog cat.yaml --ran-on m5.xlarge", "cat.yaml", "catalog"),
        ("--catalog papers --ran-on m5.xlarge@cat.yaml", "cat.yaml", "catalog"),
        ("--catalog cat.yaml --ran-on m5.xlarge", "aws.shapes.yaml", "catalog's file of shapes"),
        ("--ran-on m5.xlarge@aws.shapes.yaml", "aws.shapes.yaml", "catalog"),
    ],
)
def test_prices_are_not_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, options: str, file: str, kind: str
) -> None:
    """A price file named with --catalog or --ran-on was overwritten by the export."""
    bundled = Path(str(files("catalogs")))
    shutil.copy(next(bundled.glob("aws.us-east-1.*.prices.yaml")), tmp_path / "cat.yaml")
    shutil.copy(bundled / "aws.shapes.yaml", tmp_path)
    before = (tmp_path / file).read_bytes()
    err = refused(capsys, f"export sort-small {options} --deadline 1h --to emr -o {file}")
    assert f"{file}: is a {kind}, and would be replaced" in err
    assert (tmp_path / file).read_bytes() == before


def test_the_folder_of_price_files_is_not_written_over(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    bundled, prices = Path(str(files("catalogs"))), tmp_path / "prices"
    prices.mkdir()
    price_file = next(bundled.glob("aws.us-east-1.*.prices.yaml"))
    shutil.copy(price_file, prices)
    line = "export sort-small --catalog prices --ran-on m5.xlarge --deadline 2m --to emr"
    assert "lies in 'prices', a catalog" in refused(capsys, f"{line} -o prices/{price_file.name}")


def test_a_resource_profile_is_not_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "node.csv").write_text("format: sparkplan-resources/1\n", encoding="utf-8")
    line = f"curve sort-small --over nodes {NODES} --model simcost --resources node.csv"
    assert "node.csv: is a resource profile" in refused(capsys, f"{line} --output node.csv")


def test_a_bundled_catalog_is_no_file_of_that_name(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "aws").touch()
    run(capsys, "export sort-small --catalog aws --ran-on m5.xlarge --deadline 2m --to emr -o aws")
    assert (tmp_path / "aws").read_text("utf-8")


@pytest.mark.parametrize("form", ["json", "quoted", "mark"])
def test_a_profile_in_each_form_that_is_read_may_be_replaced(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, form: str
) -> None:
    """One in JSON, or with a byte order mark, was refused as no profile."""
    kept = tmp_path / "kept.yaml"
    run(capsys, "profile sort-small -o kept.yaml")
    text = kept.read_text("utf-8")
    if form == "json":
        kept.write_text(json.dumps(yaml.safe_load(text), indent=1), encoding="utf-8")
    elif form == "quoted":
        kept.write_text(
            text.replace("format: sparkplan", "'format' : 'sparkplan", 1).replace(
                "/1\n", "/1'\n", 1
            ),
            encoding="utf-8",
        )
    else:
        kept.write_text(text, encoding="utf-8-sig")
    run(capsys, "profile kept.yaml -o kept.yaml")
    assert kept.read_text("utf-8").startswith("format: sparkplan-profile")
