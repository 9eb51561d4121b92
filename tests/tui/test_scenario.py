"""Scenarios: written as typed, read by the same parsers, refused with file, line and key."""

import errno
import os
from dataclasses import replace
from pathlib import Path

import pytest
from command_line import refused
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from screen import at_rest, settled, text_of

import engine
from tui.screens import export
from tui.start import DEFAULT_SAMPLE
from tui.state import INPUTS, Limits, PlanState, Terms, Training
from tui.storage import scenario_store
from tui.storage.scenario import KEYS, format_scenario, read_top, scalar, state_of
from tui.storage.scenario_file import SavedPlan
from tui.storage.user_folders import home

SAMPLE = "nightly-features"


def read_scenario(path: Path) -> PlanState:
    """The state that a scenario file describes."""
    return state_of(read_top(path), folder=path.parent)


STATES = st.builds(
    PlanState,
    sources=st.sampled_from([(SAMPLE,), (SAMPLE, "nightly-features-small")]),
    ran_on=st.sampled_from([None, "m5.xlarge", "m5.xlarge@aws"]),
    category=st.sampled_from([None, "sql", "mllib"]),
    catalog=st.sampled_from([None, "aws", "gcp", "papers"]),
    terms=st.builds(
        Terms,
        st.sampled_from([None, "eu-west-1"]),
        st.sampled_from([None, 0.125, 0.3]),
        st.sampled_from([None, "premium", 0.4]),
        st.sampled_from([None, "kubernetes", "standalone"]),
        st.none() | st.just(0.0) | st.floats(1e-6, 1e4),
    ),
    instances=st.sampled_from([(), ("r5.*", "c6i.4xlarge"), ("*",)]),
    model=st.sampled_from(["sparkplan", "ernest"]),
    deadline_seconds=st.floats(0.01, 1e6),
    deadline_chosen=st.just(True),
    budget_usd=st.none() | st.floats(0.001, 1e5),
    scale=st.floats(0.1, 100.0),
    max_nodes=st.integers(1, 512),
    confidence=st.sampled_from([0.5, 0.9, 0.95, 0.975, 0.99]),
    spot=st.booleans(),
    training=st.builds(
        Training,
        st.none() | st.floats(0.001, 1e5),
        st.sampled_from(["usd", "seconds", "smallest runs"]),
        st.sampled_from([(), (0.01,), (0.01, 0.125, 0.5)]),
    ).filter(lambda training: training.amount is not None or training.unit == "usd"),
    view=st.sampled_from(["curves", "stages", "evidence"]),
)


