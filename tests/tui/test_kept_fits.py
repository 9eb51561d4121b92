"""Which tests of commands share fits: those that replace nothing, themselves or by a fixture."""

import pytest
from kept_fits import ENGINE_FIT

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
