"""Examples shown by --help, on bundled samples where possible, so that everybody can run them."""

from __future__ import annotations

import re
import textwrap

JOB = "nightly-features --ran-on m5.xlarge"

EXAMPLES = {
    "": {
        "a log, and the machines that it ran on": "application_42.zstd --ran-on m5.2xlarge",
        "the last five runs of a job": "'http://HISTORY-SERVER:18080#app=NAME&last=5'",
    },
    "profile": {
        "a small file for two logs": "nightly-features-small nightly-features -o job.yaml",
    },
    "predict": {
        "three nodes of another type": f"{JOB} --nodes 3 --instance r5.xlarge",
        "twice the data on ten executors, and whether in time": "nightly-features --executors 10 "
        "--executor-cores 4 --input-size 2x --deadline 2m",
    },
    "curve": {
        "time and cost of 1 to 20 nodes": f"{JOB} --over nodes --nodes 1:20",
        "four nodes as the data grows, for a spreadsheet": f"{JOB} --nodes 4 --over input-size "
        "--output growth.csv",
    },
    "recommend": {
        "the cheapest cluster in time": f"{JOB} --deadline 2m",
        "the fastest for 10 cents, at spot prices": f"{JOB} --budget 0.10 --spot "
        "--instances 'm5.*,r5.*'",
        "are these four nodes still enough? ends with 1 where not": f"{JOB} --deadline 2m "
        "--instances m5.xlarge --min-nodes 4 --max-nodes 4 --json",
        "the least resource time on a cluster that you own": "nightly-features --deadline 2m "
        "--max-executors 40 --executor-cores 4 --executor-memory 8g",
    },
    "fleet": {
        "every job of a folder": "/var/log/spark/apps --ran-on m5.2xlarge",
    },
    "workflow": {
        "six jobs on four nodes": "nightly-pipeline --nodes 4 --instance m5.2xlarge",
        "the cheapest cluster that ends them in time": "recommend nightly-pipeline --deadline 3m",
    },
    "export": {
        "options for spark-submit": f"{JOB} --deadline 2m --to spark-submit",
        "a cluster of EMR": f"{JOB} --deadline 2m --to emr -o create.sh",
    },
    "experiments": {
        "which run of this job teaches most": f"{JOB} --deadline 2m",
        "first runs of a job that has none, for 5 dollars": "--nodes 1:8 --fractions 1%:10% "
        "--instances m5.xlarge --smallest-run 2m --budget '$5'",
    },
    "collect": {
        "two runs on a tenth of the data, as they would be submitted": "--app '--master yarn "
        "job.py --sample {fraction}' --run 2@10% --run 4@10% --into logs --dry-run",
    },
    "catalog": {
        "the prices of a family": "show aws --instances 'm5.*'",
    },
    "measure-host": {
        "this machine as a type, for --ran-on mine@mine.yaml": "--name mine -o mine.yaml",
    },
    "config": {
        "prices of Google Cloud from now on": "set catalog gcp",
    },
    "completion": {
        "for bash": "bash > ~/.local/share/bash-completion/completions/sparkplan",
        "for zsh, in a folder of the fpath": "zsh > ~/.zfunc/_sparkplan",
        "for fish": "fish > ~/.config/fish/completions/sparkplan.fish",
    },
    "tour": {
        "a recording for asciinema": "--record tour.cast",
    },
}
"""Command ("" for the planner) -> description -> the words after the command."""

COLUMNS = 78


def help_examples(command: str) -> str:
    """The examples at the end of a command's help, ready to paste; "" where there are none."""
    before = f"sparkplan {command}".rstrip()
    lines = [
        f"  {what}:\n" + _wrapped_command(f"{before} {words}")
        for what, words in EXAMPLES.get(command, {}).items()
    ]
    return "\n".join(["examples:", *lines]) if lines else ""


def _wrapped_command(line: str) -> str:
    """A command in lines that fit the narrowest terminal, each option beside its value."""
    with_joined_options = re.sub(r"( --[\w-]+| -o) (?!-)", "\\1\0", line)
    return " \\\n".join(
        each.replace("\0", " ")
        for each in textwrap.wrap(
            with_joined_options,
            COLUMNS,
            initial_indent=" " * 4,
            subsequent_indent=" " * 8,
            break_long_words=False,
            break_on_hyphens=False,
        )
    )
