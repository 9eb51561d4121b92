"""Typed commands: what each becomes, what is offered, what a wrong one says."""

import asyncio
from pathlib import Path

import pytest
from depth import DEEP, values
from screen import at_rest, settled, text_of, typed
from textual.app import App
from textual.events import Key, Paste

import engine
from tui.behaviours.key_order import KeyHandled
from tui.changes import (
    OpenSources,
    SetBudget,
    SetCatalog,
    SetCategory,
    SetConfidence,
    SetDeadline,
    SetInstances,
    SetMaxNodes,
    SetModel,
    SetRanOn,
    SetScale,
    SetSpot,
    SetTerms,
    ShowChart,
)
from tui.command_parser import completions, outcome_of
from tui.screens.dialog import Dialog
from tui.session import EngineSession
from tui.state import Terms
from tui.typed_commands import TYPED_COMMANDS, CommandContext
from tui.views import sentences
from tui.views.goal import Ranges
from tui.views.planner_words import in_planner
from tui.widgets.table import Table

NAMES = CommandContext(
    models=("sparkplan", "ernest", "ernest-extended"),
    catalogs=("aws", "papers"),
    categories=("sql", "mllib"),
    instances=("m5.xlarge", "m5.2xlarge", "r5.xlarge"),
    sources=("sales-report-small",),
    themes=("nord",),
    ranges=Ranges(input_size=1e12),
)


@pytest.mark.parametrize(
    ("line", "outcome"),
    [
        ("deadline 45m", SetDeadline(2700.0)),
        (":deadline 45m", SetDeadline(2700.0)),
        ("dead off", SetDeadline(None)),
        ("budget $12.50", SetBudget(12.5)),
        ("budget none", SetBudget(None)),
        ("size 2TB", SetScale(2.0)),
        ("size 3x", SetScale(3.0)),
        ("nodes 200", SetMaxNodes(200)),
        ("nodes 1:200", SetMaxNodes(200)),
        ("confidence 95 %", SetConfidence(0.95)),
        ("model ernest", SetModel("ernest")),
        ("catalog papers", SetCatalog("papers")),
        ("catalog off", SetCatalog(None)),
        ("catalog my/prices eu-1", SetCatalog("my/prices", "eu-1")),
        ("instances m5.*, r5.xlarge", SetInstances(("m5.*", "r5.xlarge"))),
        ("instances off", SetInstances(())),
        ("ran-on m5.xlarge", SetRanOn("m5.xlarge")),
        ("category sql", SetCategory("sql")),
        ("category off", SetCategory(None)),
        ("spot on", SetSpot(True)),
        ("spot", "spot"),
        ("platform kubernetes", SetTerms(Terms(platform="kubernetes"))),
        ("platform off", SetTerms(Terms())),
        ("overhead-per-core 512m", SetTerms(Terms(overhead_per_core_gib=0.5))),
        ("overhead-per-core 0", SetTerms(Terms(overhead_per_core_gib=0.0))),
        ("overhead-per-core off", SetTerms(Terms())),
        ("fill-nodes on", SetTerms(Terms(fill_nodes=True))),
        ("fill-nodes", SetTerms(Terms(fill_nodes=True))),
        ("fill-nodes off", SetTerms(Terms())),
        ("discount 15%", SetTerms(Terms(discount_fraction=0.15))),
        ("discount 0", SetTerms(Terms(discount_fraction=0.0))),
        ("discount off", SetTerms(Terms())),
        ("dbu-price premium", SetTerms(Terms(dbu="premium"))),
        ("region eu-west-1", SetTerms(Terms(region="eu-west-1"))),
        ("open a.zstd", OpenSources(("a.zstd",))),
        ("add my folder/b.zstd", OpenSources(("my folder/b.zstd",), add=True)),
        ("view st", "view('stages')"),
        ("chart cost", ShowChart("cost")),
        ("undo", "undo"),
        ("theme nord", "set_theme('nord')"),
    ],
)
def test_what_a_command_becomes(line, outcome):
    assert outcome_of(line, NAMES) == outcome


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("deadlin", "deadline needs TIME"),
        ("theme zzz", ":theme alone lists them"),
        ("draw zzz", "type :draw and a space to list them"),
        ("deadline soon", "soon"),
        ("deadline 45:00", "write 45m or 45h"),
        ("deadline 99999d", "at most ten years"),
        ("dedline 45m", "did you mean deadline"),
        ("xyzzy", "press : alone"),
        ("co", "confidence"),
        ("nodes 5:200", "begin at one node"),
        ("nodes 0", "not a number of nodes"),
        ("model ernst", "did you mean ernest"),
        ("spot maybe", "choices: off, on"),
        ("spot 50%", "a share of the nodes is max-spot 50%, with spot on"),
        ("platform mesos", "kubernetes"),
        ("overhead-per-core much", "not an amount of memory"),
        ("fill-nodes half", "neither on nor off"),
        ("discount much", "much"),
        ("undo twice", "takes nothing"),
        ("view x", "unknown view"),
        ("size big", "big"),
        ("size 1e-300x", "'1e-300x' is less than 1/1,000,000 times the largest run"),
        ("size 2EB", "2EB"),
        ("size 9000PB", "'9000PB' is more than 1,000,000 times the largest run"),
        ("size 101x", "'101x' is 101 times the input of the runs: the planner goes from"),
        ("size 1GB", "'1GB' is 0.001 times the input of the runs: the planner goes from"),
        ("", "no command"),
    ],
)
def test_a_wrong_command_says_what_to_type(line, says):
    with pytest.raises(engine.BadInput) as refused:
        outcome_of(line, NAMES)
    assert says in str(refused.value)


