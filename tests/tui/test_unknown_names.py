"""A name that nothing has: one line that says what to do."""

import shlex
from collections.abc import Callable
from dataclasses import replace
from importlib import import_module

import pytest
from command_line import refused
from screen import at_rest, settled
from textual.widgets import Input

import engine
from engine.mixing.notices import MIXED
from tui.app import PlannerApp
from tui.arguments.parser import OneLineParser
from tui.cli import main
from tui.command_parser import outcome_of
from tui.state import NO_LIMITS
from tui.typed_commands import EXAMPLES, TYPED_COMMANDS, Command, CommandContext
from tui.views.planner_words import in_planner

KNOWN = CommandContext(parameters=("k",), instances=("c5.2xlarge",))
OWNING = NO_LIMITS._replace(owned=(("c5.2xlarge", 2),))
RECOMMEND = "recommend nightly-features --deadline 4h"
LISTED = "`sparkplan catalog show aws` lists its types"
MISTAKES = {
    f"{RECOMMEND} --instances 'zz*'": f"catalog aws: unknown instance type 'zz*'; {LISTED}",
    f"{RECOMMEND} --exclude 'zz*'": f"catalog aws: unknown instance type 'zz*'; {LISTED}",
    f"{RECOMMEND} --limit 'zz*=3'": f"catalog aws: unknown instance type 'zz*'; {LISTED}",
    f"{RECOMMEND} --own zz=3": f"catalog aws: unknown owned instance type 'zz'; {LISTED}",
    f"{RECOMMEND} --own m5.xlrge=3": "did you mean m5.xlarge",
    "catalog show aws --instances 'zz*'": f"unknown instance type 'zz*'; {LISTED}",
    "predict nightly-features --param k=3": "workload: unknown parameter 'k'; the runs have no "
    "parameters: leave it out",
    # What cannot be meant, and what would be right.
    "curve nightly-features --over nodes --nodes 1:20000": "--nodes: '1:20000' goes beyond 10,000 "
    "nodes; write it like 1:64",
    "curve nightly-features --over input-size --executors 2 --input-size 4x:1x": "--input-size: "
    "the range of sizes runs backwards; write the smaller size first",
    "curve nightly-features --over iterations --executors 2 --iterations 9": "--iterations: '9' is "
    "not a range of iterations; write it like 1:20",
    "experiments --nodes 1:8 --fractions 10%:1% --budget 5": "runs backwards; write the smaller "
    "first",
    "predict nightly-features --composition m5.xlarge=0": "--composition: 'm5.xlarge=0' has too "
    "few nodes; give at least 1, or leave m5.xlarge out",
    "predict --executors 2": "the following arguments are required: SOURCE; name an event log, or "
    "- for standard input; see sparkplan predict --help",
    "predict - - --executors 2": "-: standard input can be read only once; give - a single time",
    "catalog validate no-such.yaml": "no-such.yaml: no such file; check the path",
    "measure-host --dir /no/such": "/no/such: cannot be used: No such file or directory; name "
    "another folder with --dir",
    "--json predict nightly-features --nodes 3": "the command 'predict' must stand first; write "
    "sparkplan predict --json nightly-features --nodes 3",
    # Of another cloud.
    f"{RECOMMEND} --instances 'n2-*'": "catalog aws: unknown instance type 'n2-*'; catalog gcp "
    "has it: write --catalog gcp\n",
    "predict nightly-features --nodes 2 --instance Standard_D4ds_v5": "; catalogs azure and "
    "azure-databricks have it: write --catalog azure or --catalog azure-databricks\n",
    f"{RECOMMEND} --own n2-standard-8=3": "unknown owned instance type 'n2-standard-8'; catalog "
    "gcp has it: write --catalog gcp\n",
    f"{RECOMMEND} --limit 'n2-*=3'": "catalog gcp has it: write --catalog gcp\n",
    f"{RECOMMEND} --exclude 'n2-*'": f"catalog aws: unknown instance type 'n2-*'; {LISTED}\n",
    f"{RECOMMEND} --ran-on n2-standard-8@aws": "has it: write n2-standard-8@gcp\n",
    "catalog show aws --instances 'n2-*'": "has it: write sparkplan catalog show gcp\n",
    f"{RECOMMEND} --instances m5.xlarge, c5.xlarge": "write --instances m5.xlarge,c5.xlarge; see",
    f"{RECOMMEND} --instances m5.xlarge , c5.xlarge": "write --instances m5.xlarge,c5.xlarge; see",
    f"{RECOMMEND} --instances m5.xlarge ,c5.xlarge": "write --instances m5.xlarge,c5.xlarge; see",
    f"{RECOMMEND} --instances m5.xlarge, c5.xlarge, r5.xlarge --spot": "write --instances "
    "m5.xlarge,c5.xlarge,r5.xlarge; see",
    f"{RECOMMEND} --instances m5.xlarge c5.xlarge more.zstd": "write --instances "
    "m5.xlarge,c5.xlarge; see",
    "experiments --nodes 1:8 --fractions 0.1 , 0.2": "write --fractions 0.1,0.2\n",
    f"{RECOMMEND} --confidence 90 %": "unrecognized arguments: %; write --confidence 90%; see ",
    "recomend --deadline 2m nightly-features": "'recomend' is neither a command nor a file; did "
    "you mean sparkplan recommend?",
    "exprt nightly-features --to emr": "did you mean sparkplan export?",
    "predict spark.example:18080 --nodes 4": "spark.example:18080: no such file; for a history "
    "server write http://spark.example:18080",
    "--deadline 45m recommend 'a b.zstd'": "the command 'recommend' must stand first; write "
    "sparkplan recommend --deadline 45m 'a b.zstd'",
    "nightly-features export --to emr": "write sparkplan export nightly-features --to emr",
    "nightly-features --executors 3": "unrecognized arguments: --executors 3; --executors is an "
    "option of sparkplan predict, curve and workflow; see sparkplan --help",
    f"{RECOMMEND} --to emr": "unrecognized arguments: --to emr; --to is an option of sparkplan "
    "export; see sparkplan recommend --help",
    # Of so many commands that naming them would say nothing.
    "samples --deadline 4h": "unrecognized arguments: --deadline 4h; see sparkplan samples --help",
    "export nightly-features --deadline 4h": "required: --to; it is what the text is for: "
    "spark-submit, spark-defaults, emr, ",
    "predict nightly-features --deadline 6pm": "--deadline: '6pm' is not a duration; write how "
    "long, like 45m, 1h30m or 90s",
    f"{RECOMMEND} --nodes 3": "unrecognized arguments: --nodes 3; did you mean --min-nodes or "
    "--max-nodes? see sparkplan recommend --help",
    f"{RECOMMEND} more.zstd": "unrecognized arguments: more.zstd; all sources stand before the "
    "options; see sparkplan recommend --help",
    # A unit apart from its number: it was taken for a source that stands too late.
    "predict nightly-features --executors 2 --input-size 3 GB": "unrecognized arguments: GB; write "
    "--input-size 3GB; see sparkplan predict --help",
    f"{RECOMMEND} --deadline 1h 30m": "unrecognized arguments: 30m; write --deadline 1h30m; see ",
    "nightly-features --deadline 45 min": "unrecognized arguments: min; write --deadline 45min; ",
    "predict nightly-features --nodes 2 5": "unrecognized arguments: 5; all sources stand before ",
    # A source whose name begins with a digit or a unit is no unit, nor is a unit that fits nothing.
    "predict nightly-features --nodes 8 48GB": "unrecognized arguments: 48GB; all sources stand ",
    "predict nightly-features --executors 2 --input-size 3 48GB": "arguments: 48GB; all sources ",
    "predict nightly-features --executors 4 h": "unrecognized arguments: h; all sources stand ",
    # Blanks for commas: they were taken for files, or for sources that stand too late.
    "experiments --nodes 1:8 --fractions 0.1 0.2": "--fractions: a blank cuts off '0.2'; write "
    "--fractions 0.1,0.2",
    "predict nightly-features --param A=1 B=2": "--param: a blank cuts off 'B=2'; write --param "
    "A=1 --param B=2",
    f"{RECOMMEND} --own m5.xlarge=3 c5.xlarge=2": "write --own m5.xlarge=3 --own c5.xlarge=2",
    "recommend --instances 'm5.*' 'c5.*' --deadline 4h": "write --instances m5.*,c5.*",
    f"{RECOMMEND} --instances m5.xlarge c5.xlarge": "unrecognized arguments: c5.xlarge; write "
    "--instances m5.xlarge,c5.xlarge; see sparkplan recommend --help",
    # A source there is no value that lacks its comma, nor is what is no value of the option.
    f"{RECOMMEND} --instances m5.xlarge sort-small": "unrecognized arguments: sort-small; all "
    "sources stand before the options",
    f"{RECOMMEND} --own m5.xlarge=3 more.zstd": "unrecognized arguments: more.zstd; all sources",
    "recommend --instances m5.xlarge sort-small --deadline 4h sort-small.zstd": "unrecognized "
    "arguments: sort-small.zstd; all sources stand before the options",
    f"{RECOMMEND} --instances 'm5.*' '*.zstd'": "unrecognized arguments: *.zstd; all sources stand "
    "before the options",
    f"{RECOMMEND} --instances m5.xlarge 'app*'": "unrecognized arguments: app*; all sources stand",
    "recommend --deadline 4h --instances 'm5.*' '*.zstd'": "*.zstd: no such file; check the path",
    f"{RECOMMEND} --limit 'm5.*=4' 'c5.*=2'": "--limit: a blank cuts off 'c5.*=2'; write --limit "
    "m5.*=4 --limit c5.*=2",
    f"{RECOMMEND} --nope": "unrecognized arguments: --nope; see sparkplan recommend --help",
    "--web --port 99999999": "--port: must be at most 65,535, not 99999999",
}


