"""The evidence view: every model side by side, asked when somebody looks, never in the way."""

import re
import threading

import pytest
from fakes import FakeSession, profile
from screen import at_rest, compared, settled, text_of
from watched import calls_of

import engine
from tui.changes import SetModel, SetScale
from tui.session import EngineSession
from tui.state import PlanState
from tui.views import cluster_words, evidence_text, sentences
from tui.widgets.table import Table

SIZES = [(80, 24), (120, 40)]


@pytest.mark.parametrize("size", SIZES)
async def test_every_model_is_there_with_its_error_or_why_not(planner, size):
    async with at_rest(planner(), size, "5") as (_, pilot):
        app = await compared(pilot)
        rows = app.query_one("#models", Table).rows
        assert [row[1][0] for row in rows] == ["sparkplan", "ernest", "peridot", "simcost"]
        assert (rows[0][4][0], rows[1][4][0]) == ("7.5 %", "1.0 %")
        assert rows[0][7][0].startswith("used, the default")
        assert "least error" in rows[1][7][0]
        assert rows[2][7][0] == "it needs [b]two[/b] logs; add one"
        assert "ZeroDivisionError: division by zero; please report this" in rows[3][7][0]
        assert "7.5 %" in text_of(app)
        assert app.query_one("#evidence-about-panel").border_title.startswith(
            "Model sparkplan on 3"
        )
        asked = f"Every model on {cluster_words.composition(app.answer.best)}"
        assert app.query_one("#models-panel").border_title == asked
        said = " ".join(part for line in app.query_one("#evidence-about").lines for part, _ in line)
        tried = "Of the models tried on 2 runs ernest was off least (1.0 %); m chooses it."
        assert f"{tried} So few prove little." in said
        assert "Bottleneck:  cpu ; stages by time: cpu 67 %, disk 33 % (key 4)." in said
        assert "RE +5 to +10 %, mean relative error 7.5 % over 2 left-out runs" in said


class Seven(FakeSession):
    """As many models as there are."""

    models = ("sparkplan", "optex", "ernest", "ernest-extended", "peridot", "simcost", "boe")


@pytest.mark.parametrize("size", [*SIZES, (120, 24)])
async def test_a_measured_run_is_seen_beside_all_models(planner, size):
    """While warnings were read, nothing but the heads of the columns was."""
    async with planner(Seven()).run_test(size=size) as pilot:
        await settled(pilot)
        await pilot.press("5")
        app = await compared(pilot)
        assert "run-2.zstd" in text_of(app)
        app.query_one("#evidence-about").focus()
        await compared(pilot)
        shown = text_of(app)
        assert "boe" in shown
        assert "run-2.zstd" in shown


LOW = [(80, 15), (80, 18), (80, 21), (120, 15), (120, 18), (120, 21)]
"""Panes of an editor and of tmux."""


@pytest.mark.parametrize("size", LOW)
async def test_in_a_low_terminal_the_warnings_that_the_curves_speak_of_are_there(planner, size):
    """Below all models there was no row for one: "5 warnings (key 5)" led to none."""
    async with at_rest(planner(Seven()), size, "5") as (app, pilot):
        await compared(pilot)
        about = app.query_one("#evidence-about")
        assert about.size.height >= 3
        assert app.query_one("#models").size.height >= 3
        assert "sparkplan" in text_of(app).partition("Model sparkplan on")[0]


@pytest.mark.parametrize("size", [(120, 15), (100, 20), (120, 24), (200, 29), (120, 30)])
async def test_where_there_are_more_columns_than_rows_the_answer_is_read_whole(planner, size):
    """The list of inputs had its rows: of the sentence nothing was seen, nor of a warning."""
    async with at_rest(planner(), size) as (app, pilot):
        await settled(pilot)
        rows = " ".join(row[1:39].strip(" │|") for row in text_of(app).splitlines())
        best = app.answer.best
        for said in (cluster_words.composition(best), "9 in 10 runs", "likely within"):
            assert said in rows
        assert size[1] < 29 or app.marks.warning in rows


def test_runs_that_were_left_aside_do_not_count(tmp_path):
    """It said "on 5 runs", whatever the model took of them."""
    table = tmp_path / "runs.csv"
    rows = ["2,10GB,300,10", "4,10GB,170,10", "8,10GB,100,", "8,20GB,190,10", "16,20GB,110,10"]
    named = [f"{row},m5.xlarge" for row in rows]
    table.write_text("\n".join(["nodes,input_size,seconds,iterations,instance_type", *named]))
    logs = ("sales-report-small", "sales-report-large")
    for sources, model, said in (
        ((str(table),), "sparkplan", "Model sparkplan on 4 of 5 runs"),
        ((*logs, str(table)), "boe", "Model boe on 2 of 7 runs"),
        (logs, "simcost", "Model simcost on 2 runs"),
    ):
        session = EngineSession()
        state = PlanState(sources=sources, model=model, instances=("m5.xlarge",), max_nodes=4)
        built = session.build(state, lambda _: None)
        assert evidence_text.model_title(session.answer(state, built)) == said


