"""The `sparkplan` command: dispatches subcommands, turns every failure into one line and an exit
code.

stdout is data, messages go to stderr. Exit codes: 0 done, 1 no composition satisfies the goal, 2
bad usage or bad input, 3 a needed service did not answer. The terminal application and each
headless command are imported only when they run.
"""

from __future__ import annotations

import argparse
import os
import sys
import textwrap
from collections.abc import MutableMapping, Sequence
from importlib import import_module
from types import ModuleType
from typing import TYPE_CHECKING

import engine
from tui import format as text
from tui import streams, web, workers
from tui.arguments import examples, layouts, limits, options, sections, workloads
from tui.arguments.parser import OneLineParser
from tui.entry import INTERRUPTED
from tui.other_catalogs import naming_other_catalog

if TYPE_CHECKING:
    from tui.start import AppOptions
    from tui.state import PlanState
    from tui.storage.config import Config
    from tui.storage.scenario_file import SavedPlan

COMMANDS = {
    "profile": "one small file that stands for the sources (profile YAML)",
    "predict": "how long the job takes on one cluster, and what that costs",
    "curve": "predicted time and cost over nodes, input size or iterations",
    "recommend": "the cheapest cluster that meets a deadline, the fastest within a budget",
    "fleet": "many jobs, each on the cheapest cluster that meets its deadline, and their sum",
    "workflow": "jobs that share one cluster, state by state; the cheapest such cluster",
    "export": "the recommendation as text to paste",
    "experiments": "which runs to make next, what each costs and teaches",
    "collect": "make the planned runs through spark-submit and keep their event logs",
    "catalog": "list, show, validate and refresh price catalogs",
    "measure-host": "measure this machine, as an instance type",
    "config": "the settings: path, show, set KEY VALUE, init",
    "tour": "two minutes through the planner, step by step",
    "models": "the models and what each is for",
    "samples": "the bundled samples and what each shows",
    "completion": "a script that completes commands, options and names in a shell",
}
"""Command -> what it does; each is the module of that name in `tui.headless`."""

ENDING = """sparkplan COMMAND --help says more of each, with examples.
Exit codes: 0 done, 1 no cluster satisfies the goal, 2 bad usage or input,
3 a service did not answer."""

ALGEBRA_THREADS = "OPENBLAS_NUM_THREADS"


def main(argv: Sequence[str] | None = None) -> int:
    """Entry point of the installed command; never lets a traceback out. Without `argv` the process
    belongs to this command, and is ended here."""
    if argv is not None:
        return _status(list(argv))
    streams.write_data_whole()
    status = _status(sys.argv[1:])
    workers.end_process(status)
    return status


def _status(arguments: list[str]) -> int:
    """The exit code of a command line; every failure is reported in one line."""
    streams.make_ready()
    limit_algebra_threads(arguments, os.environ)
    try:
        status = run(arguments)
        sys.stdout.flush()
        return status
    except engine.EngineError as error:
        streams.say(f"sparkplan: {text.escaped(str(naming_other_catalog(error)))}")
        return error.exit_code
    except KeyboardInterrupt:
        streams.say("sparkplan: interrupted")
        return INTERRUPTED
    except BrokenPipeError:
        return 0
    except MemoryError:
        streams.say("sparkplan: out of memory; give fewer logs at a time")
        return 2
    except OSError as error:
        where = streams.error_location(error)
        what = error.strerror or str(error)
        streams.say(f"sparkplan: {text.escaped(f'{where}: {what}' if where else what)}")
        return 2
    finally:
        streams.drop_unwritten()


def limit_algebra_threads(arguments: Sequence[str], environ: MutableMapping[str, str]) -> None:
    """Limit linear algebra to one thread, unless the user sets another number: our matrices are
    small, and the other threads of OpenBLAS spin, one core each, on a gateway node that others use
    too.

    Not for `collect`: the jobs that it submits inherit its environment.
    """
    if "collect" not in arguments[:1]:
        environ.setdefault(ALGEBRA_THREADS, "1")


