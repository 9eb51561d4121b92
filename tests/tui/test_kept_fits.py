"""Which tests of commands share fits: those that replace nothing, themselves or by a fixture."""

from contextlib import chdir
from pathlib import Path
from shutil import copy

import kept_fits as kept
import pytest
from kept_fits import ENGINE_FIT, ENGINE_READ, KeptReads

import engine
from tui import cli

ASK = ["recommend", "nightly-features-small", "--deadline", "1h"]


@pytest.fixture
def asked(kept_fits):
    """The models that the shared fits are asked for."""
    models = []

    def fit(profile, *, model=engine.DEFAULT_MODEL):
        models.append(model)
        return ENGINE_FIT(profile, model=model)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(kept_fits, "fit", fit)
        yield models


@pytest.fixture
def replacing(monkeypatch):
    """Replaces something, as fixtures of a file do."""
    monkeypatch.setenv("NO_COLOR", "1")


def test_a_command_of_a_test_that_replaces_nothing_shares_its_fit(asked):
    assert cli.run(ASK) == 0
    assert asked


def test_what_a_fixture_replaces_is_in_no_shared_fit(asked, replacing):
    assert cli.run(ASK) == 0
    assert not asked


def test_a_fit_that_a_test_replaces_is_the_one_that_is_asked(monkeypatch):
    def refused(profile, *, model=engine.DEFAULT_MODEL):
        raise engine.BadInput("no fit today")

    monkeypatch.setattr(engine, "fit", refused)
    with pytest.raises(engine.BadInput, match="no fit today"):
        cli.run(ASK)


@pytest.fixture
def read_now(monkeypatch):
    """The sources that are read, not taken from what was kept."""
    found = []

    def read(*sources, **options):
        found.append(sources)
        return ENGINE_READ(*sources, **options)

    monkeypatch.setattr(kept, "ENGINE_READ", read)
    return found


def test_a_sample_is_read_once_and_each_command_gets_its_own_copy(read_now):
    reads = KeptReads()
    first, second = (reads.read("sort-small", progress=None) for _ in range(2))
    assert read_now == [("sort-small",)]
    assert first == second == ENGINE_READ("sort-small")
    assert first is not second
    assert first.runs[0] is not second.runs[0]


def test_other_options_and_other_samples_are_read_for_themselves(read_now):
    reads = KeptReads()
    reads.read("sort-small")
    on = reads.read("sort-small", ran_on="m5.xlarge")
    assert on == ENGINE_READ("sort-small", ran_on="m5.xlarge")
    assert on != reads.read("sort-large", "sort-small", ran_on="m5.xlarge")
    assert len(read_now) == 3


def test_a_file_is_read_each_time_also_one_with_the_name_of_a_sample(read_now, tmp_path):
    reads = KeptReads()
    reads.read("sort-small")
    copy(
        Path(kept.__file__).parents[1] / "sample_logs" / "sort-large.zstd", tmp_path / "sort-small"
    )
    with chdir(tmp_path):
        for name in ("sort-small", str(tmp_path / "sort-small")):
            assert reads.read(name).runs == reads.read(name).runs
    assert len(read_now) == 5


def test_a_reading_that_a_test_replaces_is_the_one_that_is_asked(monkeypatch):
    def refused(*sources, **options):
        raise engine.BadInput("no reading today")

    monkeypatch.setattr(engine, "read", refused)
    with pytest.raises(engine.BadInput, match="no reading today"):
        cli.run(ASK)
