"""Where an export is saved: the name that is offered, and what is said where it cannot be."""

from threading import Event

import pytest
from screen import at_rest, settled, shows, text_of, words_in

import engine
from tui.changes import SetDeadline
from tui.screens.export import (
    ExportScreen,
    Target,
    file_name,
    leading_comments,
    refusal,
    save,
    text_to_copy,
)
from tui.training_exports import TARGETS
from tui.widgets.table import Table

ENDINGS = {target.name: f"nightly.{target.name}{target.suffix}" for target in engine.EXPORTS} | {
    "spark-submit": "nightly.spark-submit.sh",
    "spark-defaults": "nightly.spark-defaults.conf",
    "emr": "nightly.emr.sh",
    "dataproc": "nightly.dataproc.sh",
    "databricks": "nightly.databricks.sh",
    "kubernetes": "nightly.kubernetes.yaml",
    "terraform": "nightly.terraform.tf",
    "markdown": "nightly.markdown.md",
    "html": "nightly.html",
}

GIVEN_UP = len(engine.EXPORTS) - 1
"""Rows that the list of targets leaves to the text that is read: all but its head and one."""


@pytest.mark.parametrize("target", engine.EXPORTS, ids=lambda target: target.name)
def test_a_file_ends_as_its_reader_expects(target):
    named = Target(target.name, target.summary, target.suffix)
    assert file_name("nightly", named) == ENDINGS[target.name]


def test_what_a_name_has_between_its_words_is_one_hyphen_in_a_file():
    named = Target("spark-submit", "", ".sh")
    assert file_name("nightly  ETL / orders -- 2", named) == "nightly-ETL-orders-2.spark-submit.sh"
    assert file_name("../ --", named) == "job.spark-submit.sh"


def test_a_file_is_named_in_ascii_where_nothing_else_can_be_shown():
    """The name was sent to a terminal that cannot show it; names stay apart."""
    named = Target("spark-submit", "", ".sh")
    assert file_name("日報 nightly", named) == "日報-nightly.spark-submit.sh"
    short = file_name("日報 café", named, ascii_only=True)
    assert short == "u65e5-u5831-cafe.spark-submit.sh"


def test_training_runs_too():
    assert [file_name("training", Target(*target)) for target in TARGETS] == [
        "training.collect.sh",
        "training.spark-submit.sh",
        "training.plan.json",
    ]


async def test_the_name_follows_the_target(planner):
    async with at_rest(planner(), (120, 40), "e", "down", "down") as (app, pilot):
        await pilot.pause()
        assert ".emr.sh" in text_of(app)


async def test_what_is_exported_is_the_settled_answer_even_right_after_a_change(planner):
    """With one type, too, what decides is evaluated exactly, and the model says its warnings: the
    text is the one of `sparkplan export`."""
    async with at_rest(planner(spot=True), (120, 40)) as (app, pilot):
        app.dispatch(SetDeadline(3000.0))
        app.action_export()
        assert app.settling
        assert not isinstance(app.screen, ExportScreen)
        await settled(pilot)
        await pilot.pause()
        assert isinstance(app.screen, ExportScreen)
        plan, found = app.answer.built.plan, app.answer.report.recommendation
        exact = plan.mixed(app.answer.report, most_types=1).recommendation
        assert app.screen._content == plan.export(found, to="spark-submit", spot=True)
        assert found.recommended == exact.recommended
        assert found.recommended.warnings == exact.recommended.warnings


@pytest.mark.parametrize("deadline", [3000.0, 0.01])
async def test_keys_behind_an_export_wait_until_it_is_settled(planner, monkeypatch, deadline):
    """They are for the dialog that it opens; where there is nothing to export, for the planner."""
    app, go_on = planner(), Event()
    async with at_rest(app, (120, 40)) as (_, pilot):
        mixed = app._session.mixed
        monkeypatch.setattr(app._session, "mixed", lambda *asked: go_on.wait() and mixed(*asked))
        app.dispatch(SetDeadline(deadline))
        app.action_export()
        await pilot.press("down", "down", "2")
        assert app.pending
        assert await shows(pilot, "then the export opens")
        assert app.state.view == "curves"
        go_on.set()
        await settled(pilot)
        assert await shows(pilot, "then the export opens", gone=True)
        if deadline < 1.0:
            assert app.state.view == "compositions"
        else:
            assert isinstance(app.screen, ExportScreen)
            assert app.screen.query_one("#targets", Table).cursor == 2
            assert app.state.view == "curves"


