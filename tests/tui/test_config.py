"""The user's settings: read at the start, checked by line, changed without losing comments."""

import errno
from pathlib import Path

import pytest
from command_line import refused
from screen import at_rest, text_of

import engine
from tui.action_list import COMMANDS, ELSEWHERE
from tui.arguments import options
from tui.bindings import binding_id
from tui.cli import main, planner_parser, start_of
from tui.headless.config import defaults, with_setting
from tui.start import ON_SAMPLE
from tui.state import JobInputs, Limits, PlanState, Terms
from tui.storage import config
from tui.themes import NAMES


def write(text):
    path = config.config_path()
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def test_without_a_file_nothing_is_set():
    assert config.read_config() == config.Config()
    write(config.TEMPLATE)
    assert config.read_config() == config.Config()


def test_the_home_of_somebody_else_holds_no_settings(monkeypatch, capsys):
    """As `sudo -u` and `su` leave it: what may not be searched stops nobody."""

    def exists(path):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    monkeypatch.setattr(config.Path, "exists", exists)
    assert config.read_config() == config.Config()
    err = refused(capsys, "config set nodes 9")
    assert "set XDG_CONFIG_HOME to a folder that you may write to" in err


def test_the_template_shows_what_may_be_written():
    lines = [line[2:] for line in config.TEMPLATE.splitlines() if line.startswith("# ")][1:]
    write("\n".join(lines) + "\n")
    found = config.read_config()
    assert (found.theme, found.glyphs, found.nodes, found.vi) == ("textual-dark", "auto", 64, False)
    assert found.keys == {"undo": "u,U", "pin": "p"}


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("them: nord", "did you mean theme?"),
        ("theme: nrd", "theme: unknown theme 'nrd'"),
        ("glyphs: utf8", "choices: ascii, auto, blocks, unicode"),
        ("model: ernst", "did you mean ernest?"),
        ("catalog: awz", "did you mean aws?"),
        ("nodes: 0", "type 1 to 512"),
        ("confidence: sure", "confidence: "),
        ("confidence: 99.99999%", "wider than numbers can be; give at most 99.9999%"),
        ("vi: yes", "choices: off, on"),
        ("theme: [a]", "must be a plain value"),
    ],
)
def test_a_wrong_line_is_said(line, says):
    path = write(f"# mine\n{line}\n")
    with pytest.raises(engine.BadInput) as refused:
        config.read_config()
    assert str(refused.value).startswith(f"{path}:2: ")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("undoo: u", "did you mean undo?"),
        ("undo: ctlr+z", "is no key"),
        ("undo: 3", "shows a view"),
        ("undo: P\n  pin: P", "that of undo already"),
    ],
)
def test_a_wrong_key_is_said(line, says):
    path = write(f"keys:\n  {line}\n")
    with pytest.raises(engine.BadInput, match=says) as refused:
        config.read_config()
    assert str(refused.value).startswith(f"{path}:")


def test_set_keeps_every_other_line():
    text = "# mine\ntheme: nord   # dark\nkeys:\n  undo: z\n# end\n"
    text = with_setting(text, "nodes", "200")
    text = with_setting(text, "theme", "gruvbox")
    text = with_setting(text, "keys.pin", "ctrl+k")
    text = with_setting(text, "keys.undo", "U")
    assert text.splitlines() == [
        "# mine",
        "theme: gruvbox   # dark",
        "nodes: 200",
        "keys:",
        '  pin: "ctrl+k"',
        "  undo: U",
        "# end",
    ]
    for key in ("colour", "keys.fly", "a.b"):
        with pytest.raises(engine.BadInput):
            with_setting(text, key, "x")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('catalog: "a # b.yaml"  # mine', "catalog: aws  # mine"),
        ("catalog: 'it''s # b'\t# mine", "catalog: aws\t# mine"),
        ('catalog: "a \\" # b"', "catalog: aws"),
        ("catalog: a#b", "catalog: aws"),
        ("catalog: # none yet", "catalog: aws # none yet"),
    ],
)
def test_set_keeps_the_comment_behind_a_value(old, new):
    assert with_setting(old + "\n", "catalog", "aws") == new + "\n"
    keys = old.replace("catalog", "  undo")
    changed = new.replace("catalog: aws", "  undo: U")
    assert with_setting(f"keys:\n{keys}\n", "keys.undo", "U") == f"keys:\n{changed}\n"


