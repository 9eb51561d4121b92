"""Evidence is not written over by what is made of it."""

from pathlib import Path

import pytest
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
    run(capsys, "export sort-small --ran-on m5.xlarge --deadline 1h --to emr -o empty.yaml")
