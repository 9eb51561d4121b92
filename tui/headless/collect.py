"""`sparkplan collect`: makes the planned training runs and keeps their event logs."""

from __future__ import annotations

import argparse
import shlex
import signal
import sys
import threading
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import engine
from tui import format as text
from tui import streams
from tui.arguments import options
from tui.headless import output
from tui.input_text import training_text

EXAMPLE = "'--master yarn job.py --sample {fraction} --seed {seed}'"


def configure(parser: argparse.ArgumentParser) -> None:
    _add_runs(parser)
    _add_executors(parser)
    parser.add_argument(
        "--timeout", type=options.duration, metavar="T", help="the longest that one run may take"
    )
    parser.add_argument("--keep-going", action="store_true", help="go on after a failed run")
    parser.add_argument("--dry-run", action="store_true", help="print the commands, run nothing")
    options.add_json(parser)


def _add_runs(parser: argparse.ArgumentParser) -> None:
    """Options of what is run, how often, and where its logs go."""
    parser.add_argument(
        "--app",
        required=True,
        metavar="TEMPLATE",
        help=f"what follows spark-submit, such as {EXAMPLE}; placeholders: "
        + ", ".join("{" + name + "}" for name in engine.PLACEHOLDERS),
    )
    parser.add_argument("--plan", metavar="FILE", help="from sparkplan experiments --json; - stdin")
    parser.add_argument(
        "--run",
        action="append",
        default=[],
        metavar="NODES@FRACTION",
        help="such as 4@10%%, or 3c@10%% on three cores",
    )
    parser.add_argument("--into", required=True, metavar="FOLDER", help="where the logs are kept")
    parser.add_argument(
        "--repeat",
        type=options.whole(),
        default=1,
        metavar="N",
        help="times that each run is made (default: 1)",
    )


def _add_executors(parser: argparse.ArgumentParser) -> None:
    """Options of the executors, the settings and the spark-submit of every run."""
    parser.add_argument(
        "--executors-per-node",
        type=options.whole(),
        default=1,
        metavar="N",
        help="executors that a node holds (default: 1)",
    )
    parser.add_argument(
        "--executor-cores",
        type=options.whole(),
        default=1,
        metavar="C",
        help="cores of each of them (default: 1)",
    )
    parser.add_argument(
        "--conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="a setting of every run; may be repeated",
    )
    parser.add_argument("--spark-submit", metavar="PATH", help="default: SPARK_HOME, then PATH")


def run(args: argparse.Namespace) -> int:
    template, experiments_planned = engine.template_of(args.app), planned(args)
    given_path = args.spark_submit
    job = engine.Job(
        template=template,
        spark_submit=(given_path or "spark-submit")
        if args.dry_run
        else engine.find_spark_submit(given_path),
        executors_per_node=args.executors_per_node,
        executor_cores=args.executor_cores,
        conf=conf_of(args.conf),
    )
    runs = engine.training_runs(experiments_planned, job, repeat=args.repeat)
    outcomes = []
    end_like_an_interrupt()
    for outcome in engine.collect_runs(
        runs,
        job,
        Path(args.into),
        dry_run=args.dry_run,
        keep_going=args.keep_going,
        timeout_seconds=args.timeout,
    ):
        outcomes.append(outcome)
        if not args.json:
            print(line_of(outcome, len(outcomes), len(runs)), flush=True)
    warn_of_slow_hosts(outcomes)
    warn_of_changed_code(outcomes)
    failed = [outcome for outcome in outcomes if outcome.status == "failed"]
    if args.json:
        output.print_json({"folder": args.into, "runs": [as_dict(outcome) for outcome in outcomes]})
    elif not args.dry_run and not failed:
        streams.say(f"next: sparkplan predict {source_words(args.into)}")
    for outcome in failed:
        message = f"sparkplan: {outcome.run.name} failed: {outcome.reason}"
        streams.say(text.escaped(message))
    return 3 if failed else 0


def source_words(folder: str) -> str:
    """A folder quoted as a source for the shell. A name that begins like an option, or looks like
    an address, becomes a path by a leading "./"."""
    misread = folder.startswith("-") or ":" in folder
    return shlex.quote(f"./{folder}" if misread and not folder.startswith((".", "/")) else folder)


