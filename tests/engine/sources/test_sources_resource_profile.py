"""Resource profiles as people write them, and as they get them wrong."""

from pathlib import Path

import pytest

import engine
from engine.errors import BadInput
from engine.sources.formats.resource_profile import read_resources

WHOLE = """\
host: worker-1            # keys that are no rates are left aside
measured: 2026-07-20
network_bytes_per_second: 125MB
local_read_bytes_per_second: 2.1e8
local_write_bytes_per_second: 150_000_000
"""


def written(folder: Path, text: str) -> Path:
    path = folder / "resources.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_a_measured_host_needs_no_hdfs(tmp_path: Path) -> None:
    found = read_resources(written(tmp_path, WHOLE))
    assert found.network_bytes_per_second == 125e6
    assert found.local_read_bytes_per_second == 2.1e8
    assert found.local_write_bytes_per_second == 150e6
    assert found.hdfs_read_bytes_per_second is None
    assert found.hdfs_write_bytes_per_second is None
    assert found.origin == "the resource profile resources.yaml"


def test_all_five(tmp_path: Path) -> None:
    more = "hdfs_read_bytes_per_second: 90MB\nhdfs_write_bytes_per_second: 40MB\n"
    found = read_resources(written(tmp_path, WHOLE + more))
    assert (found.hdfs_read_bytes_per_second, found.hdfs_write_bytes_per_second) == (90e6, 40e6)


@pytest.mark.parametrize("value", ["0", "-5MB", "fast", "nan", "inf", "0.0"])
def test_a_rate_must_be_above_zero(value: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        read_resources(written(tmp_path, WHOLE.replace("125MB", value)))
    said = str(error.value)
    assert "resources.yaml:3: network_bytes_per_second must be bytes per second above zero" in said


@pytest.mark.parametrize("value", ["1e-300", "1e300", "0.5"])
def test_a_rate_that_no_node_has_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r":3: network_.* must lie between 1 B/s and 1 PB/s"):
        read_resources(written(tmp_path, WHOLE.replace("125MB", value)))


@pytest.mark.parametrize("key", ["network", "local_read", "local_write"])
def test_a_needed_rate_is_missing(key: str, tmp_path: Path) -> None:
    text = "\n".join(line for line in WHOLE.splitlines() if not line.startswith(key))
    with pytest.raises(BadInput, match=f"{key}_bytes_per_second is missing"):
        read_resources(written(tmp_path, text))


def test_a_misspelt_rate_is_not_left_aside(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r":6: unknown rate .*did you mean hdfs_read"):
        read_resources(written(tmp_path, WHOLE + "hdfs_raed_bytes_per_second: 9MB\n"))


def test_what_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match="cannot be read"):
        read_resources(tmp_path / "none.yaml")
    with pytest.raises(BadInput, match="empty"):
        read_resources(written(tmp_path, ""))


def test_a_log_that_hardly_shuffles_revises_nothing(tmp_path: Path) -> None:
    resources = engine.read_resources(written(tmp_path, WHOLE))
    with pytest.raises(BadInput, match=r"spend 15 % of their time on shuffling"):
        engine.revise_resources(resources, engine.read("sort-large"))
    with pytest.raises(BadInput, match="has no stages"):
        engine.revise_resources(resources, engine.read("ernest-rcv1"))