@given(STATES)
@settings(
    max_examples=60,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_is_written_reads_the_same(tmp_path, state):
    path = tmp_path / "x.yaml"
    path.write_text(format_scenario(state, folder=tmp_path))
    found = read_scenario(path)
    for name in (*INPUTS, "view"):
        assert getattr(found, name) == pytest.approx(getattr(state, name), rel=1e-12)


@given(st.text(st.characters(exclude_categories=["Cs"]), max_size=8))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example("")
@example(" a")
@example("a ")
@example("- a")
@example("a-")
@example("NULL")
@example("%a")
@example("a\x7fb\x85c\u2028d\ufeffe\uffff\U0001f600\U000e0001")
def test_any_text_is_the_same_after_reading(tmp_path, text):
    """Such as the name of a file or of a pin; YAML breaks lines at some and refuses others."""
    path = tmp_path / "x.yaml"
    path.write_text(f"key: {scalar(text)}\nnext: {scalar(text)}\n", encoding="utf-8")
    assert engine.read_yaml(path).entries == {"key": text, "next": text}


def test_a_name_that_is_no_text_is_refused_in_one_line(tmp_path):
    kept = SavedPlan(PlanState(sources=(os.fsdecode(b"/logs/a\xff.zstd"),)))
    with pytest.raises(engine.BadInput, match=r"'/logs/a.udcff.zstd' is no Unicode text") as caught:
        scenario_store.save(str(tmp_path / "x.yaml"), kept)
    str(caught.value).encode()
    assert not (tmp_path / "x.yaml").exists()


def test_a_file_reads_as_one_would_write_it(tmp_path):
    state = PlanState(
        sources=(SAMPLE,), deadline_seconds=2700.0, deadline_chosen=True, budget_usd=12.0
    )
    text = format_scenario(state, folder=tmp_path)
    for line in (f"  - {SAMPLE}", "deadline: 45m", "budget: $12", "size: 1x", "confidence: 90%"):
        assert line in text.splitlines()
    changed = format_scenario(replace(state, spot=True), folder=tmp_path)
    differing = set(changed.splitlines()) ^ set(text.splitlines())
    assert differing == {"spot: off", "spot: on"}


@pytest.mark.parametrize(
    ("state", "line"),
    [
        (PlanState(sources=(SAMPLE,), deadline_chosen=True), "deadline: off"),
        (PlanState(sources=(SAMPLE,)), None),
    ],
)
def test_a_deadline_that_was_switched_off_is_not_one_that_nobody_chose(tmp_path, state, line):
    path = tmp_path / "x.yaml"
    path.write_text(format_scenario(state, folder=tmp_path))
    told = [one for one in path.read_text().splitlines() if one.startswith("deadline")]
    assert told == ([line] if line else [])
    assert read_scenario(path) == state


def test_what_a_file_leaves_out_is_as_in_a_new_plan(tmp_path):
    path = tmp_path / "x.yaml"
    new = PlanState(sources=(SAMPLE,))
    path.write_text(f"open: {SAMPLE}\nmix: 3\ncatalog: off\n")
    assert read_scenario(path) == replace(new, mix=3), "no prices were read again"


def test_a_catalog_is_named_with_its_region_as_after_its_command(tmp_path):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\ncatalog: aws eu-west-1\n")
    found = read_scenario(path)
    assert (found.catalog, found.terms.region) == ("aws", "eu-west-1")


def test_evidence_beside_the_file_moves_with_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "job"
    folder.mkdir()
    (folder / "runs.csv").write_text("nodes,input_size,seconds\n2,10,30\n4,10,20\n")
    state = PlanState(sources=("job/runs.csv",))
    path = folder / "x.yaml"
    path.write_text(format_scenario(state, folder=folder))
    assert "- ./runs.csv" in path.read_text()
    moved = folder.rename(tmp_path / "moved")
    assert read_scenario(moved / "x.yaml").sources == (str(moved / "runs.csv"),)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("dedline: 45m", "unknown key 'dedline'; did you mean deadline?"),
        ("deadline: soon", "deadline: "),
        ("budget: lots", "budget: "),
        ("nodes: 0", "type 1 to 512"),
        ("confidence: 200", "confidence: "),
        ("confidence: 99.99999%", "wider than numbers can be; give at most 99.9999%"),
        (
            "size: 2TB",
            "'2TB' is no multiple, and the input of the runs is not known here; type a factor",
        ),
        ("model: ernst", "did you mean ernest?"),
        ("catalog: awz", "did you mean aws?"),
        ("category: sqls", "did you mean sql?"),
        ("spot: maybe", "choices: off, on"),
        ("view: x", "unknown view"),
        ("discount: lots", "discount: "),
        ("deadline: [1, 2]", "must be a plain value"),
        ("deadline:", "must be a plain value"),
    ],
)
def test_a_wrong_value_is_said_with_file_line_and_key(tmp_path, line, says):
    path = tmp_path / "x.yaml"
    path.write_text(f"open: {SAMPLE}\n{line}\n")
    with pytest.raises(engine.BadInput) as refused:
        read_scenario(path)
    assert str(refused.value).startswith(f"{path}:2: ")
    assert says in str(refused.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("deadline: 45m\n", "open is missing"),
        ("open: no-such-sample\n", "no-such-sample"),
        ("open: []\n", "a source or a list"),
        ("open: [[a]]\n", "a source or a list"),
        ("open: ['']\n", "a source or a list"),
        ("open: {a: b}\n", "a source or a list"),
        ("open: '-'\n", "standard input"),
        ("- a\n", "must be a mapping"),
        ("open: [\n", "not valid YAML"),
        ("", "empty"),
    ],
)
def test_a_file_that_is_none(tmp_path, text, says):
    path = tmp_path / "x.yaml"
    path.write_text(text)
    with pytest.raises(engine.BadInput, match=r"x\.yaml") as refused:
        read_scenario(path)
    assert says in str(refused.value)