def test_what_goes_further_than_the_planner_is_a_line_for_the_shell():
    """It read "predict :size goes further", which can be typed nowhere."""
    with pytest.raises(engine.BadInput) as refused:
        outcome_of("size 3000x", NAMES)
    said = in_planner(str(refused.value))
    assert said.endswith("sparkplan predict --input-size goes further")


def test_every_command_is_offered_and_completes_to_itself():
    assert [line.strip() for line, _ in completions("", NAMES)] == [
        verb.name for verb in TYPED_COMMANDS
    ]
    assert [line for line, _ in completions("mod", NAMES)] == ["model "]
    assert [line for line, _ in completions("model e", NAMES)] == [
        "model ernest",
        "model ernest-extended",
    ]
    assert [line for line, _ in completions("instances r5.xlarge,m5.2", NAMES)] == [
        "instances r5.xlarge,m5.2xlarge"
    ]
    for line in ("deadline 45m", "nodes 1:200", "chart job.svg", "save mine"):
        assert [found for found, _ in completions(f":{line}", NAMES)] == [line]
    assert completions("model nowhere", NAMES) == []
    assert completions("nonsense x", NAMES) == []


async def test_a_command_typed_in_the_planner(planner):
    async with at_rest(planner(), (120, 40), "colon") as (app, pilot):
        await pilot.pause()
        assert "finish within this time" in text_of(app)
        await typed(pilot, "dead")
        await pilot.press("tab")
        await typed(pilot, "90m")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.deadline_seconds == 5400.0
        await pilot.press("colon")
        await typed(pilot, "deadline never")
        await pilot.press("enter")
        await pilot.pause()
        assert app.state.deadline_seconds == 5400.0
        assert "never" in text_of(app)


def _at_once(app: App[None], words: str) -> None:
    """Every key is there before the first is handled, as on a slow line."""
    for character in words:
        names = {":": "colon", " ": "space", "\r": "enter", "\x1b": "escape"}
        names |= {"/": "slash", "?": "question_mark", "\x7f": "backspace"}
        key = names.get(character, character)
        app.post_message(Key(key, character))