async def test_the_cursor_shows_the_runs_as_that_model_predicted_them(planner):
    """Those that it predicted come first: they may be 18 of 282 runs."""
    async with at_rest(planner(), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)

        def predicted():
            return [row[6] for row in app.query_one("#runs", Table).rows]

        assert predicted() == ["+5 %", "+10 %", "–"]
        await pilot.press("down")
        await pilot.pause()
        assert predicted() == ["+1 %", "+1 %", "–"]
        await pilot.press("down")
        await pilot.pause()
        assert predicted() == ["–", "–", "–"]
        assert "as peridot predicts" in text_of(app)


async def test_nobody_is_asked_before_somebody_looks(planner):
    session = FakeSession()
    async with at_rest(planner(session), (80, 24), "right", "right") as (_, pilot):
        await settled(pilot)
        assert session.asked == []
        await pilot.press("5")
        await compared(pilot)
        assert session.asked == ["ernest", "peridot", "simcost"]
        await pilot.press("1", "5")
        await compared(pilot)
        assert len(session.asked) == 3


class Slow(FakeSession):
    """Its models wait until they are told."""

    def __init__(self) -> None:
        super().__init__()
        self.go = threading.Event()

    def ask(self, *question):
        self.go.wait(20.0)
        return super().ask(*question)


async def test_a_slow_model_is_said_and_blocks_nothing(planner):
    session = Slow()
    async with at_rest(planner(session), (120, 40), "5") as (app, pilot):
        await pilot.pause()
        assert text_of(app).count("fitting ...") == 3
        before = app.state.deadline_seconds
        app.query_one("#deadline").focus()
        await pilot.press("left")
        await pilot.pause()
        assert app.state.deadline_seconds < before
        session.go.set()
        await compared(pilot)
        assert "fitting ..." not in text_of(app)


async def test_another_question_is_asked_again_and_old_answers_are_dropped(planner):
    session = FakeSession()
    async with at_rest(planner(session), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)
        app.query_one("#deadline").focus()
        await pilot.press(*["left"] * 6)
        app = await compared(pilot)
        best = app.answer.best
        for _ in range(200):
            rows = dict(app.comparing.rows(app.answer))
            if rows["ernest"].prediction.seconds == pytest.approx(best.seconds):
                break
            await pilot.pause(0.01)
        assert rows["ernest"].prediction.seconds == pytest.approx(best.seconds)


async def test_times_of_another_cluster_are_gone_at_once(planner):
    """For half a second they stood beside the new cluster as if they were its own."""
    session = Slow()
    session.go.set()
    async with at_rest(planner(session), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)
        models = app.query_one("#models", Table)
        assert "..." not in text_of(app)
        session.go.clear()
        cluster = app.answer.best.composition
        app.query_one("#deadline").focus()
        await pilot.press(*["left"] * 6)
        app = await settled(pilot)
        assert app.answer.best.composition != cluster
        own, ernest, peridot = (
            [cell if isinstance(cell, str) else cell[0] for cell in row] for row in models.rows[:3]
        )
        assert own[2] not in ("", "...")
        assert (ernest[2], ernest[3]) == ("...", "")
        assert ernest[4] == "1.0 %", "the fit does not go by the cluster"
        assert "asked again ..." in ernest[7]
        assert peridot[7] == "it needs [b]two[/b] logs; add one", "that is of the evidence"
        session.go.set()
        await compared(pilot)
        assert "..." not in text_of(app)


async def test_fits_for_another_size_are_gone_too(planner):
    session = Slow()
    session.go.set()
    async with at_rest(planner(session), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)
        session.go.clear()
        app.dispatch(SetScale(3.0))
        await settled(pilot)
        rows = dict(app.comparing.rows(app.answer))
        assert rows["ernest"] is None
        session.go.set()
        await compared(pilot)


async def test_another_model_in_use_is_marked(planner):
    async with at_rest(planner(model="ernest"), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)
        rows = app.query_one("#models", Table).rows
        assert [row[0][0] == "◆" for row in rows] == [False, True, False, False]
        assert "You chose it; the default is sparkplan" in text_of(app)


def test_a_model_is_fitted_once_per_evidence(monkeypatch):
    fits = calls_of(monkeypatch, engine, "fit_outcome")
    session, found = EngineSession(), profile()
    cluster, workload = found.runs[0].cluster, found.reference_workload
    for _ in range(2):
        for name in session.models:
            session.ask(name, found, cluster, workload)
    assert [model.name for model, _ in fits] == list(session.models)
    session.ask("ernest", profile(runs=2), cluster, workload)
    assert fits[-1][0].name == "ernest"