def test_the_command(capsys):
    assert main(["config", "path"]) == 0
    assert capsys.readouterr().out.strip() == str(config.config_path())
    assert main(["config", "init"]) == 0
    assert main(["config", "init"]) == 2
    assert main(["config", "set", "confidence", "95%"]) == 0
    assert main(["config", "set", "keys.redo", "r"]) == 0
    capsys.readouterr()
    before = config.config_path().read_text()
    err = refused(capsys, "config set nodes many")
    assert err.startswith("sparkplan: nodes: 'many' is not a number")
    assert config.config_path().read_text() == before
    assert main(["config", "show"]) == 0
    shown = capsys.readouterr().out
    assert main(["config"]) == 0
    assert capsys.readouterr().out == shown
    assert "95%\n" in shown
    assert "64 (default)" in shown
    assert "None" not in shown
    assert "keys.redo" in shown
    write("them: nord\n")
    assert "did you mean theme?" in refused(capsys, "")
    with pytest.raises(SystemExit) as ended:
        main(["--version"])
    assert ended.value.code == 0


def test_a_line_of_the_file_is_named_where_that_is_wrong_and_not_what_was_typed(capsys):
    """It named a line that no file had."""
    write("theme: nord\nnodes: many\n")
    err = refused(capsys, "config set vi on")
    assert f"{config.config_path()}:2: nodes: 'many'" in err
    err = refused(capsys, "config set nodes few")
    assert err.startswith("sparkplan: nodes: 'few'")


@pytest.mark.parametrize(
    ("spoil", "says"),
    [
        (lambda path: path.write_bytes(b"theme: \xff\n"), "not a text file in UTF-8; save it as"),
        (lambda path: path.mkdir(), "cannot be read: Is a directory; check the path"),
    ],
)
def test_nothing_is_set_in_what_is_no_text(capsys, spoil, says):
    path = config.config_path()
    path.parent.mkdir(parents=True)
    spoil(path)
    assert f"{path}: {says}" in refused(capsys, "config set nodes 9")


def test_a_byte_order_mark_does_not_hide_the_first_line():
    path = write("\ufefftheme: nord\n")
    assert main(["config", "set", "theme", "dracula"]) == 0
    assert path.read_text() == "theme: dracula\n"


def test_the_defaults_that_are_shown_are_those_of_the_command():
    args = planner_parser().parse_args([])
    stands = defaults()
    assert args.catalog is None
    assert stands["catalog"] == "that of where it ran"
    assert stands["model"] == args.model == engine.DEFAULT_MODEL
    assert stands["nodes"] == options.DEFAULT_MAX_NODES
    assert stands["confidence"] == args.confidence
    assert set(stands) == set(config.READERS)


def test_every_option_of_the_planner_is_an_input_that_it_starts_with():
    line = (
        "app.zstd --ran-on m5.xlarge --catalog gcp --region here --discount 15% --dbu-price jobs "
        "--platform kubernetes --overhead-per-core 512m --fill-nodes --model boe --iterations 7 "
        "--param k=3 --instances m5.*,r5.* --deadline 45m --budget $5 --max-nodes 9 "
        "--confidence 80% --spot --mix 1 --max-vcpus 64"
    )
    assert start_of(planner_parser().parse_args(line.split())) == PlanState(
        sources=("app.zstd",),
        ran_on="m5.xlarge",
        catalog="gcp",
        terms=Terms("here", 0.15, "jobs", "kubernetes", 0.5, fill_nodes=True),
        model="boe",
        job=JobInputs(7.0, (("k", 3.0),)),
        instances=("m5.*", "r5.*"),
        deadline_seconds=2700.0,
        deadline_chosen=True,
        budget_usd=5.0,
        max_nodes=9,
        confidence=0.8,
        spot=True,
        mix=1,
        limits=Limits(max_vcpus=64),
    )
    assert start_of(planner_parser().parse_args([])) == ON_SAMPLE


def test_a_refused_setting_leaves_no_folder(capsys, tmp_path, monkeypatch):
    """It left the folder of a file that it did not write."""
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new" / "config"))
    said = refused(capsys, "config set theme nosuch")
    assert "unknown theme 'nosuch'; choose one of " in said
    assert all(name in said for name in NAMES)  # it sent its reader to the planner for them
    assert not (tmp_path / "new").exists()
    assert main(["config", "set", "nodes", "200"]) == 0
    assert (tmp_path / "new" / "config" / "sparkplan" / "config.yaml").exists()