async def test_the_dialog_says_which_cluster_it_writes(planner):
    async with at_rest(planner(), (120, 40), "e") as (app, pilot):
        await pilot.pause()
        ((name, nodes),) = app.answer.best.composition.items()
        assert f"Export {nodes} × {name}" in text_of(app)


async def test_a_small_terminal_gives_its_rows_to_the_text_that_is_read(planner):
    async with at_rest(planner(), (80, 24), "e") as (app, pilot):
        await pilot.pause()
        preview = app.screen.query_one("#preview")
        before = preview.size.height
        await pilot.press("tab")
        await pilot.pause()
        assert preview.size.height == before + GIVEN_UP
        assert "▸ spark-submit" in text_of(app)
        await pilot.press("shift+tab")
        await pilot.pause()
        assert preview.size.height == before


async def test_the_settings_to_paste_are_seen_first_and_the_notes_are_above_them(planner):
    """A small terminal showed comments alone."""
    async with at_rest(planner(), (80, 24), "e") as (app, pilot):
        await pilot.pause()
        content = app.screen._content
        notes = leading_comments(content)
        assert notes > 1
        assert content.splitlines()[notes].startswith("spark-submit")
        assert "│spark-submit" in text_of(app).replace(" ", "")
        assert f"after {notes} lines of notes" in text_of(app)
        await pilot.press("tab", "home")
        assert await shows(pilot, "# sparkplan: ")
        await pilot.press("shift+tab", "down")
        assert await shows(pilot, "# sparkplan: ", gone=True)
        named = [target.name for target in engine.EXPORTS]
        await pilot.press(*("down" for _ in range(named.index("markdown") - 1)))
        assert await shows(pilot, "# Capacity plan")


async def test_a_terminal_that_shrinks_under_the_dialog_keeps_text_path_and_keys(planner):
    async with at_rest(planner(), (120, 40), "e", "tab", "tab") as (app, pilot):
        await pilot.pause()
        preview = app.screen.query_one("#preview")
        preview.focus()
        await pilot.pause()
        await pilot.resize_terminal(80, 24)
        await pilot.pause()
        read = preview.size.height
        app.screen.query_one("#targets").focus()
        await pilot.pause()
        assert read == preview.size.height + GIVEN_UP
        await pilot.resize_terminal(62, 18)
        await pilot.pause()
        assert preview.size.height >= 1
        assert "esc leave" in text_of(app)


async def test_a_target_that_cannot_express_it_says_so_whole_and_offers_no_file(planner):
    async with at_rest(planner(), (80, 24), "e", "down", "down", "down") as (app, pilot):
        await pilot.pause()
        said = " ".join(text_of(app).replace("│", " ").split())
        assert "Dataproc runs on Google Cloud, this recommendation is for aws; price" in said
        assert "spark-submit or spark-defaults" in said
        assert "--to" not in said
        assert app.screen.query_one("#path").value == ""


def test_a_refusal_names_what_can_be_typed_here():
    error = engine.BadInput("it cannot", where="--to", remedy="ask for one type with --mix 1")
    assert refusal(error) == "it cannot; ask for one type with :mix 1"
    remedy = "plan for EMR with --platform emr, or choose spark-submit"
    typed = refusal(engine.BadInput("it cannot", where="--to", remedy=remedy))
    assert typed == "it cannot; plan for EMR with :platform emr, or choose spark-submit"
    assert refusal(engine.BadInput("it cannot", where="a.yaml")) == "a.yaml: it cannot"