def end_like_an_interrupt() -> None:
    """Handle SIGTERM and SIGHUP (a kill, a closed SSH session) like Ctrl-C, which ends the run in
    progress; nohup still applies."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGHUP):
        if signal.getsignal(number) is signal.SIG_DFL:
            signal.signal(number, signal.default_int_handler)


def planned(args: argparse.Namespace) -> tuple[engine.Experiment, ...]:
    """The runs of --plan and --run."""
    experiments = [one_run(text) for text in args.run]
    if args.plan is not None:
        where = "stdin" if args.plan == "-" else args.plan
        try:
            text = sys.stdin.read() if args.plan == "-" else Path(args.plan).read_text("utf-8")
        except UnicodeDecodeError:
            raise engine.BadInput("is not text", where=where) from None
        except OSError as error:
            raise engine.BadInput(
                error.strerror or "cannot be read",
                where=where,
                remedy="name a file with what sparkplan experiments --json printed, or - for stdin",
            ) from None
        experiments += engine.experiments_in(text, where=where)
    if not experiments:
        raise engine.BadInput(
            "no run is planned",
            remedy="add --plan FILE (of sparkplan experiments --json) or --run 4@10%",
        )
    return tuple(experiments)


def one_run(text: str) -> engine.Experiment:
    where, at, fraction = text.partition("@")
    number, in_cores = where.removesuffix("c"), where.endswith("c")
    if not at or not number.isdecimal() or int(number) < 1:
        raise engine.BadInput(
            f"{text!r} is not NODES@FRACTION",
            where="--run",
            remedy="write it like 4@10%, or 3c@10% for cores",
        )
    share, count = training_text.one_fraction(fraction, where="--run"), int(number)
    return engine.Experiment(None if in_cores else count, share, cores=count if in_cores else None)


def conf_of(pairs: list[str]) -> dict[str, str]:
    conf = {}
    for pair in pairs:
        key, equals, value = pair.partition("=")
        if not equals or not key:
            raise engine.BadInput(f"{pair!r} is not KEY=VALUE", where="--conf")
        conf[key] = value
    return conf


def warn_of_slow_hosts(outcomes: Sequence[engine.Outcome]) -> None:
    """Warn of hosts that were slower than the others, each once, with its worst ratio."""
    worst: dict[str, tuple[engine.Outcome, float, int]] = {}
    for outcome in outcomes:
        for slow in outcome.slow:
            if slow.host not in worst or worst[slow.host][1] < slow.ratio:
                worst[slow.host] = (outcome, slow.ratio, slow.tasks)
    for host, (outcome, ratio, tasks) in worst.items():
        message = (
            f"sparkplan: {host} was slow: {ratio:.2f} times the other hosts' task times "
            f"({tasks:,} tasks of {outcome.run.name}) [slow-host]; leave it out "
            f"(on YARN --conf spark.yarn.exclude.nodes={host}), remove that log, and collect again"
        )
        streams.say(text.escaped(message))


def warn_of_changed_code(outcomes: Sequence[engine.Outcome]) -> None:
    """Warn that kept logs were made by another version of the program."""
    outdated = [outcome for outcome in outcomes if outcome.changed]
    if not outdated:
        return
    names = ", ".join(dict.fromkeys(name for outcome in outdated for name in outcome.changed))
    logs = ", ".join(outcome.run.name for outcome in outdated[:SHOWN_LOGS])
    more = f" and {len(outdated) - SHOWN_LOGS} more" if len(outdated) > SHOWN_LOGS else ""
    message = (
        f"sparkplan: {names} is not what made {logs}{more} [code-changed]; a model is of one "
        "version of the code: remove those logs and collect again"
    )
    streams.say(text.escaped(message))


SHOWN_LOGS = 3


def line_of(outcome: engine.Outcome, number: int, count: int) -> str:
    if outcome.status == "planned":
        return text.escaped(shlex.join(outcome.command))
    words = {"done": "done", "kept": "kept, the log is there", "failed": "failed"}
    took = "" if outcome.seconds is None else f" in {text.seconds(outcome.seconds)}"
    return text.escaped(f"{number}/{count} {outcome.run.name}: {words[outcome.status]}{took}")


def as_dict(outcome: engine.Outcome) -> dict[str, Any]:
    return {
        "name": outcome.run.name,
        "status": outcome.status,
        **output.fields_of(outcome.run.experiment, "nodes", "fraction"),
        "command": list(outcome.command),
        **output.fields_of(outcome, "seconds", "reason"),
        "slow_hosts": [asdict(slow) for slow in outcome.slow],
        "changed_code": list(outcome.changed),
    }