def test_a_refused_setting_is_said_where_another_command_wrote_meanwhile(
    capsys, tmp_path, monkeypatch
):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "new"))
    write_text = engine.write_text

    def and_another(path, content, **how):
        path.with_name("other.yaml").write_text("", encoding="utf-8")
        write_text(path, content, **how)

    monkeypatch.setattr(engine, "write_text", and_another)
    assert main(["config", "set", "theme", "nope"]) == 2
    assert "unknown theme 'nope'" in capsys.readouterr().err


def test_the_page_names_the_actions_that_can_have_other_keys():
    """It named one, the parameters of the job, that was refused."""
    page = (Path(__file__).parents[2] / "docs" / "configuration.md").read_text(encoding="utf-8")
    told = page.partition("Actions that can have other keys: ")[2].partition(". A key")[0]
    assert {name.strip() for name in told.split(",")} == set(config.ACTIONS)


async def test_keys_of_ones_own(planner):
    async with at_rest(planner(keys={"spot": "S", "undo": "z,ctrl+z"}), (80, 24)) as (app, pilot):
        await pilot.press("s")
        assert not app.state.spot
        await pilot.press("S")
        assert app.state.spot
        await pilot.press("u")
        assert app.state.spot
        await pilot.press("z")
        assert not app.state.spot


def test_every_action_that_holds_in_all_views_can_have_another_key():
    """The one that changes the rule of training runs could not. Keys of a single view stay."""
    here = {
        binding_id(action)
        for action, _, key in COMMANDS
        if key and not action.startswith(("view(", *ELSEWHERE))
    }
    assert here <= set(config.ACTIONS)


@pytest.mark.parametrize("vi", [False, True])
async def test_vi_keys_move_only_when_wanted(planner, vi):
    async with at_rest(planner(vi=vi), (80, 24)) as (app, pilot):
        before = app.state.deadline_seconds
        await pilot.press("l")
        await pilot.pause()
        await pilot.pause()
        assert (app.state.deadline_seconds > before) == vi
        await pilot.press("colon", "h", "l")
        await pilot.pause()
        assert app.screen.query_one("#typed").value == "hl"


def test_every_action_of_the_settings_has_a_binding(planner):
    known = {
        binding.id for found in planner()._bindings.key_to_bindings.values() for binding in found
    }
    assert set(config.ACTIONS) <= known
    assert binding_id("view('curves')") == "view-curves"


async def test_a_key_that_was_anothers_by_default_goes_to_the_users_choice(planner):
    async with at_rest(planner(keys={"pin": "u", "undo": "ctrl+z"}), (80, 24)) as (app, pilot):
        await pilot.press("s", "u")
        assert app.state.spot
        assert [pin.name for pin in app.pins] == ["A"]
        await pilot.press("ctrl+z")
        assert not app.state.spot


@pytest.mark.parametrize(
    ("keys", "shown"),
    [
        ("z", ("^p actions", "^q quit")),
        ("ctrl+q", ("^p actions", "^c quit")),
        ("ctrl+q,ctrl+c", ("^p actions", "  quit")),
        ("ctrl+p", ("  actions", "^q quit")),
    ],
)
async def test_the_foot_names_no_key_that_now_does_something_else(planner, keys, shown):
    """It said ^q quit, and ^q was undo; ^p actions, and ^p was undo."""
    async with at_rest(planner(keys={"undo": keys}), (120, 24)) as (app, _):
        foot = text_of(app).splitlines()[-1]
        assert all(key in foot for key in shown)
        assert ("^q quit" in foot) == (shown[1] == "^q quit")
        assert ("^p actions" in foot) == (shown[0] == "^p actions")


def test_an_action_whose_key_was_taken_has_none_to_show(planner):
    app = planner(keys={"pin": "u", "undo": "ctrl+z", "spot": "x"})
    assert [app.key_shown("undo", "u"), app.key_shown("pin", "p")] == ["^z", "u"]
    assert [app.key_shown("mix", "x"), app.key_shown("suspend", "^z")] == ["", ""]
    assert [app.key_shown("redo", "^y"), app.key_shown("", "tab")] == ["^y", "tab"]