@pytest.mark.parametrize("line", MISTAKES)
def test_what_to_do_is_said(capsys: pytest.CaptureFixture[str], line: str) -> None:
    assert MISTAKES[line] in refused(capsys, line)


@pytest.mark.parametrize("fault", [engine.BadInput("damaged"), PermissionError(13, "denied")])
def test_a_catalog_that_cannot_be_read_has_no_type(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    """While another error is explained: this one must not take its place."""
    read = engine.load_catalog

    def damaged(source: object, **options: str) -> engine.Catalog:
        if "azure." in str(source):
            raise fault
        return read(source, **options)

    monkeypatch.setattr(engine, "load_catalog", damaged)
    said = refused(capsys, "predict nightly-features --nodes 2 --instance Standard_D4ds_v5")
    assert said.endswith("; catalog azure-databricks has it: write --catalog azure-databricks\n")


def test_the_planner_names_its_own_command_once() -> None:
    assert in_planner(MIXED.remedy) == "ask for one type: :mix 1"


@pytest.mark.parametrize("verb", TYPED_COMMANDS, ids=lambda verb: verb.name)
def test_a_command_alone_opens_the_choice_or_shows_an_example_that_works(
    verb: Command,
) -> None:
    """It said ":theme needs NAME; type :theme NAME"."""
    if not verb.takes or verb.takes.startswith("["):
        return
    try:
        action = outcome_of(verb.name, KNOWN)
    except engine.BadInput as error:
        line = (error.remedy or "").removeprefix("type :")
        assert outcome_of(line, replace(KNOWN, limits=OWNING))
    else:
        assert hasattr(PlannerApp, f"action_{action}")


def test_examples_of_a_region_and_of_a_tier_are_those_of_a_bundled_catalog() -> None:
    """They were of none, and refused when they were typed."""
    assert engine.load_catalog("aws", region=EXAMPLES["region"])
    assert engine.load_catalog("azure-databricks").with_terms(dbu=EXAMPLES["dbu-price"])


async def test_a_command_alone_asks_for_what_it_lacks(
    planner: Callable[..., PlannerApp],
) -> None:
    async with at_rest(planner(), (120, 40)) as (app, pilot):
        for typed in (":theme\rnord\r", ":model\rern"):
            for key in typed:
                await pilot.press({":": "colon", "\r": "enter"}.get(key, key))
            await settled(pilot)
        assert app.theme == "nord"
        assert app.screen.query_one("#typed", Input).value == "ern"


@pytest.mark.parametrize(
    ("said", "shown"),
    [
        ("see sparkplan catalog refresh --help", "see sparkplan catalog refresh --help"),
        ("sparkplan profile --optex --iterations K", "sparkplan profile --optex --iterations K"),
        ("(sparkplan recommend --catalog FILE), and --mix 1", None),
        ("give --deadline, as sparkplan recommend does", None),
    ],
)
def test_a_line_for_the_shell_keeps_its_options(said: str, shown: str | None) -> None:
    """Beside it options are typed commands as everywhere."""
    typed = said.replace("--mix", ":mix").replace("give --deadline", "give :deadline")
    assert in_planner(said) == (shown or typed)


@pytest.mark.parametrize(
    "line",
    [
        "--instances 'm5.*' nightly-features",
        "--instances 'm5.*' 's3://logs/nightly*'",
        "--own m5.xlarge=3 'http://host:18080#app=nightly&last=5'",
    ],
)
def test_a_source_behind_a_value_is_no_second_value(line: str) -> None:
    parser = OneLineParser(prog="sparkplan recommend", allow_abbrev=False)
    import_module("tui.headless.recommend").configure(parser)
    assert parser.parse_args(shlex.split(line)).sources


@pytest.mark.parametrize("given", ["--catalog ''", "--catalog=", "--instances ' '", "--param ''"])
def test_an_option_that_was_given_nothing_is_refused(
    capsys: pytest.CaptureFixture[str], given: str
) -> None:
    """`--catalog "$CATALOG"`, where the variable is not set, is not the default catalog."""
    option = given.split()[0].rstrip("=")
    said = f"sparkplan: {option}: is empty; give it a value, or leave it out\n"
    assert refused(capsys, f"{RECOMMEND} {given}") == said


@pytest.mark.parametrize("command", ["predict", "curve", "recommend", "fleet", "experiments"])
def test_a_slip_in_an_option_is_told_the_option(command: str) -> None:
    """`recommend --instance` and `predict --instances` were unrecognized, and no more."""
    parser = OneLineParser(prog=f"sparkplan {command}", allow_abbrev=False)
    import_module(f"tui.headless.{command}").configure(parser)
    names = {name for each in parser._actions for name in each.option_strings if name[:2] == "--"}
    assert len(names) > 20
    for name in sorted(names):
        slip = f"{name[:-1]}x"
        with pytest.raises(engine.BadInput) as caught:
            parser.error(f"unrecognized arguments: {slip} 3")
        said = str(caught.value)
        assert f"{slip} 3; did you mean " in said
        assert f" {name}" in said.replace("?", "")
        assert said.endswith(f"? see sparkplan {command} --help")


@pytest.mark.parametrize("value", ["-5m", "-1GB", "-2,5h"])
def test_a_value_below_zero_is_not_a_missing_one(
    capsys: pytest.CaptureFixture[str], value: str
) -> None:
    """It was "expected one argument": argparse takes it for an option."""
    said = f"sparkplan: --deadline: {value!r} is less than zero; give it a larger value\n"
    assert refused(capsys, f"{RECOMMEND} --deadline {value}") == said


@pytest.mark.parametrize(("line", "usage"), [("help", ""), ("help predict", " predict")])
def test_help_is_also_a_word(capsys: pytest.CaptureFixture[str], line: str, usage: str) -> None:
    with pytest.raises(SystemExit) as left:
        main(shlex.split(line))
    assert left.value.code == 0
    assert capsys.readouterr().out.startswith(f"usage: sparkplan{usage} ")


def test_money_below_zero_and_what_follows_two_dashes(capsys: pytest.CaptureFixture[str]) -> None:
    line = "recommend nightly-features --catalog aws --budget -$5"
    said = "sparkplan: --budget: '-$5' is less than zero; give it a larger value\n"
    assert refused(capsys, line) == said
    err = refused(capsys, "predict nightly-features -- -5m")
    assert "unknown file or sample '-5m'" in err
    assert "unknown file or sample '-x--'" in refused(capsys, "predict nightly-features -- -x--")


def test_a_first_word_of_no_meaning_may_have_been_meant_for_a_command(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """`sparkplan evidence LOG` was told to check its path, and where samples are listed."""
    said = (
        "sparkplan: unknown command, file or sample 'evidence'; `sparkplan --help` lists the "
        "commands, `sparkplan samples` the samples\n"
    )
    assert refused(capsys, "evidence nightly-features") == said
    assert "check the path" in refused(capsys, "nightly-features nowhere")
    assert "did you mean nightly-features" in refused(capsys, "nightly-featurs")
    assert "evidence.zstd: no such file" in refused(capsys, "evidence.zstd")


def test_help_of_no_command_names_the_commands(capsys: pytest.CaptureFixture[str]) -> None:
    """It was that of the planner, as if there were nothing wrong."""
    err = refused(capsys, "help predcit")
    assert "unknown command 'predcit'; did you mean predict?" in err


def test_values_that_only_end_like_nothing_are_taken(capsys: pytest.CaptureFixture[str]) -> None:
    err = refused(capsys, "predict nightly-features --param k=")
    assert "'k=' is not NAME=NUMBER" in err


@pytest.mark.parametrize("command", ["", "predict --json", "fleet", "workflow", "profile"])
def test_an_empty_source_is_not_the_folder_one_is_in(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """What `sparkplan "$LOG"` gives where LOG is not set."""
    said = "sparkplan: a source is empty; give a file, a folder or a sample\n"
    assert refused(capsys, f"{command} ''") == said


def test_pauses_too_short_to_be_any_name_their_option(capsys: pytest.CaptureFixture[str]) -> None:
    said = "sparkplan: --pauses: must be at least 1 s, not '0.5s'; see sparkplan profile --help\n"
    assert refused(capsys, "profile nightly-features --pauses 0.5s") == said


def test_what_a_command_lists_a_key_lists_here() -> None:
    catalog = engine.load_catalog("gcp")
    with pytest.raises(engine.UnknownName) as caught:
        catalog.offer("zzz")
    assert in_planner(str(caught.value)).endswith("; / lists its types")
    assert in_planner("`sparkplan samples` lists samples") == "o lists the samples"
