"""What a session keeps, and when it works it out anew."""

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from depth import DEEP

import engine
from tui.answers import Answer, BuiltPlan
from tui.session import EngineSession, _LastValue
from tui.state import MAX_NODES, Limits, PlanState

STATE = PlanState(
    sources=("sort-large",),
    ran_on="m5.xlarge",
    instances=("m5.xlarge",),
    max_nodes=2,
    mix=1,
    deadline_seconds=600.0,
)


DATA = Path(__file__).parents[1] / "data"


def quiet(words: str) -> None:
    pass


def test_interruptions_are_part_of_the_time_of_spot_nodes_alone() -> None:
    session = EngineSession()
    state = replace(STATE, scale=10_000.0)
    built = session.build(state, quiet)
    rented = session.answer(state, built)
    spot = session.answer(replace(state, spot=True), built)
    again = session.answer(state, built)
    assert rented.best.composition == spot.best.composition
    assert "interruptions" in spot.explained.phases
    assert "interruptions" not in rented.explained.phases
    assert again.explained.phases == rented.explained.phases


def test_interruptions_are_those_of_the_settled_answer() -> None:
    """A grid of node counts is a little off, and the phases kept what it was off by."""
    session = EngineSession()
    state = replace(STATE, scale=30_000.0, spot=True, max_nodes=5)
    built = session.build(state, quiet)
    settled = session.mixed(state, session.answer(state, built))
    told = settled.explained.phases["interruptions"]
    assert told == pytest.approx(settled.best.seconds - settled.explained.seconds)


def test_interruptions_that_nobody_knows_are_no_part_of_the_time() -> None:
    """What a grid of node counts, or rounding, was off by counted as theirs."""
    session = EngineSession()
    state = replace(STATE, catalog="gcp", instances=("n2d-*",), scale=1000.0, spot=True)
    built = session.build(state, quiet)
    # Dataproc has spot nodes from the third worker on; with few nodes rounding was taken for it.
    for most in (*range(3, 9), *range(9, 65, 1 if DEEP else 16)):
        answer = session.answer(replace(state, max_nodes=most), built)
        assert answer.best.spot
        assert "interruptions" not in answer.explained.phases


def test_one_node_at_most_is_said_to_be_too_few_for_dataproc() -> None:
    session = EngineSession()
    state = replace(STATE, catalog="gcp", instances=("n2d-*",))
    answer = session.answer(replace(state, max_nodes=1), session.build(state, quiet))
    assert answer.best is None
    reasons = {one.instance: one.reason for one in answer.report.recommendation.rejected}
    assert reasons["n2d-standard-4"] == "Dataproc starts no fewer than 2 workers"


def test_prices_are_of_where_it_ran_until_others_are_named() -> None:
    session = EngineSession()
    state = replace(STATE, instances=(), ran_on="n2-standard-4@gcp")
    built = session.build(state, quiet)
    assert built.catalog.name == "gcp"
    assert "prices-of-where-it-ran" in {notice.code for notice in built.profile.notices}
    larger = session.build(replace(state, scale=2.0), quiet)
    assert larger.profile is built.profile
    named = session.build(replace(state, catalog="aws"), quiet)
    assert named.catalog.name == "aws"
    assert "prices-of-where-it-ran" not in {notice.code for notice in named.profile.notices}


@pytest.mark.parametrize("of_workflow", [False, True])
def test_the_planner_says_that_another_service_is_priced(of_workflow: bool, tmp_path: Path) -> None:
    session, source = EngineSession(), str(DATA / "emr-serverless.zstd")
    if of_workflow:
        path = tmp_path / "workflow.yaml"
        head = "format: sparkplan-workflow/1\nname: one job\njobs:\n"
        path.write_text(f"{head}- {{name: first, source: '{source}'}}\n", encoding="utf-8")
        source = str(path)
    state = replace(STATE, sources=(source,), catalog="aws", ran_on=None)
    steps: list[str] = []
    said = session.answer(state, session.build(state, steps.append)).report.recommendation.warnings
    assert steps[-1] == ("simulating the workflow's states" if of_workflow else "building the plan")
    texts = [notice.text for notice in said if notice.code == "prices-of-another-service"]
    assert len(texts) == 1
    assert texts[0].startswith("the runs were on EMR Serverless; ")
    meant = replace(state, terms=state.terms._replace(platform="emr"))
    notices = session.build(meant, quiet).profile.notices
    assert "prices-of-another-service" not in {notice.code for notice in notices}


