"""How --help is laid out: options by their subject, examples at the end."""

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


def of(
    parser: argparse._ActionsContainer, title: str, description: str | None = None
) -> argparse._ActionsContainer:
    """Where --help shows the options of a subject: each stands once, in the order in which they are
    asked for first. A section is its own: what is added to one stays in it."""
    if not isinstance(parser, argparse.ArgumentParser):
        return parser
    known = (group for group in parser._action_groups if group.title == title)
    return next(known, None) or parser.add_argument_group(title, description)


class Help(argparse.RawDescriptionHelpFormatter):
    """Sections tell of the options: the first line names those alone without which nothing runs."""

    def add_usage(
        self, usage: Any, actions: Iterable[argparse.Action], groups: Any, prefix: Any = None
    ) -> None:
        needed = [each for each in actions if each.required or not each.option_strings]
        if prefix is None:  # one is given where the name of a command below is made of this line
            self._prog += " [OPTION ...]"
        super().add_usage(usage, needed, groups, prefix)
