"""The list of measured runs in the Evidence view: which columns it has, and what they hold."""

from dataclasses import replace

import pytest
from fakes import FakeSession, profile
from screen import at_rest, compared, text_of

from tui.views import evidence


def test_measured_executors_lose_their_nodes_before_they_are_cut():
    """ "2 executors of…" stood in the list, and not of how many cores."""
    said = "12 executors of 4 cores on 3 nodes"
    assert evidence.closer(said, 23) == "12 executors of 4 cores"
    assert evidence.closer(said, 22) == "12 exec. of 4 cores"
    assert evidence.closer("8 × m5.2xlarge", 10) == "8 × m5.2xlarge"


@pytest.mark.parametrize(("iterations", "told"), [(None, False), (7.0, True)])
async def test_the_jobs_of_the_runs_have_a_column_where_they_differ_from_none(
    planner, iterations, told
):
    found = profile()
    runs = [
        replace(run, workload=replace(run.workload, iterations=iterations)) for run in found.runs
    ]
    session = FakeSession(evidence=replace(found, runs=tuple(runs)))
    async with at_rest(planner(session), (200, 50), "5") as (app, pilot):
        await compared(pilot)
        (head,) = (line for line in text_of(app).splitlines() if "measured run" in line)
        assert (" job " in head) is told


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_a_long_name_is_cut_before_the_cluster_beside_it(planner, size):
    """ "2 exec. of 1 c…" stood beside twenty cells of a name."""
    found = profile(ran_on=None)
    runs = [
        replace(run, source=f"/logs/movie-als-on-a-long-list-{at}.zstd")
        for at, run in enumerate(found.runs)
    ]
    session = FakeSession(evidence=replace(found, runs=tuple(runs)))
    async with at_rest(planner(session), size, "5") as (app, pilot):
        await compared(pilot)
        rows = [line for line in text_of(app).splitlines() if " exec. of 4 cores " in line]
        assert len(rows) == len(runs)
        assert all("movie-" in row for row in rows)
        assert all(any(f"{at}.zstd " in row for row in rows) for at in range(len(runs)))
