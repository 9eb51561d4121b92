"""The tour: on the bundled sample to its end, forth and back on fixed data, and recorded."""

import asyncio
import json
import re
import xml.etree.ElementTree as ElementTree
from functools import cache

import pytest
from depth import DEEP, cases
from screen import at_rest, settled, text_of, waits
from textual.events import Key

import engine
from tui import format as text
from tui.app import PlannerApp
from tui.headless import tour as command
from tui.start import AppOptions
from tui.tour.guide import TourOptions
from tui.tour.record import CastRecorder, SvgRecorder, recorder_for, slideshow
from tui.tour.steps import STEPS, pause_seconds
from tui.views.caption import Caption
from tui.widgets.slider import Slider
from tui.widgets.table import Table
from tui.widgets.text import plain


class Spectator:
    """A recorder that keeps what is on the screen in each pause."""

    def __init__(self):
        self.pages = []

    def wrote(self, data):
        pass

    def paused(self, app, seconds):
        best = app.answer.best
        self.pages.append((app.guide.caption, text_of(app), best, seconds))


def words_of(shown):
    return " ".join(shown.split())


async def at(pilot, place):
    """Once that step is shown (None: once the tour is over)."""
    await pilot.pause()
    async for _ in waits():
        guide = pilot.app.guide
        is_over = place is None and guide is None
        if is_over or (guide is not None and guide.step_index == place and guide.idle):
            await pilot.pause()
            return
    raise AssertionError(f"step {place} did not come")


SMALL, WIDE = ((80, 24), "ascii"), ((120, 40), "unicode")
"""Sizes and characters: the small terminal leaves least room for captions and for what they speak
of, so the ordinary run plays the whole tour there, with the real engine."""


@cache
def play_tour(size, glyphs):
    """What was seen of the whole tour, and its exit code: it plays once for several tests."""
    seen = Spectator()
    options = AppOptions(tour=TourOptions(auto=True, recorder=seen), glyphs=glyphs)
    app = PlannerApp(options)

    async def play():
        async with app.run_test(size=size):
            async for _ in waits():
                if app.return_value is not None or app._exit:
                    break

    asyncio.run(play())
    return seen, app.return_code


def test_what_is_to_be_pasted_is_seen_beside_the_caption_of_a_small_terminal():
    """Of the text there was its first line, which names the program."""
    pages = [shown for _, shown, *_ in play_tour(*SMALL)[0].pages]
    (shown,) = (shown for shown in pages if "Preview" in shown)
    assert "--executor-memory" in shown
    assert "spark-submit      options" in shown
    assert "^s save" in shown


@pytest.mark.parametrize(("size", "glyphs"), [SMALL, WIDE] if DEEP else [SMALL])
def test_it_plays_to_its_end_on_the_bundled_sample(size, glyphs):
    seen, code = play_tour(size, glyphs)
    assert code == 0
    assert [caption.step for caption, *_ in seen.pages] == list(range(1, len(STEPS) + 1))
    for told, shown, _, _ in seen.pages:
        assert "{" not in told.text
        rows = shown.splitlines()
        assert len(rows) == size[1]
        assert told.title in rows[-4]
        assert "space" in rows[-4]
        assert all(typed in rows[-4] for typed in told.typed[:2]), "keys that all know cut them"
        # All of the caption is read, and none of it is drawn over something else.
        read = words_of("\n".join(rows[-3:]))
        assert read == words_of(plain(told.text, ascii_only=glyphs == "ascii"))
        if glyphs == "ascii":
            assert shown.isascii()
    assert 60 <= sum(seconds for *_, seconds in seen.pages) <= 180


def test_captions_say_what_the_answer_says():
    seen, _ = play_tour(*SMALL)
    by_title = {told.title: (told, shown, best) for told, shown, best, _ in seen.pages}
    for title in ("The answer", "A tighter deadline", "Undo", "How sure", "Spot prices"):
        told, shown, best = by_title[title]
        for fact in (text.usd(best.cost_usd), text.seconds(best.seconds), best.instance):
            assert fact in told.text
            assert fact in "\n".join(shown.splitlines()[:-4])
    told, shown, nearest = by_title["More than there is"]
    # It named the nearest miss of the grid, 20 nodes, beside the 19 of the settled one.
    facts = (f"{nearest.nodes} × {nearest.instance}", text.usd(nearest.cost_usd))
    for fact in ("No cluster of up to 64 nodes", *facts):
        assert fact in told.text
        assert plain(fact, ascii_only=True) in "\n".join(shown.splitlines()[:-4])
    assert "2 runs" in by_title["More evidence"][0].text
    assert "spark-submit" in by_title["Text to paste"][1]


