"""Profile files as people write them: the example of the page, and shapes that only they tell."""

from pathlib import Path

import pytest

from engine.errors import BadInput
from engine.sources import read
from engine.sources.formats.profile_file import parse, write_profile
from engine.sources.formats.profile_text import format_profile


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
