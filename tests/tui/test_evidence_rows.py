"""The rows of the Evidence view: models on the runs that they left out."""

from fakes import LEFT_OUT, Law, profile

import engine
from engine.models.base import LeaveOneOut
from tui.state import PlanState
from tui.views import evidence, evidence_text
from tui.views.marks import marks_of
from tui.widgets.glyphs import UNICODE


def answered(name, validation, found):
    outcome = engine.FitOutcome(name, Law(name, found, validation=validation))
    asked = engine.ask(outcome, cluster=found.runs[0].cluster, workload=None)
    return name, asked


def test_the_least_error_is_told_on_the_runs_that_all_left_out():
    """A model that left out only one run, and that one well, is not marked in the table."""
    found = profile()
    one = answered("one", LeaveOneOut((2400.0,), (2400.0,)), found)
    two = answered("two", LEFT_OUT, found)
    assert evidence_text.least_error([two], used="two") is None
    assert evidence_text.least_error([one, two], used="two") == ("one", 0.0, 1)
    rows = evidence.model_rows(
        PlanState(sources=("a",)), [one, two], used="two", marks=marks_of(UNICODE)
    )
    assert not any("least" in row[7][0] for row in rows)


def test_a_model_without_left_out_runs_has_dashes_for_them_beside_others():
    """Its note began in the column of their number: "3 warnings" read as three runs."""
    found = profile()
    models = [answered("one", LEFT_OUT, found), answered("none", None, found)]
    state, marks = PlanState(sources=("a",), deadline_seconds=3600.0), marks_of(UNICODE)
    rows = evidence.model_rows(state, models, used="one", marks=marks)
    assert [(row[5], row[6] == "–") for row in rows] == [("2", False), ("–", True)]
    rows = evidence.model_rows(state, models[1:], used="none", marks=marks)
    assert [row[5:7] for row in rows] == [["", ""]], "no column without any"


def test_among_equals_the_model_in_use_is_the_best():
    found = profile()
    same = [answered(name, LEFT_OUT, found) for name in ("first", "second")]
    best = evidence_text.least_error(same, used="second")
    assert best[0] == "second"