def test_a_file_is_replaced_only_when_asked_twice(tmp_path):
    file = tmp_path / "plan.sh"
    file.write_text("mine")
    assert "again to overwrite" in str(save(file, "new", overwrite=False))
    assert file.read_text() == "mine"
    assert save(file, "new", overwrite=True) is None
    assert file.read_text() == "new"


def test_a_folder_is_not_offered_to_be_overwritten(tmp_path):
    said = str(save(tmp_path, "new", overwrite=False))
    assert "overwrite" not in said
    assert "add the name of a file" in said


def test_a_folder_that_is_not_there_is_said_with_what_to_do(tmp_path):
    said = str(save(tmp_path / "none" / "plan.sh", "new", overwrite=False))
    assert str(tmp_path / "none") in said
    assert "make its folder first" in said


@pytest.mark.parametrize("keys", [("enter",), ("tab", "ctrl+s")])
async def test_without_a_path_it_is_said_and_can_be_typed(planner, keys):
    """Enter did nothing, and said nothing."""
    async with at_rest(planner(), (80, 24), "e", "enter", "ctrl+u", "space", *keys) as (app, pilot):
        await settled(pilot)
        assert "no file to save to: type its path" in text_of(app)
        assert app.focused is app.screen.query_one("#path")


async def test_the_line_of_keys_is_that_of_what_has_the_keyboard(planner):
    async with at_rest(planner(), (80, 24), "e") as (app, pilot):
        await pilot.pause()
        assert "↑ ↓ target  ⏎ path" in text_of(app)
        await pilot.press("tab")
        await pilot.pause()
        assert "↑ ↓ scroll  ← → along lines" in text_of(app)
        assert "target  ⏎" not in text_of(app)
        await pilot.press("tab")
        await pilot.pause()
        assert "tab targets" in text_of(app)


async def test_a_command_is_copied_without_the_notes_that_a_shell_might_run(planner):
    """zsh takes a typed # for a command, and waited for the end of the quote in a note."""
    async with at_rest(planner(), (120, 40), "e") as (app, pilot):
        await settled(pilot)
        await pilot.press("ctrl+y")
        assert await shows(pilot, "clipboard, without its notes")
        assert app.clipboard.startswith("spark-submit \\\n")
        assert "#" not in app.clipboard
        await pilot.press("down", "ctrl+y")
        await settled(pilot)
        assert app.clipboard.startswith("# sparkplan: ")
        assert "spark.executor.cores" in app.clipboard


def test_a_text_of_notes_alone_or_none_is_copied_as_it_is():
    assert text_to_copy("# all\n# notes\n", ".conf") == "# all\n# notes\n"
    assert text_to_copy("# note\nrun \\\n  x # not a note\n", ".sh") == "run \\\n  x # not a note\n"
    assert text_to_copy("run\n", ".sh") == "run\n"


@pytest.mark.parametrize("name", ["./run1.zstd", "logs/run2.zstd"])
async def test_neither_an_export_nor_a_chart_replaces_what_the_plan_reads(
    planner, tmp_path, monkeypatch, name
):
    """Asked twice both did, as for any other file: the log of a run was lost."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs").mkdir()
    for log in ("run1.zstd", "logs/run2.zstd", "chart.csv"):
        (tmp_path / log).write_text("a log", encoding="utf-8")
    sources = ("run1.zstd", "logs", f"file://{tmp_path}/chart.csv")
    async with at_rest(planner(sources=sources), (120, 40), "e") as (app, pilot):
        await pilot.pause()
        app.screen.query_one("#path").value = name
        for _ in range(2):
            await pilot.press("ctrl+s")
            await pilot.pause()
            said = words_in(app.screen.query_one("#said"))
            assert "a source, and would be replaced; choose another file" in said
        await pilot.press("escape")
        for _ in range(2):
            app.action_save_chart("chart.csv")
            await pilot.pause()
            assert "chart.csv: is a source, and would be replaced" in text_of(app)
        app.action_save_chart("new.csv")
    assert (tmp_path / name).read_text("utf-8") == "a log"
    assert (tmp_path / "chart.csv").read_text("utf-8") == "a log"
    assert (tmp_path / "new.csv").read_text("utf-8").startswith("instance")