def run(arguments: list[str]) -> int:
    """Run one command line and return its exit code."""
    if arguments[:1] == ["help"] and not os.path.exists("help"):
        arguments = [*_command_of(arguments[1:2]), "--help"]
    if arguments and arguments[0] in COMMANDS:
        args = parser_of(arguments[0]).parse_args(arguments[1:])
        return int(_module_of(arguments[0]).run(args))
    return open_planner(arguments)


def parser_of(command: str) -> OneLineParser:
    """The parser of a command; that of the planner for ""."""
    if not command:
        return planner_parser()
    parser = OneLineParser(
        prog=f"sparkplan {command}",
        description=COMMANDS[command],
        epilog=examples.help_examples(command),
        allow_abbrev=False,
        commands_with=commands_with,
    )
    _module_of(command).configure(parser)
    return parser


def commands_with(option: str) -> list[str]:
    """The commands that have an option."""
    return [command for command in COMMANDS if parser_of(command).has_option(option)]


def _module_of(command: str) -> ModuleType:
    return import_module(f"tui.headless.{command.replace('-', '_')}")


def _command_of(arguments: list[str]) -> list[str]:
    """The command whose help is asked for; none for that of the planner."""
    for argument in arguments:
        if argument not in COMMANDS and not argument.startswith("-"):
            raise engine.UnknownName("command", argument, COMMANDS)
    return arguments


def open_planner(arguments: list[str]) -> int:
    """`sparkplan [SOURCE...]`: open the planner, or print --help and --version."""
    parser = planner_parser()
    # --help, --version and mistakes come before any file
    args, unknown = parser.parse_known_args(arguments)
    reject_late_command(arguments, args.sources)
    reject_mistyped_command(args.sources)
    if unknown:
        parser.error(f"unrecognized arguments: {' '.join(unknown)}")
    from tui.storage.config import read_config

    config = read_config()
    if chosen := defaults_of(config):
        parser.set_defaults(**chosen)
        args = parser.parse_args(arguments)
    check_there(args.sources)
    web.check_options(args)
    kept = saved_plan(args, parser)
    if args.web:
        return web.serve(arguments, host=args.host, port=args.port)
    from tui import terminal

    terminal.require_interactive()
    terminal.speed_up_start()
    from tui import app

    return app.run(app_options(args, config, kept))


def planner_parser() -> OneLineParser:
    parser = OneLineParser(
        prog="sparkplan",
        description="Capacity planner for Apache Spark. Without a command it opens the planner\non "
        "SOURCE..., or on a bundled sample.",
        epilog=f"{examples.help_examples('')}\n\n{_commands()}",
        allow_abbrev=False,
        commands_with=commands_with,
    )
    options.add_sources(parser, least="*")
    options.add_origin(parser)
    options.add_goal(parser)
    limits.add_limits(parser)
    options.add_catalog(parser)
    options.add_terms(parser)
    layouts.add_layout(parser)
    workloads.add_job(parser)
    options.add_model(parser)
    sections.section(parser, sections.RENTED).add_argument(
        "--mix", type=options.whole(), metavar="N",
        help="types per cluster at most (default 2, or 1 where a service has workers of one type; "
        "recommend and export: 1)",
    )  # fmt: skip
    parser.add_argument("--version", action="version", version=f"sparkplan {engine.__version__}")
    parser.add_argument("--scenario", metavar="NAME|FILE", help="open the inputs that :save wrote")
    parser.add_argument("--resume", action="store_true", help="go on with the last session")
    web.add_web(parser)
    return parser


def _commands() -> str:
    lines = [
        textwrap.fill(
            what, examples.COLUMNS, initial_indent=f"  {name:<13}", subsequent_indent=15 * " "
        )
        for name, what in COMMANDS.items()
    ]
    return "\n".join(["commands:", *lines, "", ENDING])


def defaults_of(config: Config) -> dict[str, object]:
    """Defaults of options from the user's settings."""
    settings = {
        "catalog": config.catalog,
        "model": config.model,
        "confidence": config.confidence,
        "max_nodes": config.nodes,
    }
    return {name: value for name, value in settings.items() if value is not None}


