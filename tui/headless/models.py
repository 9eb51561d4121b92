"""`sparkplan models`: the models and what each is for."""

from __future__ import annotations

import argparse

import engine
from tui import format as text
from tui.arguments import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    entries = [(model.name, model.summary) for model in engine.MODELS]
    if args.json:
        output.print_json({"models": [{"name": n, "summary": s} for n, s in entries]})
    else:
        print(text.table(entries))
    return 0
