"""Layout of --help: options grouped by subject, examples at the end."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from typing import Any

GOAL = "the goal"
CLUSTER = "the cluster"
RENTED = "what may be rented"
PRICES = "prices"
EXECUTORS = "executors"
EVIDENCE = "the runs that were measured"
JOB = "what the job is given"
MODEL = "the model"


def section(
    parser: argparse._ActionsContainer, title: str, description: str | None = None
) -> argparse._ActionsContainer:
    """The section of --help for a subject; sections appear in the order of first use. An argument
    group is returned as it is: options added to it stay in it."""
    if not isinstance(parser, argparse.ArgumentParser):
        return parser
    known = (group for group in parser._action_groups if group.title == title)
    return next(known, None) or parser.add_argument_group(title, description)


class Help(argparse.RawDescriptionHelpFormatter):
    """The usage line names only what is required; the sections list the options."""

    def add_usage(
        self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: Any = None
    ) -> None:
        needed = [each for each in actions if each.required or not each.option_strings]
        if prefix is None:  # argparse passes one to derive the name of a subcommand from this line
            self._prog += " [OPTION ...]"
        super().add_usage(usage, needed, groups, prefix)
