"""`sparkplan profile`: sources distilled into one profile YAML."""

from __future__ import annotations

import argparse
import sys

import engine
from tui import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_sources(parser)
    options.add_origin(parser)
    parser.add_argument("-o", "--output", metavar="FILE", help="write here instead of stdout")


def run(args: argparse.Namespace) -> int:
    profile = options.read_profile(args)
    if args.output is None:
        sys.stdout.write(engine.format_profile(profile))
    else:
        engine.write_profile(profile, args.output)
        print(f"wrote {args.output}", file=sys.stderr)
    output.print_notices(notice for run in profile.runs for notice in run.notices)
    output.print_notices(profile.notices)
    return 0
