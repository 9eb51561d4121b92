"""The Experiments view: what to run next, what it costs and teaches, and the line to paste."""

import shlex
from contextlib import asynccontextmanager
from dataclasses import replace
from threading import Event

import pytest
from fakes import FakeSession, profile, without_stages
from screen import advised, at_rest, settled, text_of, words_in

import engine
from tui import experiments_advisor
from tui import format as text
from tui.changes import SetBudget, SetDeadline, SetMaxNodes, SetSamples, SetSpot, SetTrainingBudget
from tui.headless.experiments_output import advice_as_text
from tui.input_text.training_text import next_round_amount
from tui.session import EngineSession
from tui.views import experiments
from tui.views.marks import Marks


@asynccontextmanager
async def opened(planner, size=(120, 40)):
    """A planner that shows what to run next, once that is worked out."""
    async with at_rest(planner, size, "8") as (app, pilot):
        await advised(pilot)
        yield app, pilot


async def test_it_says_what_to_run_what_that_costs_and_what_is_known(planner):
    async with opened(planner()) as (app, _):
        shown = text_of(app)
        assert "[8 " in shown
        assert "Known: m5.2xlarge, 3 runs on 4 to 12 nodes, 2.1 TB" in shown
        assert "Chosen now, of one type: " in shown
        assert "choice then" in shown

        assert "sparkplan collect --run" in shown
        found, waiting = app.advised(app.answer)
        assert not waiting
        assert found.suggested
        assert found.plan.cost <= found.amount
        assert f"{len(found.plan.runs)} training runs would leave 7 × c6i.2xlarge at 44" in shown
        # What is shown is what the engine says to the same question.
        again = engine.advise(
            app.built.plan.fitted,
            catalog=app.built.catalog,
            deadline_seconds=app.state.deadline_seconds,
            workload=app.built.plan.surface.workload,
        )
        assert [(r.instance, r.nodes) for r in again.next_runs] == [
            (r.instance, r.nodes) for r in found.advice.next_runs
        ]


async def test_a_choice_that_misses_the_goal_is_said_to_miss_it(planner):
    """It was "chosen now", as if it kept a budget of a hundredth of its cost."""
    async with opened(planner(budget_usd=0.05)) as (app, _):
        assert app.answer.report.recommendation.recommended is None
        shown = words_in(app._panels.prose("experiments-about"))
        assert "No cluster of one type meets the goal; nearest: " in shown
        assert "Chosen now" not in shown
        found, _ = app.advised(app.answer)
        printed = advice_as_text(found.advice, None, 0.9)
        assert printed.startswith("no cluster of one type meets the goal; nearest: ")


async def test_nothing_is_worked_out_before_the_view_is_looked_at(planner):
    async with at_rest(planner(), (80, 24), "2", "4", "1") as (app, pilot):
        await settled(pilot)
        assert app._advising is None


async def test_the_budget_is_stepped_typed_undone_and_kept_in_the_title(planner):
    async with opened(planner()) as (app, pilot):
        before = app.advised(app.answer)[0]
        await pilot.press("plus")
        await advised(pilot)
        amount = app.state.training.amount
        assert amount == next_round_amount(before.amount, "usd", 1)
        assert "(suggested)" not in text_of(app)
        await pilot.press("minus", "minus")
        await advised(pilot)
        assert app.state.training.amount < before.amount
        await app.run_command_line("training 20h")
        await advised(pilot)
        assert app.state.training == (72000.0, "seconds", (), "ernest")
        assert "Training within 20h" in text_of(app)
        await pilot.press("u")
        await advised(pilot)
        assert app.state.training.unit == "usd"
        await app.run_command_line("training off")
        await advised(pilot)
        assert "(suggested)" in text_of(app)


