"""Numbers of nodes on which Spark starts some stage of a job not at all, in the planner."""

from dataclasses import replace

import numpy as np
import pytest
from fakes import answered

from tui.views import at_crosshair, curves, workflow
from tui.widgets.glyphs import UNICODE


@pytest.mark.parametrize(
    ("started", "says"), [(False, "does not start here"), (True, "no answer at this size")]
)
def test_the_crosshair_says_why_there_is_no_time(started: bool, says: str) -> None:
    state, answer = answered()
    curve = answer.report.curve
    assert curve.started.all()
    unknown = np.full(len(curve.nodes), np.nan)
    stuck = replace(
        curve, seconds=unknown, low=unknown, high=unknown, cost_usd=unknown,
        started=np.full(len(curve.nodes), started),
    )  # fmt: skip
    for drawn in (1, 1 if started else 4):
        found = at_crosshair.readings([(1, stuck)] * drawn, 2, UNICODE)
        rows = at_crosshair.compact_rows(state, found, 78)
        for lines in (at_crosshair.side_lines(state, found), rows):
            text = "".join(part for line in lines for part, _ in line)
            assert text.count(says) == drawn
            assert "no price" not in text


@pytest.mark.parametrize(
    ("fewest", "says"), [(1, ""), (6, ", starts on 6 nodes or more"), (10**6, "")]
)
def test_the_title_says_where_a_curve_begins(fewest: int, says: str) -> None:
    """It began behind the fifth node, and nothing but the crosshair said why."""
    state, answer = answered()
    curve = answer.report.curve
    begun = replace(curve, started=curve.nodes >= fewest)
    for chart in ("time", "cost"):
        title = curves.band_title(state, [(1, begun)], chart)
        assert title == f", dots: 9 in 10 runs{says}"


def test_with_several_types_the_title_names_the_one_that_begins_there() -> None:
    """It read as if it were of all of them."""
    state, answer = answered()
    curve = answer.report.curve
    begun = replace(curve, started=curve.nodes >= 3)
    title = curves.band_title(state, [(1, begun), (2, curve)], "time")
    assert title.endswith(f", {curve.instance} starts on 3 nodes or more")


def test_a_job_with_stages_that_no_cluster_starts_is_not_said_to_have_none() -> None:
    """The Workflow view asked for a log, and one was open."""
    _, answer = answered()
    nothing = replace(answer.report.recommendation, recommended=None, nearest=None)
    stuck = replace(answer, report=replace(answer.report, recommendation=nothing))
    assert "has no stages" not in workflow.why_missing(stuck)
    assert "no cluster" in workflow.why_missing(stuck)
    assert "has no stages" in workflow.why_missing(answer)