async def test_what_steps_speak_of_is_on_a_small_terminal_and_back_leads_to_the_same(planner):
    """Lists had their heads alone: the caption has four of the 24 rows."""
    app = planner(sources=("nightly-features",), tour=TourOptions())
    lists = {"Where the time goes": "stage-list", "State by state": "states"}
    lists |= {"What it rests on": "runs", "What to run next": "training-runs"}
    async with app.run_test(size=(80, 24)) as pilot:
        await at(pilot, 0)
        forth = [app.guide.caption]
        states = [app.state]
        for place in range(1, len(STEPS)):
            await pilot.press("space")
            await at(pilot, place)
            forth.append(app.guide.caption)
            states.append(app.state)
            title, said = STEPS[place].title, app.guide.caption.text
            if title == "More than there is":
                assert " can be met. Nearest: " in said
            if title == "More evidence":
                assert re.search(r"in 10 runs take .+ to .+; with one log it was .+ to .+\.", said)
            if title == "Why not another type?":
                lost = any(choice.reason for choice in app.answer.report.recommendation.rejected)
                assert ("each type that lost says why" in said) == lost
            listed = lists.pop(title, None)
            if listed is not None:
                rows = app.query_one(f"#{listed}", Table)
                assert rows.size.height >= 1 + min(2, len(rows.rows))
        assert not lists
        for place in range(len(STEPS) - 2, -1, -1):
            await pilot.press("b")
            await at(pilot, place)
            assert app.guide.caption == forth[place]
            assert app.state == states[place]
        await pilot.press("b")
        await at(pilot, 0)
        assert app.guide.caption.step == 1


async def test_what_the_user_does_in_between_does_not_derail_it(planner):
    app = planner(sources=("nightly-features",), tour=TourOptions())
    async with app.run_test(size=(120, 40)) as pilot:
        await at(pilot, 0)
        await pilot.press("space")
        await at(pilot, 1)
        await pilot.press("space")
        await at(pilot, 2)
        third = app.state
        await pilot.press("home", "s", "2")
        await pilot.pause()
        assert app.state != third
        await pilot.press("b")
        await at(pilot, 1)
        await pilot.press("space")
        await at(pilot, 2)
        assert app.state == third


async def at_the_deadline(pilot):
    """At the second step, with the keyboard at a slider that was stepped to and fro: until
    something is pressed Enter goes on."""
    await at(pilot, 0)
    await pilot.press("space")
    await at(pilot, 1)
    slider = pilot.app.query_one("#deadline", Slider)
    slider.focus()
    await pilot.press("right", "left")
    await settled(pilot)
    return slider


async def test_enter_goes_on_until_something_else_is_pressed(planner):
    """It opened the line of the deadline, behind which the tour stood still."""
    app = planner(sources=("nightly-features",), tour=TourOptions())
    async with app.run_test(size=(120, 40)) as pilot:
        await at(pilot, 0)
        slider = app.query_one("#deadline", Slider)
        slider.focus()
        await pilot.press("enter")
        await at(pilot, 1)
        assert not slider.editing
        await pilot.press("left", "enter")
        await settled(pilot)
        assert slider.editing
        assert app.guide.step_index == 1
        await pilot.press("space")
        await at(pilot, 2)
        await pilot.press("enter")
        await at(pilot, 3)


async def test_the_line_of_a_slider_keeps_its_keys(planner):
    """Escape left the tour, and backspace went a step back, with the line still open."""
    app = planner(sources=("nightly-features",), tour=TourOptions())
    async with app.run_test(size=(120, 40)) as pilot:
        slider = await at_the_deadline(pilot)
        before = app.state.deadline_seconds
        await pilot.press("enter", "b", "q", "backspace", "space", "escape")
        await settled(pilot)
        assert not slider.editing
        assert app.guide.step_index == 1
        await pilot.press("enter", "b", "backspace", "3", "m", "enter")
        await settled(pilot)
        assert before != app.state.deadline_seconds == 180.0
        assert app.guide.step_index == 1


async def test_keys_that_come_at_once_behind_enter_are_for_the_line(planner):
    """They were the tour's, as long as the line was not open yet: it was left, or went back."""
    app = planner(sources=("nightly-features",), tour=TourOptions())
    async with app.run_test(size=(120, 40)) as pilot:
        slider = await at_the_deadline(pilot)
        for typed in (("b", "q", "backspace", "escape"), ("4", "backspace", "3", "m", "enter")):
            for key in ("enter", *typed):
                app.post_message(Key(key, key if len(key) == 1 else None))
            await settled(pilot)
            assert not slider.editing
            assert app.guide.step_index == 1
        assert app.state.deadline_seconds == 180.0
        for key, character in (("enter", None), ("space", " ")):
            app.post_message(Key(key, character))
        await at(pilot, 2)
        assert not slider.editing


async def test_space_goes_on_from_a_line_in_which_nothing_was_typed(planner):
    """It was typed in place of the value."""
    app = planner(sources=("nightly-features",), tour=TourOptions())
    async with app.run_test(size=(120, 40)) as pilot:
        await at(pilot, 0)
        slider = app.query_one("#deadline", Slider)
        slider.focus()
        await pilot.press("tab", "shift+tab", "enter")
        assert slider.editing
        await pilot.press("space")
        await at(pilot, 1)
        assert not slider.editing