@pytest.mark.parametrize("model", ["sparkplan", "simcost"])
async def test_simcosts_figures_and_executors_stand_beside_its_time(planner, model):
    """Whether it is the model in use or not."""
    async with at_rest(
        planner(EngineSession(), sources=("nightly-features",), ran_on="m5.2xlarge", model=model),
        (120, 40),
    ) as (app, pilot):
        await pilot.press("5")
        await compared(pilot)
        models = app.query_one("#models", Table)
        place = [row[1][0] for row in models.rows].index("simcost")
        models.focus()
        await pilot.press("home", *["down"] * place)
        await pilot.pause()
        await pilot.pause()
        said = " ".join(part for line in app.query_one("#evidence-about").lines for part, _ in line)
        # With nothing to compare, that it is the default is told to nobody.
        assert ("the default" in said) == (model != "sparkplan")
        assert re.search(r"shuffle \d+ MB", said)
        assert "simulations 20" in said
        assert "range search: [0, 64] " in said
        assert "Executor memory: " in said
        answer = dict(app.comparing.rows(app.answer))["simcost"]
        best = answer.executors.recommended
        assert f"{best.executors} executor" in said
        codes = list(dict.fromkeys(notice.code for notice in answer.prediction.warnings))
        warned = f"simcost : {len(codes)} warnings ({', '.join(codes)})."
        assert len(codes) > 1
        assert (warned in said) == (model != "simcost"), "its own stand in full"
        await pilot.press("home")
        await pilot.pause()
        await pilot.pause()
        said = " ".join(part for line in app.query_one("#evidence-about").lines for part, _ in line)
        assert "range search" not in said


@pytest.mark.parametrize("size", [(80, 24), (100, 30), (120, 40)])
async def test_the_interval_stands_before_a_note_that_is_cut(planner, size):
    """At 100 columns the notes took the place of the intervals; at 80 they were cut to a word."""
    async with at_rest(planner(), size, "5") as (_, pilot):
        rows = text_of(await compared(pilot)).splitlines()
        header = next(row for row in rows if "mean RE" in row)
        assert "interval" in header
        least = next(row for row in rows if " ernest " in row)
        assert ("note" not in header) or ("least error" in least)
        assert size == (100, 30) or "runs  satisfaction" in header


async def test_what_is_wrong_with_the_answer_stands_in_the_text_who_gives_none_in_his_row(planner):
    """In a small panel the refusals of other models hid every warning; in the table they were cut
    to a word beside dashes."""
    async with at_rest(planner(), (80, 24), "5") as (_, pilot):
        app = await compared(pilot)
        signs = [line[0][0].strip() for line in app._panels.prose("evidence-about").lines]
        assert "✗" not in signs
        last = max(place for place, sign in enumerate(signs) if sign == "⚠")
        assert last < signs.index("OptEx's figures:"), "at 80 x 24 these hid them too"
        assert " ✗  peridot    it needs [b]two[/b] logs; add one  " in text_of(app)


async def test_why_a_model_does_not_answer_is_said_first_where_the_cursor_is(planner):
    """In the table it is cut, and in the text it came below what could be seen."""
    async with at_rest(planner(), (80, 24), "5") as (_, pilot):
        app = await compared(pilot)
        await pilot.press("down", "down")
        await pilot.pause()
        assert app.query_one("#models", Table).rows[2][0][0] == "✗"
        assert "✗ peridot: It needs [b]two[/b] logs; add one." in text_of(app)


async def test_the_cursor_follows_the_model_in_use_until_it_is_moved(planner):
    async with at_rest(planner(), (120, 40), "5") as (app, pilot):
        await compared(pilot)
        models = app.query_one("#models", Table)
        assert models.rows[models.cursor][1][0] == "sparkplan"
        app.dispatch(SetModel("ernest"))
        await compared(pilot)
        assert models.rows[models.cursor][1][0] == "ernest"
        models.focus()
        await pilot.press("down")
        app.dispatch(SetModel("sparkplan"))
        await compared(pilot)
        assert models.rows[models.cursor][1][0] == "peridot"


async def test_rows_that_few_runs_leave_over_hold_warnings(planner):
    async with at_rest(planner(), (120, 40), "5") as (app, pilot):
        await compared(pilot)
        runs = app.query_one("#runs", Table)
        assert runs.size.height == len(runs.rows) + 1


async def test_a_wide_screen_has_each_warning_once(planner):
    """Why and the text of the view stood beside each other with the same warnings."""
    async with at_rest(planner(), (120, 40), "5") as (_, pilot):
        app = await compared(pilot)
        (warning, *_) = [n.text for n in sentences.notices(app.answer)]

        def said(name):
            return " ".join(part for line in app.query_one(name).lines for part, _ in line)

        assert warning in said("#evidence-about")
        assert warning not in said("#why")
        await pilot.press("1")
        await pilot.pause()
        assert warning in said("#why")


async def test_models_silent_for_one_reason_have_one_line(planner):
    def silent(name, why):
        return name, engine.ModelAnswer(engine.FitOutcome(name, None, why), None, why)

    silent_models = [
        silent("a", "too few runs"),
        silent("b", "no log"),
        silent("c", "too few runs"),
    ]
    told = ("✗ a, c: Too few runs.", "✗ b: No log.", "✗ a, c: Too few runs.")
    async with at_rest(planner(), (120, 40)) as (app, _):
        for (_, looked), said in zip(silent_models, told, strict=True):
            asked = (app.state, app.answer, app.marks, silent_models)
            lines = evidence_text.about(*asked, looked=looked)
            assert ["".join(part for part, _ in line) for line in lines if "✗" in line[0][0]] == [
                said
            ]