def test_names_and_files_are_kept_apart(tmp_path):
    state = PlanState(sources=(SAMPLE,))
    assert scenario_store.scenario_names() == ()
    assert (
        scenario_store.save("month end", SavedPlan(state)).path.parent == home("data") / "scenarios"
    )
    assert scenario_store.scenario_names() == ("month end",)
    assert scenario_store.load("month end").state.sources == (SAMPLE,)
    assert scenario_store.save(str(tmp_path / "a.yaml"), SavedPlan(state)) == (
        tmp_path / "a.yaml",
        None,
    )
    scenario_store.save(str(tmp_path / "a.yaml"), SavedPlan(replace(state, spot=True)))
    assert scenario_store.load(str(tmp_path / "a.yaml")).state.spot
    (tmp_path / "notes.yaml").write_text("shopping: milk\n")
    with pytest.raises(engine.BadInput, match="is no scenario"):
        scenario_store.save(str(tmp_path / "notes.yaml"), SavedPlan(state))
    assert (tmp_path / "notes.yaml").read_text() == "shopping: milk\n"
    with pytest.raises(engine.BadInput, match="did you mean month end"):
        scenario_store.load("month ende")
    with pytest.raises(engine.BadInput, match="no name"):
        scenario_store.save("..", SavedPlan(state))
    with pytest.raises(engine.BadInput, match="standard input"):
        scenario_store.save("x", SavedPlan(replace(state, sources=("-",))))


@pytest.mark.parametrize("name", ["nightly", "{here}/nightly.yml", "{kept}/nightly.yml"])
def test_a_scenario_that_is_replaced_can_be_had_back(tmp_path, name):
    """It was gone without a word; and of a path among those that are kept told by a name that is
    another file's."""
    kept = scenario_store.path_of("nightly").parent
    kept.mkdir(parents=True, exist_ok=True)
    name, state = name.format(here=tmp_path, kept=kept), PlanState(sources=(SAMPLE,))
    tight, loose = (SavedPlan(replace(state, deadline_seconds=s)) for s in (60.0, 7200.0))
    assert scenario_store.save(name, tight).former is None
    assert scenario_store.save(name, tight).former is None  # its equal
    former = scenario_store.save(name, loose).former
    assert scenario_store.load(former).state.deadline_seconds == 60.0
    assert scenario_store.load(name).state.deadline_seconds == 7200.0
    with pytest.raises(engine.BadInput, match="choose another name"):
        scenario_store.save(former, loose)


def test_a_file_of_that_name_that_is_no_scenario_stays(tmp_path):
    """Nothing is replaced where what stood there cannot be kept."""
    name, state = str(tmp_path / "a.yaml"), PlanState(sources=(SAMPLE,))
    scenario_store.save(name, SavedPlan(state))
    (tmp_path / "a~.yaml").write_text("shopping: milk\n")
    with pytest.raises(engine.BadInput, match=r"a~\.yaml: is there already"):
        scenario_store.save(name, SavedPlan(replace(state, spot=True)))
    assert (tmp_path / "a~.yaml").read_text() == "shopping: milk\n"
    assert not scenario_store.load(name).state.spot


