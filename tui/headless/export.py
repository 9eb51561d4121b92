"""`sparkplan export`: the recommendation as text to paste."""

from __future__ import annotations

import argparse
import sys

import engine
from tui import limits
from tui.headless import output, recommend


def configure(parser: argparse.ArgumentParser) -> None:
    recommend.configure_goal(parser)
    names = "|".join(target.name for target in engine.EXPORTS)
    parser.add_argument("--to", required=True, metavar=names, help="what the text is for")


def run(args: argparse.Namespace) -> int:
    known = {target.name for target in engine.EXPORTS}
    if args.to not in known:
        raise engine.UnknownName("export target", args.to, known, where="--to")
    question = recommend.question_of(args)
    found = recommend.answer(args, question)
    if found.recommended is None:
        print(recommend.as_text(found), file=sys.stderr)
        return 1
    sys.stdout.write(
        engine.export(
            found,
            to=args.to,
            profile=question.profile,
            catalog=question.catalog,
            workload=question.workload,
            spot=limits.on_spot(args),
        )
    )
    output.print_notices([*found.warnings, *found.recommended.warnings])
    return 0