async def test_a_command_may_be_typed_faster_than_its_line_is_drawn(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        _at_once(app, ":deadline 2h\r")
        await settled(pilot)
        assert app.state.deadline_seconds == 7200.0
        _at_once(app, ":deadline 3h\r1")
        await settled(pilot)
        assert app.state.deadline_seconds == 10800.0
        assert not isinstance(app.screen, Dialog)


async def _focused_before_it_stands(app):
    while not isinstance(app.screen, Dialog) or app.focused is None:
        await asyncio.sleep(0)
    assert not app.screen.stands


async def test_a_list_that_does_not_stand_yet_takes_its_keys(planner):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        app.post_message(Key("e", "e"))
        await _focused_before_it_stands(app)
        app.post_message(Key("down", None))
        app.post_message(Key("down", None))
        await settled(pilot)
        assert app.screen.query_one(Table).cursor == 2


async def test_keys_on_both_sides_of_the_focus_keep_their_order(planner):
    """Those that came once the line had the focus, and before it stood, overtook the first ones:
    "line 2hdead" is no command."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        _at_once(app, ":dead")
        await _focused_before_it_stands(app)
        _at_once(app, "line 2h\r")
        await settled(pilot)
        assert app.state.deadline_seconds == 7200.0
        assert not isinstance(app.screen, Dialog)


@pytest.mark.parametrize(
    ("opened", "stands"),
    # In the ordinary run a list, a text, jump mode and a line, of which two stand; each dialog that
    # stands and that does not yet in the deep one.
    [(key, bool(n % 2)) for n, key in enumerate("oew/?f:" * 2 if DEEP else "o?:f")],
)
async def test_keys_behind_an_escape_are_meant_for_the_planner(planner, opened, stands):
    """The dialog that was being left took them."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        if stands:
            _at_once(app, opened)
            await settled(pilot)
            assert isinstance(app.screen, Dialog)
        _at_once(app, "\x1b3" if stands else f"{opened}\x1b3")
        await settled(pilot)
        assert not isinstance(app.screen, Dialog)
        assert app.state.view == "frontier"
        _at_once(app, f"{opened}~\x1b:deadline 3h\r")  # no letter: jump mode may have given it away
        await settled(pilot)
        assert not isinstance(app.screen, Dialog)
        assert app.state.deadline_seconds == 10800.0


@pytest.mark.parametrize("stands", [False, True])
async def test_keys_that_come_at_once_are_done_in_their_order(planner, stands):
    """A backspace or an Enter in a line was done behind the letters that came with it:
    "45m2" is no time; and what followed the Enter was lost where the line did not stand yet."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        if stands:
            _at_once(app, ":")
            await settled(pilot)
        _at_once(app, f"{'' if stands else ':'}deadline 4x\x7f5m\r2")
        await settled(pilot)
        assert app.state.deadline_seconds == 2700.0
        assert not isinstance(app.screen, Dialog)
        assert app.state.view == "compositions"


@pytest.mark.parametrize("opens", values("limits", "help", deep=["model", "notices"]))
async def test_keys_behind_an_enter_are_for_the_dialog_that_it_opens(planner, opens):
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        _at_once(app, f":{opens}\r\x1b:mix 3\r:theme nord\r3:deadline 2h\r")
        await settled(pilot)
        assert (app.state.mix, app.theme, app.state.view) == (3, "nord", "frontier")
        assert app.state.deadline_seconds == 7200.0
        _at_once(app, ":export\r")
        app.post_message(Key("down", None))
        await settled(pilot)
        assert app.screen.query_one(Table).cursor == 1


async def test_keys_that_are_under_way_when_the_planner_is_left_are_let_go(planner):
    """Quit while some were waiting, it ended with a traceback: no screen was left for them."""
    async with at_rest(planner(), (120, 40)) as (app, _):
        _at_once(app, ":deadline 2h")
        while not app._key_in_progress:
            await asyncio.sleep(0)
        handed = app._current_key
    assert not app.screen_stack
    app._current_key, app._key_in_progress = handed, True
    await app.on_key_handled(KeyHandled(handed, 2))
    await app.on_dialog_ready()


async def test_what_is_pasted_keeps_its_place_among_keys(planner):
    """It was lost where the line did not stand yet."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        _at_once(app, ":dead")
        app.post_message(Paste("line 2h"))
        _at_once(app, "\x7fm\r2")
        await settled(pilot)
        assert app.state.deadline_seconds == 120.0
        assert app.state.view == "compositions"


async def test_keys_go_on_behind_a_dialog_that_is_closed_by_other_means(planner):
    """A click, or the planner itself: nothing follows the last key there any more."""
    async with at_rest(planner(), (120, 40), "e") as (app, pilot):
        await settled(pilot)
        app.post_message(Key("down", None))
        app.screen.close()
        _at_once(app, "3")
        await settled(pilot)
        assert app.state.view == "frontier"
        await pilot.press("2")
        assert app.state.view == "compositions"


async def test_a_value_may_be_typed_faster_than_the_slider_asks_for_it(planner):
    """Its digits were the numbers of views, or nothing."""
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        before = app.state.view
        _at_once(app, "\r45m\r")
        await settled(pilot)
        assert app.state.deadline_seconds == 2700.0
        assert app.state.view == before


async def test_a_command_with_markup_is_only_text(planner):
    async with at_rest(planner(), (80, 24)) as (app, pilot):
        await app.run_command_line("model [bold red]x[/]")
        await pilot.pause()
        assert "[bold red]x[/]" in text_of(app)


async def test_another_platform_is_another_bill(planner):
    """Without EMR's surcharge, with what Kubernetes leaves to executors; and undone."""
    app = planner(EngineSession(), sources=("sales-report-small",), mix=1)
    async with at_rest(app, (120, 40)) as (_, pilot):
        assert app.answer.report.billing.surcharge_fraction
        await app.run_command_line("platform kubernetes")
        await settled(pilot)
        assert app.state.terms.platform == "kubernetes"
        assert not app.answer.report.billing.surcharge_fraction
        assert app.answer.built.catalog.memory_rule.kind == "kubernetes"
        await app.run_command_line("region nowhere-1")
        await settled(pilot)
        assert app.state.terms.region is None
        assert app.state.terms.platform == "kubernetes"
        app.action_undo()
        await settled(pilot)
        assert app.state.terms.platform is None


async def test_prices_of_several_regions_are_chosen_with_one_of_them(planner, tmp_path):
    """The planner asked for `:region`, which is one of the catalog at hand: there was no way in."""
    folder = tmp_path / "our prices"
    folder.mkdir()
    for region, usd in (("eu-1", 0.40), ("us-9", 0.35)):
        (folder / f"ours.{region}.2026-05-01.prices.yaml").write_text(
            f"provider: ours\nregion: {region}\ndate: 2026-05-01\nsource: card\n"
            f"instances: |\n  name,vcpus,memory_gib,usd_per_hour\n  big,16,64,{usd}\n"
        )
    app = planner(EngineSession(), sources=("sales-report-small",), mix=1)
    async with at_rest(app, (120, 40)) as (_, pilot):
        await app.run_command_line(f"catalog {folder}")
        await settled(pilot)
        assert app.answer.built.catalog.name == "aws"
        assert "type one behind its name (choices: eu-1, us-9)" in " ".join(text_of(app).split())
        await app.run_command_line(f"catalog {folder} us-9")
        await settled(pilot)
        assert app.answer.built.catalog.region == "us-9"
        await app.run_command_line("region eu-1")
        await settled(pilot)
        assert app.answer.built.catalog.region == "eu-1"


async def test_the_memory_beside_the_heap_is_overruled(planner):
    """2 GiB, 512 MiB and 64 MiB per core in the log; the notice goes with what it tells of."""
    log = Path(engine.__file__).parents[1] / "tests" / "data" / "overhead.zstd"
    app = planner(EngineSession(), sources=(str(log),), mix=1)
    async with at_rest(app, (120, 40)) as (_, pilot):
        layout = app.answer.best.layout
        assert layout.beside == engine.BesideHeap(8.0, 2.0, 0.25)
        (told,) = [n for n in sentences.notices(app.answer) if n.code == "more-beside-heap"]
        assert sentences.REMEDIES[told.code].startswith("type :overhead-per-core")
        await app.run_command_line("overhead-per-core 0")
        await settled(pilot)
        assert app.answer.best.layout.beside is None
        assert told not in sentences.notices(app.answer)
        app.action_undo()
        await settled(pilot)
        assert app.answer.best.layout == layout


def test_options_of_the_command_are_named_as_they_are_typed_here():
    said = "use --model sparkplan, --max-nodes 9 or --input-size 3x; not --executor-cores, a--model"
    assert in_planner(said) == (
        "use :model sparkplan, :nodes 9 or :size 3x; not --executor-cores, a--model"
    )
