"""The line of help: one line, short enough, for everything that can be pointed at."""

import ast
import inspect

import pytest
from screen import at_rest, settled, text_of

from engine.models.replay import report
from tui import format as text
from tui.screens import help as help_screen
from tui.views import (
    compare,
    compositions,
    evidence,
    experiment_rows,
    frontier,
    inputs,
    stages,
    terms,
    workflow,
)
from tui.views.pages import NAMES
from tui.widgets.chart import Chart
from tui.widgets.table import Table

TABLES = (
    *(compositions.COLUMNS, frontier.COLUMNS, evidence.MODEL_COLUMNS, evidence.RUN_COLUMNS),
    *(stages.PHASE_COLUMNS, stages.STAGE_COLUMNS, compare.COLUMNS, workflow.STATE_COLUMNS),
    *(experiment_rows.NEXT_COLUMNS, experiment_rows.TRAINING_COLUMNS),
)


def last_rows(app):
    return text_of(app).splitlines()[-2].strip()


def test_every_column_is_explained():
    titles = {column.title for columns in TABLES for column in columns if column.title}
    assert titles <= set(terms.COLUMNS)


@pytest.mark.parametrize("glyphs", ["unicode", "ascii"])
async def test_a_small_terminal_names_undo_and_jump_and_explains_what_has_the_keyboard(
    planner, glyphs
):
    async with at_rest(planner(glyphs=glyphs), (80, 24)) as (app, pilot):
        for number, name in enumerate(NAMES, start=1):
            await pilot.press(str(number))
            await settled(pilot)
            about, keys = text_of(app).splitlines()[-2:]
            assert about.strip(), name
            assert " u undo " in keys, name
            assert " e export " in keys, name
            assert keys.rstrip().endswith("^p more  ^q quit"), name


async def test_why_a_type_lost_is_said_below_the_charts(planner):
    async with at_rest(planner(budget_usd=3.0), (80, 24)) as (app, pilot):
        app.query_one("#short").focus()
        await pilot.press("end")
        await settled(pilot)
        found = app.answer.report.recommendation.rejected
        lost = {text.composition(dict(one.composition or {})): one.reason for one in found}
        assert any(last_rows(app).startswith(f"{who}: {why[:20]}") for who, why in lost.items()), (
            last_rows(app),
            lost,
        )


def test_every_word_for_what_bounds_a_stage_is_explained():
    """Help named five of ten: "bound by io", as most stages of small jobs are, was not there."""
    found = ast.parse(inspect.getsource(report.bottleneck))
    returned = [node.value for node in ast.walk(found) if isinstance(node, ast.Return)]
    words = {
        node.value
        for value in returned
        for node in ast.walk(value)
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    assert {"cpu", "io", "tasks"} <= words
    explained = dict(help_screen.WORDS)["bottleneck"]
    for word in words | {report.DRIVER, report.MEMORY}:
        assert f"{word}:" in explained or f"{word};" in explained, word


def test_every_input_is_explained():
    assert set(terms.INPUTS) == set(inputs.ROWS)


def test_every_line_fits_a_small_terminal():
    groups = (terms.SLIDERS, terms.INPUTS, terms.TABLES, terms.COLUMNS, terms.CHARTS, terms.PANELS)
    for group in groups:
        for words in group.values():
            assert len(words.format(odds="19 in 20")) <= 79, words


@pytest.mark.parametrize("size", [(80, 24), (120, 40)])
async def test_what_has_the_keyboard_is_explained(planner, size):
    async with at_rest(planner(), size) as (app, pilot):
        assert last_rows(app).startswith("Deadline:")
        await pilot.press("tab")
        await pilot.pause()
        assert last_rows(app).startswith("Budget:")
        await pilot.press("v")
        await pilot.pause()
        assert "9 in 10 end in that span" in last_rows(app)
        await pilot.press("5", "right", "right")
        await settled(pilot)
        assert last_rows(app).startswith("time:")


async def test_the_line_under_the_mouse_and_the_column(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        chart = app.query_one("#time", Chart)
        y = chart._layout.row(app.state.deadline_seconds)
        await pilot.hover(chart, offset=(chart._layout.left + 3, y))
        await pilot.pause()
        assert "drag it" in last_rows(app)
        await pilot.hover("#short", offset=(6, 2))
        await pilot.pause()
        assert last_rows(app).startswith("composition:")
        await pilot.hover("#header")
        await pilot.pause()
        assert last_rows(app).startswith("Deadline:")


async def test_a_model_under_the_cursor(planner):
    async with at_rest(planner(), (120, 40), "5", "down") as (app, pilot):
        await settled(pilot)
        import engine

        assert engine.MODELS[1].summary[:40] in last_rows(app)


@pytest.mark.parametrize(
    ("focus", "said", "first"),
    [
        ("#deadline", "Deadline: the run ends within it", "Sliders"),
        ("#time", "Time by nodes: the median", "Charts"),
        ("#short", "in time: the probability that", "Lists"),
        ("#why", "Why: what decided", "Everywhere"),
    ],
)
async def test_help_begins_with_what_has_the_keyboard(planner, focus, said, first):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.query_one(focus).focus()
        await pilot.press("question_mark")
        await settled(pilot)
        lines = ["".join(part for part, _ in line) for line in app.screen.text()]
        assert lines[0] == "Here"
        assert any(line.strip().startswith(said) for line in lines[: lines.index("")])
        assert lines[lines.index("") + 1] == first
        assert {"Sliders", "Charts", "Lists", "Everywhere", "Words"} <= set(lines)


async def test_a_note_that_the_list_shortens_is_said_in_full(planner):
    """It said "transferred" of a type, and not what is."""
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        table = app.query_one("#short", Table)
        table.focus()
        place = next(i for i, row in enumerate(table.rows) if "transferred" in row[-1])
        table.action_move(place - table.cursor)
        await pilot.pause()
        assert last_rows(app).endswith(": speed transferred")


def test_what_keys_do_stands_in_one_column_in_ascii_too():
    """The ASCII form of an arrow is wider: what stood behind was moved by it."""
    keys = [line[0][0] for line in help_screen.lines(ascii_only=True) if len(line) == 2]
    known = [key for key in keys if key.strip() in ("<- ->", "enter", "home end")]
    assert {key.strip() for key in known} == {"<- ->", "enter", "home end"}
    assert {len(key) for key in known} == {len("  home end  ")}