def app_options(args: argparse.Namespace, config: Config, kept: SavedPlan | None) -> AppOptions:
    from tui.start import AppOptions

    return AppOptions(
        start=kept.state if kept else start_of(args),
        pins=kept.pins if kept else (),
        theme=config.theme,
        glyphs=config.glyphs or "auto",
        keys=config.keys,
        vi=bool(config.vi),
    )


def start_of(args: argparse.Namespace) -> PlanState:
    """The start state that the options describe."""
    from tui.input_text.job_text import job_of
    from tui.start import DEFAULT_SAMPLE
    from tui.state import Limits, PlanState, Terms

    return PlanState(
        sources=tuple(args.sources) or (DEFAULT_SAMPLE,),
        ran_on=args.ran_on,
        catalog=args.catalog,
        terms=Terms(
            args.region,
            args.discount,
            args.dbu_price,
            args.platform,
            args.overhead_per_core,
            args.fill_nodes,
        ),
        model=args.model,
        job=job_of(args),
        instances=options.globs(args.instances) or (),
        deadline_seconds=args.deadline,
        deadline_chosen=args.deadline is not None,
        budget_usd=args.budget,
        max_nodes=args.max_nodes or options.DEFAULT_MAX_NODES,
        confidence=args.confidence,
        spot=limits.on_spot(args),
        mix=mix_of(args.mix),
        limits=Limits(**limits.fields_of(args)),
    )


def check_there(sources: Sequence[str]) -> None:
    """Refuse sources that cannot be read before the planner opens. Existing files are not checked:
    asking the engine would import its readers, and delay the first paint."""
    unchecked = [name for name in sources if not os.path.exists(name)]
    if not unchecked:
        return
    try:
        engine.check_sources(*unchecked)
    except engine.UnknownName as error:
        if error.name != sources[0] or error.close:
            raise
        # The first word may have been meant for a command.
        remedy = "`sparkplan --help` lists the commands, `sparkplan samples` the samples"
        raise engine.UnknownName("command, file or sample", error.name, (), remedy=remedy) from None


def mix_of(types: int | None) -> int | None:
    """The most types per cluster in the planner; None where the option is not given."""
    from tui.state import MAX_TYPES

    if types is not None and types > MAX_TYPES:
        raise engine.BadInput(f"mix must lie between 1 and {MAX_TYPES}, not {types}", where="--mix")
    return types


def saved_plan(args: argparse.Namespace, parser: argparse.ArgumentParser) -> SavedPlan | None:
    """The plan that --scenario or --resume names; None without either.

    Raises:
        BadInput: beside other inputs, which would be ignored, or for what is wrong in the file.
    """
    if args.scenario is None and not args.resume:
        return None
    option = "--resume" if args.resume else "--scenario"
    chosen = {"scenario", "resume", "sources", "web", "host", "port"}
    others = (name for name in vars(args) if name not in chosen)
    has_other_options = any(getattr(args, name) != parser.get_default(name) for name in others)
    if args.sources or has_other_options or (args.resume and args.scenario is not None):
        raise engine.BadInput(
            f"{option} sets every input; nothing else can be given with it",
            remedy="change the inputs in the planner, or in the file",
        )
    from tui.storage import scenario_store

    return scenario_store.last_session() if args.resume else scenario_store.load(args.scenario)


def reject_late_command(arguments: list[str], sources: Sequence[str]) -> None:
    """Refuse a command behind options or sources, which is meant as a command; the planner has
    other options."""
    for source in sources:
        if source in COMMANDS and not os.path.exists(source):
            import shlex

            others = list(arguments)
            others.remove(source)
            raise engine.BadInput(
                f"the command {source!r} must stand first",
                remedy=f"write {shlex.join(['sparkplan', source, *others])}",
            )


def reject_mistyped_command(sources: Sequence[str]) -> None:
    """Refuse a first word that is no file and close to a command: it is a typo, not a source."""
    if not sources or os.path.exists(sources[0]):
        return
    from difflib import get_close_matches

    close = get_close_matches(sources[0], COMMANDS, n=1, cutoff=0.75)
    if close:
        raise engine.BadInput(
            f"{sources[0]!r} is neither a command nor a file",
            remedy=f"did you mean sparkplan {close[0]}?",
            choices=tuple(COMMANDS),
        )


if __name__ == "__main__":
    sys.exit(main())