async def test_a_budget_below_the_cheapest_run_is_one_line(planner):
    async with opened(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line("training $0.0001")
        await advised(pilot)
        found, _ = app.advised(app.answer)
        assert found.plan is None
        assert "is below the cheapest run" in text_of(app)
        assert found.advice is not None
        await pilot.press("y")
        await settled(pilot)
        assert "there are no runs to copy yet" in text_of(app)


async def test_sizes_that_cannot_tell_the_terms_apart_are_one_line(planner):
    async with opened(planner()) as (app, pilot):
        app.dispatch(SetMaxNodes(1))
        app.dispatch(SetSamples((0.05,)))
        await advised(pilot)
        assert "cannot tell these terms apart" in app.advised(app.answer)[0].no_plan
        assert "cannot tell these terms apart" in text_of(app)


async def test_only_the_last_of_many_steps_is_worked_out(planner, monkeypatch):
    asked = []
    real = engine.advise

    def advise(*arguments, **options):
        asked.append(options["deadline_seconds"])
        return real(*arguments, **options)

    monkeypatch.setattr(engine, "advise", advise)
    async with opened(planner(), (80, 24)) as (app, pilot):
        asked.clear()
        for seconds in range(3000, 3030):
            app.dispatch(SetDeadline(float(seconds)))
        assert app.advising.waiting
        assert "…" in text_of(app) or "..." in text_of(app)
        await advised(pilot)
        assert asked[-1] == 3029.0
        assert len(asked) <= 2


async def test_y_copies_the_line_and_e_previews_it(planner):
    async with opened(planner()) as (app, pilot):
        await pilot.press("y")
        await settled(pilot)
        plan = app.advised(app.answer)[0].plan
        words = shlex.split(app.clipboard)
        assert words[:2] == ["sparkplan", "collect"]
        assert words.count("--run") == len(plan.runs)
        app.widget = app._panels.table("next-runs")
        app.widget.focus()
        await pilot.pause()
        await pilot.press("y")
        await settled(pilot)
        assert shlex.split(app.clipboard).count("--run") == 1
        await pilot.press("e")
        await pilot.pause()
        assert "JSON for sparkplan collect --plan FILE" in text_of(app)


async def test_r_goes_through_the_rules_and_works_out_only_the_one_looked_at(planner, monkeypatch):
    asked, advised_for = [], []
    plan, advise = engine.plan_experiments, engine.advise
    monkeypatch.setattr(
        engine, "plan_experiments",
        lambda request, **options: asked.append(request.method) or plan(request, **options),
    )  # fmt: skip
    monkeypatch.setattr(
        engine, "advise", lambda *of, **options: advised_for.append(1) or advise(*of, **options)
    )
    # Each choice of a rule is a step to undo, however soon it follows the one before.
    monkeypatch.setattr("tui.history.ONE_GESTURE_SECONDS", -1.0)
    async with at_rest(
        planner(EngineSession(), sources=("sort-small",), ran_on="m5.xlarge"), (120, 40)
    ) as (app, pilot):
        assert asked == []
        await pilot.press("8")
        await advised(pilot)
        assert set(asked) == {"ernest"}
        asked.clear()
        await pilot.press("r")
        await advised(pilot)
        assert asked == ["peridot"]
        assert "PERIDOT's two sizes on equal cores: 2 runs" in text_of(app)
        found = app.advised(app.answer)[0]
        first, second = found.plan.runs
        assert first.cores == second.cores
        assert first.nodes == second.nodes == 1
        assert second.fraction > first.fraction
        assert found.narrowing is None
        await pilot.press("plus")
        assert "has no budget" in text_of(app)
        await pilot.press("r")
        await advised(pilot)
        assert asked == ["peridot", "simcost"]
        assert "SimCost's samples of equal waves" in text_of(app)
        assert "1 core " in text_of(app)
        await pilot.press("y")
        await settled(pilot)
        assert "--run 1c@" in app.clipboard
        assert "--executor-cores 1 " in app.clipboard
        await pilot.press("r")
        await advised(pilot)
        assert app.state.training.plan == "ernest"
        # The next run is about the goal alone: another rule asks for nothing new.
        assert len(advised_for) == 1
        await app.run_command_line("plan simcost")
        await pilot.press("u")
        await settled(pilot)
        assert app.state.training.plan == "ernest"
        await app.run_command_line("plan optex")
        await settled(pilot)
        assert "peridot" in text_of(app)


async def test_the_next_run_follows_budget_and_spot_prices(planner):
    types = ("m5.large", "m5.xlarge", "m5.2xlarge")
    asked = {"sources": ("nightly-features",), "ran_on": "m5.xlarge", "instances": types}
    app = planner(EngineSession(), **asked, max_nodes=12)
    async with opened(app) as (_, pilot):
        before = app.advised(app.answer)[0].advice
        assert before.by == "cost and lateness"
        app.dispatch(SetDeadline(None))
        app.dispatch(SetBudget(0.3))
        await advised(pilot)
        fastest = app.advised(app.answer)[0].advice
        assert fastest.by == "time and the budget"
        assert fastest.usd <= 0.3
        assert "Chosen now, of one type: " in text_of(app)
        app.dispatch(SetSpot(True))
        await advised(pilot)
        found = app.advised(app.answer)[0]
        assert found.advice.spot
        assert "at spot prices" in text_of(app)


async def test_a_workflow_says_what_to_open_instead(planner):
    app = planner(EngineSession(), sources=("nightly-pipeline",), catalog="papers", max_nodes=1)
    async with opened(app, (80, 24)):
        assert "open one of" in text_of(app)


async def test_what_training_runs_lack_is_said_as_it_is_typed_here(planner):
    """With one node at most it named options of the command, which the planner does not take."""
    async with opened(planner(FakeSession(evidence=profile(runs=1)), max_nodes=1)) as (app, _):
        found, _ = app.advised(app.answer)
        assert found.plan is None
        shown = " ".join(text_of(app).replace("│", " ").split())
        assert "add node counts or fractions (:nodes, :samples)" in shown
        assert "--" not in found.no_plan


async def test_what_fails_in_the_engine_takes_nothing_else_away(planner):
    class Broken(FakeSession):
        def separate_fit(self, state, built):
            raise ZeroDivisionError("division [b]by[/b] zero")

    async with opened(planner(Broken(evidence=without_stages()))) as (app, pilot):
        assert "ZeroDivisionError: division [b]by[/b] zero" in text_of(app)
        await pilot.press("1")
        await settled(pilot)
        assert "[1 Curves]" in text_of(app)


@pytest.mark.parametrize("options", [{"glyphs": "ascii", "theme": "ansi-dark"}, {}])
async def test_in_ascii_and_without_colour_every_sign_is_plain(planner, monkeypatch, options):
    monkeypatch.setenv("NO_COLOR", "1")
    app = planner(FakeSession(evidence=profile(ran_on=None, runs=1)), **options)
    async with opened(app, (80, 24)):
        shown = text_of(app)
        assert "[8 " in shown
        assert not options or shown.isascii()


def test_the_command_and_the_scenario_take_the_same_words():
    from tui.command_parser import outcome_of
    from tui.typed_commands import CommandContext

    assert outcome_of("training $5", CommandContext()) == SetTrainingBudget(5.0, "usd")
    assert outcome_of("training off", CommandContext()) == SetTrainingBudget(None)
    assert outcome_of("samples 5%, 10%", CommandContext()) == SetSamples((0.05, 0.1))
    assert len(outcome_of("samples 1%:10%", CommandContext()).fractions) == 10
    with pytest.raises(engine.BadInput):
        outcome_of("samples 150%", CommandContext())


async def test_where_the_other_views_say_another_time_for_a_run_that_is_said(planner, tmp_path):
    rows = [
        (kind, nodes, k, round(speed * (60 + k * 2500 / nodes)))
        for kind, speed in (("m5.xlarge", 1.0), ("c5.xlarge", 1.4))
        for nodes in (2, 3, 4, 6, 8)
        for k in (3, 9)
    ]
    table = tmp_path / "runs.csv"
    lines = [f"{kind},{n},200000000,{k},{seconds}" for kind, n, k, seconds in rows]
    table.write_text("instance_type,nodes,input_size,k,seconds\n" + "\n".join(lines) + "\n")
    app = planner(EngineSession(), sources=(str(table),), instances=("m5.*", "r5.*", "c6i.*"))
    async with opened(app) as (_, pilot):
        assert "200M units" in text_of(app)
        found, _ = app.advised(app.answer)
        run = found.advice.next_runs[0]
        curve = app.answer.curve(run.instance)
        alone = float(curve.seconds[list(curve.nodes).index(run.nodes)])
        app.query_one("#next-runs").focus()
        app = await settled(pilot)
        said = " ".join(
            "".join(part for part, _ in line) for line in app.query_one("#experiments-run").lines
        )
        differs = text.seconds(alone) != text.seconds(run.seconds)
        assert differs
        assert f"Other views: {text.seconds(alone)} (9 in 10 runs: " in said
        assert "by the model alone. The search for a next run also weighs" in said


async def test_a_model_without_an_interval_is_not_said_to_narrow_one(planner):
    async with opened(planner(EngineSession(), sources=("optex-als-yarn",))) as (app, _):
        shown = text_of(app)
        assert "no interval" in shown
        assert "training runs would" not in shown


async def test_runs_that_narrow_an_interval_say_from_where_to_where(planner):
    """Of runs that hardly do it said "would narrow it from 44–58 min to 44–58 min"."""
    async with opened(planner()) as (app, _):
        found, _ = app.advised(app.answer)
        narrowing = replace(found.narrowing, then_low=2760.0, then_high=3300.0)
        found = replace(found, narrowing=narrowing)
        lines = experiments.about(app.answer, found, Marks("*", "x", "!"))
        said = "\n".join("".join(part for part, _ in line) for line in lines)
        assert "would narrow 7 × c6i.2xlarge from 44–58 min to 46–55 min, and tell" in said


async def test_the_last_report_keeps_its_own_confidence_and_composition_while_another_is_made(
    planner, monkeypatch
):
    """It said "99 in 100 runs" of the interval at 90 %, and its interval of the new composition."""
    async with opened(planner()) as (app, pilot):
        parts = [app._panels.prose(name) for name in ("experiments-about", "experiments-run")]

        def told():
            return " ".join(words_in(part) for part in parts)

        part_spot = [(experiments.PART_SPOT, "muted")]
        chosen = told()[told().index("Chosen now") :].split(";", 1)[0]
        assert "9 in 10 runs" in chosen
        go_on = Event()
        made = experiments_advisor.experiments_report

        def held(*given):
            assert go_on.wait(60.0)
            return made(*given)

        monkeypatch.setattr(experiments_advisor, "experiments_report", held)
        await app.run_command_line("confidence 99%")
        await app.run_command_line("deadline 20m")
        await app.run_command_line("spot on")
        await settled(pilot)
        shown = told()
        assert part_spot not in parts[0].lines, "it is of prices on demand, as was asked"
        assert experiments.AGAIN in shown
        assert chosen in shown
        assert "training runs would leave 7 × c6i.2xlarge at 44" in shown
        assert "99 in 100 runs" not in shown
        go_on.set()
        await advised(pilot)
        shown = told()
        assert experiments.AGAIN not in shown
        assert "99 in 100 runs" in shown
        assert part_spot not in parts[0].lines
        await app.run_command_line("max-spot 50%")
        await advised(pilot)
        assert part_spot in parts[0].lines
