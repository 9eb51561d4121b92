"""Profiles as people write them: examples of the page, shapes, resource profiles."""

from pathlib import Path

import pytest

import engine
from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.profile_file import parse, write_profile
from engine.sources.formats.profile_text import format_profile
from engine.sources.formats.resource_profile import read_resources


def test_the_example_in_the_documentation_is_read() -> None:
    page = (Path(__file__).parents[3] / "docs" / "formats.md").read_text(encoding="utf-8")
    example = page.split("```yaml\n")[1].split("```")[0]
    profile = parse(example, "formats.md")
    assert profile.runs[0].stages[0].task_seconds.total == 9.4
    assert profile.optex[0].operations[0].mean_seconds == 97.6
    assert parse(format_profile(profile), "again.yaml") == profile


ONLY_OPTEX = """format: sparkplan-profile/1
name: als
instance_types:
  m1.large: {vcpus: 2, memory_gib: 7.5}
optex:
- instance_type: m1.large
  t_init_seconds: 20
  t_prep_seconds: 13
"""


def test_shapes_that_only_a_job_profile_names_are_kept(tmp_path: Path) -> None:
    (tmp_path / "als.yaml").write_text(ONLY_OPTEX)
    profile = read(tmp_path / "als.yaml")
    assert [(s.name, s.vcpus, s.memory_gib) for s in profile.shapes] == [("m1.large", 2, 7.5)]
    write_profile(profile, tmp_path / "again.yaml")
    assert "m1.large: {vcpus: 2, memory_gib: 7.5}" in (tmp_path / "again.yaml").read_text()
    assert read(tmp_path / "again.yaml").shapes == profile.shapes


def test_sources_that_contradict_each_other_on_a_shape_are_refused(tmp_path: Path) -> None:
    for name, text in (("a", ONLY_OPTEX), ("b", ONLY_OPTEX.replace("vcpus: 2", "vcpus: 4"))):
        (tmp_path / f"{name}.yaml").write_text(text)
    with pytest.raises(BadInput, match="vCPUs"):
        read(tmp_path / "a.yaml", tmp_path / "b.yaml")


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


@pytest.mark.parametrize(
    "value", ["0", "-5MB", "fast", "nan", "inf", "0.0", "1e-300", "1e300", "0.5"]
)
def test_a_rate_that_no_node_has_is_refused(value: str, tmp_path: Path) -> None:
    with pytest.raises(BadInput) as error:
        read_resources(written(tmp_path, WHOLE.replace("125MB", value)))
    said = str(error.value).partition("resources.yaml")[2]
    assert said == (
        f":3: network_bytes_per_second: a rate lies between 1 B/s and 1 PB/s, not {value!r}; "
        "write it like 125MB/s or 1Gbps"
    )


def test_a_rate_may_be_of_bits_and_must_say_so(tmp_path: Path) -> None:
    found = read_resources(written(tmp_path, WHOLE.replace("125MB", "1Gbps")))
    assert found.network_bytes_per_second == 125e6
    with pytest.raises(BadInput, match="'1Gb' may be bits or bytes; write 1Gbps for bits"):
        read_resources(written(tmp_path, WHOLE.replace("125MB", "1Gb")))


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