def test_the_planner_rents_no_master_where_that_of_the_owned_nodes_serves() -> None:
    session = EngineSession()
    built = session.build(STATE, quiet)
    usd = []
    for owned_master in (False, True):
        limits = Limits(owned=(("m5.xlarge", 2),), owned_master=owned_master)
        state = replace(STATE, limits=limits)
        answer = session.answer(state, built)
        usd.append(answer.best.cost_usd)
        settled = session.mixed(replace(state, mix=2), answer)
        assert settled.best.cost_usd == answer.best.cost_usd
    assert usd[0] > 0.0 == usd[1]


RUN_TIMES = replace(STATE, sources=("ernest-rcv1",), ran_on="r3.xlarge")


def test_a_plan_of_run_times_has_as_many_nodes_as_are_asked_for_and_serves_fewer() -> None:
    session = EngineSession()
    first = session.build(RUN_TIMES, quiet)
    assert first.max_nodes == 64
    more = session.build(replace(RUN_TIMES, max_nodes=65), quiet)
    assert more.max_nodes == 128
    assert session.build(RUN_TIMES, quiet).plan is more.plan
    other = session.build(replace(RUN_TIMES, scale=2.0), quiet)
    assert other.max_nodes == 64
    assert session.build(RUN_TIMES, quiet).plan is more.plan, "it is still in use"


def test_a_plan_of_logs_has_all_nodes() -> None:
    session = EngineSession()
    first = session.build(STATE, quiet)
    assert first.max_nodes == MAX_NODES
    assert session.build(replace(STATE, max_nodes=65), quiet).plan is first.plan


def test_a_kind_that_was_chosen_needs_no_other_fit() -> None:
    session, state = EngineSession(), replace(STATE, category="graph")
    first = session.build(state, quiet)
    assert first.profile.category == "graph"
    assert session.build(replace(state, max_nodes=65), quiet).plan is first.plan


def test_a_workflow_too_has_the_prices_of_where_it_ran() -> None:
    session = EngineSession()
    state = replace(
        STATE, sources=("nightly-pipeline",), instances=(), ran_on="n2-standard-4", max_nodes=1
    )
    built = session.build(state, quiet)
    assert built.catalog.name == "gcp"
    answer = session.answer(state, built)
    said = {notice.code for notice in answer.report.recommendation.warnings}
    assert "prices-of-where-it-ran" in said


def answer_of(built: BuiltPlan) -> Answer:
    goal = engine.Goal(deadline_seconds=STATE.deadline_seconds, max_nodes=STATE.max_nodes)
    return Answer(built, built.plan.report(goal), None, None)


def test_the_course_is_that_of_the_plan_at_hand() -> None:
    """Another plan may come to lie where one lay in memory that is gone."""
    larger = EngineSession().build(replace(STATE, scale=4.0), quiet)
    expected = EngineSession().workflow_report(STATE, answer_of(larger))
    session = EngineSession()
    first = session.build(STATE, quiet)
    assert session.workflow_report(STATE, answer_of(first)) is not None
    place = id(first.plan)
    del first
    parts, others = larger.plan, []
    for _ in range(1000):
        others.append(engine.Plan(parts.request, parts.fitted, parts.surface))
        if id(others[-1]) == place:
            break
    found = session.workflow_report(STATE, answer_of(replace(larger, plan=others[-1])))
    assert found.seconds == expected.seconds


ASKED_OF_ONE = """
import sys, engine
from tui.session import EngineSession
session, profile = EngineSession(), engine.read("sort-large")
run = profile.largest_run
assert session.ask("ernest", profile, run.cluster, run.workload).why_not
print(*sorted(name for name in sys.modules if name.startswith("engine.models.")))
"""


def test_a_model_is_asked_without_the_others_being_imported() -> None:
    """Their modules take longer to load than most answers."""
    done = subprocess.run([sys.executable, "-c", ASKED_OF_ONE], capture_output=True, text=True)
    assert done.stderr == ""
    imported = set(done.stdout.split())
    assert "engine.models.ernest" in imported
    assert not imported & {f"engine.models.{name}" for name in ("boe", "peridot", "sparkplan")}


def test_what_is_kept_for_one_owner_is_not_known_of_another_that_looks_like_it() -> None:
    """Plans and evidence are compared by identity: equal contents take longer to compare than
    most answers take."""

    class Alike:
        def __eq__(self, other: object) -> bool:
            raise AssertionError("compared by contents")

        __hash__ = object.__hash__

    owner, kept = Alike(), _LastValue[str]()
    assert kept.known(owner, 1, "nothing") == "nothing"
    assert kept.get(owner, 1, lambda: "made") == "made"
    assert kept.known(owner, 1, "nothing") == "made"
    assert kept.known(owner, 2, "nothing") == "nothing"
    assert kept.known(Alike(), 1, "nothing") == "nothing"
    assert kept.get(Alike(), 1, lambda: "anew") == "anew"