def test_a_session_that_cannot_be_kept_is_said_and_no_more(planner, monkeypatch, capsys, tmp_path):
    app = planner(sources=("nightly-als",))
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    app.keep_session()
    assert "session was not kept" in capsys.readouterr().err


def test_a_sample_that_was_only_looked_at_is_no_session(planner):
    planner(sources=(DEFAULT_SAMPLE,)).keep_session()
    assert not scenario_store.session_path().exists()
    planner(sources=("sales-report-small",)).keep_session()
    assert scenario_store.last_session().state.sources == ("sales-report-small",)


async def test_a_folder_that_may_not_be_searched_is_said(planner, tmp_path, monkeypatch):
    """Neither a crash nor a lost session: `su` leaves HOME to somebody else."""
    closed, status = tmp_path / "closed", Path.stat

    def stat(path, **options):
        if closed in path.parents:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return status(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    async with at_rest(planner(sources=(SAMPLE,)), (120, 40)) as (app, pilot):
        for line in ("save {}/a.yaml", "chart {}/a.svg", "load {}/a.yaml"):
            await app.run_command_line(line.format(closed))
            await pilot.pause()
            assert "Permission denied" in " ".join(text_of(app).split()), line
    said = export.save(closed / "a.sh", "text", overwrite=False)
    assert "Permission denied" in said


async def test_saved_and_loaded_in_the_planner(planner):
    async with at_rest(planner(sources=(SAMPLE,), spot=True), (120, 40)) as (app, pilot):
        await app.run_command_line("deadline 50m")
        await app.run_command_line("save tight")
        await pilot.pause()
        assert "saved as" in text_of(app)
        await app.run_command_line("deadline 2h")
        await app.run_command_line("spot off")
        await app.run_command_line("view stages")
        await app.run_command_line("load tight")
        await settled(pilot)
        assert (app.state.deadline_seconds, app.state.spot) == (3000.0, True)
        assert app.state.view == "curves"
        await pilot.press("u")
        assert (app.state.deadline_seconds, app.state.spot) == (7200.0, False)
        await app.run_command_line("save tight")
        await pilot.pause()
        assert "the one that it replaced with :load tight~" in " ".join(text_of(app).split())
        await app.run_command_line("load tight~")
        await settled(pilot)
        assert app.state.deadline_seconds == 3000.0
        await app.run_command_line("load nothing")
        await pilot.pause()
        assert "unknown scenario" in text_of(app)
        await app.run_command_line("resume")
        await pilot.pause()
        assert "no session was kept yet" in " ".join(text_of(app).split())
        await app.run_action("scenario_load")
        await pilot.pause()
        assert "load tight" in text_of(app)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("--scenario none", "none is saved yet"),
        ("--scenario x --deadline 4m", "nothing else can be given"),
        (f"--resume {SAMPLE}", "nothing else can be given"),
        ("--resume", "no session was kept yet"),
        ("--resume", "unless only a bundled sample was looked at"),
    ],
)
def test_what_the_command_refuses(capsys, line, says):
    assert says in refused(capsys, line)


def test_every_key_is_a_command():
    from tui.typed_commands import TYPED_COMMANDS

    assert set(KEYS) <= {verb.name for verb in TYPED_COMMANDS}


def test_limits_and_mixes_are_part_of_a_scenario(tmp_path):
    limits = Limits(owned=(("m5.xlarge", 10),), most=(("c*", 4),), max_vcpus=96.0, min_nodes=2)
    state = PlanState(sources=(SAMPLE,), mix=3, limits=limits)
    path = tmp_path / "x.yaml"
    path.write_text(format_scenario(state, folder=tmp_path))
    assert read_scenario(path) == state
    assert "own m5.xlarge=10" in path.read_text()
    for stated in ("own m5=many", "own-master on"):
        path.write_text(f"open: [sort-small]\nlimits: {stated}\n")
        with pytest.raises(engine.BadInput, match=r"x\.yaml:2"):
            read_scenario(path)
