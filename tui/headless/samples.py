"""`sparkplan samples`: the bundled samples and what each shows."""

from __future__ import annotations

import argparse

import engine
from tui import format as text
from tui.arguments import options
from tui.headless import output


def configure(parser: argparse.ArgumentParser) -> None:
    options.add_json(parser)


def run(args: argparse.Namespace) -> int:
    samples = engine.list_samples()
    if args.json:
        entries = [output.fields_of(s, "name", "category", "kind", "shows") for s in samples]
        output.print_json({"samples": entries})
    else:
        output.print_text(text.table([(s.name, s.category, s.kind, s.shows) for s in samples]))
    return 0
