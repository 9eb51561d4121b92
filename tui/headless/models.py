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
    if args.json:
        entries = [output.fields_of(model, "name", "summary") for model in engine.MODELS]
        output.print_json({"models": entries})
    else:
        output.print_text(text.table([(model.name, model.summary) for model in engine.MODELS]))
    return 0
