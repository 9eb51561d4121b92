"""Which tests of commands share fits: those that replace nothing, themselves or by a fixture."""

from contextlib import chdir
from pathlib import Path
from shutil import copy

import kept_fits as kept
import pytest
from kept_fits import ENGINE_FIT, ENGINE_READS, KeptReads

import engine
from tui import cli

ASK = ["recommend", "nightly-features-small", "--deadline", "2m"]


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

    def noted(real):
        return lambda *sources, **options: found.append(sources) or real(*sources, **options)

    for name, real in ENGINE_READS.items():
        monkeypatch.setitem(ENGINE_READS, name, noted(real))
    return found


@pytest.mark.parametrize(
    ("name", "sample"),
    [("read", "sort-small"), ("read_each", "sort-small"), ("read_workflow", "nightly-pipeline")],
)
def test_a_sample_is_read_once_and_each_command_gets_its_own_copy(read_now, name, sample):
    read = KeptReads().instead_of(name)
    first, second = read(sample), read(sample)
    assert read_now == [(sample,)]
    assert first == second == getattr(engine, name)(sample)
    assert first is not second


def test_how_far_a_reading_is_makes_no_difference(read_now):
    read = KeptReads().instead_of("read")
    assert read("sort-small", progress=lambda *_: None) == read("sort-small")
    assert len(read_now) == 1


def test_other_options_and_other_samples_are_read_for_themselves(read_now):
    reads = KeptReads()
    read = reads.instead_of("read")
    alone, on = read("sort-small"), read("sort-small", ran_on="m5.xlarge")
    assert on == engine.read("sort-small", ran_on="m5.xlarge") != alone
    assert len(read("sort-small", "sort-large").runs) == 2
    reads.instead_of("read_each")("sort-small")
    assert len(read_now) == 4


def test_a_file_is_read_each_time_also_one_with_the_name_of_a_sample(read_now, tmp_path):
    read = KeptReads().instead_of("read")
    small = read("sort-small")
    copy(
        Path(kept.__file__).parents[1] / "sample_logs" / "sort-large.zstd", tmp_path / "sort-small"
    )
    with chdir(tmp_path):
        for name in ("sort-small", str(tmp_path / "sort-small")):
            assert read(name).runs == read(name).runs != small.runs
    assert len(read_now) == 5


@pytest.mark.parametrize("name", ENGINE_READS)
def test_a_reading_that_a_test_replaces_is_the_one_that_is_asked(monkeypatch, name):
    def refused(*sources, **options):
        raise engine.BadInput("no reading today")

    asked = {"read": ASK, "read_each": ["fleet", "sort-small", "--deadline", "1h"]}
    workflow = ["workflow", "nightly-pipeline", "--nodes", "2", "--instance", "m5.xlarge"]
    monkeypatch.setattr(engine, name, refused)
    with pytest.raises(engine.BadInput, match="no reading today"):
        cli.run(asked.get(name, workflow))


def test_commands_share_what_they_read():
    workflow = ["workflow", "nightly-pipeline", "--nodes", "2", "--instance", "m5.xlarge"]
    fleet = ["fleet", "sort-small", "--deadline", "1h", "--instances", "m5.xlarge"]
    commands = (["predict", "sort-small"], workflow, fleet)
    first = [cli.run(words) for words in commands]

    def read_again(*sources, **options):
        pytest.fail(f"{sources} are read once more")

    with pytest.MonkeyPatch.context() as patch:
        for name in ENGINE_READS:
            patch.setitem(ENGINE_READS, name, read_again)
            patch.setattr(engine, name, read_again)
        assert [cli.run(words) for words in commands] == first == [0, 0, 0]
