"""`sparkplan export`: the recommendation as text to paste."""

from __future__ import annotations

import argparse
import sys

import engine
from tui import format as text
from tui import streams
from tui.arguments import limits, options
from tui.headless import output, recommend
from tui.headless.replaced_files import require_other_than_inputs


def configure(parser: argparse.ArgumentParser) -> None:
    recommend.configure_goal(parser)
    names = ", ".join(target.name for target in engine.EXPORTS)
    parser.add_argument(
        "--to", required=True, metavar="TARGET", help=f"what the text is for: {names}"
    )
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="write the text here instead of to stdout (-)"
    )
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    known = {target.name for target in engine.EXPORTS}
    if args.to not in known:
        raise engine.UnknownName("export target", args.to, known, where="--to")
    require_other_than_inputs(args.output, args)
    question = recommend.read_question(args)
    recommendation = recommend.recommendation_for(args, question)
    rendered = (
        None if recommendation.recommended is None else _rendered(args, question, recommendation)
    )
    file = None if args.output == "-" or rendered is None else args.output
    if file is not None and rendered is not None:
        engine.write_text(file, rendered)
        streams.say(f"wrote {text.escaped(file)}")
    if args.json:
        fields = recommend.as_dict(recommendation, question.catalog)
        output.print_json({**fields, "export": {"to": args.to, "text": rendered, "file": file}})
    else:
        if rendered is None:
            shared = bool(args.max_spot)
            streams.say(recommend.as_text(recommendation, question.catalog, shared=shared))
        elif file is None:
            sys.stdout.write(rendered)
        output.print_notices(recommend.notices(recommendation))
    return 1 if rendered is None else 0


def _rendered(
    args: argparse.Namespace, question: recommend.Question, recommendation: engine.Recommendation
) -> str:
    return engine.export(
        recommendation,
        to=args.to,
        profile=question.profile,
        catalog=question.catalog,
        workload=question.workload,
        spot=limits.on_spot(args),
    )