async def test_a_tour_from_the_planner_gives_the_plan_back(planner):
    async with at_rest(planner(deadline_seconds=5400.0), (80, 24)) as (app, pilot):
        before = app.state
        await app.run_command_line(":tour")
        await at(pilot, 0)
        assert app.state.sources == ("nightly-features",)
        await pilot.press("space", "space")
        await at(pilot, 2)
        await pilot.press("colon")
        await pilot.pause()
        assert len(app.screen_stack) == 2
        await pilot.press("q", "space", "b")
        assert app.screen.query_one("#typed").value == "q b"
        await pilot.press("escape")
        await pilot.pause()
        assert app.guide is not None
        await pilot.press("q")
        await at(pilot, None)
        await settled(pilot)
        assert app.state == before
        assert not app.screen.query(Caption)
        assert "^p more" in text_of(app)


async def test_left_in_the_middle_of_a_step_it_does_no_more_of_it(planner):
    """The rest of the step was done to the plan that had just been given back."""
    several = next(place for place, step in enumerate(STEPS) if step.actions[0] == ":size 3x")
    async with at_rest(planner(deadline_seconds=5400.0), (80, 24)) as (app, pilot):
        before = app.state
        await app.run_command_line(":tour")
        for place in range(several):
            await at(pilot, place)
            app.action_tour_next()
        while app.state.scale != 3.0:
            await pilot.pause(0)
        app.action_tour_leave()
        await at(pilot, None)
        for _ in range(3):
            await settled(pilot)
        assert app.state == before


async def test_a_key_stops_what_plays_by_itself(planner):
    app = planner(sources=("nightly-features",), tour=TourOptions(auto=True, pause_seconds=60.0))
    async with app.run_test(size=(80, 24)) as pilot:
        await at(pilot, 0)
        await pilot.press("space")
        await at(pilot, 1)
        await pilot.pause(0.1)
        assert app.guide.step_index == 1
        await pilot.press("q")
        await at(pilot, None)
        assert app.is_running


def test_a_cast_has_the_pauses_without_waiting(tmp_path):
    now = [0.0]
    recorder = CastRecorder(clock=lambda: now[0])
    recorder.wrote("one")
    recorder.paused(None, 8.0)
    now[0] = 0.5
    recorder.wrote("two\x1b[0m")
    recorder.finish(tmp_path / "x.cast", (80, 24))
    header, *events = map(json.loads, (tmp_path / "x.cast").read_text().splitlines())
    assert (header["version"], header["width"], header["height"]) == (2, 80, 24)
    assert events == [[0.0, "o", "one"], [8.5, "o", "two\x1b[0m"]]


def test_the_pages_of_an_svg_follow_each_other():
    page = '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 10 20"><text>{}</text></svg>'
    made = ElementTree.fromstring(slideshow([(page.format(n), 2.0) for n in range(4)]))
    assert made.get("viewBox") == "0 0 10 20"
    animations = [node.attrib for node in made.iter() if node.tag.endswith("animate")]
    assert [a["values"] for a in animations] == [
        "visible;hidden",
        "hidden;visible;hidden",
        "hidden;visible;hidden",
        "hidden;visible",
    ]
    starts = [float(a["keyTimes"].split(";")[1]) for a in animations]
    assert starts == [0.25, 0.25, 0.5, 0.75]
    assert {a["dur"] for a in animations} == {"8.00s"}


@pytest.mark.parametrize("ending", ["cast", "svg"])
def test_the_command_records_without_a_terminal(tmp_path, ending, capsys, monkeypatch):
    """What is drawn is taken down the same from step to step: three stand for the whole tour."""
    from tui.cli import main

    steps = STEPS[: cases(3, deep=len(STEPS))] if ending == "svg" else STEPS[:3]
    monkeypatch.setattr("tui.tour.guide.STEPS", steps)
    path = tmp_path / f"demo.{ending}"
    assert main(["tour", "--record", str(path), "--size", "80x24"]) == 0
    assert capsys.readouterr().out.strip().endswith(str(path))
    content = path.read_text()
    if ending == "svg":
        pages = [n for n in ElementTree.fromstring(content) if n.tag.endswith("}g")]
        assert len(pages) == len(steps)
        return
    header, *events = map(json.loads, content.splitlines())
    assert (header["width"], header["height"]) == (80, 24)
    assert [at for at, *_ in events] == sorted(at for at, *_ in events)
    drawn = "".join(data for *_, data in events)
    assert "A job that ran once" in drawn
    assert sum(map(pause_seconds, (step.text for step in steps[:-1]))) * 0.8 < events[-1][0]


def test_a_recording_is_refused_before_anything_is_played(tmp_path):
    with pytest.raises(engine.BadInput, match=r"\.cast or \.svg"):
        recorder_for(tmp_path / "demo.gif")
    with pytest.raises(engine.BadInput, match="no folder"):
        recorder_for(tmp_path / "none" / "demo.svg")
    assert isinstance(recorder_for(tmp_path / "demo.svg"), SvgRecorder)
    with pytest.raises(engine.BadInput, match="not a size"):
        command.size_of("10x10")
    assert command.size_of("100x30") == (100, 30)
